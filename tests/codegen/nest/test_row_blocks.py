"""Rows worked on several at a time: at the sizes where blocks begin and end, of every kind of value of a
row; the same bits for every number of threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.codegen.llvm.target import host
from tracejit.codegen.nest import row_blocks
from tracejit.codegen.nest.schedule import schedule
from tracejit.ir.passes import run_passes

from ...support import Array, function_of, interpret, native
from ..narrow import narrower, run_narrow
from .reductions.test_cross_row_reductions import always_chunks

SHAPES = [(7, 33), (8, 64), (9, 5), (16, 2), (17, 16), (33, 40), (130, 19)]


def always_blocks(set_attribute: Any) -> None:
    set_attribute(row_blocks, "MIN_CYCLES", 0)


@pytest.fixture(autouse=True)
def _blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    always_blocks(monkeypatch.setattr)


def check(arrays: list[Array], build: Any, *, blocked: bool = True, rtol: float = 1e-12) -> None:
    """Native code against the interpreter; whether rows were worked on in blocks."""
    function = function_of("rows", arrays, build)
    bodies = [instruction for instruction in run_passes(function).body if instruction.op.name == "fusion"]
    nests = [schedule(body.regions[0], body.attrs, "nest", host()) for body in bodies]
    enough = [nest for nest in nests if nest.row_lanes and nest.sizes[nest.parallel - 1] >= nest.lanes]
    assert not enough or any(row_blocks.rows_at_a_time(nest) > 1 for nest in nests) == blocked
    for got, want in zip(native(function, arrays), interpret(function, arrays), strict=True):
        np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol)


def values(shape: tuple[int, ...], dtype: str = "f8") -> Array:
    return np.random.default_rng(sum(shape)).integers(-3, 4, shape).astype(dtype)


def spread(b: Any, row: Any, like: Any) -> Any:
    return b.broadcast(b.reshape(row, shape=(*row.shape, 1)), shape=like.shape)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "i1"])
@pytest.mark.parametrize("shape", SHAPES)
def test_what_follows_from_each_row_and_goes_back_to_it(shape: tuple[int, int], dtype: str) -> None:
    """Numbers and truths of rows, read with each row, written, and read again at each of its elements."""
    arrays = [values(shape, dtype), values(shape[:1], dtype)]

    def build(b: Any, x: Any, y: Any) -> list[Any]:
        total = b.sum(x, axes=(1,))
        much = b.gt(total, y)
        row = b.where(much, b.add(total, y), b.mul(y, y))
        full = b.where(spread(b, much, x), b.add(x, spread(b, row, x)), x)
        return [full, row, much, b.max(full, axes=(1,)), b.any(b.gt(full, x), axes=(1,))]

    check(arrays, build)


@pytest.mark.parametrize("shape", SHAPES)
def test_folds_across_rows_of_each_level(shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    arrays = [values(shape), values(shape[:1])]

    def build(b: Any, x: Any, y: Any) -> list[Any]:
        total = b.sum(x, axes=(1,))
        factor = b.add(b.square(total), y)
        return [
            b.sum(b.mul(x, spread(b, factor, x)), axes=(0,)),
            b.sum(factor, axes=(0,)),
            b.max(b.mul(factor, y), axes=(0,)),
        ]

    check(arrays, build)
    always_chunks(monkeypatch.setattr)
    check(arrays, build)


@pytest.mark.parametrize("shape", [(3, 9, 5), (2, 16, 17), (5, 33, 2)])
@pytest.mark.parametrize("axes", [(0,), (0, 1)])
def test_rows_along_two_dimensions(shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
    """Folds over the outer one alone leave a number for each row of a block."""
    arrays = [values(shape), values(shape[1:2])]

    def build(b: Any, x: Any, y: Any) -> list[Any]:
        total = b.sum(x, axes=(2,))
        row = b.mul(total, b.broadcast(y, shape=total.shape))
        return [b.sum(row, axes=axes), row, b.mul(x, spread(b, row, x))]

    check(arrays, build)


def test_counters_and_rows_that_are_read_from_the_last_to_the_first() -> None:
    x, y = values((37, 11)), values((37,))

    def f(x: Any, y: Any) -> Any:
        return x.sum(axis=1) * tj.arange(37.0) + y[::-1], (x * y[::-1, None]).max(axis=1)

    total, most = tj.jit(f)(x, y)
    np.testing.assert_allclose(total, x.sum(axis=1) * np.arange(37.0) + y[::-1])
    np.testing.assert_allclose(most, (x * y[::-1, None]).max(axis=1))


def test_few_cycles_and_long_rows_are_done_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()

    def build(b: Any, x: Any) -> list[Any]:
        return [b.add(b.sum(x, axes=(1,)), b.max(x, axes=(1,)))]

    def dear(b: Any, x: Any) -> list[Any]:
        return [b.log(b.add(b.sum(b.square(x), axes=(1,)), 1.0))]

    check([values((40, 16))], build, blocked=False)
    check([values((40, 16))], dear)
    check([values((40, 1 << 12))], dear, blocked=False)


def test_bits_do_not_depend_on_the_number_of_threads() -> None:
    x, y = np.random.default_rng(0).normal(size=(20_011, 64)), np.random.default_rng(1).normal(size=20_011)
    f = tj.jit(tj.value_and_grad(lambda w: tj.log(1 + tj.exp((x * w).sum(axis=1) * y)).mean()))
    results = []
    for threads in (1, 2, 3):
        with tj.threads(threads):
            results.append([np.asarray(result).tobytes() for result in f(np.ones(64))])
    assert results[0] == results[1] == results[2]


NARROW = """
from tracejit.codegen.llvm.target import host
from tests.codegen.nest.test_row_blocks import *
assert host().vector_bits == {bits}
always_blocks(setattr)
always_chunks(setattr)
for shape in SHAPES:
    for dtype in ("f4", "f8", "i1"):
        test_what_follows_from_each_row_and_goes_back_to_it(shape, dtype)
test_rows_along_two_dimensions((5, 33, 2), (0,))
test_counters_and_rows_that_are_read_from_the_last_to_the_first()
print('fine')
"""


@narrower
def test_narrower_vectors(features: str, bits: int) -> None:
    run_narrow(NARROW.format(bits=bits), features, bits)
