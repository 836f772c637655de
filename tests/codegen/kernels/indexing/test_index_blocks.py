"""Gathers and scatters at every tail of their slices and of their indices; a bad index wherever it stands."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tracejit.codegen.kernels.indexing.index_blocks import BLOCK
from tracejit.codegen.kernels.indexing.scatter import How, scatter_plan
from tracejit.ir.ops.creation import EMPTY
from tracejit.runtime.executable import Executable

from ....forked import forked
from ....support import Array, function_of, interpret, native, run_native
from ...narrow import narrower, run_narrow

WIDTHS = [1, 2, 7, 8, 9, 15, 16, 17, 64, 65, 100]
COUNTS = [1, 3, 7, 8, 9, 16, 17, 33]
DTYPES = ["f4", "f8", "i1", "i4", "?"]


def values(shape: tuple[int, ...], dtype: str) -> Array:
    return np.random.default_rng(sum(shape)).integers(0, 9, shape).astype(dtype)


def same(arrays: list[Array], build: Any) -> None:
    function = function_of("moved", arrays, build)
    for got, want in zip(native(function, arrays), interpret(function, arrays), strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_of_every_width(dtype: str) -> None:
    """Indices that repeat, and count from the end: additions to one place follow each other."""
    index = np.array([3, -1, 0, 3, 3, -5])
    arrays = [index] + [values((rows, n), dtype) for n in WIDTHS for rows in (5, 6)]

    def build(b: Any, index: Any, *xs: Any) -> list[Any]:
        results = []
        for x, y in zip(xs[::2], xs[1::2], strict=True):
            results += [b.gather(x, index)] + [b.scatter(x, y, index, mode=mode) for mode in ("add", "set")]
        return results

    same(arrays, build)


@pytest.mark.parametrize("count", COUNTS)
def test_single_elements(count: int) -> None:
    x, y = values((7,), "f8"), values((count,), "f8")
    index = np.random.default_rng(count).integers(-7, 7, count)
    same([x, y, index], lambda b, x, y, i: [b.gather(x, i), b.scatter(x, y, i, mode="add")])


def check_bad_indices(count: int) -> None:
    """One bad index at each place, in either axis: nothing is written, and the error names the axis."""
    x, good = np.zeros((7, 5)), np.zeros(count, np.int64)
    arrays = [x, np.ones(count), good, good]
    scatter = function_of("f", arrays, lambda b, x, y, i, j: b.scatter(x, y, i, j, mode="add"))
    for place in range(count):
        for axis, extent in ((0, 7), (1, 5)):
            for wrong in (extent, -extent - 1, 1 << 40, -(1 << 62)):
                bad = good.copy()
                bad[place] = wrong
                indices = [bad, good] if axis == 0 else [good, bad]
                with pytest.raises(IndexError, match=f"out of bounds for axis {axis} with size {extent}"):
                    native(scatter, [x, np.ones(count), *indices])
    (results,) = native(scatter, arrays)
    assert results[0, 0] == count


@pytest.mark.parametrize("count", [1, 8, 11, 17])
def test_bad_indices(count: int) -> None:
    check_bad_indices(count)


@pytest.mark.parametrize("count", [BLOCK, BLOCK + 1, 3 * BLOCK - 1, 8 * BLOCK, 40_003])
def test_gathers_in_blocks(count: int) -> None:
    """Sizes below and above what threads share: elements, rows, and bad indices at the blocks' ends."""
    rng = np.random.default_rng(count)
    x, flags = values((7, 5, 3), "f4"), values((9,), "?")
    i, j, k = [rng.integers(-n, n, count) for n in (7, 5, 3)]
    same([x, flags, i, j, k], lambda b, x, flags, *i: [b.gather(x, *i[:n]) for n in (1, 2, 3)])
    same([flags, i], lambda b, flags, i: b.gather(flags, i))
    function = function_of("f", [x, i, j], lambda b, x, i, j: b.gather(x, i, j))
    for place in (0, min(BLOCK, count) - 1, count - 1):
        for axis, wrong in ((0, 7), (0, -8), (1, 5), (1, -6), (1, -(1 << 63)), (0, (1 << 63) - 1)):
            indices = [i.copy(), j.copy()]
            indices[axis][place] = wrong
            with pytest.raises(IndexError, match=f"out of bounds for axis {axis} with size"):
                native(function, [x, *indices])
    both = [i.copy(), j.copy()]
    both[0][-1], both[1][0] = 7, 5
    with pytest.raises(IndexError, match="axis 0"):
        native(function, [x, *both])


#: Shapes of the operand, how many indices, and how threads share that.
PLANS = [
    ((50, 3), 1, 40_000, How.CHUNKS),
    ((50, 7), 2, 70_000, How.CHUNKS),
    ((1000,), 1, 64_000, How.CHUNKS),
    ((20_001,), 1, 170_007, How.CHUNKS),
    ((70_001,), 1, 60_000, How.ALONE),
    ((300, 64), 1, 3_001, How.RANGES),
    ((3, 640), 1, 700, How.RANGES),
    ((5, 67, 130), 2, 2_500, How.RANGES),
]


