"""Loops in loops whose steps are independent: as lanes they give what Python gives."""

from __future__ import annotations

import math
import signal
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.tracejit.loops.common import plain


def _lanes(function: Any, *arguments: Any) -> list[str]:
    """The kernels of `function` whose steps are lanes."""
    text = tj.jit(function).lower(*arguments).as_text("loops")
    return [line for line in text.splitlines() if line.startswith("lanes")]


def _agree(function: Any, *arguments: Any) -> None:
    """Assert that `function` gives what it does as Python."""
    expected = plain(function(*arguments))
    for result, value in zip(plain(tj.jit(function)(*arguments)), expected, strict=True):
        assert result.dtype == value.dtype
        np.testing.assert_allclose(result, value, rtol=1e-6 if result.dtype == np.float32 else 1e-12)


def _roots(x: Any) -> Any:
    """Square roots by Newton's method, and its numbers of steps."""
    y, counts = np.zeros_like(x), np.zeros(len(x), np.int32)
    for i in range(len(x)):
        root, steps = x[i] + 1, 0
        while abs(root * root - x[i]) > 1e-3:
            root = (root + x[i] / root) / 2
            steps += 1
        y[i] = root
        counts[i] = steps
    return y, counts


def _collatz(x: Any) -> Any:
    """Steps until 1, the largest number on the way, and whether it was one of more than 100."""
    steps = np.zeros(len(x), np.int64)
    top = np.zeros(len(x), np.int64)
    large = np.zeros(len(x), np.bool_)
    for i in range(len(x)):
        n, count, most, seen = x[i], 0, x[i], False
        while n != 1:
            if n % 2 == 0:
                n = n // 2
            else:
                n = 3 * n + 1
            most = max(most, n)
            if n > 100:
                seen = True
            count += 1
        steps[i] = count
        top[i] = most
        large[i] = seen
    return steps, top, large


def _nested(x: Any) -> Any:
    """Loops of numbers of steps that the step knows, in loops with a break, in branches."""
    y = np.zeros((len(x), 9))
    for i in range(len(x)):
        for j in range(9):
            total = 0.0
            for k in range(40):
                term = x[i] / (k + 1)
                if term < 0.2:
                    break
                total = 0.5 * total + term
            if total > 1.0:
                while total > 1.0:
                    total = total * 0.7 - 0.01 * j
            else:
                total = -total
            y[i, j] = total
    return y


def _decay(x: Any) -> Any:
    """A while loop around a for loop."""
    y = np.zeros(len(x))
    for i in range(len(x)):
        value, level = x[i], 0
        while value > 0.3 and level < 20:
            for k in range(5):
                value = value * 0.9 - 0.001 * k
            level += 1
        y[i] = value + level
    return y


@pytest.mark.parametrize("length", [400, 401, 2003])
def test_steps_of_scalar_loops_are_lanes(length: int) -> None:
    rng = np.random.default_rng(length)
    x = rng.random(length) * 50
    for function, argument in (
        (_roots, x),
        (_roots, x.astype(np.float32)),
        (_collatz, rng.integers(1, 3000, length)),
        (_nested, x),
        (_decay, x),
    ):
        assert _lanes(function, argument), function
        _agree(function, argument)


def test_few_steps_are_no_lanes() -> None:
    x = np.linspace(0.5, 3.0, 20)
    assert not _lanes(_roots, x)
    _agree(_roots, x)


def test_gradients_of_lanes_are_those_of_unrolled_loops() -> None:
    def f(x: Any) -> Any:
        y = tj.zeros(len(x))
        for i in range(len(x)):
            root = x[i] + 1
            for _ in range(12):
                if root * root - x[i] > 1e-9:
                    root = (root + x[i] / root) / 2
            y[i] = root * x[i]
        return tj.sum(y * y)

    x = np.linspace(0.5, 3.0, 700)
    expected = 3 * x**2  # y is x^1.5
    np.testing.assert_allclose(tj.jit(tj.grad(f))(x).numpy(), expected, rtol=1e-7)
    np.testing.assert_allclose(tj.grad(tj.jit(f))(x).numpy(), expected, rtol=1e-7)


