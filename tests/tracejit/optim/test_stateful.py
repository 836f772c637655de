"""``SGD``, ``Adam``, ``AdamW``: parameters in place, groups, hyperparameters, saved states, errors."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import optim
from tracejit.optim import stateful


def leaf(*values: float) -> tj.Tensor:
    return tj.tensor(list(values), requires_grad=True)


def with_grad(value: float, grad: float) -> tj.Tensor:
    p = leaf(value)
    p.grad = tj.tensor([grad])
    return p


# -- in place -----------------------------------------------------------------------------------------


def test_memory_is_written_and_versions_are_counted() -> None:
    memory = tj.tensor([[1.0, 2.0], [3.0, 4.0]])
    column = memory[:, 0]
    p = memory.detach().requires_grad_()
    p.grad = tj.ones((2, 2))
    saved = (p * p).sum()
    optim.SGD([p], lr=0.5).step()
    assert memory.tolist() == [[0.5, 1.5], [2.5, 3.5]]
    assert column.tolist() == [0.5, 2.5]
    assert p.is_leaf
    assert p.requires_grad
    with pytest.raises(tj.GradientError, match=r"modified|in place"):
        saved.backward()


def test_parameters_that_are_not_contiguous() -> None:
    memory = tj.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    p = memory[:, ::2].T.requires_grad_()
    p.grad = tj.tensor([[1.0, 2.0], [3.0, 4.0]])
    optim.SGD([p], lr=1.0).step()
    assert memory.tolist() == [[0.0, 2.0, 0.0], [2.0, 5.0, 2.0]]


@pytest.mark.parametrize("shape", [(), (0,), (1, 1, 1), (3, 0)])
def test_unusual_shapes(shape: tuple[int, ...]) -> None:
    p = tj.ones(shape, requires_grad=True)
    p.grad = tj.ones(shape)
    optim.Adam([p], lr=0.5).step()
    np.testing.assert_allclose(p.detach(), np.full(shape, 0.5), rtol=1e-7)


def test_without_gradient_nothing_happens() -> None:
    p, q = with_grad(1.0, 1.0), leaf(2.0)
    optimizer = optim.Adam([p, q], lr=0.5)
    optimizer.step()
    assert q.tolist() == [2.0]
    assert list(map(id, optimizer.state)) == [id(p)]
    q.grad = tj.tensor([1.0])
    optimizer.step()  # the first of q: its own count corrects its moments
    assert q.item() == pytest.approx(1.5)
    assert [kept["step"] for kept in optimizer.state.values()] == [2, 1]


def test_zero_grad() -> None:
    p, q = with_grad(1.0, 1.0), leaf(2.0)
    optimizer = optim.SGD([p, q])
    gradient = p.grad
    optimizer.zero_grad(set_to_none=False)
    assert gradient is not None
    assert gradient.tolist() == [0.0]
    assert q.grad is None
    optimizer.zero_grad()
    assert p.grad is None


def test_closure() -> None:
    p = leaf(3.0)
    optimizer = optim.SGD([p], lr=0.5)

    def closure() -> tj.Tensor:
        optimizer.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    with tj.no_grad():
        assert optimizer.step(closure).item() == 9.0
    assert p.tolist() == [0.0]
    assert optimizer.step() is None


def test_a_step_is_not_recorded() -> None:
    p = with_grad(1.0, 1.0)
    p.grad = (leaf(2.0) * 3.0).sum().reshape(1)  # a gradient that is part of a graph itself
    optimizer = optim.SGD([p], lr=0.5, momentum=0.9)
    optimizer.step()
    assert p.is_leaf
    assert not optimizer.state[p]["momentum_buffer"].requires_grad
    optimizer.zero_grad(set_to_none=False)
    assert p.grad is not None
    assert not p.grad.requires_grad


# -- compilation --------------------------------------------------------------------------------------


def test_changed_numbers_do_not_compile_again() -> None:
    p = with_grad(1.0, 1.0)
    optimizer = optim.SGD([p], lr=0.5, momentum=0.25)
    optimizer.step()  # buffer 1, p 0.5
    programs = stateful._program.cache_info().misses
    group = optimizer.param_groups[0]
    group["lr"] = 0.25
    optimizer.step()  # buffer 1.25, p 0.5 - 0.3125
    assert p.tolist() == [0.1875]
    group["lr"], group["momentum"] = tj.tensor(1.0), 0.8
    optimizer.step()  # buffer 2, p 0.1875 - 2
    assert p.tolist() == [-1.8125]
    group["lr"] = 1
    optimizer.step()  # buffer 2.6
    assert p.item() == pytest.approx(-4.4125)
    assert stateful._program.cache_info().misses == programs
    program: Any = stateful._program(optim.rules._sgd, optim.rules.SGDRule(0.8).form, p.shape, p.dtype)
    assert program.explain().startswith("update: 1 signature compiled")


def test_tensors_of_one_shape_share_a_program() -> None:
    params = [with_grad(float(i), 1.0) for i in range(20)]
    optimizer = optim.AdamW(params)
    before = stateful._program.cache_info().currsize
    optimizer.step()
    optim.AdamW([with_grad(0.0, 1.0)]).step()
    assert stateful._program.cache_info().currsize - before <= 1


def test_without_jit() -> None:
    p = with_grad(1.0, 1.0)
    with tj.disable_jit():
        optim.Adam([p], lr=0.5).step()
    assert p.item() == pytest.approx(0.5)


# -- groups -------------------------------------------------------------------------------------------


def test_pytrees_and_iterables() -> None:
    p, q = with_grad(1.0, 1.0), with_grad(2.0, 1.0)
    for params in (
        {"a": [p], "b": (q, None)},
        [p, q],
        (parameter for parameter in (p, q)),
        {"a": p, "b": q}.values(),
    ):
        optimizer = optim.SGD(params)
        assert list(map(id, optimizer.param_groups[0]["params"])) == [id(p), id(q)]
    assert len(optim.SGD(p).param_groups[0]["params"]) == 1
    assert len(optim.SGD([{"w": p, "b": q}]).param_groups) == 1


def test_groups_have_hyperparameters_of_their_own() -> None:
    p, q, r = with_grad(1.0, 1.0), with_grad(2.0, 1.0), with_grad(3.0, 1.0)
    optimizer = optim.SGD([{"params": [p]}, {"params": {"q": q}, "lr": 0.25}], lr=0.5)
    optimizer.add_param_group({"params": r, "maximize": True})
    optimizer.step()
    assert [p.item(), q.item(), r.item()] == [0.5, 1.75, 3.5]
    assert [group["lr"] for group in optimizer.param_groups] == [0.5, 0.25, 0.5]
    assert "Parameter Group 1" in repr(optimizer)
    assert "lr: 0.25" in repr(optimizer)


def test_schedules() -> None:
    p = with_grad(0.0, -1.0)
    optimizer = optim.SGD([p], lr=optim.linear(1.0, 0.0, 4))
    seen = []
    for _ in range(6):
        optimizer.step()
        seen.append(p.item())
    assert seen == [1.0, 1.75, 2.25, 2.5, 2.5, 2.5]
    optimizer.param_groups[0]["lr"] = lambda step: 0.5 if step >= 6 else 100.0
    optimizer.step()
    assert p.item() == 3.0


# -- saved states -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda params: optim.SGD(params, lr=0.1, momentum=0.9, dampening=0.5),
        lambda params: optim.Adam(params, lr=optim.exponential_decay(0.1, 0.9), amsgrad=True),
    ],
    ids=["SGD", "Adam"],
)
def test_a_loaded_state_goes_on(make: Any) -> None:
    def train(params: list[tj.Tensor], optimizer: Any, steps: int) -> list[float]:
        for _ in range(steps):
            optimizer.zero_grad()
            ((params[0] ** 2).sum() * params[1]).sum().backward()
            optimizer.step()
        return [value for p in params for value in p.tolist()]

    whole = [leaf(1.0, 2.0), leaf(0.5)]
    first = make(whole)
    train(whole, first, 3)
    half = [p.detach().copy().requires_grad_() for p in whole]
    saved = first.state_dict()
    bytes_then = pickle.dumps(saved)
    expected = train(whole, first, 3)
    assert pickle.dumps(saved) == bytes_then, "later steps changed the saved state"
    second = make(half)
    second.load_state_dict(pickle.loads(bytes_then))
    assert train(half, second, 3) == expected


def test_what_a_saved_state_holds() -> None:
    p, q = with_grad(1.0, 2.0), leaf(1.0)
    optimizer = optim.SGD([{"params": [q]}, {"params": [p], "lr": 0.5}], momentum=0.5)
    optimizer.step()
    saved = optimizer.state_dict()
    assert list(saved["state"]) == [1]
    assert saved["state"][1]["step"] == 1
    assert saved["state"][1]["momentum_buffer"].tolist() == [2.0]
    assert [group["params"] for group in saved["param_groups"]] == [[0], [1]]
    assert saved["param_groups"][1]["lr"] == 0.5


def test_states_that_do_not_fit() -> None:
    p = with_grad(1.0, 1.0)
    optimizer = optim.Adam([p])
    optimizer.step()
    saved = optimizer.state_dict()
    with pytest.raises(tj.DomainError, match="different number of parameter groups: 1, but there are 2"):
        optim.Adam([{"params": leaf(1.0)}, {"params": leaf(1.0)}]).load_state_dict(saved)
    with pytest.raises(tj.DomainError, match="size of parameter group 0 differs: 1 loaded, but there are 2"):
        optim.Adam([leaf(1.0), leaf(2.0)]).load_state_dict(saved)
    other = optim.Adam([leaf(1.0, 2.0)], lr=0.5)
    with pytest.raises(tj.ShapeError, match=r"'exp_avg' has shape \(1,\), but its parameter has \(2,\)"):
        other.load_state_dict(saved)
    assert other.param_groups[0]["lr"] == 0.5
    assert other.state == {}


def test_a_loaded_state_has_the_dtype_of_its_parameter() -> None:
    p = with_grad(1.0, 1.0)
    optimizer = optim.Adam([p])
    optimizer.step()
    q = tj.ones(1, dtype=tj.float32, requires_grad=True)
    other = optim.Adam([q])
    saved = optimizer.state_dict()
    saved["state"][0]["exp_avg"] = saved["state"][0]["exp_avg"].numpy()  # as from a file
    other.load_state_dict(saved)
    assert other.state[q]["exp_avg"].dtype == tj.float32
    assert other.state[q]["exp_avg"] is not saved["state"][0]["exp_avg"]


# -- errors -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: optim.SGD([]), ValueError, "SGD: got an empty parameter list"),
        (lambda: optim.SGD({}), ValueError, "empty parameter list"),
        (lambda: optim.SGD([{"params": []}]), ValueError, "empty parameter list"),
        (lambda: optim.Adam([leaf(1.0) * 2]), ValueError, r"can't optimize a non-leaf tensor: .* f64\[1\]"),
        (lambda: optim.Adam([tj.arange(2)]), TypeError, r"must be floating, got i64\[2\]"),
        (lambda: optim.Adam([1.0]), TypeError, r"Adam: params must hold tensors, got float at \[0\]"),
        (lambda: optim.Adam(np.ones(2)), TypeError, "params must hold tensors, got ndarray at the root"),
        (lambda: optim.SGD([leaf(1.0)], lr=-0.5), ValueError, "SGD: lr must be at least 0, got -0.5"),
        (lambda: optim.SGD([leaf(1.0)], momentum=-1), ValueError, "momentum"),
        (
            lambda: optim.SGD([leaf(1.0)], nesterov=True),
            ValueError,
            "nesterov needs a momentum above 0 and zero",
        ),
        (lambda: optim.SGD([leaf(1.0)], 0.1, 0.9, 0.1, nesterov=True), ValueError, "zero dampening"),
        (
            lambda: optim.AdamW([leaf(1.0)], betas=(0.9, 1.0)),
            ValueError,
            "AdamW: b2 of betas must be .* below 1",
        ),
        (lambda: optim.AdamW([leaf(1.0)], betas=0.9), ValueError, "betas must be two numbers, got 0.9"),
        (lambda: optim.SGD([{"params": leaf(1.0), "lr": -1.0}]), ValueError, "lr must be at least 0"),
        (lambda: optim.SGD([{"params": leaf(1.0), "betas": 1}]), tj.TracejitError, r"unknown .*\['betas'\]"),
        (lambda: optim.SGD([{"params": leaf(1.0)}, leaf(2.0)]), TypeError, "among groups there is a Tensor"),
        (lambda: optim.SGD([{"params": leaf(1.0)}, {"w": leaf(2.0)}]), TypeError, r"a dict with \['w'\]"),
    ],
)
def test_constructor_errors(make: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        make()
    assert isinstance(caught.value, tj.TracejitError)


def test_the_same_tensor_twice() -> None:
    p = leaf(1.0)
    with pytest.raises(tj.DomainError, match=r"the same tensor, of type f64\[1\], appears twice"):
        optim.SGD([p, p])
    with pytest.raises(tj.DomainError, match="appears twice"):
        optim.SGD([{"params": [p]}, {"params": [p]}])
    optimizer = optim.SGD([p])
    with pytest.raises(tj.DomainError, match="appears twice"):
        optimizer.add_param_group({"params": p})
    assert len(optimizer.param_groups) == 1


def test_step_errors() -> None:
    p = with_grad(1.0, 1.0)
    optimizer = optim.SGD([p])
    with pytest.raises(tj.DTypeError, match="expected dtype float64, got float32"):
        p.grad = tj.ones(1, dtype=tj.float32)
    optimizer.param_groups[0]["lr"] = -1.0
    p.grad = tj.ones(1)
    with pytest.raises(tj.DomainError, match=r"lr must be at least 0, got -1\.0"):
        optimizer.step()
    assert p.tolist() == [1.0]


def test_inside_a_jitted_function() -> None:
    optimizer = optim.AdamW([leaf(1.0)])

    def step(x: Any) -> Any:
        optimizer.step()
        return x

    with pytest.raises(tj.TraceError, match=r"AdamW.step: .* use tj.optim.adamw"):
        tj.jit(step)(1.0)
