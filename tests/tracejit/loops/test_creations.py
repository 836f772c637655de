"""Arrays that NumPy makes and a function fills: under a trace they hold what is traced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj

from .common import agree

X = np.random.default_rng(0).random(40)


def histogram(x: Any) -> Any:
    counts = np.zeros(10, dtype=np.int64)
    for value in x:
        counts[int(value * 10)] += 1
    return counts


def moving_average(x: Any) -> Any:
    out = np.empty(len(x) - 6)
    for i in range(len(x) - 6):
        total = 0.0
        for k in range(7):
            total += x[i + k]
        out[i] = total / 7
    return out


def product(x: Any) -> Any:
    a, b = x[:20].reshape(4, 5), x[20:].reshape(5, 4)
    c = np.full((4, 4), 0.0)
    for i in range(4):
        for j in range(4):
            for k in range(5):
                c[i, j] += a[i, k] * b[k, j]
    return c


def smoothed(x: Any) -> Any:
    y = np.ones_like(x)
    for i in range(1, len(x)):
        y[i] = 0.9 * y[i - 1] + x[i]
    return y


def before_a_loop(x: Any) -> Any:
    """Written outside of loops as well, and in a branch."""
    y = np.zeros(5)
    y[0] = x[0] * 2.0
    if len(x) > 3:
        z = np.ones(40, dtype="f4")
        z[1] = x[1]
    for i in range(40):
        z[i] += y[i % 5]
    return z


@pytest.mark.parametrize("function", [histogram, moving_average, product, smoothed, before_a_loop])
def test_arrays_that_loops_fill(function: Callable[[Any], Any]) -> None:
    expected = function(X)
    assert type(expected) is np.ndarray
    jitted = tj.jit(function)
    result = jitted(X)
    assert result.dtype == expected.dtype
    np.testing.assert_allclose(result, expected, rtol=1e-12 if expected.dtype != np.float32 else 1e-6)
    other = X[::-1].copy()
    np.testing.assert_allclose(jitted(other), function(other), rtol=1e-6)
    assert len(jitted.explain().signatures) == 1
    assert type(function(X)) is np.ndarray


def test_the_gradient_goes_through_them() -> None:
    gradient = tj.jit(tj.grad(lambda x: (smoothed(x) ** 2).sum()))(X)
    step = np.zeros(40)
    step[7] = 1e-6
    slope = ((smoothed(X + step) ** 2).sum() - (smoothed(X - step) ** 2).sum()) / 2e-6
    assert abs(float(gradient[7]) - slope) < 1e-6


def test_dtypes_are_those_of_numpy() -> None:
    def filled(x: Any) -> Any:
        y = np.zeros(3)
        y[0] = x[0]
        z = np.full(3, 2.5)
        z[1] = x[1]
        for i in range(3):
            y[i] += z[i]
        return y

    tj.set_default_dtype(tj.float32)
    try:
        assert tj.jit(filled)(X).dtype == np.float64
    finally:
        tj.set_default_dtype(tj.float64)


def test_functions_of_those_names_are_the_users() -> None:
    def zeros(count: int) -> Any:
        return [0.0] * count

    def program(x: Any) -> Any:
        y = zeros(3)
        y[0] = 1.0
        for i in range(3):
            y[i] = y[i] + 1.0
        return x * y[0]

    np.testing.assert_allclose(tj.jit(program)(X), X * 2.0)


TABLE = np.arange(5.0)


def computed_arrays(x):
    a = TABLE * 2
    b = np.arange(5.0)
    c = -np.ones(5)
    d = np.maximum(TABLE, 2.0)
    for i in range(5):
        a[i] += x[i]
        b[i] = b[i] * x[0]
        c[i] = d[i]
        d[i] = a[i]
        e = np.arange(3) * 1.0
        e[1] = x[i]
        a[i] += e.sum()
    return a, b, c, d


def test_arrays_that_numpy_computes_are_written(monkeypatch):
    monkeypatch.setattr("tracejit.loops.running.SHORT", -1)
    agree(computed_arrays, np.linspace(0.5, 1.5, 5))
    np.testing.assert_array_equal(TABLE, np.arange(5.0))


def fill(out, x, first):
    out[first] = x[first] + x.sum()


def filled_by_a_function(x):
    out = np.zeros(12)
    for first in range(3):
        fill(out, x, first)
    return out


def filled_without_a_loop(x):
    out, other = np.ones(10), np.full(10, 0.5)
    fill(out, x, 3)
    fill(other, out, 2)
    return other


@pytest.mark.parametrize("function", [filled_by_a_function, filled_without_a_loop])
def test_arrays_that_a_called_function_fills(function):
    agree(function, X[:10])
