"""Loops of scalar code: checks of indices, counted steps, conditional sums, integers, conversions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.tracejit.loops.common import agree


def _knapsack(weights: Any, values: Any, capacity: int) -> Any:
    best = np.zeros(capacity + 1)
    for i in range(len(weights)):
        for c in range(capacity, weights[i] - 1, -1):
            v = best[c - weights[i]] + values[i]
            if v > best[c]:
                best[c] = v
    return best


def _sieve(n: int) -> Any:
    prime = np.ones(n, dtype=np.bool_)
    prime[0] = False
    prime[1] = False
    i = 2
    while i * i < n:
        if prime[i]:
            for j in range(i * i, n, i):
                prime[j] = False
        i += 1
    count = 0
    for k in range(n):
        if prime[k]:
            count += 1
    return count, prime


def _collatz(n: int) -> Any:
    longest, at = 0, 0
    for i in range(1, n):
        k, steps = i, 0
        while k != 1:
            k = k // 2 if k % 2 == 0 else 3 * k + 1
            steps += 1
        if steps > longest:
            longest, at = steps, i
    return at, longest


def _edits(s: Any, t: Any) -> Any:
    n, m = len(s), len(t)
    d = np.zeros((n + 1, m + 1), np.int64)
    for i in range(1, n + 1):
        d[i, 0] = i
        for j in range(1, m + 1):
            d[0, j] = j
            cost = 0 if s[i - 1] == t[j - 1] else 1
            d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + cost)
    return d


def test_knapsack() -> None:
    rng = np.random.default_rng(0)
    arguments = rng.integers(1, 40, 30), rng.random(30), 300
    np.testing.assert_array_equal(np.asarray(tj.jit(_knapsack)(*arguments)), _knapsack(*arguments))


@pytest.mark.parametrize("n", [10, 101, 5000])
def test_sieve(n: int) -> None:
    count, prime = tj.jit(_sieve)(n)
    expected, primes = _sieve(n)
    assert int(count) == expected
    np.testing.assert_array_equal(np.asarray(prime), primes)


def test_collatz() -> None:
    at, longest = tj.jit(_collatz)(3000)
    assert (int(at), int(longest)) == _collatz(3000)


def test_edit_distance() -> None:
    rng = np.random.default_rng(0)
    arguments = rng.integers(0, 4, 60), rng.integers(0, 4, 50)
    np.testing.assert_array_equal(np.asarray(tj.jit(_edits)(*arguments)), _edits(*arguments))


def test_minima_of_integers_are_moves() -> None:
    """LLVM takes a branch on a minimum for foreseen; data decides it."""
    rng = np.random.default_rng(0)
    text = tj.jit(_edits).lower(rng.integers(0, 4, 60), rng.integers(0, 4, 50)).as_text("llvm")
    assert "!unpredictable" in text


@pytest.mark.parametrize("divisor", [1, 2, 8, 1 << 40, 3, -2, -8])
@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8, np.int8])
def test_division_by_a_constant(dtype: Any, divisor: int) -> None:
    info = np.iinfo(dtype)
    if not info.min <= divisor <= info.max:
        pytest.skip("the constant has another dtype")
    x = np.array([info.min, info.min + 1, 0, 1, 2, 3, 7, 100, info.max - 1, info.max], dtype)

    def divided(x: Any) -> Any:
        return x // dtype(divisor), x % dtype(divisor)

    for result, value in zip(tj.jit(divided)(x), divided(x), strict=True):
        assert result.dtype == value.dtype
        np.testing.assert_array_equal(np.asarray(result), value)

    def in_a_loop(x: Any) -> Any:
        q, r = np.zeros(len(x), dtype), np.zeros(len(x), dtype)
        for i in range(len(x)):
            q[i] = x[i] // dtype(divisor) + q[i - 1] * dtype(0)
            r[i] = x[i] % dtype(divisor) + r[i - 1] * dtype(0)
        return q, r

    agree(in_a_loop, x)


def test_floats_that_fit_no_integer() -> None:
    """Floats that fit no integer convert as NumPy's ``astype`` does on this machine."""
    x = np.array([0.0, -0.9, 2.5, -2.5, 2.0**62, -(2.0**63), 2.0**63, 1e300, -1e300, np.inf, -np.inf, np.nan])

    def whole(x: Any) -> Any:
        y, s = np.zeros(len(x), np.int64), 0
        for i in range(len(x)):
            s = (s & 1) + int(x[i])
            y[i] = s
        return y

    with np.errstate(invalid="ignore"):
        parts = x.astype(np.int64)
    expected, s = [], 0
    for part in parts.tolist():
        s = (s & 1) + part
        expected.append(s)
    np.testing.assert_array_equal(np.asarray(tj.jit(whole, loops="compiled")(x)), expected)


@pytest.mark.parametrize("place", [-21, 20, 10**6, -(2**63)])
def test_indices_are_checked_where_they_are_negative(place: int) -> None:
    def moved(x: Any, places: Any) -> Any:
        y = x.copy()
        for i in range(len(places)):
            y[places[i]] = 0.5 * y[places[i]] + y[places[i - 1]]
        return y

    x, places = np.random.default_rng(0).random(20), np.arange(-20, 20)
    agree(moved, x, places)
    places[7] = place
    with pytest.raises(IndexError, match="out of bounds for axis 0 with size 20"):
        np.asarray(tj.jit(moved)(x, places))


def test_a_branch_uses_what_was_checked_before_it() -> None:
    def lowered(x: Any, places: Any) -> Any:
        y = x.copy()
        for i in range(len(places)):
            if y[places[i]] > 0.5:
                y[places[i]] = 0.25 * y[places[i]] + 0.1 * y[0]
        return y

    x, places = np.random.default_rng(0).random(20), np.arange(-20, 20)
    agree(lowered, x, places)
    kernels = tj.jit(lowered).lower(x, places).module.kernels
    assert len({text for kernel in kernels for text in kernel.errors}) == 1


@pytest.mark.parametrize("n", [-3, 0, 1, 2, 7, 8, 9, 40])
def test_counted_loops_of_any_length(n: int) -> None:
    def until(x: Any, n: Any) -> Any:
        i, y = 0, 0.0
        while i < n:
            y = 0.5 * y + x[i]
            i += 1
        return y, i

    agree(until, np.random.default_rng(0).random(40), n)


def test_a_counter_that_the_body_changes_is_no_counter() -> None:
    def skipping(x: Any, n: Any) -> Any:
        i, y = 0, 0.0
        while i < n:
            y = 0.5 * y + x[i]
            if x[i] > 0.5:
                i += 1
            i += 1
        return y, i

    agree(skipping, np.random.default_rng(0).random(40), 39)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_conditional_sums(dtype: Any) -> None:
    def folded(x: Any) -> Any:
        count, total, rest = 0, dtype(0), dtype(0)
        for i in range(len(x)):
            if x[i] > 3:
                count += 1
                total += x[i]
            else:
                rest -= x[i]
        return count, total, rest

    x = np.random.default_rng(0).integers(0, 10, 200).astype(dtype)
    jitted = agree(folded, x, mode="auto")
    assert "scan" not in jitted.lower(x).as_text("fused")
