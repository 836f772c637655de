"""``sgd``, ``adam``, ``adamw``: pytrees, states, one compilation, schedules, derivatives, errors."""

from __future__ import annotations

import collections
import pickle
from typing import Any

import numpy as np
import pytest

import tracejit as tj

Layer = collections.namedtuple("Layer", "w b")


def network() -> Any:
    return {
        "layers": [Layer(tj.ones((2, 3)), tj.zeros(3)), Layer(tj.ones((3, 1)), None)],
        "scale": tj.tensor(2.0),
    }


def test_the_structure_is_kept() -> None:
    params = network()
    optimizer = tj.optim.adam(0.1)
    state = optimizer.init(params)
    assert sorted(state) == ["exp_avg", "exp_avg_sq", "step"]
    assert state["step"].dtype == tj.int64
    new, after = optimizer.update(params, params, state)
    for tree in (new, state["exp_avg"], after["exp_avg_sq"]):
        assert type(tree["layers"][0]) is Layer
        assert tree["layers"][1].b is None
        assert [leaf.shape for leaf in tj.tree_leaves(tree)] == [(2, 3), (3,), (3, 1), ()]
    assert new["scale"].item() == pytest.approx(1.9)
    assert params["scale"].item() == 2.0


def test_moments_have_the_dtype_of_their_parameter() -> None:
    params = [tj.ones(2, dtype=tj.float32), tj.ones(2)]
    optimizer = tj.optim.sgd(0.1, momentum=0.5)
    new, state = optimizer.update(params, params, optimizer.init(params))
    for tree in (new, state["momentum_buffer"]):
        assert [leaf.dtype for leaf in tree] == [tj.float32, tj.float64]


@pytest.mark.parametrize(
    "optimizer",
    [
        tj.optim.sgd(tj.optim.linear(1.0, 0.0, 4)),
        tj.optim.sgd(tj.optim.multistep(0.5, [1, 3]), momentum=0.9, dampening=0.5),
        tj.optim.adam(tj.optim.warmup_cosine(0.5, 2, 6), amsgrad=True),
        tj.optim.adamw(tj.optim.join([tj.optim.constant(0.5), tj.optim.exponential_decay(0.5, 0.5)], [2])),
    ],
    ids=lambda optimizer: f"{optimizer.name}-{optimizer.lr.name}",
)
def test_many_steps_compile_once(optimizer: tj.optim.Optimizer) -> None:
    def step(params: Any, state: Any, x: Any) -> Any:
        value, grads = tj.value_and_grad(lambda p: ((p["w"] * x).sum() - p["b"]) ** 2)(params)
        return value, *optimizer.update(params, grads, state)

    jitted = tj.jit(step)
    x = tj.tensor([0.5, -0.25, 0.125])
    runs = []
    for run in (step, jitted):
        params: Any = {"w": tj.tensor([1.0, 2.0, 3.0]), "b": tj.tensor(0.5)}
        state = optimizer.init(params)
        losses = []
        for _ in range(8):
            value, params, state = run(params, state, x)
            losses.append(value.item())
        runs.append([*losses, *params["w"].tolist()])
    assert jitted.explain().startswith("step: 1 signature compiled")
    np.testing.assert_allclose(runs[1], runs[0], rtol=1e-11, atol=1e-14)


def test_a_schedule_sees_the_steps_before() -> None:
    optimizer = tj.optim.sgd(tj.optim.linear(1.0, 0.0, 4))
    w = tj.tensor(0.0)
    state = optimizer.init(w)
    seen = []
    for _ in range(6):
        w, state = optimizer.update(w, tj.tensor(-1.0), state)
        seen.append(w.item())
    assert seen == [1.0, 1.75, 2.25, 2.5, 2.5, 2.5]


def test_the_learning_rate_may_be_a_tensor_or_an_argument() -> None:
    lr = tj.tensor(0.5)
    optimizer = tj.optim.sgd(lr)
    step = tj.jit(lambda w: optimizer.update(w, w, optimizer.init(w))[0])
    assert step(tj.tensor(1.0)).item() == 0.5
    lr[...] = 0.25
    assert step(tj.tensor(1.0)).item() == 0.75

    def update(w: Any, lr: Any) -> Any:
        chained = tj.optim.adamw(lr, weight_decay=0.5)
        return chained.update(w, w, chained.init(w))[0]

    jitted = tj.jit(update)
    for rate in (0.1, 0.2):
        w = tj.tensor([1.0, -2.0], dtype=tj.float32)
        assert jitted(w, rate).dtype == tj.float32
        np.testing.assert_allclose(jitted(w, rate), update(w, rate), rtol=1e-6)
    assert jitted.explain().startswith("update: 1 signature compiled")


def test_a_step_can_be_differentiated() -> None:
    """d/dlr of loss(w - lr * grad) is -grad(w) @ grad(new w): 2w = 2, new w = 1 - 2 lr."""

    def after(lr: Any) -> Any:
        optimizer = tj.optim.sgd(lr)
        w = tj.tensor(1.0)
        new, _ = optimizer.update(w, tj.grad(lambda w: w * w)(w), optimizer.init(w))
        return new * new

    assert tj.grad(after)(tj.tensor(0.25)).item() == pytest.approx(-2.0 * 2 * 0.5)


def test_numbers_and_arrays_are_parameters() -> None:
    optimizer = tj.optim.sgd(0.5)
    params = [np.ones(2), 3.0]
    new, _ = optimizer.update(params, [np.ones(2), 1.0], optimizer.init(params))
    assert new[0].tolist() == [0.5, 0.5]
    assert new[1].item() == 2.5


