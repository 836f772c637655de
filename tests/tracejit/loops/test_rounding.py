"""Numbers in loops and in scalar code are rounded as Python rounds them, bit for bit."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.ir.passes import OPTIMIZE, run_passes

from .checking import load
from .rounding_programs import Generator

FIRST = int(os.environ.get("TRACEJIT_FUZZ_SEED", "0")) * 1000
X = np.random.default_rng(37).normal(size=40)


def recurrence(x: Any) -> Any:
    s, t = 0.0, 1.0
    for i in range(len(x)):
        s = s * 0.3 + x[i] * t
        t = t * 0.2 - s * x[i] + 0.5
    return s, t


def until(x: Any) -> Any:
    re, im, n = 0.0, 0.0, 0
    while re * re + im * im < 4.0 and n < 30:
        re, im, n = re * re - im * im + x[0] * 0.1, 2.0 * re * im + x[1] * 0.1, n + 1
    return re, im, n


def elements(x: Any) -> Any:
    y = np.zeros(len(x))
    y[0] = x[0]
    for i in range(1, len(x)):
        y[i] = y[i - 1] * 0.7 + x[i] * x[i - 1]
    return y


def numbers(x: Any) -> Any:
    a, b, c = x[0], x[1], x[2]
    return a * b + c, a * b - b * a, (a * b + c) * a - b


@pytest.mark.parametrize("function", [recurrence, until, elements, numbers])
def test_bits_are_those_of_python(function: Any) -> None:
    results = tj.tree_leaves(tj.jit(function)(X))
    for result, expected in zip(results, tj.tree_leaves(function(X)), strict=True):
        assert np.array_equal(np.asarray(result), np.asarray(expected))


def test_differences_of_equal_products_are_zero() -> None:
    r, s = np.random.default_rng(3).normal(size=(2, 50, 3))
    assert not tj.jit(lambda r, s: tj.cross(r, s))(r, r).numpy().any()
    assert not tj.jit(lambda a, b: a * b - b * a)(r, s).numpy().any()
    assert float(tj.jit(lambda a, b: a * b - b * a)(0.1234567, 0.7654321)) == 0.0


@pytest.mark.parametrize("seed", range(FIRST, FIRST + 40))
def test_bits_of_loops_that_become_arrays_are_those_of_python(seed: int, tmp_path: Path) -> None:
    generator, rng = Generator(seed), np.random.default_rng(seed)
    function = load(generator.program(), f"rounding_{seed}", tmp_path)
    n = generator.size
    arguments = rng.normal(size=n + 1), rng.normal(size=n + 1), rng.normal(size=(n, 5)), 0.73
    results = tj.jit(function)(*arguments)
    for result, expected in zip(results, function(*arguments), strict=True):
        assert np.array_equal(np.asarray(result), expected)


def shifted(x: Any, y: Any) -> Any:
    o = np.zeros(len(x), x.dtype)
    for i in range(len(x)):
        o[i] = x[i] * y[i] + x[i]
    return o


def in_place(x: Any, y: Any) -> Any:
    for i in range(len(x)):
        x[i] = x[i] * y[0] - y[1]
    return x


def by_a_name(x: Any, y: Any) -> Any:
    o = np.zeros(len(x), x.dtype)
    for i in range(len(x)):
        p = x[i] * y[i]
        o[i] = p + y[0]
    return o + y


def of_a_product(x: Any, y: Any) -> Any:
    p, o = x * y, np.zeros(len(x), x.dtype)
    for i in range(len(x)):
        o[i] = p[i] + x[i]
    return o


def first_of_two(x: Any, y: Any) -> Any:
    o = np.zeros(len(x), x.dtype)
    for i in range(len(x)):
        o[i] = x[i] * y[i]
    return o - x


LOOPS = [shifted, in_place, by_a_name, of_a_product, first_of_two]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("function", LOOPS)
def test_products_of_all_dtypes_are_rounded(function: Any, dtype: Any) -> None:
    x, y = np.random.default_rng(37).normal(size=(2, 400)).astype(dtype)
    if dtype in (np.complex64, np.complex128):
        if function is of_a_product:
            pytest.skip("NumPy rounds products of complex arrays once where the processor can")
        x, y = (x + 1j * y[::-1]).astype(dtype), (y - 0.3j * x).astype(dtype)
    result, expected = tj.jit(function)(x.copy(), y), function(x.copy(), y)
    assert np.array_equal(np.asarray(result), expected)


def test_fastmath_joins_products_and_sums_in_loops_that_become_arrays() -> None:
    x, y = np.random.default_rng(38).normal(size=(2, 400))
    for function in (shifted, by_a_name, of_a_product, first_of_two, dot):
        traced = tj.jit(function).lower(x, y).function
        assert "rounded(" in str(traced)
        assert "fma(" not in str(run_passes(traced, OPTIMIZE))
        joined = tj.jit(function, fastmath=True)
        optimized = str(run_passes(joined.lower(x, y).function, OPTIMIZE))
        assert "rounded(" not in optimized
        assert "fma(" in optimized or function is dot  # the kernel of a sum takes products over
        np.testing.assert_allclose(np.asarray(joined(x, y)), function(x, y), rtol=1e-12, atol=1e-15)


def test_sums_of_arrays_take_over_products() -> None:
    """Code that is written with arrays is as it was: a product and a sum are one operation."""
    x, y = np.random.default_rng(38).normal(size=(2, 400))
    optimized = str(run_passes(tj.jit(lambda x, y: x * y + 0.1).lower(x, y).function, OPTIMIZE))
    assert "fma(" in optimized
    assert "mul(" not in optimized


def dot(x: Any, y: Any) -> Any:
    total = 0.0
    for i in range(len(x)):
        total += x[i] * y[i]
    return total


def subtracted(x: Any, y: Any) -> Any:
    total = 0.0
    for i in range(len(x)):
        total -= x[i] * y[i]
    return total


def of_parts(x: Any, y: Any) -> Any:
    total = 0.0
    for i in range(8):
        for j in range(50):
            total += x[50 * i + j] * y[50 * i + j]
    return total


def along_rows(x: Any, y: Any) -> Any:
    o = np.zeros(8)
    for i in range(8):
        for j in range(50):
            o[i] += x[50 * i + j] * y[50 * i + j]
    return o.sum()


@pytest.mark.parametrize("function", [dot, subtracted, of_parts, along_rows])
def test_products_are_rounded_before_a_loop_adds_them_up(function: Any) -> None:
    """Two of all products are not zero, a b and -1 times the rounded a b: their sum is 0 in any order, and
    the rounding of a b where that is added to the other unrounded."""
    a, b = 0.123456789, 0.987654321
    jitted = tj.jit(function)
    for first in (0, 399):
        for second in (1, 2, 8, 16, 31, 32, 64, 128, 256, 398):
            x, y = np.zeros((2, 400))
            x[first], y[first], x[second], y[second] = a * b, -1.0, a, b
            assert float(jitted(x, y)) == 0.0
