"""Windows that move with the steps of loops: ``x[i : i + 3]`` has the same length in each step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj

from .common import agree, reports

X = np.random.default_rng(0).random(30)
IMAGE = np.random.default_rng(1).random((9, 8))


def moving(x: Any) -> Any:
    y = np.zeros(26)
    for i in range(26):
        y[i] = x[i : i + 5].sum() - x[i + 1 : i + 3].max()
    return y


def from_the_end(x: Any) -> Any:
    y = np.zeros(28)
    for i in range(27, -1, -1):
        y[i] = np.dot(x[i : i + 3], x[27 - i : 30 - i])
    return y


def strided(x: Any) -> Any:
    y = np.zeros(30)
    for k in range(6):
        y[5 * k : 5 * (k + 1)] = x[5 * k : 5 * k + 5] * k
        y[5 * k + 1 : 5 * k + 3] += 1
    return y


def convolved(x: Any, size: int) -> Any:
    half = size // 2
    y = np.zeros((9, 8))
    for i in range(half, 9 - half):
        for j in range(half, 8 - half):
            part = x[i - half : i + half + 1, j - half : j + half + 1]
            y[i, j] = np.median(part) + part[0, half]
    return y


def rows_of_windows(x: Any) -> Any:
    y = np.zeros((9, 8))
    for i in range(9):
        for j in range(2, 6):
            y[i, j : j + 3] = 0.5 * y[i, j - 2 : j + 1] + x[i, j : j + 3]
    return y


CASES = [(moving, X), (from_the_end, X), (strided, X), (rows_of_windows, IMAGE)]


@pytest.mark.parametrize(("function", "x"), CASES)
def test_they_are_what_numpy_selects(function: Callable[[Any], Any], x: Any) -> None:
    agree(function, x)


def test_an_argument_gives_their_length() -> None:
    for size in (3, 5, 1):
        agree(convolved, IMAGE, size)


@pytest.mark.parametrize(("function", "x"), CASES)
def test_their_gradients(function: Callable[[Any], Any], x: Any) -> None:
    def loss(x: Any) -> Any:
        return (function(x) ** 2).sum()

    direction = np.random.default_rng(2).standard_normal(x.shape)
    slope = (loss(x + 1e-6 * direction) - loss(x - 1e-6 * direction)) / 2e-6
    gradient = np.asarray(tj.jit(tj.grad(loss))(x))
    assert (gradient * direction).sum() == pytest.approx(slope, rel=1e-6)


def cut_at_the_end(x: Any) -> Any:
    y = np.zeros(30)
    for i in range(30):
        y[i] = x[i : i + 5].sum()
    return y


def before_the_start(x: Any) -> Any:
    y = np.zeros(30)
    for i in range(30):
        y[i] = x[i - 2 : i + 1].sum()
    return y


def growing(x: Any) -> Any:
    y = np.zeros(30)
    for i in range(30):
        y[i] = x[i // 2 : i].sum() + x[:i].sum()
    return y


@pytest.mark.parametrize("function", [cut_at_the_end, before_the_start, growing])
def test_windows_of_other_lengths_are_compiled(function: Callable[[Any], Any]) -> None:
    jitted = agree(function, X, mode="auto")
    assert [outcome for outcome, _ in reports(jitted)] == ["compiled"]
