"""Native sorts and searches against NumPy: by networks, ranks, partitions, and by digits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.codegen.kernels.sort import quicksort
from tracejit.codegen.kernels.sort.columns import batcher
from tracejit.codegen.kernels.sort.strategy import CHUNKED, NETWORK_LINES, NETWORKED, RANKED

from ....forked import forked
from ....rotation import one_in, share_of
from ....support import Array, function_of, native
from ...narrow import narrower, run_narrow

DTYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"]
RANKED_SHAPES = [(0,), (3, 0), (0, 3), (1,), (2,), (7,), (1, 16), (17,), (1, 33), (RANKED,)]
#: Numbers of lines: too few for a vector, as many, and a vector that is not full.
NETWORKS = [(2, 7), (5, 33), (16, 17), (2, 3, 300), (37, 65)]
TASKS = [(NETWORK_LINES[1] - 1, RANKED + 1), (70, NETWORKED + 1)]
CHUNKS = [(CHUNKED,), (3, CHUNKED + 1), (50_001,)]
#: A vector and a block in registers, whole and with more; segments that threads share.
PARTITIONS = [(18,), (128,), (257,), (2, 1000), (3, 4999), (2, 40_001)]
PLANS = {
    "ranks": RANKED_SHAPES, "networks": NETWORKS, "tasks": TASKS, "chunks": CHUNKS, "partitions": PARTITIONS
}  # fmt: skip


def values(shape: tuple[int, ...], dtype: str, seed: int = 0) -> Array:
    """Ties, every bit pattern of integers, and of floats all that sorts in its own way."""
    rng = np.random.default_rng([seed, *shape])
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return rng.integers(0, 2, shape).astype(kind)
    if kind.kind in "iu":
        count = int(np.prod(shape))
        bits = np.frombuffer(rng.bytes(count * kind.itemsize), kind).reshape(shape)
        return np.where(rng.random(shape) < 0.3, rng.integers(0, 5, shape).astype(kind), bits)
    x = rng.normal(size=shape).astype(kind)
    flat = x.reshape(-1)
    for odd in (np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, 1e-40):
        if flat.size:
            flat[rng.integers(0, flat.size, 1 + flat.size // 20)] = odd
    return x


def check(shape: tuple[int, ...], dtype: str, seed: int = 0) -> None:
    x = values(shape, dtype, seed)
    function = function_of("sorted", [x], lambda b, x: [b.sort(x), b.argsort(x)])
    ordered, places = native(function, [x])
    np.testing.assert_array_equal(places, np.argsort(x, axis=-1, kind="stable"))
    np.testing.assert_array_equal(ordered, np.sort(x, axis=-1))
    if x.dtype.kind == "f":  # the same zeros and NaNs
        assert np.signbit(ordered).sum() == np.signbit(x).sum()


@pytest.mark.parametrize(
    ("plan", "dtype"), share_of([(plan, dtype) for plan in PLANS for dtype in DTYPES], 5)
)
def test_sorts(plan: str, dtype: str) -> None:
    for shape in PLANS[plan]:
        check(shape, dtype)


@pytest.mark.parametrize("count", range(1, 17))
def test_batchers_network_sorts_zeros_and_ones(count: int) -> None:
    """A network that sorts all lines of zeros and ones sorts everything (Knuth 5.3.4, theorem Z)."""
    lines = (np.arange(1 << count)[:, None] >> np.arange(count)) & 1
    for low, high in batcher(count):
        pair = lines[:, [low, high]]
        lines[:, low], lines[:, high] = pair.min(1), pair.max(1)
    assert (np.diff(lines, axis=1) >= 0).all()


def check_network(extent: int) -> None:
    """Lines that are not whole vectors."""
    check((18, extent), ("f4", "f8", "i4", "u2")[extent // 4 % 4], extent)


@pytest.mark.parametrize(
    "extents", [range(1, 20), [31, 32, 33, 47, 48, 49, 63, 64, 65], [127, 128, 129, 257, 512, 513]]
)
def test_networks_of_extents_around_powers(extents: Sequence[int]) -> None:
    for extent in share_of(extents, 2):
        check_network(extent)


@pytest.mark.slow
def test_networks_of_all_other_extents() -> None:
    for extent in share_of([*range(20, 71), 255, 511, 1025], 2):
        check_network(extent)


@pytest.mark.parametrize("dtype", ["f4", "f8", "u1"])
def test_the_longest_networks(dtype: str) -> None:
    for extent in (NETWORKED - 1, NETWORKED):
        check((9, extent), dtype)


def test_networks_keep_what_has_the_greatest_key() -> None:
    """Elements with the greatest key are kept, although padding behind a line sorts like them."""
    for dtype, greatest in (
        ("f4", np.nan),
        ("f8", np.nan),
        ("i8", 2**63 - 1),
        ("u8", 2**64 - 1),
        ("u1", 255),
    ):
        x = np.full((19, 37), greatest, dtype)
        x[:, ::3] = 1
        function = function_of("sorted", [x], lambda b, x: [b.sort(x), b.argsort(x)])
        ordered, places = native(function, [x])
        np.testing.assert_array_equal(ordered, np.sort(x, axis=-1))
        np.testing.assert_array_equal(places, np.argsort(x, axis=-1, kind="stable"))


def lines_that_split_badly(size: int) -> dict[str, Array]:
    """All equal, in order, mostly the greatest, mostly the least, and a few values."""
    x = np.random.default_rng(size).normal(size=size)
    few = np.round(x)
    return {
        "equal": np.full(size, 0.5), "in order": np.sort(x), "backwards": np.sort(x)[::-1].copy(),
        "greatest": np.where(x < 1, 9.0, x), "least": np.where(x < 1, -9.0, x), "few": few,
        "sawtooth": np.arange(size) % 7.0, "least integers": np.where(x < 1, -(2.0**63), few),
    }  # fmt: skip


@pytest.mark.parametrize("levels", [quicksort.LEVELS, 0])
def test_lines_that_split_badly(levels: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines with levels for medians, and with pivots in the middle of the range of keys from the first on."""
    monkeypatch.setattr(quicksort, "LEVELS", levels)
    for dtype, size in (("f8", 3001 + levels), ("i8", 2001 + levels), ("f4", 3501 + levels)):
        lines = lines_that_split_badly(size).values()
        examples = [x.astype(dtype) for x in lines]
        sort = tj.jit(lambda x: (tj.sort(x), tj.argsort(x, stable=True)))
        for x in examples:
            ordered, places = sort(x)
            np.testing.assert_array_equal(ordered, np.sort(x))
            np.testing.assert_array_equal(places, np.argsort(x, kind="stable"))


