"""Loops over columns, and over any other axis, read and write where the data lies; what no step changes is
not copied."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj

X = np.random.default_rng(0).standard_normal((40, 30))
CUBE = np.random.default_rng(1).standard_normal((4, 5, 6))


def columns(x: Any) -> Any:
    def step(j: Any, y: Any) -> Any:
        return y.at[:, j].set(y[:, j - 1] * 0.5 + x[:, j])

    return tj.fori_loop(1, 30, step, x)


def both(x: Any) -> Any:
    """Rows and columns of one array in one loop."""

    def step(k: Any, y: Any) -> Any:
        y = y.at[:, k].add(0.1 * y[k, 0])
        return y.at[k].multiply(1.0 + 0.1 * y[3, k])

    return tj.fori_loop(0, 30, step, x)


def middle(x: Any) -> Any:
    return tj.fori_loop(0, 4, lambda j, y: y.at[:, j + 1, 2].add(y[:, j, -1] * x[0, j, j]), x)


def ends(x: Any) -> Any:
    return tj.fori_loop(0, 3, lambda j, y: y.at[j, :, j].set(y[j + 1, :, 2 * j] * 2.0), x)


def handed_on(x: Any) -> Any:
    def step(i: Any, state: Any) -> Any:
        matrix, sums = state
        return matrix, sums.at[i].set(matrix[:, i].sum())

    return tj.fori_loop(0, 30, step, (x, tj.zeros(30)))[1]


def plain(function: Callable[[Any], Any], x: Any) -> Any:
    """The function in plain NumPy."""
    y = x.copy()
    if function is columns:
        for j in range(1, 30):
            y[:, j] = y[:, j - 1] * 0.5 + x[:, j]
    elif function is both:
        for k in range(30):
            y[:, k] += 0.1 * y[k, 0]
            y[k] *= 1.0 + 0.1 * y[3, k]
    elif function is middle:
        for j in range(4):
            y[:, j + 1, 2] += y[:, j, -1] * x[0, j, j]
    elif function is ends:
        for j in range(3):
            y[j, :, j] = y[j + 1, :, 2 * j] * 2.0
    else:
        return x.sum(axis=0)
    return y


CASES = [(columns, X), (both, X), (middle, CUBE), (ends, CUBE), (handed_on, X)]


@pytest.mark.parametrize(("function", "x"), CASES, ids=lambda value: getattr(value, "__name__", ""))
def test_values_and_gradients(function: Callable[[Any], Any], x: Any) -> None:
    expected = plain(function, x)
    np.testing.assert_allclose(function(tj.asarray(x)), expected, rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(tj.jit(function)(x), expected, rtol=1e-13, atol=1e-14)
    weights = np.random.default_rng(2).standard_normal(expected.shape)
    gradient = tj.jit(tj.grad(lambda x: (function(x) * weights).sum()))(x)
    direction = np.random.default_rng(3).standard_normal(x.shape)
    step = 1e-6
    slope = (plain(function, x + step * direction) - plain(function, x - step * direction)) / (2 * step)
    assert abs(float((gradient * direction).sum()) - float((slope * weights).sum())) < 1e-6
    stacked = np.stack([x, x[::-1]])
    expected = np.stack([plain(function, each) for each in stacked])
    np.testing.assert_allclose(tj.jit(tj.vmap(function))(stacked), expected, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize(("function", "x"), CASES, ids=lambda value: getattr(value, "__name__", ""))
def test_no_step_touches_the_whole_array(function: Callable[[Any], Any], x: Any) -> None:
    loops = tj.jit(function).lower(x).as_text("loops")
    inside = [line for line in loops.splitlines() if re.search(r"nest k\d+_r", line)]
    whole = [line for line in inside if f"{list(x.shape)}" in line or f"[{x.size}]" in line]
    assert not whole, loops


@pytest.mark.parametrize("index", [30, -31])
def test_an_index_out_of_range_names_the_axis(index: int) -> None:
    read = tj.jit(lambda x, j: x[:, j])
    assert read(X, 29).shape == (40,)
    with pytest.raises(IndexError, match="out of bounds for axis 1 with size 30"):
        read(X, index)
    write = tj.jit(lambda x, j: x.at[:, j].set(0.0))
    with pytest.raises(IndexError, match="out of bounds for axis 1 with size 30"):
        write(X, index)
