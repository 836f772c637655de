"""``while`` loops that count: compiled like loops over ranges, whatever they count to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.tracejit.loops.common import agree, reports


def _up(x: Any) -> Any:
    total, i = 0.0, 0
    while i < len(x):
        total = total + x[i] * x[i]
        i += 1
    return total, i


def _down_by_three(x: Any) -> Any:
    y, i = np.zeros(len(x)), len(x) - 2
    while i >= 1:
        y[i] = x[i - 1] - x[i + 1]
        i = i - 3
    return y, i


def _bound_on_the_left(x: Any) -> Any:
    y = x.copy()
    i = 3
    while len(x) > i:
        y[i] += 0.5 * y[i - 1]
        i = 2 + i
    return y


def _no_end_of_its_own(x: Any) -> Any:
    """A loop that counts in the wrong direction, and is left by a break."""
    total, i = 0.0, 0
    while i < 10:
        total += x[i]
        i -= 1
        if i < -100:
            break
    return total, i


def _two_conditions(x: Any) -> Any:
    total, i = 0.0, 0
    while i < len(x) and total < 5.0:
        total += abs(x[i])
        i += 1
    return total, i


def _never(x: Any) -> Any:
    i, total = 7, x[0]
    while i < 7:
        total += x[i]
        i += 1
    return total, i


def _numbers_that_become_traced(x: Any) -> Any:
    """Numbers that are not traced in the first step, so that nothing that the break waits for is traced
    there."""
    y = np.zeros(len(x))
    for i, start in enumerate(x):
        a = b = 0.0
        k = 0
        while k < 20:
            square = a * a
            if square + b * b > 4:
                break
            b = 2 * a * b + start
            a = square - b * b + start
            k += 1
        y[i] = k / 20
    return y


@pytest.mark.parametrize(
    "function",
    [
        _up,
        _down_by_three,
        _bound_on_the_left,
        _no_end_of_its_own,
        _two_conditions,
        _never,
    ],
)
def test_loops_that_count(function: Callable[[Any], Any]) -> None:
    agree(function, np.random.default_rng(5).normal(size=300), mode="auto")


def test_tests_that_become_traced() -> None:
    agree(_numbers_that_become_traced, np.random.default_rng(5).normal(size=30), mode="auto")


@pytest.mark.parametrize("function", [_up, _down_by_three])
def test_counted_steps_become_arrays(function: Callable[[Any], Any]) -> None:
    lowered = tj.jit(function).lower(np.ones(300))
    assert not any(step.op.kind.traits.control for step in lowered.function.body)


def test_few_steps_on_numbers_may_make_shapes() -> None:
    def f(x: Any) -> Any:
        k = 1
        while k < 4:
            x = x + k
            k += 1
        return x.reshape(k, -1)

    jitted = tj.jit(f)
    np.testing.assert_array_equal(jitted(np.arange(8.0)), f(np.arange(8.0)))
    assert reports(jitted) == []


def test_gradients_of_loops_that_count() -> None:
    def f(x: Any) -> Any:
        y, i = x[0], 1
        while i < len(x):
            y = 0.9 * y + x[i] * x[i - 1]
            i += 1
        return y

    x = np.random.default_rng(6).normal(size=80)
    unrolled = tj.jit(tj.grad(tj.jit(f, loops="unrolled")))(x)
    np.testing.assert_allclose(tj.jit(tj.grad(f))(x), unrolled, rtol=1e-12)