def test_no_parameters_and_empty_ones() -> None:
    optimizer = tj.optim.adam()
    new, state = optimizer.update({}, {}, optimizer.init({}))
    assert new == {}
    assert state["step"].item() == 1
    new, _ = optimizer.update(tj.zeros((0, 3)), tj.zeros((0, 3)), optimizer.init(tj.zeros((0, 3))))
    assert new.shape == (0, 3)


def test_the_record() -> None:
    optimizer = tj.optim.adam(tj.optim.cosine_decay(0.1, 10))
    assert optimizer == tj.optim.adam(tj.optim.cosine_decay(0.1, 10))
    assert optimizer != tj.optim.adam(tj.optim.cosine_decay(0.1, 11))
    assert pickle.loads(pickle.dumps(optimizer)) == optimizer
    assert "cosine_decay(0.1, 10, 0.0)" in repr(optimizer)


# -- errors -------------------------------------------------------------------------------------------


def test_gradients_of_another_structure() -> None:
    optimizer = tj.optim.sgd(0.1)
    params = {"w": [tj.ones(2), tj.ones(2)], "b": tj.ones(1)}
    state = optimizer.init(params)
    with pytest.raises(
        tj.ShapeError, match=r"sgd.update: .*leaf at params\['w'\]\[1\], but none there in the"
    ):
        optimizer.update(params, {"w": [tj.ones(2)], "b": tj.ones(1)}, state)
    with pytest.raises(tj.ShapeError, match=r"leaf at \['c'\] of the gradients, but none there in params"):
        optimizer.update(params, {**params, "c": tj.ones(1)}, state)
    with pytest.raises(tj.ShapeError, match="containers of different types"):
        optimizer.update(params, {**params, "w": (tj.ones(2), tj.ones(2))}, state)
    with pytest.raises(tj.ShapeError, match=r"leaf at params\['b'\].*TreeDef.*TreeDef"):
        optimizer.update(params, {**params, "b": None}, state)


def test_gradients_of_another_type() -> None:
    optimizer = tj.optim.sgd(0.1)
    params = {"w": tj.ones((2, 3))}
    state = optimizer.init(params)
    with pytest.raises(
        tj.ShapeError, match=r"params\['w'\] is f64\[2,3\], but the gradients there are f64\[3\]"
    ):
        optimizer.update(params, {"w": tj.ones(3)}, state)
    with pytest.raises(tj.DTypeError, match=r"params\['w'\] is f64\[2,3\], but the gradients there are f32"):
        optimizer.update(params, {"w": tj.ones((2, 3), dtype=tj.float32)}, state)


def test_integer_parameters() -> None:
    for params in ({"n": tj.arange(3)}, {"n": 3}):
        with pytest.raises(tj.DTypeError, match=r"adam.init: .* floating, got i64.* at params\['n'\]"):
            tj.optim.adam().init(params)
    with pytest.raises(tj.DTypeError, match=r"adam.update: .* got bool\[\] at params; keep"):
        tj.optim.adam().update(tj.tensor(True), tj.tensor(True), {})


def test_states_of_others() -> None:
    w = tj.ones(3)
    with pytest.raises(tj.ShapeError, match=r"must have \['step', 'momentum_buffer'\], got \['step'\]"):
        tj.optim.sgd(0.1, momentum=0.9).update(w, w, tj.optim.sgd(0.1).init(w))
    optimizer = tj.optim.sgd(0.1, momentum=0.9)
    with pytest.raises(tj.ShapeError, match=r"state\['momentum_buffer'\] there are f64\[1\]"):
        optimizer.update(w, w, optimizer.init(tj.ones(1)))
    with pytest.raises(tj.ShapeError, match=r"state\['momentum_buffer'\]"):
        optimizer.update(w, w, optimizer.init([w]))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tj.optim.sgd(-1.0), "sgd: lr must be at least 0, got -1.0"),
        (lambda: tj.optim.sgd(0.1, momentum=-0.5), "sgd: momentum must be at least 0"),
        (lambda: tj.optim.sgd(0.1, weight_decay=-0.5), "sgd: weight_decay must be at least 0"),
        (lambda: tj.optim.sgd(0.1, nesterov=True), "nesterov needs a momentum above 0 and zero dampening"),
        (lambda: tj.optim.sgd(0.1, 0.9, 0.1, nesterov=True), "nesterov .* dampening 0.1"),
        (lambda: tj.optim.adam(b1=1.0), "adam: b1 of betas must be at least 0 and below 1, got 1.0"),
        (lambda: tj.optim.adam(b2=-0.1), "adam: b2 of betas"),
        (lambda: tj.optim.adamw(eps=-1e-8), "adamw: eps must be at least 0"),
        (lambda: tj.optim.adamw(float("nan")), "adamw: lr must be at least 0, got nan"),
    ],
)
def test_hyperparameters_out_of_range(make: Any, message: str) -> None:
    with pytest.raises(tj.DomainError, match=message):
        make()


def test_hyperparameters_of_other_types() -> None:
    with pytest.raises(tj.DTypeError, match="sgd: lr must be a Python number, got str"):
        tj.optim.sgd("0.1")
    with pytest.raises(tj.DTypeError, match="sgd: momentum must be a Python number, got Tensor"):
        tj.optim.sgd(0.1, momentum=tj.tensor(0.9))
    with pytest.raises(tj.ShapeError, match=r"lr must be one number, got a tensor of shape \(2,\)"):
        tj.optim.sgd(tj.ones(2))
    with pytest.raises(tj.ShapeError, match=r"schedule must give one number for a step, got f64\[2\]"):
        tj.optim.sgd(lambda step: tj.ones(2)).update(tj.ones(2), tj.ones(2), {"step": tj.tensor(0)})
