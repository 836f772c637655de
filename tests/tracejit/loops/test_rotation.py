"""``while`` loops whose tests write: each test runs once, as in Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj


def counts(x: Any, limit: Any) -> Any:
    """A test that writes its argument."""
    x[0] += 1.0
    return x[0] < limit


def steps(x: Any, limit: Any) -> Any:
    n = 0
    while counts(x, limit):
        n += 1
    return n, x


def left_early(x: Any, limit: Any) -> Any:
    n = 0
    while counts(x, limit):
        n += 1
        if n * x[1] > 5.0:
            break
    else:
        n = -n
    return n, x


def in_steps(x: Any, limit: Any) -> Any:
    n = 0
    for i in range(3):
        x[0] = -i
        while counts(x, limit) and x[0] + i < limit - 1.0:
            n += i + 1
    return n, x


def on_one_side(x: Any, limit: Any) -> Any:
    n = 0
    for i in range(4):
        if x[1] > i:
            while counts(x, limit) or x[0] < 4.0:
                n += 1
                if n > 40:
                    break
    return n, x


def first_value(x: Any, limit: Any) -> Any:
    total = 0.0
    for _ in range(3):
        while True:
            value = x[0] * 0.5
            x[0] += 1.0
            if value > limit:
                break
        total += value
    return total, x


def found(x: Any, limit: Any) -> Any:
    while True:
        x[0] += 1.0
        if x[0] > limit:
            return x[0] * 2.0


def by_helper(x: Any, limit: Any) -> Any:
    total = 0.0
    for i in range(5):
        total += found(x, limit + i * 2)
    return total, x


@pytest.mark.parametrize(
    "function", [steps, left_early, in_steps, on_one_side, first_value, by_helper], ids=lambda f: f.__name__
)
def test_values_are_pythons(function: Any) -> None:
    compiled = tj.jit(function, loops="compiled")
    for start, limit in (([0.0, 2.0], 7.0), ([0.0, 0.1], 3.0), ([9.0, 1.0], 2.0), ([-3.5, 3.0], 20.0)):
        ours, theirs = np.array(start), np.array(start)
        results, expected = compiled(ours, limit), function(theirs, limit)
        for result, value in zip(results, expected, strict=True):
            np.testing.assert_allclose(np.asarray(result), value)
        np.testing.assert_allclose(ours, theirs)


def test_gradients_are_those_of_the_steps() -> None:
    def f(x: Any, limit: Any) -> Any:
        y = x * 1.0
        total = 0.0
        while counts(y, limit):
            total += y[0] * y[1]
        return total

    x = np.array([0.25, 2.0])
    gradient = tj.jit(tj.grad(f))(x, 3.5)
    np.testing.assert_allclose(np.asarray(gradient), [6.0, 1.25 + 2.25 + 3.25])
