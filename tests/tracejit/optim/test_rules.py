"""Results of every rule: PyTorch's numbers, in both styles, eager and jitted."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import tracejit as tj

#: Values from PyTorch 2.15 in float64: optimiser, options, and the parameters [a0, a1, b0, b1] after four
#: steps.
# fmt: off
PYTORCH: list[tuple[str, dict[str, Any], list[float]]] = [
    ("SGD", {"lr": 0.1},
     [0.972659522731096, -2.62135145909856, 0.288026018194294, -0.741217042310903]),
    ("SGD", {"lr": 0.1, "maximize": True},
     [0.158873050782505, -0.698992911352413, 2.78450230627157, -0.773861013650577]),
    ("SGD", {"lr": 0.1, "weight_decay": 0.3},
     [0.882155821376814, -2.31109554335441, 0.185460679926755, -0.689779006023792]),
    ("SGD", {"lr": 0.1, "weight_decay": 0.3, "maximize": True},
     [0.130447939866563, -0.620004314145964, 2.54442415408039, -0.63306642143974]),
    ("SGD", {"lr": 0.1, "momentum": 0.9},
     [1.53787322192521, -4.42367711899361, -1.11570876054298, -0.731230544533547]),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "maximize": True},
     [-0.242368080459939, 0.0113645515388934, 4.52471858903221, -0.803168226619938]),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.3},
     [1.3418332632563, -3.69926142257488, -1.30377653215291, -0.622163076811193]),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.3, "maximize": True},
     [-0.297558871306116, 0.194638081405757, 3.93221215381031, -0.489432017145475]),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.25},
     [1.35486597120934, -3.65698761688611, -0.777101451001974, -0.732200926755439]),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.25, "maximize": True},
     [-0.15263007027448, -0.106843083962147, 3.995545454287, -0.791275552594074]),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.25, "weight_decay": 0.3},
     [1.19871108928069, -3.1313555878455, -0.977193251306362, -0.627586535271036]),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.25, "weight_decay": 0.3, "maximize": True},
     [-0.211325285497269, 0.0658816752378515, 3.53731151539709, -0.545792503152661]),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True},
     [2.11432580405068, -8.79523106716006, -1.36564521675928, -0.734562292424594]),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "maximize": True},
     [-0.336253888941388, 0.0230925723445504, 6.35945936442654, -0.854054981142529]),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.3},
     [1.76970449354884, -6.64823017267266, -1.37391470328448, -0.648449713736252]),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.3, "maximize": True},
     [-0.339693312079549, 0.185981638557226, 5.09087119472019, -0.264852044717184]),
    ("Adam", {},
     [0.503999999406727, -1.25400037909877, 1.49600000038525, -0.746034632386741]),
    ("Adam", {"lr": 0.1, "betas": (0.5, 0.25), "weight_decay": 0},
     [0.902694247197811, -1.63815713001578, 1.09986173756719, -0.771688544546556]),
    ("Adam", {"lr": 0.1, "betas": (0.5, 0.25), "weight_decay": 0, "maximize": True},
     [0.0973170962687297, -0.832506426915418, 1.89996841629087, -1.09376430596352]),
    ("Adam", {"lr": 0.1, "betas": (0.5, 0.25), "weight_decay": 0, "amsgrad": True},
     [0.897825314521056, -1.63815866226643, 1.09986173756719, -0.767766943484976]),
    ("Adam", {"lr": 0.1, "betas": (0.5, 0.25), "weight_decay": 0, "amsgrad": True, "maximize": True},
     [0.100817947370492, -0.887281030181191, 1.89996841629087, -1.09376430596352]),
    ("Adam", {"lr": 0.1, "betas": (0.5, 0.25), "weight_decay": 0.3},
     [0.90684826105665, -1.6370109725292, 1.09916840499095, -0.711244616461079]),
    ("Adam", {"lr": 0.1, "betas": (0.5, 0.25), "weight_decay": 0.3, "maximize": True},
     [0.0952275306353657, -0.834183819436507, 1.9009097754603, -0.388836636473773]),
    ("Adam", {"lr": 0.1, "betas": (0.5, 0.25), "weight_decay": 0.3, "amsgrad": True},
     [0.888839189237389, -1.63704503599916, 1.0996526655086, -0.689459708896532]),
    ("Adam", {"lr": 0.1, "betas": (0.5, 0.25), "weight_decay": 0.3, "amsgrad": True, "maximize": True},
     [0.105780858412984, -0.88143060690803, 1.90049222280735, -0.388836636473773]),
    ("AdamW", {},
     [0.503979938020986, -1.25395031595385, 1.49594006129062, -0.746005079848323]),
    ("AdamW", {"lr": 0.1, "betas": (0.5, 0.25), "weight_decay": 0},
     [0.902694247197811, -1.63815713001578, 1.09986173756719, -0.771688544546556]),
    ("AdamW", {"lr": 0.1, "betas": (0.5, 0.25), "weight_decay": 0, "maximize": True},
     [0.0973170962687297, -0.832506426915418, 1.89996841629087, -1.09376430596352]),
    ("AdamW", {"lr": 0.1, "betas": (0.5, 0.25), "weight_decay": 0, "amsgrad": True},
     [0.897825314521056, -1.63815866226643, 1.09986173756719, -0.767766943484976]),
    ("AdamW", {"lr": 0.1, "betas": (0.5, 0.25), "weight_decay": 0, "amsgrad": True, "maximize": True},
     [0.100817947370492, -0.887281030181191, 1.89996841629087, -1.09376430596352]),
    ("AdamW", {"lr": 0.1, "betas": (0.5, 0.25), "weight_decay": 0.3},
     [0.82882063491504, -1.48085573375036, 0.94526023245158, -0.793775279701683]),
    ("AdamW", {"lr": 0.1, "betas": (0.5, 0.25), "weight_decay": 0.3, "maximize": True},
     [0.0548355753178101, -0.701476123521108, 1.71029376647938, -0.994639078628086]),
    ("AdamW", {"lr": 0.1, "betas": (0.5, 0.25), "weight_decay": 0.3, "amsgrad": True},
     [0.820675441822099, -1.48086795249221, 0.94532893213608, -0.742565578999106]),
    ("AdamW", {"lr": 0.1, "betas": (0.5, 0.25), "weight_decay": 0.3, "amsgrad": True, "maximize": True},
     [0.0666864381830868, -0.780225454102699, 1.71029376647938, -0.994639078628086]),
    ("Adam", {"lr": 0.1},
     [0.899344360502365, -1.65095584495731, 1.10003205527015, -0.805033116451307]),
    ("Adam", {"lr": 0.1, "eps": 0.25},
     [0.819760259599636, -1.61176235022344, 1.12952811171824, -0.734441285029153]),
    ("Adam", {"lr": 0.1, "betas": (0.0, 0.0)},
     [0.899999995849331, -1.64999999843327, 1.10000000127581, -0.750000047766127]),
    ("AdamW", {"lr": 0.1},
     [0.896734631249799, -1.64537711169687, 1.0946417362807, -0.804604895140929]),
]
# fmt: on
IDS = [
    f"{name}-{'-'.join(f'{key}={value}' for key, value in options.items())}" for name, options, _ in PYTORCH
]
STEPS = 4


def start(dtype: Any = None) -> dict[str, tj.Tensor]:
    return {"a": tj.tensor([0.5, -1.25], dtype=dtype), "b": tj.tensor([[1.5, -0.75]], dtype=dtype)}


def loss(params: dict[str, tj.Tensor]) -> tj.Tensor:
    a, b = params["a"], params["b"]
    return (a * a * a).sum() / 3 + a[0] * a[1] + 2 * tj.sin(b).sum() + (b * b).sum()


def values(params: dict[str, tj.Tensor]) -> np.ndarray[Any, Any]:
    return np.concatenate([params["a"].detach().numpy(), params["b"].detach().numpy().ravel()])


def functional(name: str, options: dict[str, Any]) -> tuple[Any, float]:
    """The functional optimiser of the same meaning, and the sign of its gradients: it has no `maximize`."""
    options = dict(options)
    sign = -1.0 if options.pop("maximize", False) else 1.0
    if "betas" in options:
        options["b1"], options["b2"] = options.pop("betas")
    options.setdefault("lr", 1e-3)
    return getattr(tj.optim, name.lower())(**options), sign


def run_functional(name: str, options: dict[str, Any], *, jitted: bool, dtype: Any = None) -> Any:
    optimizer, sign = functional(name, options)

    def step(params: Any, state: Any) -> Any:
        grads = tj.tree_map(lambda g: sign * g, tj.grad(loss)(params))
        return optimizer.update(params, grads, state)

    run = tj.jit(step) if jitted else step
    params = start(dtype)
    state = optimizer.init(params)
    for _ in range(STEPS):
        params, state = run(params, state)
    if jitted:
        assert run.explain().startswith("step: 1 signature compiled")
    assert state["step"].item() == STEPS
    return params


def run_stateful(name: str, options: dict[str, Any], dtype: Any = None) -> Any:
    params = start(dtype)
    for param in params.values():
        param.requires_grad_()
    optimizer = getattr(tj.optim, name)(params, **options)
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss(params).backward()
        optimizer.step()
    return params


@pytest.mark.parametrize(("name", "options", "expected"), PYTORCH, ids=IDS)
def test_stateful(name: str, options: dict[str, Any], expected: list[float]) -> None:
    np.testing.assert_allclose(values(run_stateful(name, options)), expected, rtol=1e-12)


@pytest.mark.parametrize(("name", "options", "expected"), PYTORCH, ids=IDS)
def test_functional(name: str, options: dict[str, Any], expected: list[float]) -> None:
    results = run_functional(name, options, jitted=False)
    np.testing.assert_allclose(values(results), expected, rtol=1e-12)


@pytest.mark.parametrize(("name", "options", "expected"), PYTORCH[::3], ids=IDS[::3])
def test_functional_jitted(name: str, options: dict[str, Any], expected: list[float]) -> None:
    results = run_functional(name, options, jitted=True)
    np.testing.assert_allclose(values(results), expected, rtol=1e-12)


def test_the_table_tells_all_options_apart() -> None:
    """A rule that ignored an option would fail: no two rows agree but Adam's and AdamW's without decay."""
    same = [
        {IDS[i], IDS[j]}
        for (i, options), (j, other) in itertools.combinations(enumerate(PYTORCH), 2)
        if np.allclose(options[2], other[2], rtol=1e-9)
    ]
    for pair in same:
        assert {name.split("-")[0] for name in pair} == {"Adam", "AdamW"}
        assert len({name.split("-", 1)[1] for name in pair}) == 1
        assert all("weight_decay=0" in name for name in pair)


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW"])
@pytest.mark.parametrize("style", ["stateful", "eager", "jitted"])
def test_float32_stays_and_is_close(name: str, style: str) -> None:
    options: dict[str, Any] = {"lr": 0.1, "weight_decay": 0.3}
    wide = run_functional(name, options, jitted=False)
    if style == "stateful":
        results = run_stateful(name, options, tj.float32)
    else:
        results = run_functional(name, options, jitted=style == "jitted", dtype=tj.float32)
    assert {array.dtype for array in results.values()} == {tj.float32}
    np.testing.assert_allclose(values(results), values(wide), rtol=2e-6)


def test_float32_coefficients_are_computed_in_float64() -> None:
    """1 - 0.999 in float32 is off by 5e-5, and so would be the second moment."""
    optimizer = tj.optim.adam()
    p = tj.ones(1, dtype=tj.float32)
    _, state = optimizer.update(p, p, optimizer.init(p))
    assert state["exp_avg_sq"].item() == np.float32(0.001)
