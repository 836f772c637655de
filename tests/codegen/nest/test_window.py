"""Values among zeros are read through windows, inside the nests of their readers: at every offset, through
views, in rows and columns, and never outside what is there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.ir.passes import run_passes

from ...forked import forked
from ...rotation import share_of
from ...support import Array, function_of, interpret, native
from ..narrow import narrower, run_narrow

DTYPES = ["f4", "f8", "i1", "i4", "?"]


def values(shape: tuple[int, ...], dtype: str = "f8") -> Array:
    return np.random.default_rng(sum(shape)).integers(1, 5, shape).astype(dtype)


def check(arrays: list[Array], build: Any, *, updates: int = 0) -> None:
    """Native code against the interpreter of the function as it was built; how many updates are left."""
    function = function_of("window", arrays, build)
    names = [instruction.op.name for instruction in run_passes(function).body]
    assert names.count("update") == updates, names
    for got, want in zip(native(function, arrays), interpret(function, arrays), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6)


def among_zeros(b: Any, x: Any, shape: tuple[int, ...], start: tuple[int, ...]) -> Any:
    zeros = b.full(value=0, shape=shape, dtype=x.dtype)
    return b.update(zeros, x, start=start, step=(1,) * len(shape))


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_offset_and_size(dtype: str) -> None:
    for total in (1, 9, 16, 33, 65):
        sizes = sorted({1, total // 2 or 1, max(total - 1, 1), total})
        places = [(n, start) for n in sizes for start in {0, (total - n) // 2, total - n}]
        arrays = [values((total,), dtype)] + [values((n,), dtype) for n, _ in places]

        def build(b: Any, x: Any, *parts: Any, total: int = total, places: Any = places) -> list[Any]:
            windows = [
                among_zeros(b, part, (total,), (start,))
                for part, (_, start) in zip(parts, places, strict=True)
            ]
            return [b.maximum(x, window) for window in windows] + windows

        check(arrays, build)


@pytest.mark.parametrize("shape", [(20, 33), (3, 5), (33, 1), (1, 40)])
def test_two_dimensions_in_maps_rows_and_columns(shape: tuple[int, int]) -> None:
    rows, columns = shape
    inner = (max(rows - 2, 1), max(columns - 3, 1))
    start = (rows - inner[0], min(1, columns - inner[1]))

    def build(b: Any, x: Any, y: Any) -> list[Any]:
        both = b.add(x, among_zeros(b, y, shape, start))
        sums = [b.sum(both, axes=axes) for axes in ((0,), (1,), (0, 1))]
        centred = b.sub(both, b.broadcast(b.reshape(b.max(both, axes=(1,)), shape=(rows, 1)), shape=shape))
        return [both, *sums, centred, b.exp(b.neg(centred))]

    check([values(shape), values(inner)], build)


def test_views_of_windows_and_windows_of_views() -> None:
    def build(b: Any, x: Any, y: Any) -> list[Any]:
        transposed = among_zeros(b, b.transpose(y, perm=(1, 0)), (12, 19), (2, 1))
        back = b.slice(transposed, start=(11, 18), size=(12, 19), step=(-1, -1))
        some = b.slice(transposed, start=(1, 0), size=(4, 10), step=(3, 2))
        spread = b.broadcast(b.slice(transposed, start=(4, 0), size=(1, 19), step=(1, 1)), shape=(12, 19))
        column = b.broadcast(b.slice(transposed, start=(0, 7), size=(12, 1), step=(1, 1)), shape=(12, 19))
        outside = b.broadcast(b.slice(transposed, start=(0, 0), size=(1, 1), step=(1, 1)), shape=(12, 19))
        return [b.add(x, operand) for operand in (transposed, back, spread, column, outside)] + [
            b.mul(some, some), b.transpose(transposed, perm=(1, 0))
        ]  # fmt: skip

    check([values((12, 19)), values((17, 9))], build)


def test_row_level_windows() -> None:
    """A window among what a row's reduction is combined with; and one of a single element."""

    def build(b: Any, x: Any, y: Any, unit: Any) -> list[Any]:
        total = b.add(b.sum(x, axes=(1,)), among_zeros(b, y, (20,), (3,)))
        first = among_zeros(b, b.reshape(unit, shape=(1,)), (20,), (19,))
        return [b.add(total, first), b.add(b.sum(x, axes=(0, 1)), unit)]

    check([values((20, 37)), values((9,)), np.array(3.0)], build)


