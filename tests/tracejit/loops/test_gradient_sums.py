"""Gradients by arrays that loops read: inner loops and branches add to what is there, in place."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj

from ...rotation import SEED
from .checking import load


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


def _reads_beside_a_branch(x: Any) -> Any:
    s = 0.2
    for i in range(len(x) - 1):
        d = x[i + 1] - x[i]
        if d > 0.0:
            s = s + d * x[(3 * i) % 64]
    return s


def _reads_between_loops_and_branches(x: Any) -> Any:
    s = 0.2
    for i in range(20):
        t = x[i] * s
        for j in range(30):
            t = 0.5 * t + x[i + j]
        if t > 1.0:
            s = 0.5 * s + t * x[2 * i]
        elif t > 0.5:
            for j in range(10):
                s = 0.5 * s + t * x[i + j] * x[i]
        for j in range(5):
            if x[j] > 0.5:
                s = s + 0.1 * x[i + j] * t
    return s


def _a_loop_without_a_count(x: Any) -> Any:
    s, i = 0.2, 0
    while s < 30.0:
        d = x[i % 64] - x[(5 * i) % 64]
        if d > 0.0:
            s = s + d * x[(3 * i) % 64]
        s = s + 0.1
        i += 1
    return s


FUNCTIONS = [
    _inner_loop,
    _branch,
    _branch_in_an_inner_loop,
    _reads_beside_a_branch,
    _reads_between_loops_and_branches,
    _a_loop_without_a_count,
]
X = np.random.default_rng(3).random(70)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: str(function.__name__))
def test_values(function: Callable[..., Any]) -> None:
    gradient = np.asarray(tj.jit(tj.grad(function), loops="compiled")(X))
    unrolled = np.asarray(tj.jit(tj.grad(function), loops="unrolled")(X))
    np.testing.assert_allclose(gradient, unrolled, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: str(function.__name__))
def test_no_zeros_in_a_step(function: Callable[..., Any]) -> None:
    """No array of the size of the argument is made in a step."""
    lowered = tj.jit(tj.grad(function), loops="compiled").lower(X)
    assert any(line.startswith("    ") for line in lowered.as_text("optimized").splitlines())
    assert not _arrays_of_steps(lowered)


def _arrays_of_steps(lowered: Any) -> list[str]:
    """The lines within loops that make an array of the arguments' size."""
    lines = lowered.as_text("optimized").splitlines()
    return [line for line in lines if re.search(r"^    .*: f64\[70\] += (full|broadcast|add)\(", line)]


@pytest.mark.parametrize("seed", range(SEED * 1000, SEED * 1000 + 6))
def test_random_nests(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reverse mode gives what forward mode does, and makes no array of an argument's size in a step."""
    monkeypatch.setattr("tracejit.loops.running.SHORT", -1)
    source = _random_nest(np.random.default_rng(seed))
    function = load(source, f"nest_{seed}", tmp_path)
    gradient = tj.jit(tj.grad(function, (0, 1)))
    expected = tj.jit(tj.jacfwd(function, (0, 1)))(X, X[::-1])
    for mine, forward in zip(gradient(X, X[::-1]), expected, strict=True):
        np.testing.assert_allclose(mine, forward, rtol=1e-10, atol=1e-12, err_msg=source)
    assert not _arrays_of_steps(gradient.lower(X, X[::-1])), source


def _random_nest(rng: np.random.Generator) -> str:
    """The source of a function of two arrays, which loops and branches read by index."""
    lines = ["def f(x, y):", "    s = 0.3"]

    def read(depth: int) -> str:
        array = "xy"[rng.integers(2)]
        place = " + ".join([f"i{level} * {rng.integers(1, 4)}" for level in range(depth)] or ["0"])
        return f"{array}[({place} + {rng.integers(60)}) % 70]"

    def block(depth: int, loops: int, budget: int) -> None:
        indent = "    " * (depth + 1)
        for _ in range(rng.integers(1, 4)):
            kind = rng.integers(4) if budget else 0
            if kind == 1 and loops < 3:
                lines.append(f"{indent}for i{loops} in range({rng.integers(2, 5)}):")
                block(depth + 1, loops + 1, budget - 1)
            elif kind > 1:
                lines.append(f"{indent}if {read(loops)} > {read(loops)}:")
                block(depth + 1, loops, budget - 1)
                if kind == 3:
                    lines.append(f"{indent}else:")
                    block(depth + 1, loops, budget - 1)
            else:
                lines.append(f"{indent}s = 0.5 * s + {read(loops)} * {read(loops)}")

    lines.append("    for i0 in range(10):")
    block(1, 1, 3)
    return "\n".join([*lines, "    return s", ""])


def test_second_derivatives() -> None:
    def function(x: Any) -> Any:
        return _inner_loop(x, 9, 11)

    hessian = np.asarray(tj.jit(tj.hessian(function), loops="compiled")(X))
    unrolled = np.asarray(tj.jit(tj.hessian(function), loops="unrolled")(X))
    np.testing.assert_allclose(hessian, unrolled, rtol=1e-10, atol=1e-12)
