"""Each call gives each effect once, in the order of the program, whatever paths it tries."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj

from .effect_programs import check

FIRST = int(os.environ.get("TRACEJIT_FUZZ_SEED", "0")) * 1000
VALUES = (1.0, -1.0, 1.0, 1.0, -1.0, -1.0, 3.0, 1.0)


@pytest.mark.parametrize("seed", range(FIRST, FIRST + 12))
def test_random_programs(seed: int, tmp_path: Path) -> None:
    assert check(seed, tmp_path)


def test_before_a_decision() -> None:
    seen: list[float] = []

    @tj.jit
    def f(x: Any) -> Any:
        tj.debug.callback(lambda value: seen.append(float(value)), x)
        return x + 1 if x > 0 else x - 1

    for value in VALUES:
        f(value)
    assert seen == list(VALUES)


def test_between_decisions(capsys: pytest.CaptureFixture[str]) -> None:
    def f(x: Any) -> Any:
        tj.debug.print("A {}", x)
        if x > 0:
            tj.debug.print("B {}", x)
            if x > 2:
                return x
        tj.debug.print("C {}", x)
        return -x

    for value in VALUES:
        f(np.float64(value))
    expected = capsys.readouterr().out
    jitted = tj.jit(f)
    for value in VALUES:
        jitted(value)
    assert capsys.readouterr().out == expected


def test_callbacks_that_decide_are_called_once() -> None:
    calls: list[float] = []

    def host(value: Any) -> Any:
        calls.append(float(value))
        return np.float64(value) * 2

    @tj.jit
    def f(x: Any) -> Any:
        y = tj.pure_callback(host, tj.TensorType(tj.float64, ()), x)
        if y > 3:
            return y + 1
        if tj.pure_callback(host, tj.TensorType(tj.float64, ()), y) > 0:
            return y
        return y - 1

    for value in VALUES:
        calls.clear()
        expected = value * 2 + 1 if value > 1.5 else value * 2 - (value <= 0)
        assert float(f(value)) == expected
        assert calls == ([value] if value > 1.5 else [value, value * 2])


def test_a_callback_that_raises_is_called_once() -> None:
    calls: list[float] = []

    def host(value: Any) -> Any:
        calls.append(float(value))
        if value < 0:
            raise ValueError("negative")
        return np.float64(value)

    @tj.jit
    def f(x: Any) -> Any:
        y = tj.pure_callback(host, tj.TensorType(tj.float64, ()), x)
        return y + 1 if y > 2 else y

    for value in VALUES:
        if value > 0:
            f(value)
        else:
            with pytest.raises(ValueError, match="negative"):
                f(value)
    assert calls == list(VALUES)


def test_a_loop_that_prints_and_decides() -> None:
    seen: list[float] = []

    @tj.jit(loops="compiled")
    def f(x: Any) -> Any:
        s = x * 0.0
        while s < 3:
            tj.debug.callback(lambda value: seen.append(float(value)), s)
            s = s + x
        return s if s > 3.5 else -s

    for value in (1.0, 2.0, 1.0, 1.5, 2.0):
        seen.clear()
        f(value)
        assert seen == list(np.arange(0.0, 3.0, value))


@pytest.mark.parametrize("position", [1, 9])
def test_before_an_error(position: int) -> None:
    seen: list[float] = []

    @tj.jit
    def f(x: Any, i: Any) -> Any:
        tj.debug.callback(lambda value: seen.append(float(value)), x[0])
        if x[i] > 0:
            return x[0]
        tj.debug.callback(lambda value: seen.append(float(value)), x[1])
        if x[i] < -2:
            raise ValueError("refused")
        return x[1]

    calls = [(1.0, -1.0), (-1.0, -3.0), (1.0, 2.0)]
    for _ in range(2):
        for x in calls:
            seen.clear()
            if position == 9:
                with pytest.raises(IndexError):
                    f(np.array(x), position)
                assert seen == [x[0]]
            elif x[1] < -2:
                with pytest.raises(ValueError, match="refused"):
                    f(np.array(x), position)
                assert seen == list(x)
            else:
                f(np.array(x), position)
                assert seen == [x[0]] + [x[1]] * (x[1] <= 0)


def test_an_effect_that_raises_before_the_function_does() -> None:
    def fail(value: Any) -> None:
        raise KeyError("first")

    @tj.jit
    def f(x: Any) -> Any:
        tj.debug.callback(fail, x)
        raise ValueError("second")

    with pytest.raises(KeyError) as caught:
        f(1.0)
    assert caught.value.__suppress_context__


def test_a_trace_that_is_no_call_has_no_effects() -> None:
    seen: list[Any] = []

    @tj.jit
    def f(x: Any) -> Any:
        tj.debug.callback(seen.append, x)
        raise ValueError("refused")

    with pytest.raises(ValueError, match="refused"):
        f.trace(1.0)
    assert not seen


def test_a_callback_that_calls_a_function_with_paths() -> None:
    calls: list[float] = []

    def host(value: Any) -> Any:
        calls.append(float(value))
        return np.float64(value)

    @tj.jit
    def inner(x: Any) -> Any:
        y = tj.pure_callback(host, tj.TensorType(tj.float64, ()), x)
        return y + 1 if y > 0 else y - 1

    def outer_host(value: Any) -> Any:
        return np.asarray(inner(float(value)))

    @tj.jit
    def outer(x: Any) -> Any:
        y = tj.pure_callback(outer_host, tj.TensorType(tj.float64, ()), x)
        return y * 2 if y > 0 else y * 3

    for value in VALUES:
        assert float(outer(value)) == (2 * (value + 1) if value > 0 else 3 * (value - 1))
    assert calls == list(VALUES)
