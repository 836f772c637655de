"""Loops whose branches write elements: operations on arrays, whose gradients are those of the side taken."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj


def both(x: Any) -> Any:
    y = np.zeros(len(x))
    for i in range(len(x)):
        if x[i] > 0:
            y[i] = math.log(x[i]) / x[i]
        else:
            y[i] = 3 * x[i]
    return y


def one(x: Any) -> Any:
    y = x * 2.0
    for i in range(len(x)):
        if x[i] > 0:
            y[i] = math.sqrt(x[i])
    return y


def three(x: Any) -> Any:
    rows = len(x) // 30
    y, z = np.zeros((rows, 30)), x.reshape(rows, 30)
    for i in range(rows):
        for j in range(30):
            if z[i, j] > 0.7:
                y[i, j] = 1.0
            elif z[i, j] > 0.3:
                y[i, j] = 1 / z[i, j]
            else:
                y[i, j] = z[i, j] * z[i, j]
    return y


def changed(x: Any) -> Any:
    y = x * 1.0
    for i in range(len(x)):
        y[i] = max(x[i] - 0.5, 0.0)
        if y[i] > 0.2:
            y[i] += math.sqrt(y[i])
    return y


def neighbours(x: Any) -> Any:
    y = np.zeros(len(x))
    for i in range(len(x)):
        if i > 0 and x[i] > x[i - 1]:
            y[i] = x[i] - x[i - 1]
    return y


def ends(x: Any) -> Any:
    y = np.empty(len(x))
    for i in range(len(x)):
        if i == 0 or i == len(x) - 1:
            y[i] = x[i]
        else:
            y[i] = (x[i - 1] + x[i] + x[i + 1]) / 3
    return y


def value(x: Any) -> Any:
    total = 0.0
    for i in range(len(x)):
        total += math.sqrt(x[i]) if x[i] > 0 else 0.0
    return np.zeros(1) + total


PROGRAMS = (both, one, three, changed, neighbours, ends, value)


@pytest.fixture
def x() -> Any:
    x = np.random.default_rng(5).normal(size=300)
    x[7] = 0.0
    return x


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_results_and_gradients_are_those_of_unrolled_loops(function: Callable[[Any], Any], x: Any) -> None:
    np.testing.assert_allclose(tj.jit(function)(x), function(x), rtol=1e-12, atol=1e-14)

    def loss(x: Any) -> Any:
        return (function(x) ** 2).sum()

    x = x[:60]  # straight code of 300 steps takes seconds to compile
    gradient = tj.jit(tj.grad(loss), loops="compiled")(x)
    expected = tj.jit(tj.grad(loss), loops="unrolled")(x)
    np.testing.assert_allclose(gradient, expected, rtol=1e-10, atol=1e-12)
    hessian = tj.jit(tj.hessian(loss), loops="compiled")(x)
    assert np.isfinite(hessian.numpy()).all()


@pytest.mark.parametrize("function", [both, one, three, changed, neighbours])
def test_they_become_operations_on_arrays(function: Callable[[Any], Any], x: Any) -> None:
    text = tj.jit(function).lower(x).as_text("optimized")
    assert " scan(" not in text
    assert " switch(" not in text


def test_gradients_of_mapped_branches_are_those_of_the_side_taken(x: Any) -> None:
    def f(x: Any) -> Any:
        return tj.cond(x > 0, lambda x: tj.sqrt(x), lambda x: x, x)

    gradient = tj.jit(tj.grad(lambda x: tj.vmap(f)(x).sum()))(x)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(gradient, np.where(x > 0, 0.5 / np.sqrt(x), 1.0))


def test_an_index_out_of_range_raises_where_its_branch_is_taken(x: Any) -> None:
    @tj.jit
    def f(x, limit):  # type: ignore[no-untyped-def]
        y = np.zeros(len(x))
        for i in range(len(x)):
            if x[i] > limit:
                y[i + 1] = x[i]
        return y

    x[-1] = 0.5
    np.testing.assert_array_equal(f(x, 0.6)[1:], np.where(x > 0.6, x, 0)[:-1])
    with pytest.raises(IndexError):
        f(x, 0.4)


def test_branches_that_numbers_decide_and_only_read_stay_loops(x: Any) -> None:
    assert " switch(" in tj.jit(ends).lower(x).as_text("optimized")

    @tj.jit
    def looked_up(table, places, x):  # type: ignore[no-untyped-def]
        y = np.zeros(len(x))
        for i in range(len(x)):
            y[i] = table[places[i]] if x[i] > 0 else 0.0
        return y

    x = np.tile(x, 100)
    table, places = np.arange(50.0), np.arange(len(x)) % 50
    assert "@each_switch" in looked_up.lower(table, places, x).as_text("optimized")
    np.testing.assert_array_equal(looked_up(table, places, x), np.where(x > 0, table[places], 0.0))
