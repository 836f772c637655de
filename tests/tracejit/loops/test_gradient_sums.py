"""Gradients by arrays that loops read: inner loops and branches add to what is there, in place."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj


def _inner_loop(x: Any, steps: int = 30, inner: int = 40) -> Any:
    s = 0.3
    for i in range(steps):
        t = 1.0
        for j in range(inner):
            t = 0.5 * t + x[i + j] * s
        s = 0.25 * s + t
    return s


def _branch(x: Any) -> Any:
    s = 0.1
    for i in range(len(x)):
        if s > 0.3:
            s = 0.5 * s * x[i] + 0.1
        else:
            s = s + x[(7 * i) % 64] * x[i]
    return s


def _branch_in_an_inner_loop(x: Any) -> Any:
    s = 0.2
    for i in range(20):
        t = 0.5
        for j in range(30):
            if t > 0.4:
                t = 0.5 * t * x[i + j]
            else:
                t = t + 0.25 * x[(i * j) % 64]
        s = 0.5 * s + t
    return s


FUNCTIONS = [_inner_loop, _branch, _branch_in_an_inner_loop]
X = np.random.default_rng(3).random(70)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: str(function.__name__))
def test_values(function: Callable[..., Any]) -> None:
    gradient = np.asarray(tj.jit(tj.grad(function), loops="compiled")(X))
    unrolled = np.asarray(tj.jit(tj.grad(function), loops="unrolled")(X))
    np.testing.assert_allclose(gradient, unrolled, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: str(function.__name__))
def test_no_zeros_in_a_step(function: Callable[..., Any]) -> None:
    """No array of the size of the argument is made in a step."""
    text = tj.jit(tj.grad(function), loops="compiled").lower(X).as_text("optimized")
    inside = [line for line in text.splitlines() if line.startswith("    ")]
    assert inside
    assert not [line for line in inside if re.search(r": f64\[70\] += (full|broadcast|add)\(", line)]


def test_second_derivatives() -> None:
    def function(x: Any) -> Any:
        return _inner_loop(x, 9, 11)

    hessian = np.asarray(tj.jit(tj.hessian(function), loops="compiled")(X))
    unrolled = np.asarray(tj.jit(tj.hessian(function), loops="unrolled")(X))
    np.testing.assert_allclose(hessian, unrolled, rtol=1e-10, atol=1e-12)