def test_a_number_inside_and_nothing_inside() -> None:
    def build(b: Any, x: Any, empty: Any) -> list[Any]:
        ones = b.full(value=2.5, shape=(4,), dtype=x.dtype)
        return [b.add(x, among_zeros(b, ones, (20,), (7,))), b.add(x, among_zeros(b, empty, (20,), (7,)))]

    check([values((20,)), np.zeros(0)], build)


def test_what_is_no_window_is_an_update() -> None:
    """Steps of 2, ones around, a window inside, and readers that want memory."""

    def build(b: Any, x: Any, y: Any) -> list[Any]:
        zeros, ones = (b.full(value=fill, shape=(20,), dtype=x.dtype) for fill in (0.0, 1.0))
        every = b.update(zeros, y, start=(1,), step=(2,))
        around = b.update(ones, y, start=(1,), step=(1,))
        window = among_zeros(b, y, (12,), (1,))
        return [b.add(x, every), b.add(x, around), b.add(x, among_zeros(b, window, (20,), (4,)))]

    check([values((20,)), values((9,))], build, updates=3)

    def summed(b: Any, x: Any, y: Any) -> list[Any]:
        window = among_zeros(b, y, (5, 5), (1, 2))
        return [b.matmul(x, window), b.cumsum(window, axis=0, reverse=False), b.mul(window, x)]

    check([values((5, 5)), values((3, 2))], summed)


def test_what_a_window_shows_is_computed_before() -> None:
    """A value, its window and a sum of both: the group that computes the value cannot read it through one."""

    def build(b: Any, x: Any) -> list[Any]:
        inner = b.exp(b.slice(x, start=(1,), size=(18,), step=(1,)))
        window = among_zeros(b, inner, (20,), (2,))
        return [b.mul(b.add(window, x), window), b.neg(inner), b.sum(b.add(window, x), axes=(0,))]

    check([values((20,)) / 5], build)


@pytest.mark.parametrize("shape", [(30,), (9, 14), (4, 5, 6)])
def test_gradients_of_random_slices(shape: tuple[int, ...]) -> None:
    """Products of slices: the gradient is a sum of windows, compared with differences."""
    rng = np.random.default_rng(len(shape))

    def random_slices() -> list[tuple[slice, ...]]:
        size = [int(rng.integers(1, n + 1)) for n in shape]
        starts = [
            [int(rng.integers(0, n - m + 1)) for n, m in zip(shape, size, strict=True)] for _ in range(3)
        ]
        return [tuple(slice(a, a + m) for a, m in zip(start, size, strict=True)) for start in starts]

    for _ in range(4):
        slices = random_slices()

        def loss(x: Any, slices: Any = slices) -> Any:
            a, b, c = (x[slice_] for slice_ in slices)
            return (tj.sin(a) * b + c * c).sum()

        x = rng.uniform(-1, 1, shape)
        _, gradient = tj.jit(tj.value_and_grad(loss))(x)
        direction = rng.standard_normal(shape)
        difference = (
            float(loss(tj.tensor(x + 1e-6 * direction))) - float(loss(tj.tensor(x - 1e-6 * direction)))
        ) / 2e-6
        assert abs(difference - float(np.sum(np.asarray(gradient) * direction))) < 1e-6 * (
            1 + abs(difference)
        )


