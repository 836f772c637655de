"""Windows that overlap, ``x[i + j]`` for all i and j: read by vectors, in no array of all windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj


def _filtered(x: Any, h: Any) -> Any:
    n, w = len(x), len(h)
    y = np.zeros(n - w + 1)
    for i in range(n - w + 1):
        s = 0.0
        for j in range(w):
            s += x[i + j] * h[j]
        y[i] = s
    return y


def _backwards(x: Any, h: Any) -> Any:
    n, w = len(x), len(h)
    y = np.zeros(n - w + 1)
    for i in range(n - w + 1):
        s = 0.0
        for j in range(w):
            s += x[i + w - 1 - j] * h[j]
        y[i] = s
    return y


def _largest(x: Any, h: Any) -> Any:
    n, w = len(x), len(h)
    y = np.zeros(n - w + 1)
    for i in range(n - w + 1):
        m = x[i]
        for j in range(1, w):
            if x[i + j] > m:
                m = x[i + j]
        y[i] = m
    return y


def _of_rows(x: Any, h: Any) -> Any:
    n, w = len(x) // 40, len(h)
    a = x[: n * 40].reshape(n, 40)
    y = np.zeros((n, 40 - w + 1))
    for i in range(n):
        for j in range(40 - w + 1):
            s = 0.0
            for k in range(w):
                s += a[i, j + k] * h[k]
            y[i, j] = s
    return y


FUNCTIONS = [_filtered, _backwards, _largest, _of_rows]


@pytest.mark.parametrize("size", [47, 400, 2003])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: str(function.__name__))
def test_values(function: Callable[..., Any], size: int) -> None:
    rng = np.random.default_rng(size)
    x, h = rng.random(size), rng.random(33)
    np.testing.assert_allclose(np.asarray(tj.jit(function)(x, h)), function(x, h), rtol=1e-12)


def test_lanes_read_them() -> None:
    x, h = np.random.default_rng(0).random(20_000), np.ones(33)
    text = tj.jit(_filtered).lower(x, h).as_text("loops")
    assert any(line.startswith("lanes") for line in text.splitlines())
    assert "masked.gather" not in tj.jit(_filtered).lower(x, h).as_text("llvm")


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: str(function.__name__))
def test_gradients(function: Callable[..., Any]) -> None:
    """Gradients agree with differences."""
    rng = np.random.default_rng(0)
    x, h = rng.random(2000), rng.random(33)

    def loss(x: Any, h: Any) -> Any:
        y = function(x, h)
        return (y * y).sum()

    gradients = tj.jit(tj.grad(loss, argnums=(0, 1)))(x, h)
    step = 1e-6
    for argument, gradient in enumerate(gradients):
        if function is _largest and argument == 1:
            continue
        for place in (0, 5, len((x, h)[argument]) - 1):
            moved = [x.copy(), h.copy()]
            moved[argument][place] += step
            above = loss(*moved)
            moved[argument][place] -= 2 * step
            below = loss(*moved)
            if function is _of_rows and argument == 0 and place == len(x) - 1:
                continue
            assert float(gradient[place]) == pytest.approx((above - below) / (2 * step), rel=1e-4, abs=1e-6)