def test_random_shapes() -> None:
    rng = np.random.default_rng(3)
    for seed in range(6):
        check((int(rng.integers(1, 70)), int(rng.integers(1, 600))), ("f4", "f8", "i4", "u1")[seed % 4], seed)


@pytest.mark.parametrize("dtype", DTYPES)
def test_searches(dtype: str) -> None:
    for size in (0, 1, 2, 3, 8, 100, 1000):
        line, v = np.sort(values((size,), dtype)), values((3, 99), dtype)

        def build(b: Any, line: Any, v: Any) -> list[Any]:
            return [b.searchsorted(line, v, side=side) for side in ("left", "right")]

        for got, side in zip(
            native(function_of("found", [line, v], build), [line, v]), ("left", "right"), strict=True
        ):
            np.testing.assert_array_equal(got, np.searchsorted(line, v, side=side))


def test_searches_stay_in_lines_that_are_not_sorted() -> None:
    line, v = values((501,), "f8"), values((400,), "f8", 1)
    (got,) = native(function_of("f", [line, v], lambda b, *x: b.searchsorted(*x, side="left")), [line, v])
    assert ((got >= 0) & (got <= 501)).all()


def test_sorts_in_a_loop_share_memory() -> None:
    """A region's kernels work in the caller's arena."""
    x = np.random.default_rng(0).normal(size=(4, 700))

    def turns(x: Any) -> Any:
        return tj.fori_loop(0, 3, lambda i, y: tj.sort(y * -1.5, 1), x)

    want = x
    for _ in range(3):
        want = np.sort(want * -1.5, 1)
    np.testing.assert_array_equal(tj.jit(turns)(x), want)


def test_donated_operand() -> None:
    x = np.random.default_rng(0).normal(size=40_000)
    want = np.sort(x)
    np.testing.assert_array_equal(tj.jit(tj.sort, donate_argnums=0)(tj.tensor(x.copy())), want)


THREADS = """
import numpy as np, tracejit as tj
x = np.random.default_rng(0).normal(size=(100_000,)).astype('f4')
y, z = x[:90_000].reshape(90, 1000), x[:90_000].reshape(15, 6000)
f = tj.jit(
    lambda x, y, z: (
        tj.sort(x), tj.argsort(x), tj.sort(y), tj.argsort(y), tj.sort(z), tj.searchsorted(tj.sort(x), y)
    )
)
found = []
for threads in (1, 2, 3):
    tj.set_num_threads(threads)
    found.append([one.numpy() for one in f(x, y, z)])
for other in found[1:]:
    assert all((a == b).all() for a, b in zip(found[0], other))
assert (found[0][2] == np.sort(y)).all() and (found[0][3] == np.argsort(y, kind='stable')).all()
assert (found[0][1] == np.argsort(x, kind='stable')).all()
print('fine')
"""


def test_the_same_for_every_number_of_threads() -> None:
    assert forked(THREADS).strip() == "fine"


CHECKED = """
import sys
sys.path.insert(0, '.')
from tests.codegen.kernels.sort.test_sorting import *
for dtype in ('?', 'i2', 'f4', 'i8'):
    for shape in [(256,), (5, 33), (3, 256), (35, 300), (7, 5000), (33_001,)]:
        check(shape, dtype)
    test_searches(dtype)
print('fine')
"""


@one_in(2)
def test_every_access_is_inside() -> None:
    assert forked(CHECKED, TRACEJIT_CHECK="1").strip() == "fine"


NARROW = """
import sys
sys.path.insert(0, '.')
from tests.codegen.kernels.sort.test_sorting import *
from tracejit.codegen.llvm.target import host
assert host().vector_bits == {bits}, host()
for dtype in share_of(('?', 'i2', 'f4', 'f8', 'u8'), 2):
    for plan in PLANS:
        test_sorts(plan, dtype)
    test_searches(dtype)
print('fine')
"""


@narrower
def test_narrower_vectors(features: str, bits: int) -> None:
    run_narrow(NARROW.format(bits=bits), features, bits)
