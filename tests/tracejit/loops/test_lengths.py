"""One compilation serves all lengths of a loop."""

from __future__ import annotations

from typing import Any

import numpy as np

import tracejit as tj


def test_a_hundred_lengths_compile_once() -> None:
    traces = []

    @tj.jit
    def total(x: Any, n: Any) -> Any:
        traces.append(n)
        s = 0.0
        for i in range(n):
            s += x[i] * x[i]
        return s

    x = np.random.default_rng(0).random(100)
    for n in range(100):
        np.testing.assert_allclose(float(total(x, n)), (x[:n] ** 2).sum(), rtol=1e-12)
    assert len(traces) == 1


def test_bounds_and_nests_of_a_hundred_lengths() -> None:
    traces = []

    @tj.jit
    def triangle(first: Any, last: Any) -> Any:
        traces.append(first)
        count = np.zeros(120)
        for i in range(first, last, 2):
            for j in range(i):
                count[j] += 1.0
        return count

    for n in range(100):
        expected = np.zeros(120)
        for i in range(n // 3, n, 2):
            expected[:i] += 1.0
        np.testing.assert_array_equal(np.asarray(triangle(n // 3, n)), expected)
    assert len(traces) == 1


def test_gradients_of_a_hundred_lengths() -> None:
    traces = []

    def last(a: Any, n: Any) -> Any:
        traces.append(n)
        y = 1.0
        for _ in range(n):
            y = a * y + 1.0
        return y

    slope = tj.jit(tj.grad(last))
    for n in range(100):
        y, expected = 1.0, 0.0
        for _ in range(n):
            y, expected = 0.5 * y + 1.0, 0.5 * expected + y
        np.testing.assert_allclose(float(slope(0.5, n)), expected, rtol=1e-12)
    assert len(traces) == 1


def test_explain_tells_arrays_from_loops() -> None:
    @tj.jit
    def both(x: Any) -> Any:
        y = np.zeros(200)
        for i in range(200):
            y[i] = x[i] * x[i]
        for i in range(1, 200):
            y[i] = 0.5 * y[i - 1] + x[i]
        return y

    both(np.ones(200))
    text = str(both.explain())
    assert "compiled: 200 steps at once, as arrays" in text
    assert "compiled: 199 steps\n" in text + "\n"


def test_lengths_of_loops_that_count_down_by_one() -> None:
    traces = []

    @tj.jit
    def places(first: Any, last: Any) -> Any:
        traces.append(first)
        steps = 0
        weighted = 0
        for i in range(first, last, -1):
            steps += 1
            weighted += steps * i
        return steps, weighted

    for first, last in ((9, -1), (3, 3), (2, 5), (-4, -9), (0, -1), (40, 7)):
        expected = [(number, i) for number, i in enumerate(range(first, last, -1), 1)]
        steps, weighted = places(first, last)
        assert int(steps) == len(expected)
        assert int(weighted) == sum(number * i for number, i in expected)
    assert len(traces) == 1
    assert "floor_divide" not in str(places.trace(9, -1))
