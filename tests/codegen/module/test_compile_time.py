"""Compile time grows no faster than the operations of a function, from tens to thousands."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.codegen.llvm.compiler import emit_object
from tracejit.codegen.llvm.target import host
from tracejit.codegen.module.writer import generate
from tracejit.ir.passes import run_passes

from ...support import sometimes


def _chain(count: int) -> Callable[[Any], Any]:
    def fn(x: Any) -> Any:
        for i in range(count):
            x = x * 1.01 + 1.0 if i % 2 else x - 0.5
        return x

    return fn


def _layers(count: int) -> Callable[[Any], Any]:
    weights = np.ones((4, 4))

    def fn(x: Any) -> Any:
        for _ in range(count // 3):
            x = tj.tanh(x @ weights + 1.0)
        return x

    return fn


def _sums(count: int) -> Callable[[Any], Any]:
    def fn(x: Any) -> Any:
        total = x
        for _ in range(count // 4):
            y = total * 1.5 + x
            total = total + y / y.sum()
        return total

    return fn


def _loop_body(count: int) -> Callable[[Any], Any]:
    def step(x: Any, _: Any) -> Any:
        for i in range(count // 2):
            x = x * 1.01 + 0.5 / (i + 1)
        return x, None

    return lambda x: tj.scan(step, tj.concatenate([x.reshape(16)] * 8), None, length=10)[0]


def _seconds(fn: Callable[[Any], Any], x: Any) -> float:
    """CPU time of this thread, without tracing."""
    traced = tj.trace(fn, x)
    best = float("inf")
    for _ in range(2):
        start = time.thread_time()
        emit_object(generate(run_passes(traced), host()).text)
        best = min(best, time.thread_time() - start)
    return best


@pytest.mark.parametrize("make", [_chain, _layers, _sums, _loop_body])
def test_four_times_the_operations_take_about_four_times_as_long(
    make: Callable[[int], Callable[[Any], Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Quadratic time would be sixteen times."""
    monkeypatch.setenv("TRACEJIT_VERIFY", "0")
    x = np.ones((4, 4))
    assert sometimes(lambda: _seconds(make(2400), x) < 9 * _seconds(make(600), x) + 0.05, 4)


def test_ten_thousand_operations() -> None:
    """As many compile as few do: nothing recurses over a function, and tracing is linear too."""
    x = np.linspace(0.1, 0.9, 4)

    def compiled(count: int) -> tuple[float, Any]:
        f = tj.jit(tj.value_and_grad(lambda x: _sines(x, count).sum()))
        start = time.thread_time()
        results = f(x)
        return time.thread_time() - start, results

    seconds, (value, gradient) = compiled(10_000)
    expected, slope = x, np.ones(4)
    for _ in range(10_000 // 6):
        expected, slope = np.sin(expected) * 0.999, slope * np.cos(expected) * 0.999
    np.testing.assert_allclose(value, expected.sum(), rtol=1e-9)
    np.testing.assert_allclose(gradient, slope, rtol=1e-9)
    bound = 45 * compiled(500)[0] + 0.1  # 20 times is linear, 400 times quadratic
    assert seconds < bound or sometimes(lambda: compiled(10_000)[0] < bound, 3)


def _sines(x: Any, count: int) -> Any:
    """Two operations a step, and four of the gradient's."""
    for _ in range(count // 6):
        x = tj.sin(x) * 0.999
    return x


def test_arguments_cost_next_to_nothing() -> None:
    """Sixty leaves, taken apart by the native entry: they have no code of their own."""
    leaves = [np.ones(3) for _ in range(60)]

    def seconds(count: int) -> float:
        f = tj.jit(lambda tree: tree["a"][0] + tree["a"][count - 1])
        start = time.thread_time()
        f({"a": leaves[:count]})
        return time.thread_time() - start

    assert sometimes(lambda: seconds(60) < seconds(2) + 0.1)  # before: a second more
