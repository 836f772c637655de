"""Cumulative sums and index reductions where they break: tails, blocks of columns, ties and NaNs."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.codegen.kernels.scan.cumulative import chunk_bytes, round_chunks

from ....forked import forked
from ....support import Array, function_of, interpret, native
from ...narrow import narrower, run_narrow

LENGTHS = [1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65, 129, 300]
DTYPES = ["f4", "f8", "i1", "i4", "i8", "u1", "?"]


def values(shape: tuple[int, ...], dtype: str) -> Array:
    """Few different numbers, so that many tie; some NaN."""
    x = np.random.default_rng(sum(shape)).integers(0, 4, shape).astype(dtype)
    if dtype[0] == "f" and x.size > 20:
        x.reshape(-1)[13::29] = np.nan
    return x


def check(shapes: list[tuple[int, ...]], dtype: str, axis: int) -> None:
    arrays = [values(shape, dtype) for shape in shapes]

    def build(b: Any, *xs: Any) -> list[Any]:
        results = []
        for x in xs:
            results += [b.argmax(x, axis=axis), b.argmin(x, axis=axis)]
            results += [b.cumsum(x, axis=axis, reverse=reverse) for reverse in (False, True)]
        return results

    function = function_of("axis", arrays, build)
    for got, want in zip(native(function, arrays), interpret(function, arrays), strict=True):
        np.testing.assert_array_equal(got, want)  # small integers: every order of adding is exact


@pytest.mark.parametrize("dtype", DTYPES)
def test_along_contiguous_lines(dtype: str) -> None:
    check([(3, n) for n in LENGTHS], dtype, 1)


@pytest.mark.parametrize("dtype", DTYPES)
def test_along_columns(dtype: str) -> None:
    check([(5, n) for n in LENGTHS] + [(1, 9), (40, 3), (2, 1030)], dtype, 0)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_lines_with_one_nan_or_none(dtype: str) -> None:
    rng = np.random.default_rng(5)
    for n in (1, 5, 64, 131, 1000):
        x = rng.normal(size=(12, n)).astype(dtype)
        x[1::3, rng.integers(n)] = np.nan
        x[2, -1] = x[3, 0] = -np.nan
        x[4], x[5] = -np.inf, np.inf
        x[6] = np.where(rng.random(n) < 0.5, 0.0, -0.0)
        for axis in (0, 1):
            build = [lambda b, x, axis=axis: [b.argmax(x, axis=axis), b.argmin(x, axis=axis)]]
            build += [lambda b, x, axis=axis: [b.max(x, axes=(axis,)), b.min(x, axes=(axis,))]]
            for method in build:
                function = function_of("lines", [x], method)
                for got, want in zip(native(function, [x]), interpret(function, [x]), strict=True):
                    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i1", "i4", "?"])
def test_long_lines_in_chunks(dtype: str) -> None:
    chunk = chunk_bytes() // np.dtype(dtype).itemsize
    for shape in ((chunk,), (chunk + 1,), (2, 2 * chunk + 5), (3 * chunk,)):
        x = np.random.default_rng(0).integers(0, 3, shape).astype(dtype)

        def build(b: Any, x: Any) -> list[Any]:
            return [b.cumsum(x, axis=len(x.shape) - 1, reverse=reverse) for reverse in (False, True)]

        function = function_of("long", [x], build)
        for got, want in zip(native(function, [x]), interpret(function, [x]), strict=True):
            np.testing.assert_array_equal(got, want)


def test_more_chunks_than_a_round() -> None:
    x = np.random.default_rng(0).integers(-3, 4, (round_chunks() + 3) * chunk_bytes() // 8 + 7).astype(float)
    function = function_of("long", [x], lambda b, x: b.cumsum(x, axis=0, reverse=True))
    np.testing.assert_array_equal(native(function, [x])[0], interpret(function, [x])[0])


def test_between_other_axes() -> None:
    check([(2, 5, n) for n in (1, 3, 8, 17, 513)], "f4", 1)


def test_empty_operands() -> None:
    for shape in ((0, 3), (3, 0)):
        x = np.zeros(shape)
        function = function_of("empty", [x], lambda b, x: b.cumsum(x, axis=1, reverse=False))
        assert native(function, [x])[0].shape == shape
    x = np.zeros((0, 3))
    function = function_of("empty", [x], lambda b, x: b.argmax(x, axis=1))
    assert native(function, [x])[0].shape == (0,)


def test_long_sums_are_close_to_exact() -> None:
    x = np.random.default_rng(0).standard_normal(100_003)
    function = function_of("long", [x], lambda b, x: b.cumsum(x, axis=0, reverse=False))
    exact = np.cumsum(x.astype(np.longdouble))
    assert np.max(np.abs(native(function, [x])[0] - exact)) < 1e-12 * np.max(np.abs(exact)) * 10


SPLIT = """
import numpy as np, tracejit as tj
x = np.random.default_rng(0).standard_normal((70, 3000)).astype('f4')
f = tj.jit(
    lambda x: (tj.cumsum(x, 1), tj.cumsum(x, 0), tj.argmax(x, 1), tj.argmin(x, 0), tj.cumsum(x), tj.max(x, 0))
)
found = []
for threads in (1, 2, 3):
    tj.set_num_threads(threads)
    found.append([one.numpy() for one in f(x)])
