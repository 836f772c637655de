"""Gradients that are traced and not recorded are pulled on the trace's Values: to the same graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.backward.engine import Engine

X = np.linspace(0.1, 1.2, 12).reshape(3, 4)
HALF = X.astype("f4")
FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "products": (lambda x, w: tj.tanh(x @ w.T).sum(), (X, X)),
    "numbers": (lambda x, y: ((x**y) * 2.0 - 3).mean(), (HALF, 2.5)),
    "number alone": (lambda x: (2.0**x) * x / 3 + x % 2, (1.5,)),
    "views": (lambda x: (x.T[1:] * x[:, 1:].T).diagonal().sum() + x[0].flip(0)[2], (X,)),
    "broadcasts": (lambda x, y: (x[:, None] / (y + x.sum(0))).max(), (X, X[0])),
    "dtypes": (lambda x, y: (x * y).sum() + x.astype("f8").std(), (HALF, X)),
    "joins": (lambda x: tj.concatenate([x, x * x, tj.roll(x, 1, 0)]).cumsum(1)[-1].prod(), (X,)),
    "choices": (lambda x: tj.where(x > 0.5, tj.log(x), x.min(1, keepdims=True)).sum(), (X,)),
    "gathers": (lambda x, i: (x[i] * x[:, i]).sum(), (X[:, :3], np.array([0, 2, 2]))),
    "loops": (lambda x: tj.scan(lambda c, r: (c * r.sum() + 1, c), x[0], x)[1].sum(), (X,)),
    "systems": (lambda x: tj.linalg.solve(x[:3, :3] + 3 * tj.eye(3), x[:, 0]).sum(), (X,)),
    "complex": (lambda x: tj.abs(tj.exp(1j * x) * x).sum(), (X,)),
    "constants": (lambda x: (x * X + tj.sin(tj.tensor(X)) * x).sum(), (X,)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_graph_is_the_one_by_tensors(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fn, arguments = FUNCTIONS[name]
    symbols, answers = Engine._symbols, []

    def noted(engine: Engine, *values: Any) -> bool:
        answers.append(symbols(engine, *values))
        return answers[-1]

    graphs = []
    for answer in (noted, lambda engine, *values: False):
        monkeypatch.setattr(Engine, "_symbols", answer)
        graphs.append(str(tj.make_ir(tj.grad(fn))(*arguments)))
    assert any(answers)
    assert graphs[0] == graphs[1]


def test_recorded_gradients_are_tensors() -> None:
    def second(x: Any) -> Any:
        return tj.grad(lambda y: tj.grad(lambda z: (z**3).sum())(y).sum())(x)

    np.testing.assert_allclose(tj.jit(second)(X).numpy(), 6 * X, rtol=1e-14)


def test_rules_of_users_get_tensors() -> None:
    tensors: list[bool] = []

    @tj.custom_vjp
    def double(x: Any) -> Any:
        return x * 2

    def backward(saved: Any, ct: Any) -> Any:
        tensors.append(isinstance(ct, tj.Tensor))
        return (ct * 3,)

    double.defvjp(lambda x: (x * 2, None), backward)
    assert tj.jit(tj.grad(lambda x: double(x).sum()))(X).numpy().tolist() == np.full((3, 4), 3.0).tolist()
    assert tensors
    assert all(tensors)
