"""Operators of Python's integers raise in compiled code where Python raises; floats give IEEE's values."""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np
import pytest

import tracejit as tj

from .number_error_programs import CALLS, check

FIRST = int(os.environ.get("TRACEJIT_FUZZ_SEED", "0")) * 1000
#: Programs of each group of the random ones.
SIZE = 12


@pytest.mark.parametrize("group", range(3))
def test_random_programs(group: int, tmp_path: Path) -> None:
    first = FIRST + SIZE * group
    errors = [error for seed in range(first, first + SIZE) for error in check(seed, tmp_path)]
    assert 0 < len(errors) < SIZE * len(CALLS)


@pytest.mark.slow
def test_many_random_programs(tmp_path: Path) -> None:
    for seed in range(FIRST + 100, FIRST + 1000):
        check(seed, tmp_path)


def test_the_error_names_the_line():
    def f(n):
        return 1 // n

    line = f.__code__.co_firstlineno + 1
    with pytest.raises(
        ZeroDivisionError, match=rf"division or modulo by zero \(.*test_number_errors.py:{line}\)"
    ):
        tj.jit(f)(0)


def test_operands_that_are_known_to_be_right_are_not_checked():
    def f(n, k):
        total = 0
        for i in range(n):
            for j in range(k, 100):
                total += i % j + j // 2 + (1 << j % 7)
        return total

    def checks(first):
        return "bad" in tj.jit(f, static_argnums=1).lower(40, first).as_text("llvm")

    assert checks(0)
    assert not checks(1)


def test_sides_of_a_condition_that_do_not_run_raise_nothing():
    def f(n, m):
        total = 0
        for i in range(m):
            total += i // n if n != 0 else i
        return total if n == 0 else total + m % n

    jitted = tj.jit(f)
    for n in (0, 3, 0, -2):
        assert int(jitted(n, 50)) == f(n, 50)


def test_shifts_of_numbers_are_numbers():
    def f(x, n):
        return x + (1 << n) + (64 >> n)

    x = np.arange(3, dtype=np.int32)
    assert tj.jit(f)(x, 3).dtype == f(x, 3).dtype == np.int32


@pytest.mark.parametrize(
    ("function", "value", "result"),
    [
        (lambda v: 1 / v, 0, np.inf),
        (lambda v: 1.0 // v, 0.0, np.inf),
        (lambda v: 1.0 % v, 0.0, np.nan),
        (lambda v: v**-1, 0.0, np.inf),
        (lambda v: v**400, 10.0, np.inf),
        (lambda v: math.log(v), 0.0, -np.inf),
        (lambda v: math.sqrt(v), -1.0, np.nan),
        (lambda v: math.exp(v), 1000.0, np.inf),
    ],
)
def test_floats_give_the_values_of_ieee(function, value, result):
    """Documented in docs/loops.md: Python raises, NumPy's scalars give these."""
    with pytest.raises((ArithmeticError, ValueError)):
        function(value)
    np.testing.assert_equal(float(tj.jit(function)(value)), result)
