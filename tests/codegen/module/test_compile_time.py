"""Compile time grows no faster than the operations of a function, from tens to thousands."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.codegen.llvm.compiler import emit_object
from tracejit.codegen.llvm.target import host
from tracejit.codegen.module.writer import generate
from tracejit.ir.passes import run_passes

from ...support import processor_seconds, ratio


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
    """Processor time of compiling `fn`, without tracing."""
    traced = tj.trace(fn, x)
    return processor_seconds(lambda: emit_object(generate(run_passes(traced), host()).text))


@pytest.mark.parametrize("make", [_chain, _layers, _sums, _loop_body])
def test_four_times_the_operations_take_about_four_times_as_long(
    make: Callable[[int], Callable[[Any], Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Quadratic time would be sixteen times."""
    monkeypatch.setenv("TRACEJIT_VERIFY", "0")
    x = np.ones((4, 4))
    assert ratio(lambda: _seconds(make(2400), x), lambda: _seconds(make(600), x), 9) < 9


def test_ten_thousand_operations() -> None:
    """Long programs compile like short ones: nothing recurses over a function, and tracing time is linear."""
    x = np.linspace(0.1, 0.9, 4)

    def compiled(count: int) -> tuple[float, Any]:
        f = tj.jit(tj.value_and_grad(lambda x: _sines(x, count).sum()))
        results: list[Any] = []
        seconds = processor_seconds(lambda: results.extend(f(x)))
        return seconds, results

    first, (value, gradient) = compiled(10_000)
    expected, slope = x, np.ones(4)
    for _ in range(10_000 // 6):
        expected, slope = np.sin(expected) * 0.999, slope * np.cos(expected) * 0.999
    np.testing.assert_allclose(value, expected.sum(), rtol=1e-9)
    np.testing.assert_allclose(gradient, slope, rtol=1e-9)
    seconds = itertools.chain([first], iter(lambda: compiled(10_000)[0], None))
    # 20 times is linear, 400 times quadratic
    assert ratio(lambda: next(seconds), lambda: compiled(500)[0], 45, turns=4) < 45


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
        return processor_seconds(lambda: f({"a": leaves[:count]}))

    assert ratio(lambda: seconds(60), lambda: seconds(2), 10) < 10  # a hundred times, with code for each leaf