y = np.random.default_rng(1).standard_normal(2_100_003)  # in several rounds, and past the cache
g = tj.jit(lambda y: (tj.cumsum(y), tj.cumsum(y, reverse=True), tj.cummax(y)))
for number, threads in enumerate((1, 2, 3)):
    tj.set_num_threads(threads)
    found[number] += [one.numpy() for one in g(y)]
assert abs(found[0][-3] - np.cumsum(y)).max() < 1e-8
assert abs(found[0][-2] - np.cumsum(y[::-1])[::-1]).max() < 1e-8
assert (found[0][-1] == np.maximum.accumulate(y)).all()
assert (np.diff(np.asarray(tj.jit(tj.cumsum)(abs(y)))) >= 0).all(), 'sums of what is not negative grow'
for other in found[1:]:
    assert all((a == b).all() for a, b in zip(found[0], other))
assert (found[0][2] == x.argmax(1)).all() and (found[0][3] == x.argmin(0)).all()
assert np.allclose(found[0][1], np.cumsum(x, 0), atol=1e-4)
print('fine')
"""


def test_the_same_for_every_number_of_threads() -> None:
    assert forked(SPLIT).strip() == "fine"


NARROW = """
import sys
sys.path.insert(0, '.')
from tests.codegen.kernels.scan.test_cumulative import *
from tracejit.codegen.llvm.target import host
assert host().vector_bits == {bits}, host()
for dtype in DTYPES:
    test_along_contiguous_lines(dtype)
    test_along_columns(dtype)
    test_long_lines_in_chunks(dtype)
test_lines_with_one_nan_or_none('f4')
print('fine')
"""


@narrower
def test_narrower_vectors(features: str, bits: int) -> None:
    run_narrow(NARROW.format(bits=bits), features, bits)


def test_random_shapes() -> None:
    rng = np.random.default_rng(7)
    for _, axis in itertools.product(range(6), range(3)):
        check([tuple(int(n) for n in rng.integers(1, 40, 3)) for _ in range(3)], "f4", axis)


@pytest.mark.parametrize("shape", [(0,), (5, 0), (0, 5), (0, 100, 7), (3, 0, 1, 5)])
def test_running_sums_of_nothing(shape: tuple[int, ...]) -> None:
    for dtype in ("float64", "int32", "bool"):
        for axis in range(len(shape)):
            result = tj.jit(lambda x, axis=axis: tj.cumsum(x, axis))(np.zeros(shape, dtype))
            assert result.shape == shape
