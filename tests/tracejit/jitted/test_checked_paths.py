"""Paths begin once their decisions hold: before loops that need not end, writes, and calls of Python."""

from __future__ import annotations

from typing import Any

import numpy as np

import tracejit as tj

#: Values that change the path each time, so that each is tried apart, and then together.
VALUES = [0.5, -1.0, 0.25, -2.0, 0.5, 0.5, *[0.5] * 9, -1.0, 0.25, -3.0]


def _counted(x: Any) -> Any:
    if x <= 0:
        return -1.0
    n = 0.0
    while n * x < 100:
        n += 1.0
    if n > 300:
        return n + 0.5
    m = 0.0
    while m * (301 - n) < 50:
        m += 1.0
    return n + m


def test_a_loop_that_would_not_end_is_not_run() -> None:
    jitted = tj.jit(_counted)
    for value in VALUES:
        assert float(jitted(value)) == _counted(value)


def test_a_loop_that_writes_an_argument() -> None:
    def written(a: Any, x: Any) -> Any:
        if x <= 0:
            return 0.0
        a[0] = x
        n = 0.0
        while n * x < 100:
            n += 1.0
            a[1] += 1
        return n

    jitted = tj.jit(written)
    for value in VALUES:
        a, b = np.zeros(3), np.zeros(3)
        assert float(jitted(a, value)) == written(b, value)
        assert np.array_equal(a, b)


def test_python_is_called_on_its_path_alone() -> None:
    seen = []

    def noted(value: Any) -> Any:
        seen.append(float(value))
        return value

    @tj.jit
    def f(x: Any) -> Any:
        if x <= 0:
            return x * 1.0
        return tj.pure_callback(noted, tj.TensorType(tj.float64, ()), x) * 2

    for value in VALUES:
        f(value)
    assert all(value > 0 for value in seen)
    assert seen
