"""Parts of rows and columns that a traced number selects: the number goes first, and a row is sliced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj

from .common import agree

X = np.random.default_rng(0).random((12, 12))
CUBE = np.random.default_rng(1).random((6, 5, 7))


def columns(x: Any) -> Any:
    y = np.zeros((12, 12))
    for j in range(1, 12):
        y[1:11, j] = 0.5 * y[1:11, j - 1] + x[2:, j]
    return y


def rows_backwards(x: Any) -> Any:
    y = np.ones((12, 12))
    for i in range(1, 12):
        y[i, ::-2] += x[-i, 1::2] * y[i - 1, :-6]
        y[-i, 3:] *= 0.5
    return y


def shifted_in_place(x: Any) -> Any:
    y = x.copy()
    for i in range(12):
        y[i, 1:] = y[i, :-1]
        y[i, :3] = i
    return y


def beside_numbers(x: Any) -> Any:
    y = np.zeros((6, 5, 7))
    for i in range(6):
        for k in range(7):
            y[i, 1:4, k] = x[i, 2:, k] + x[0, 1:4, k]
            y[i, 4, 2:5] -= x[5, i % 5, :3]
    return y


@pytest.mark.parametrize(
    ("function", "x"), [(columns, X), (rows_backwards, X), (shifted_in_place, X), (beside_numbers, CUBE)]
)
def test_they_are_what_numpy_selects(function: Callable[[Any], Any], x: Any) -> None:
    agree(function, x)


@pytest.mark.parametrize("function", [columns, rows_backwards])
def test_their_gradients(function: Callable[[Any], Any]) -> None:
    def loss(x: Any) -> Any:
        return (function(x) ** 2).sum()

    direction = np.random.default_rng(2).standard_normal(X.shape)
    slope = (loss(X + 1e-6 * direction) - loss(X - 1e-6 * direction)) / 2e-6
    gradient = np.asarray(tj.jit(tj.grad(loss))(X))
    assert (gradient * direction).sum() == pytest.approx(slope, rel=1e-6)


def test_a_step_computes_a_row_and_no_more() -> None:
    text = tj.jit(columns, loops="compiled").lower(X).as_text("trace")
    body = text[text.index("scan(") :]
    assert "slice(" in body
    assert "f64[10,12]" not in body
    assert "f64[11,12]" not in body


def test_an_index_outside_is_an_error() -> None:
    def beyond(x: Any) -> Any:
        y = np.zeros((12, 12))
        for j in range(13):
            y[1:11, j] = x[1:11, j] + y[1:11, j - 1]
        return y

    with pytest.raises(IndexError):
        tj.jit(beyond, loops="compiled")(X)