@pytest.mark.parametrize("dtype", ["f8", "i4", "?"])
@pytest.mark.parametrize(("shape", "axes", "count", "how"), PLANS, ids=str)
def test_large_scatters(shape: tuple[int, ...], axes: int, count: int, how: How, dtype: str) -> None:
    """Scatters in parts and on one thread: sums of small integers, so that their order does not show."""
    rng = np.random.default_rng(count)
    x, v = values(shape, dtype), values((count, *shape[axes:]), dtype)
    indices = [rng.integers(-n, n, count) for n in shape[:axes]]
    add, put = [
        function_of("f", [x, v, *indices], lambda b, x, v, *i, mode=mode: b.scatter(x, v, *i, mode=mode))
        for mode in ("add", "set")
    ]
    (instruction,) = add.body
    if dtype == "f8":
        assert scatter_plan(instruction).how is how
    for function in (add, put):
        (got,), (want,) = native(function, [x, v, *indices]), interpret(function, [x, v, *indices])
        np.testing.assert_array_equal(got, want)
    for axis, wrong in ((0, shape[0]), (axes - 1, -shape[axes - 1] - 1)):
        bad = [index.copy() for index in indices]
        bad[axis][count - 5] = wrong
        with pytest.raises(IndexError, match=f"out of bounds for axis {axis} with size {shape[axis]}"):
            native(add, [x, v, *bad])


THREADS = """
import numpy as np, tracejit as tj
x = np.random.default_rng(0).standard_normal((5000, 3))
i, j = [np.random.default_rng(n).integers(-n, n, 100_000) for n in (5000, 3)]
f = tj.jit(lambda x, i, j: (x[i], x[i, j], x.ravel()[j]))
for threads in (1, 2, 3):
    tj.set_num_threads(threads)
    for got, want in zip(f(x, i, j), (x[i], x[i, j], x.ravel()[j])):
        assert (np.asarray(got) == want).all()
    bad = j.copy()
    bad[77_777] = 3
    try:
        f(x, i, bad)
    except IndexError as error:
        assert 'axis 1 with size 3' in str(error)
    else:
        raise AssertionError('no error')
print('fine')
"""


def test_large_gathers_on_several_threads() -> None:
    assert forked(THREADS).strip() == "fine"


SCATTERS = """
import numpy as np, tracejit as tj
rng = np.random.default_rng(0)
x, y, z = rng.standard_normal(5000), rng.standard_normal((2000, 96)), rng.standard_normal((2000, 96))
v, w, i = rng.standard_normal(100_000), rng.standard_normal((4000, 96)), rng.integers(-2000, 2000, 100_000)
def put(z, j, w):
    z = z + 0
    z[j] = w
    return z
f = tj.jit(lambda x, y, z, v, w, i, j: (tj.index_add(x, i, v), tj.index_add(y, j, w), put(z, j, w)))
found = []
for threads in (1, 2, 3):
    tj.set_num_threads(threads)
    for _ in range(3):
        found.append([np.asarray(one) for one in f(x, y, z, v, w, i, i[:4000])])
wanted = x.copy(), y.copy(), z.copy()
np.add.at(wanted[0], i, v)
np.add.at(wanted[1], i[:4000], w)
wanted[2][i[:4000]] = w
assert abs(found[0][0] - wanted[0]).max() < 1e-12
assert (found[0][1] == wanted[1]).all() and (found[0][2] == wanted[2]).all()
assert all((one == other).all() for row in found for one, other in zip(row, found[0]))
print('fine')
"""


def test_scatters_on_several_threads() -> None:
    """Scatters give the same bits on any number of threads, and for long slices the bits of one thread."""
    assert forked(SCATTERS).strip() == "fine"


NARROW = """
import sys
sys.path.insert(0, '.')
from tests.codegen.kernels.indexing.test_index_blocks import *
from tracejit.codegen.llvm.target import host
assert host().vector_bits == {bits}, host()
for dtype in DTYPES:
    test_rows_of_every_width(dtype)
for count in COUNTS:
    test_single_elements(count)
check_bad_indices(11)
for count in (BLOCK + 1, 40_003):
    test_gathers_in_blocks(count)
for plan in PLANS:
    test_large_scatters(*plan, "f8")
print('fine')
"""


@narrower
def test_narrower_vectors(features: str, bits: int) -> None:
    run_narrow(NARROW.format(bits=bits), features, bits)


CHANGED_MEANWHILE = """
import threading, time
import numpy as np
import tracejit as tj

x, indices = np.ones((1000, 8)), np.zeros(200_000, int)
done = False

def change():
    while not done:
        indices[::101], indices[5::77] = 2**40, 10**9
        indices[::101], indices[5::77] = -2**50, 7
        indices[::101], indices[5::77] = 5, 3

thread = threading.Thread(target=change)
thread.start()
for f in (lambda x, i: x[i], lambda x, i: x[i, i % 7], lambda x, i: tj.index_add(x, i, 1.0),
          lambda x, i: tj.index_update(x, i, 2.0), lambda x, i: x[i[:200]]):
    f, end = tj.jit(f), time.monotonic() + 0.4
    while time.monotonic() < end:
        try:
            f(x, indices)
        except IndexError:
            pass
done = True
thread.join()
print("fine")
"""


def test_indices_that_another_thread_changes() -> None:
    """Indices change between their check and their use. The result is open, but the process goes on."""
    assert forked(CHANGED_MEANWHILE).strip() == "fine"


@pytest.mark.parametrize("empty", [True, False])
def test_only_what_was_written_is_copied(empty: bool) -> None:
    """An ``empty`` is not copied in front of its first update; an argument is."""

    def build(b: Any, x: Any, part: Any) -> list[Any]:
        (y,) = b.append(EMPTY, (), {"shape": x.shape, "dtype": x.dtype}) if empty else (x,)
        y = b.update(y, part, start=(0,), step=(1,))
        return [b.update(y, part, start=(2500,), step=(1,))]

    arrays = [np.zeros(5000), np.arange(2500.0)]
    executable = Executable(function_of("begun", arrays, build))
    np.testing.assert_array_equal(run_native(executable, arrays)[0], np.tile(arrays[1], 2))
    updates = [k for k in executable.module.kernels if k.description.startswith("update")]
    assert ("i64 40000," in str(updates[0].code[0])) is not empty
