"""The test of a loop that was left is not computed again: it may fail, act or not end."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj

from .common import Cases, agree, reports
from .exit_checking import check

FIRST = int(os.environ.get("TRACEJIT_FUZZ_SEED", "0")) * 1000
X = np.arange(6.0)
case = Cases()


@pytest.mark.parametrize("seed", range(FIRST, FIRST + 16))
def test_random_programs(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracejit.loops.running.SHORT", -1)
    assert check(seed, tmp_path)


@case(X, 2.0)
@case(X, 100.0)
def index_out_of_range(x, t):
    i = 0
    while x[i] < t:
        i += 1
        if i >= 6:
            break
    return i


@case(X, 100.0)
def returned(x, t):
    i = 0
    while x[i] < t:
        i += 1
        if i >= 6:
            return -i
    return i


@case(X, 2.0)
@case(X, 100.0)
def with_else(x, t):
    i = 0
    while x[i] < t:
        i += 1
        if i >= 6:
            break
    else:
        return i + 0.5
    return i + 0.0


@case(X, 100.0)
def in_a_nest(x, t):
    s = 0
    for j in range(3):
        i = j
        while x[i] + j < t:
            i += 1
            s += i
            if i >= 6:
                break
    return s


def _steps_to(x, i):
    n = 0.0
    while n * (5.5 - i) < x[min(i, 5)]:
        n += 1.0
    return n


@case(X, 100.0)
def a_helper_that_would_not_end(x, t):
    i = 0
    while _steps_to(x, i) < t:
        i += 1
        if i > 5:
            break
    return i


@pytest.mark.parametrize(("function", "arguments", "mode"), case)
def test_programs(function: Any, arguments: Any, mode: str) -> None:
    jitted = agree(function, *arguments, mode=mode)
    assert all(outcome == "compiled" for outcome, _ in reports(jitted))


def test_an_error_is_raised_where_python_raises_it() -> None:
    def f(x: Any, t: Any) -> Any:
        i = 0
        while x[i] < t:
            i += 1
            if i >= 7:
                break
        return i

    with pytest.raises(IndexError):
        f(X, 100.0)
    with pytest.raises(IndexError):
        tj.jit(f, loops="compiled")(X, 100.0)


def test_python_is_called_as_often() -> None:
    calls: list[float] = []

    def host(value: Any) -> Any:
        calls.append(float(value))
        return np.float64(value)

    def f(x: Any) -> Any:
        i = 0
        while tj.pure_callback(host, tj.TensorType(tj.float64, ()), x * i) < 100.0:
            i += 1
            if i >= 6:
                break
        return i

    def acts(x: Any) -> Any:
        i = 0
        while _noted(calls, x * i) < 100.0:
            i += 1
            if i >= 6:
                break
        return i

    for function in (f, acts):
        jitted = tj.jit(function, loops="compiled")
        for _ in range(2):
            calls.clear()
            assert int(jitted(1.5)) == 6
            assert calls == [0.0, 1.5, 3.0, 4.5, 6.0, 7.5]


def _noted(calls: list[float], value: Any) -> Any:
    tj.debug.callback(lambda number: calls.append(float(number)), value)
    return value


def test_examples_of_a_batch_leave_by_themselves() -> None:
    limits = np.array([2.0, 100.0, 4.5])
    results = tj.jit(tj.vmap(lambda t: index_out_of_range(tj.asarray(X), t)))(limits)
    assert np.asarray(results).tolist() == [index_out_of_range(X, t) for t in limits]


def test_a_test_that_cannot_fail_stays_a_comparison() -> None:
    def f(x: Any, t: Any) -> Any:
        i = 0
        while x * i * i < t:
            i += 1
            if i >= 6:
                break
        return i

    loop = next(step for step in tj.jit(f, loops="compiled").trace(1.0, 3.0).body if step.op.name == "while")
    assert not any(step.regions for step in loop.regions[0].body)


def lowered(r, v):
    r[0] = r[0] - v
    return r[0] > -5.0


def all_lowered(r, v):
    for q in range(len(r)):
        r[q] = r[q] - v
    return r[0] > -5.0


def first_cut(r, v):
    for q in range(len(r)):
        if r[q] > v:
            r[q] = v
            return True
    return False


def written_before_the_last(x, v, writes):
    u = x * 0.5
    h = 0
    while writes(u, v) and h < 3:
        h += 1
    return u, h


def written_alone(x, v, writes):
    u = x * 0.5
    h = 0
    while h < 7 and writes(u, v):
        h += 1
    return u, h


def written_beside_the_body(x, v, writes):
    u = x * 0.5
    h = 0
    while (x[0] > 100.0 or writes(u, v)) and h < 3:
        h += 1
        u[h] = min(x[1], 0.5)
    return u, h


@pytest.mark.filterwarnings("ignore::tracejit.UncompiledCallWarning")
@pytest.mark.parametrize("v", [1.0, 0.5, 10.0])
@pytest.mark.parametrize("writes", [lowered, all_lowered, first_cut])
@pytest.mark.parametrize("function", [written_before_the_last, written_alone, written_beside_the_body])
def test_tests_of_loops_that_write(function, writes, v, monkeypatch):
    """Writes of the test of a ``while`` stand, also where it ends the loop."""
    monkeypatch.setattr("tracejit.loops.running.SHORT", -1)
    x = np.array([5.0, 4.0, 3.0, 2.0, 7.0, 6.0])

    def f(x, v):
        return function(x, v, writes)

    for got, want in zip(tj.jit(f)(x, v), f(x, v), strict=True):
        np.testing.assert_array_equal(np.asarray(got), want)
