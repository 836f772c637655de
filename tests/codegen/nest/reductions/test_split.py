"""Reductions cut into chunks: column nests and full ones at the sizes where they break, of several stages,
with masks; the same bits for every number of threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tracejit.base.machine import Machine
from tracejit.codegen.llvm.target import host
from tracejit.codegen.nest.reductions import chunks
from tracejit.codegen.nest.schedule import schedule
from tracejit.ir.passes import run_passes

from ....forked import forked
from ....support import Array, function_of, interpret, native
from ...narrow import narrower, run_narrow

COLUMNS = [1, 2, 3, 7, 16, 17, 63, 64, 65, 130, 300]
LENGTHS = [65, 127, 128, 129, 1000, 1023, 4099]
DTYPES = ["f4", "f8", "i1", "i4", "u1", "?"]


@pytest.fixture(autouse=True)
def _all_is_much_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nests of a few hundred elements are split, too."""
    always_split(monkeypatch.setattr)


def always_split(set_attribute: Any) -> None:
    set_attribute(chunks, "machine", lambda: Machine(task_cycles=1, least_tasks=0))


def values(shape: tuple[int, ...], dtype: str) -> Array:
    return np.random.default_rng(sum(shape)).integers(0, 4, shape).astype(dtype)


def splits(function: Any) -> list[Any]:
    """The cuts of a function's nests, for those that are cut."""
    bodies = [instruction for instruction in run_passes(function).body if instruction.op.name == "fusion"]
    nests = [schedule(body.regions[0], body.attrs, "nest", host()) for body in bodies]
    return [nest.split for nest in nests if nest.split is not None]


def check(arrays: list[Array], build: Any, least: int = 1, rtol: float = 0.0) -> None:
    function = function_of("split", arrays, build)
    assert len(splits(function)) >= least
    for got, want in zip(native(function, arrays), interpret(function, arrays), strict=True):
        np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol)


def folds(b: Any, xs: Any, axes: tuple[int, ...]) -> list[Any]:
    return [y for x in xs for y in (b.sum(x, axes=axes), b.max(x, axes=axes), b.min(x, axes=axes))]


@pytest.mark.parametrize("dtype", DTYPES)
def test_columns(dtype: str) -> None:
    arrays = [values((67, n), dtype) for n in COLUMNS]
    check(arrays, lambda b, *xs: folds(b, xs, (0,)), len(COLUMNS) - 1)  # one column is a line


@pytest.mark.parametrize("dtype", DTYPES)
def test_everything(dtype: str) -> None:
    arrays = [values((n,), dtype) for n in LENGTHS]
    check(arrays, lambda b, *xs: folds(b, xs, (0,)))


def test_several_reduced_dimensions() -> None:
    x = values((40, 9, 21), "f8")

    def build(b: Any, x: Any) -> list[Any]:
        moved = b.transpose(x, perm=(0, 2, 1))
        return [*folds(b, [x, moved], (0, 1)), *folds(b, [x, moved], (0, 2)), *folds(b, [moved], (0, 1, 2))]

    check([x], build)


@pytest.mark.parametrize("columns", [1, 5, 16, 33, 200])
def test_stages_that_read_what_earlier_ones_folded(columns: int) -> None:
    """Columns to mean 0 and variance 1: two folds and a full-level result; and what row-level ops make."""

    def build(b: Any, x: Any) -> list[Any]:
        def spread(row: Any) -> Any:
            return b.broadcast(b.reshape(row, shape=(1, columns)), shape=x.shape)

        centred = b.sub(x, spread(b.mean(x, axes=(0,))))
        variance = b.mean(b.square(centred), axes=(0,))
        return [b.div(centred, spread(b.sqrt(b.add(variance, 1e-3)))), variance, b.exp(b.neg(variance))]

    check([values((203, columns), "f8") + 0.5], build, rtol=1e-12)


@pytest.mark.parametrize("length", [70, 1000, 1023, 5000])
def test_softmax_of_everything(length: int) -> None:
    def build(b: Any, x: Any) -> list[Any]:
        e = b.exp(b.sub(x, b.broadcast(b.max(x, axes=(0,)), shape=(length,))))
        total = b.sum(e, axes=(0,))
        return [b.div(e, b.broadcast(total, shape=(length,))), b.log(total), e]

    check([np.random.default_rng(length).standard_normal(length)], build, rtol=1e-12)


def test_not_a_number_is_found_in_any_chunk() -> None:
    for place in (0, 700, 1022):
        x = np.arange(1023.0)
        x[place] = np.nan
        check([x], lambda b, x: [b.max(x, axes=(0,)), b.sum(x, axes=(0,))])


def test_little_work_and_parallel_nests_stay_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = function_of("rows", [np.ones((200, 70))], lambda b, x: b.sum(x, axes=(1,)))
    assert splits(rows) == []
    monkeypatch.undo()
    small = function_of("small", [np.ones((200, 70))], lambda b, x: b.sum(x, axes=(0,)))
    assert splits(small) == []
    tall = function_of("tall", [np.ones((20_000, 70))], lambda b, x: b.sum(x, axes=(0,)))
    assert [split.chunks for split in splits(tall)] == [Machine().chunks]


THREADS = """
import numpy as np, tracejit as tj
rng = np.random.default_rng(0)
x, y = rng.standard_normal((30_000, 33)).astype('f4'), rng.standard_normal(1_000_003).astype('f4')
columns = lambda x: (x.sum(0), tj.var(x, 0), (x - x.mean(0)) / tj.std(x, 0))
f = tj.jit(lambda x, y: (*columns(x), y.sum(), tj.exp(y - y.max())))
found = []
for threads in (1, 2, 3):
    tj.set_num_threads(threads)
    found.append([np.asarray(one) for one in f(x, y)])
for other in found[1:]:
    assert all((a == b).all() for a, b in zip(found[0], other))
print('fine')
"""


def test_the_same_bits_for_every_number_of_threads() -> None:
    assert forked(THREADS).strip() == "fine"


NARROW = """
import sys
sys.path.insert(0, '.')
from tests.codegen.nest.reductions.test_split import *
assert host().vector_bits == {bits}, host()
always_split(setattr)
for dtype in DTYPES:
    test_columns(dtype)
    test_everything(dtype)
test_several_reduced_dimensions()
for n in (1, 5, 16, 33, 200):
    test_stages_that_read_what_earlier_ones_folded(n)
for n in (70, 1000, 1023):
    test_softmax_of_everything(n)
print('fine')
"""


@narrower
def test_narrower_vectors(features: str, bits: int) -> None:
    run_narrow(NARROW.format(bits=bits), features, bits)
