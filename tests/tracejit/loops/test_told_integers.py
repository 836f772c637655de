"""Integers that Python code has asked for on a path: shapes, and what follows from them, are constants."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.tracejit.loops.common import agree


def _moving(x: Any, w: int) -> Any:
    """Sums of w numbers; the length of the result says what w is."""
    n = len(x)
    y = np.zeros(n - w + 1)
    s = 0.0
    for i in range(w):
        s += x[i]
    y[0] = s
    for i in range(w, n):
        s += x[i] - x[i - w]
        y[i - w + 1] = s
    return y


def _counts(x: Any, bins: int) -> Any:
    h = np.zeros(bins, dtype=np.int64)
    for i in range(len(x)):
        h[int(x[i] * bins)] += 1
    return h


def _negated(x: Any, n: int) -> Any:
    y = np.zeros(-n)
    for i in range(-n):
        y[i] = 0.5 * y[i - 1] + x[i]
    return y


def _steps(jitted: Any) -> list[str]:
    """The reports of loops, which say how many steps they have where that is known."""
    text = str(jitted.explain())
    return [line.split("compiled: ")[1] for line in text.splitlines() if "compiled: " in line]


def test_a_length_tells_the_argument() -> None:
    x = np.random.default_rng(0).random(300)
    jitted = tj.jit(_moving)
    for w in (50, 7, 299):
        np.testing.assert_allclose(np.asarray(jitted(x, w)), _moving(x, w), rtol=1e-9)
    assert [line for line in _steps(jitted) if "values" in line] == []


def test_one_function_for_several_paths() -> None:
    x = np.random.default_rng(0).random(300)
    jitted = tj.jit(_moving)
    for _ in range(12):
        for w in (50, 7):
            np.testing.assert_allclose(np.asarray(jitted(x, w)), _moving(x, w), rtol=1e-9)


@pytest.mark.parametrize("bins", [1, 10, 1000])
def test_bins(bins: int) -> None:
    x = np.random.default_rng(0).random(500)
    np.testing.assert_array_equal(np.asarray(tj.jit(_counts)(x, bins)), _counts(x, bins))


def test_the_negative_of_a_length() -> None:
    agree(_negated, np.random.default_rng(0).random(80), -80)


def test_lengths_that_are_not_asked_for_are_compiled_once() -> None:
    @tj.jit
    def total(x: Any, n: int) -> Any:
        s = 0.0
        for i in range(n):
            s = 0.5 * s + x[i]
        return s

    x = np.random.default_rng(0).random(300)
    for n in range(60, 160):
        total(x, n)
    assert len(total.explain().signatures) == 1
    assert "a number of steps that depends on values" in str(total.explain())


def test_an_index_out_of_range_raises_still() -> None:
    def shifted(x: Any, n: int) -> Any:
        y = np.zeros(n)
        for i in range(n):
            y[i] = 0.5 * y[i - 1] + x[i + n]
        return y

    x = np.random.default_rng(0).random(199)
    with pytest.raises(IndexError, match=r"out of bounds for axis 0 with size 199"):
        np.asarray(tj.jit(shifted)(x, 100))
    np.testing.assert_allclose(np.asarray(tj.jit(shifted)(x, 99)), shifted(x, 99))


def test_sums_wrap_around() -> None:
    """Facts that a decision tells of an operand hold for 64-bit arithmetic, which wraps around."""

    def far(x: Any, n: int) -> Any:
        m = n + (2**63 - 1)  # beyond 64 bits in Python; the trace's integers have 64
        k = m - (2**63 - 1)
        y = np.zeros(k)
        for i in range(k):
            y[i] = 0.5 * y[i - 1] + x[i]
        return y

    x = np.random.default_rng(0).random(90)
    np.testing.assert_allclose(np.asarray(tj.jit(far)(x, 90)), far(x, 90))


# -- what a body asks for ---------------------------------------------------------------------------------


def _swept(u: Any, n: int) -> Any:
    """Columns of which the argument says how much is written."""
    for _ in range(2):
        for j in range(1, n - 1):
            u[1 : n - 1, j] = 0.5 * u[1 : n - 1, j - 1] + u[: n - 2, j + 1]
    return u


def _tops(u: Any, n: int) -> Any:
    heights = []
    for j in range(n):
        heights.append(u[: n // 2, j].max() if u[0, j] > 0.3 else u[n - 1, j])
    return np.array(heights)


def _until(u: Any, n: int) -> Any:
    j = 0
    while u[0, j] < 0.9 and j < n - 1:
        u[: n - 1, j] += 1
        j += 1
    return u, j


@pytest.mark.parametrize("function", [_swept, _tops, _until])
def test_a_body_asks_for_an_argument(function: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracejit.loops.running.SHORT", -1)
    jitted, u = tj.jit(function), np.random.default_rng(0).random((12, 12))
    for n in (10, 7, 10):
        mine, numpys = u.copy(), u.copy()
        for result, expected in zip(jitted(mine, n), function(numpys, n), strict=True):
            np.testing.assert_allclose(np.asarray(result), expected)
        np.testing.assert_allclose(mine, numpys)
    assert "unrolled" not in str(jitted.explain())
    assert [line for line in _steps(jitted) if "values" in line] == [
        "a number of steps that depends on values"
    ] * (function is _until)


def test_a_body_asks_for_what_its_steps_change(monkeypatch: pytest.MonkeyPatch) -> None:
    def prefixes(x: Any, n: int) -> Any:
        y = np.zeros(n)
        for i in range(n):
            y[i] = np.zeros(n - i).size
        return y

    monkeypatch.setattr("tracejit.loops.running.SHORT", -1)
    jitted, x = tj.jit(prefixes), np.random.default_rng(0).random(9)
    for n in (9, 4):
        np.testing.assert_allclose(np.asarray(jitted(x, n)), prefixes(x, n))
    assert "unrolled" in str(jitted.explain())


def _pooled(x: Any, size: int, stride: int) -> Any:
    """Windows that argument integers place, as Python's ``while`` and slices do."""
    y = np.zeros((len(x) - size) // stride + 1)
    i = k = 0
    while True:
        if i + size > len(x):
            break
        y[k] = x[i : i + size].max()
        i += stride
        k += 1
    return y


def test_what_follows_from_decisions_is_none() -> None:
    jitted, x = tj.jit(_pooled), np.random.default_rng(0).random(40)
    for size, stride in ((3, 2), (4, 4), (3, 2)):
        np.testing.assert_array_equal(np.asarray(jitted(x, size, stride)), _pooled(x, size, stride))
    decisions = [line for line in str(jitted.explain()).splitlines() if "at test_told_integers.py" in line]
    assert 2 <= len([line for line in decisions if "loop" not in line]) <= 14  # of two paths, else 60


def _by_size(matrix: Any, n: int, k: int) -> Any:
    """One side of a branch has a type of its own; which one is known since a shape asked for n and k."""
    total = np.zeros((n, k))
    for i in range(40):
        if n == k and k > 1:
            part = matrix[:, :k] * i
        else:
            part = matrix[:, :k].sum(axis=0)
        total += part if n <= k + 100 else part[0]
    return total


def _by_steps(x: Any, steps: int, n: int) -> Any:
    """The body asks for n, which says nothing of the number of steps."""
    u = x * 1.0
    for _ in range(1, steps + 1):
        u[1 : n - 1] = 0.5 * (u[0 : n - 2] + u[2:n])
        for j in range(1, n - 1):
            u[j] = 0.25 * u[j - 1] + u[j]
    return u


def test_a_branch_follows_from_decisions() -> None:
    jitted = tj.jit(_by_size)
    for n, k in ((4, 4), (4, 3), (5, 5)):
        matrix = np.arange(n * 6.0).reshape(n, 6)
        np.testing.assert_allclose(np.asarray(jitted(matrix, n, k)), _by_size(matrix, n, k), rtol=1e-12)
    assert "unrolled" not in str(jitted.explain())


def test_a_body_asks_for_another_argument_than_the_number_of_steps() -> None:
    jitted = tj.jit(_by_steps)
    x = np.arange(30.0)
    for steps in (3, 0, 7):
        np.testing.assert_allclose(np.asarray(jitted(x, steps, 30)), _by_steps(x, steps, 30), rtol=1e-12)
    assert "unrolled" not in str(jitted.explain())
    (signature,) = jitted.explain().signatures
    assert len(signature.loops) == 2