EDGE = """
import ctypes, mmap
import numpy as np
import tracejit as tj
page = mmap.PAGESIZE
libc = ctypes.CDLL(None, use_errno=True)
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]

def guarded(size, at_end):
    memory = mmap.mmap(-1, 3 * page)
    base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for place in (base, base + 2 * page):
        assert libc.mprotect(place, page, 0) == 0
    offset = 2 * page - 8 * size if at_end else page
    return memory, np.frombuffer(memory, np.float64, size, offset)

@tj.jit
def f(x, y):
    wide = tj.zeros(100)
    wide[40:60] = y
    return x * wide, (x * wide).sum()

x = np.arange(100.0)
for at_end in (False, True):
    memory, y = guarded(20, at_end)
    y[:] = 3.0
    product, total = f(x, y)
    assert np.asarray(product)[40:60].tolist() == (3 * x[40:60]).tolist()
    assert float(total) == 3 * x[40:60].sum()
print('fine')
"""


@pytest.mark.parametrize("features", ["", "-avx512f", "-avx512f,-avx2,-avx,-fma"])
def test_nothing_outside_is_read(features: str) -> None:
    """The array ends at a page that may not be read."""
    assert forked(EDGE, TRACEJIT_CPU_FEATURES=features).strip() == "fine"


NARROW = """
import sys
sys.path.insert(0, '.')
from tests.codegen.nest.test_window import *
from tracejit.codegen.llvm.target import host
assert host().vector_bits == {bits}, host()
for dtype in DTYPES:
    test_every_offset_and_size(dtype)
test_views_of_windows_and_windows_of_views()
test_row_level_windows()
for shape in ((20, 33), (3, 5), (33, 1), (1, 40)):
    test_two_dimensions_in_maps_rows_and_columns(shape)
print('fine')
"""


@narrower
def test_narrower_vectors(features: str, bits: int) -> None:
    run_narrow(NARROW.format(bits=bits), features, bits)


STENCILS = """
import itertools
import numpy as np, tracejit as tj

def step(u, before, behind):
    inner = tuple(slice(before, n - behind) for n in u.shape)
    found = 2.0 * u[inner] + 1.0
    for axis in range(u.ndim):
        for by in (-before, behind):
            cut = list(inner)
            cut[axis] = slice(before + by, u.shape[axis] - behind + by)
            found = found - 0.1 * u[tuple(cut)]
    return tj.pad(found, (before, behind), constant_values=3.0)

shapes = [(n,) for n in (3, 7, 8, 9, 17, 34, 70)]
shapes += [*itertools.product((3, 4, 9), (3, 8, 18, 41)), (4, 5, 19), (3, 4, 33)]
for shape, (before, behind) in itertools.product(shapes, ((1, 1), (0, 2), (2, 0))):
    for dtype in ("f8", "f4"):
        u = np.random.default_rng(0).normal(size=shape).astype(dtype)
        got, want = tj.jit(step, static_argnums=(1, 2))(u, before, behind), step(tj.tensor(u), before, behind)
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
print("fine")
"""


@pytest.mark.parametrize("flag", share_of(["0", "1"], 2))
def test_lines_inside_the_windows_have_no_checks(flag: str) -> None:
    """Stencils of many widths, in up to three dimensions; with checks of accesses, too."""
    assert forked(STENCILS, TRACEJIT_CHECK=flag).strip() == "fine"


@narrower
def test_lines_inside_the_windows_with_narrower_vectors(features: str, bits: int) -> None:
    run_narrow(STENCILS, features, bits)


@pytest.mark.parametrize("start", [0, 1, 3000, 7000])
def test_lines_long_enough_for_several_tasks(start: int) -> None:
    """The ends of the windows lie in different tasks, at any place of them."""
    total, n = 40_001, 33_001
    arrays = [values((total,)), values((n,))]
    check(arrays, lambda b, x, part: [b.add(b.sin(x), among_zeros(b, part, (total,), (start,)))])