def test_gradients_through_while_loops_in_lanes() -> None:
    def f(x: Any) -> Any:
        y = tj.zeros(len(x))
        for i in range(len(x)):
            root = x[i] + 1
            while abs(root * root - x[i]) > 1e-12:
                root = (root + x[i] / root) / 2
            y[i] = root
        return tj.sum(y)

    x = np.linspace(0.5, 3.0, 700)
    np.testing.assert_allclose(tj.jit(tj.grad(f))(x).numpy(), 0.5 / np.sqrt(x), rtol=1e-6)


def test_batches_of_loops_with_lanes() -> None:
    def f(x: Any) -> Any:
        y = tj.zeros(len(x))
        for i in range(len(x)):
            root = x[i] + 1
            while abs(root * root - x[i]) > 1e-9:
                root = (root + x[i] / root) / 2
            y[i] = root
        return y

    x = np.random.default_rng(1).random((3, 500))
    np.testing.assert_allclose(tj.jit(tj.vmap(f))(x).numpy(), np.sqrt(x), rtol=1e-7, atol=1e-7)


def test_what_other_lanes_would_compute_does_not_matter() -> None:
    """Division by zero, logarithms of what is negative, and numbers that grow without end."""

    def f(x: Any, n: Any) -> Any:
        y, z = np.zeros(len(x)), np.zeros(len(x), np.int64)
        for i in range(len(x)):
            value, count = x[i], n[i]
            while value > 0.0 and count > 0:
                value = math.log(value) + 100 // count
                count -= 1
            y[i] = value
            z[i] = count
        return y, z

    rng = np.random.default_rng(2)
    _agree(f, rng.random(900) * 5, rng.integers(0, 7, 900))


def _bisected(sorted_: Any, x: Any) -> Any:
    """The place where `x` would be inserted."""
    places = np.zeros(len(x), np.int64)
    for i in range(len(x)):
        low, high = 0, len(sorted_)
        while low < high:
            middle = (low + high) // 2
            if sorted_[middle] < x[i]:
                low = middle + 1
            else:
                high = middle
        places[i] = low
    return places


def test_lanes_read_arrays_where_each_of_them_says() -> None:
    rng = np.random.default_rng(3)
    table, x = np.sort(rng.random(1000)), rng.random(1500)
    assert _lanes(_bisected, table, x)
    _agree(_bisected, table, x)

    def walk(following: Any, weights: Any) -> Any:
        totals = np.zeros((len(following), 3))
        for i in range(len(following)):
            for j in range(3):
                place, total = i, 0.0
                for k in range(20):
                    place = following[place]
                    total = 0.5 * total + weights[place, j - 3] * weights[k, 2]
                totals[i, j] = total
        return totals

    arguments = rng.integers(-700, 700, 700), rng.random((700, 3))
    assert _lanes(walk, *arguments)
    _agree(walk, *arguments)


def test_indices_out_of_range_are_errors_of_lanes_that_run() -> None:
    def f(following: Any, limits: Any) -> Any:
        totals = np.zeros(len(following), np.int64)
        for i in range(len(following)):
            place, count = i, 0
            while count < limits[i]:
                place = following[place]
                count += 1
            totals[i] = place
        return totals

    following, limits = np.arange(900)[::-1].copy(), np.arange(900) % 7
    assert _lanes(f, following, limits)
    following[3] = 900
    with pytest.raises(IndexError, match="out of bounds for axis 0 with size 900"):
        tj.jit(f)(following, limits)
    limits[3] = limits[896] = 1
    np.testing.assert_array_equal(tj.jit(f)(following, limits), f(following, limits))


@pytest.mark.parametrize("length", [400, 60_000])
def test_lanes_let_signals_in(length: int) -> None:
    """Lanes of one thread and of several."""

    class Alarm(Exception):
        pass

    def ring(number: int, frame: Any) -> None:
        raise Alarm

    def f(x: Any) -> Any:
        y = np.zeros(len(x))
        for i in range(len(x)):
            value = x[i]
            while value > 0.0:
                value = value * 1.5 if value < 2.0 else value * 0.5
            y[i] = value
        return y

    jitted = tj.jit(f)
    endless, ending = np.ones(length), -np.ones(length)
    assert _lanes(f, ending)
    np.testing.assert_array_equal(jitted(ending), ending)
    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(Alarm):
            jitted(endless)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    np.testing.assert_array_equal(jitted(ending), ending)
