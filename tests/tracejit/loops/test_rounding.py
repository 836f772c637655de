"""Numbers in loops and in scalar code are rounded as Python rounds them, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj

X = np.random.default_rng(37).normal(size=40)


def recurrence(x: Any) -> Any:
    s, t = 0.0, 1.0
    for i in range(len(x)):
        s = s * 0.3 + x[i] * t
        t = t * 0.2 - s * x[i] + 0.5
    return s, t


def until(x: Any) -> Any:
    re, im, n = 0.0, 0.0, 0
    while re * re + im * im < 4.0 and n < 30:
        re, im, n = re * re - im * im + x[0] * 0.1, 2.0 * re * im + x[1] * 0.1, n + 1
    return re, im, n


def elements(x: Any) -> Any:
    y = np.zeros(len(x))
    y[0] = x[0]
    for i in range(1, len(x)):
        y[i] = y[i - 1] * 0.7 + x[i] * x[i - 1]
    return y


def numbers(x: Any) -> Any:
    a, b, c = x[0], x[1], x[2]
    return a * b + c, a * b - b * a, (a * b + c) * a - b


@pytest.mark.parametrize("function", [recurrence, until, elements, numbers])
def test_bits_are_those_of_python(function: Any) -> None:
    results = tj.tree_leaves(tj.jit(function)(X))
    for result, expected in zip(results, tj.tree_leaves(function(X)), strict=True):
        assert np.array_equal(np.asarray(result), np.asarray(expected))


def test_differences_of_equal_products_are_zero() -> None:
    r, s = np.random.default_rng(3).normal(size=(2, 50, 3))
    assert not tj.jit(lambda r, s: tj.cross(r, s))(r, r).numpy().any()
    assert not tj.jit(lambda a, b: a * b - b * a)(r, s).numpy().any()
    assert float(tj.jit(lambda a, b: a * b - b * a)(0.1234567, 0.7654321)) == 0.0
