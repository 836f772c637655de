"""Steps of loops: what their integers grow by, and what they fold."""

from __future__ import annotations

from typing import Any

import numpy as np

import tracejit as tj
from tracejit.ir.analysis.even_steps import fold_of, is_plain, neutral, slopes_of


def steps_of(function: Any, *arguments: Any) -> Any:
    """The body of the ``while`` loop of a function, and the number of its carries."""
    traced = tj.jit(function).trace(*arguments)
    loop = next(each for each in traced.instructions() if each.op.name == "while")
    return loop.regions[1], loop.attrs["carries"]


def test_slopes() -> None:
    def f(x: Any, n: Any) -> Any:
        def step(state: Any) -> Any:
            k, s = state
            return k + 2, s + x[3 * k - 1] + x[n - k] + x[k * n] + x[-k] + x[n * 2]

        return tj.while_loop(lambda state: state[0] < n, step, (0, 0.0))

    body, carries = steps_of(f, np.ones(50), 5)
    slopes = slopes_of(body, carries)
    gathers = [step for step in body.body if step.op.name == "gather"]
    assert [slopes.get(step.operands[1]) for step in gathers] == [6, -2, None, -2, 0]
    assert slopes[body.params[0]] == 2
    assert body.params[1] not in slopes


def test_folds() -> None:
    def f(x: Any) -> Any:
        def step(state: Any) -> Any:
            k, s, m, p, t, u, c = state
            v = x[k]
            low, both = tj.minimum(m, v), tj.logical_or(p, v > 1)
            return k + 1, s + v, low, both, t * v, u + v * u, c + t

        return tj.while_loop(lambda state: state[0] < 9, step, (0, 0.0, 1.0, False, 1.0, 1.0, 0.0))

    body, _ = steps_of(f, np.ones(10))
    folds = [fold_of(body, param, result) for param, result in zip(body.params, body.results, strict=False)]
    named = [fold and (fold.op.name, neutral(fold)) for fold in folds]
    assert named[1:4] == [("add", -0.0), ("minimum", np.inf), ("logical_or", False)]
    assert np.signbit(named[1][1])
    assert named[4:6] == [None, None]  # which other steps read, or that read themselves twice


def test_plain_ops() -> None:
    def f(x: Any, k: Any) -> Any:
        return np.sin(x[0]) + x[1], k**k, np.sum(x)

    steps = {step.op.name: is_plain(step) for step in tj.jit(f).trace(np.ones(3), 3).body}
    assert steps["sin"]
    assert steps["add"]
    assert not steps["pow"]
    assert not steps["sum"]
