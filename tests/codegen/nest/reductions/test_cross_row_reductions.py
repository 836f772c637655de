"""Nests that fold across their rows: at the sizes where they break, of every reduction, with what is not a
number; the same bits for every number of threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tracejit.base.machine import Machine
from tracejit.codegen.llvm.target import Target, host
from tracejit.codegen.nest import prefetch, streaming
from tracejit.codegen.nest.reductions import chunks as decisions
from tracejit.codegen.nest.schedule import schedule
from tracejit.ir.passes import run_passes
from tracejit.ir.passes.fusion import horizontal_fusion

from ....forked import forked
from ....support import Array, function_of, interpret, native
from ...narrow import narrower, run_narrow

SHAPES = [(2, 2), (3, 1000), (17, 16), (16, 17), (67, 5), (130, 64), (9, 33), (40, 130)]


@pytest.fixture(autouse=True, params=["one chunk", "chunks"])
def _work(request: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test with all rows in one chunk, and with as many chunks as there can be."""
    if request.param == "chunks":
        always_chunks(monkeypatch.setattr)


def always_chunks(set_attribute: Any) -> None:
    set_attribute(decisions, "machine", lambda: Machine(task_cycles=1, least_tasks=0))


def chunks(function: Any) -> list[int]:
    """Numbers of chunks into which the nests that fold across rows are cut."""
    bodies = [instruction for instruction in run_passes(function).body if instruction.op.name == "fusion"]
    nests = [schedule(body.regions[0], body.attrs, "nest", host()) for body in bodies]
    return [nest.across.chunks for nest in nests if nest.across is not None]


def check(arrays: list[Array], build: Any, nests: int = 1, rtol: float = 1e-12) -> None:
    function = function_of("across", arrays, build)
    assert len(chunks(function)) == nests
    with np.errstate(invalid="ignore"):
        expected = interpret(function, arrays)
    for got, want in zip(native(function, arrays), expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol)


def values(shape: tuple[int, ...], dtype: str = "f8") -> Array:
    return np.random.default_rng(sum(shape)).integers(-3, 4, shape).astype(dtype)


def spread(b: Any, row: Any, like: Any) -> Any:
    return b.broadcast(b.reshape(row, shape=(*row.shape, 1)), shape=like.shape)


def layernorm_gradient(b: Any, x: Any, scale: Any, shift: Any, target: Any) -> list[Any]:
    """The loss and the gradients by all but the target, as autograd writes them."""
    centred = b.sub(x, spread(b, b.mean(x, axes=(1,)), x))
    deviation = b.sqrt(b.add(b.mean(b.square(centred), axes=(1,)), 1e-5))
    normal = b.div(centred, spread(b, deviation, x))
    scaled = b.mul(normal, b.broadcast(scale, shape=x.shape))
    loss = b.sum(b.mul(b.add(scaled, b.broadcast(shift, shape=x.shape)), target), axes=(0, 1))
    by_normal = b.mul(target, b.broadcast(scale, shape=x.shape))
    inner = b.mean(b.mul(by_normal, normal), axes=(1,))
    along = b.sub(by_normal, b.mul(normal, spread(b, inner, x)))
    by_x = b.div(b.sub(along, spread(b, b.mean(by_normal, axes=(1,)), x)), spread(b, deviation, x))
    return [loss, by_x, b.sum(b.mul(target, normal), axes=(0,)), b.sum(b.neg(target), axes=(0,))]


@pytest.mark.parametrize("shape", SHAPES)
def test_layernorm_gradient(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(lengths) for lengths in (shape, shape[1:], shape[1:], shape)]
    check(arrays, layernorm_gradient, rtol=1e-10)


def folds(b: Any, x: Any, dtype: str) -> list[Any]:
    """Reductions of rows and across them, of the rows themselves and of what is computed from them."""
    names = ["any", "all"] if dtype == "?" else ["sum", "max", "min", "prod"]
    results = []
    for name in names:
        fold = getattr(b, name)
        y = b.logical_not(x) if dtype == "?" else b.add(x, x)
        row = fold(y, axes=(1,))
        results += [row, fold(y, axes=(0,)), fold(y, axes=(0, 1)), fold(row, axes=(0,))]
    return results


@pytest.mark.parametrize("dtype", ["f4", "f8", "i1", "i4", "u1", "?"])
@pytest.mark.parametrize("shape", [(19, 37), (2, 64), (33, 3)])
def test_every_reduction(shape: tuple[int, int], dtype: str) -> None:
    x = values(shape, dtype)
    count = 2 if dtype == "?" else 4
    check([x], lambda b, x: folds(b, x, dtype), 1 if dtype == "?" else count - 3, rtol=1e-5)


@pytest.mark.parametrize("shape", [(5, 4, 33), (7, 16, 8), (1, 9, 20), (9, 1, 20), (3, 2, 5, 18)])
def test_several_dimensions(shape: tuple[int, ...]) -> None:
    """Rows along several dimensions, of which the outermost or all are folded; rows of several dimensions."""
    rank = len(shape)
    x = values(shape)
    outer = next(axis for axis, size in enumerate(shape) if size > 1)

    def build(b: Any, x: Any) -> list[Any]:
        y = b.exp(x)
        row = b.sum(y, axes=(rank - 1,))
        return [
            row,
            b.sum(b.mul(y, spread(b, row, y)), axes=(outer,)),
            b.sum(y, axes=tuple(range(rank - 1))),
            b.max(y, axes=tuple(range(rank))),
            b.sum(b.log(row), axes=(outer,)),
            b.min(b.log(row), axes=tuple(range(rank - 1))),
        ]

    check([x], build, rtol=1e-11)


def test_rows_of_several_dimensions() -> None:
    def build(b: Any, x: Any) -> list[Any]:
        y = b.exp(x)
        return [b.sum(y, axes=(1, 2)), b.sum(y, axes=(0,)), b.max(y, axes=(0, 1, 2)), y]

    check([values((9, 5, 20))], build)


def test_what_is_not_a_number_is_found_in_any_row() -> None:
    for place in (0, 13, 30):
        x = values((31, 20))
        x[place, 7] = np.nan
        x[place // 2, 3] = np.inf

        def build(b: Any, x: Any) -> list[Any]:
            y = b.mul(x, 2.0)
            return [b.sum(y, axes=(1,)), b.max(y, axes=(0,)), b.min(y, axes=(0, 1)), b.sum(y, axes=(0,))]

        check([x], build)


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0), (1, 5), (5, 1)])
def test_nothing_to_fold_across(shape: tuple[int, int]) -> None:
    """Reductions without rows, with one, or of rows of one element stay nests of their own."""

    def build(b: Any, x: Any) -> list[Any]:
        y = b.exp(x)
        return [b.sum(y, axes=(1,)), b.sum(y, axes=(0,)), b.sum(y, axes=(0, 1))]

    check([np.ones(shape)], build, nests=0)


def test_what_is_folded_across_rows_is_not_read_in_the_group() -> None:
    """Each row less the mean of all: two nests, and no third value between."""
    x = values((30, 40))

    def build(b: Any, x: Any) -> list[Any]:
        y = b.exp(x)
        row = b.sum(y, axes=(1,))
        total = b.sum(row, axes=(0,))
        by_column = b.broadcast(b.sum(y, axes=(0,)), shape=y.shape)
        return [b.div(row, b.broadcast(total, shape=row.shape)), b.div(y, by_column)]

    check([x], build, rtol=1e-11)


@pytest.mark.parametrize("shape", [(2, 2), (40, 17), (9, 130)])
def test_groups_that_read_the_same_memory(shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither feeds the other; the one across rows may come first. What needs its result stays apart."""
    monkeypatch.setattr(horizontal_fusion, "large_bytes", lambda: 0)

    def build(b: Any, x: Any, y: Any) -> list[Any]:
        total = b.sum(b.mul(x, y), axes=(0,))
        return [total, b.max(x, axes=(1,)), b.sum(b.neg(y), axes=(0,)), b.min(x, axes=(1,))]

    def read_again(b: Any, x: Any, y: Any) -> list[Any]:
        total, *others = build(b, x, y)
        return [b.sub(x, b.broadcast(total, shape=x.shape)), *others[::2]]

    x, y = values(shape), values(shape[::-1]).T.copy()
    for build_one, fusions, across_rows in ((build, 1, 1), (read_again, 2, 0)):
        check([x, y], build_one, across_rows)
        function = function_of("siblings", [x, y], build_one)
        assert sum(instruction.op.name == "fusion" for instruction in run_passes(function).body) == fusions


@pytest.mark.parametrize("columns", [256, 300, 1024])
def test_the_next_row_is_fetched_ahead(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values read through several stages, in rows that are apart, are prefetched; none after the last row."""
    monkeypatch.setattr(prefetch, "large_bytes", lambda: 0)
    monkeypatch.setattr(horizontal_fusion, "large_bytes", lambda: 0)
    rng = np.random.default_rng(0)
    x, ones = rng.standard_normal((5, 2 * columns)), np.ones(columns)

    def build(b: Any, x: Any, *others: Any) -> list[Any]:
        half = b.slice(x, start=(0, columns), size=(5, columns), step=(1, 1))
        return layernorm_gradient(b, half, *others)

    target = rng.standard_normal((5, columns))
    function = function_of("ahead", [x, ones, ones, target], build)
    (nest,) = [
        schedule(instruction.regions[0], instruction.attrs, "nest", host())
        for instruction in run_passes(function).body
        if instruction.op.name == "fusion"
    ]
    strides = [memory.strides for memory in prefetch.fetched_ahead(nest)]
    assert sorted(strides) == [(columns, 1), (2 * columns, 1)]
    check([x, ones, ones, target], build, rtol=1e-10)


@pytest.mark.parametrize("columns", [64, 80, 77])
def test_rows_that_go_past_the_cache(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that are stored past the cache, and folded across beside that; and where they may not be."""
    monkeypatch.setattr(streaming, "streamed_bytes", lambda: 0)
    monkeypatch.setattr(Target, "asks_for_lines", property(lambda target: False))
    rng = np.random.default_rng(0)
    shape = (13, columns)
    arrays = [rng.standard_normal(lengths) for lengths in (shape, shape[1:], shape[1:], shape)]
    check(arrays, layernorm_gradient, rtol=1e-10)


def test_long_rows_are_not_folded_across() -> None:
    x = np.ones((20, 5000))
    check([x], lambda b, x: [b.sum(y := b.neg(x), axes=(1,)), b.sum(y, axes=(0,))], nests=0)


THREADS = """
import numpy as np, tracejit as tj
rng = np.random.default_rng(0)
x, t = rng.standard_normal((3001, 333)).astype('f4'), rng.standard_normal((3001, 333)).astype('f4')
def loss(x, scale, shift):
    centred = x - x.mean(1, keepdims=True)
    normal = centred / tj.sqrt((centred * centred).mean(1, keepdims=True) + 1e-5)
    return ((normal * scale + shift) * t).sum()
f = tj.jit(tj.value_and_grad(loss, (0, 1, 2)))
bits = []
for threads in (1, 2, 5):
    tj.set_num_threads(threads)
    value, gradients = f(x, np.ones(333, 'f4'), np.ones(333, 'f4'))
    bits.append([np.asarray(one).tobytes() for one in (value, *gradients)])
assert bits[0] == bits[1] == bits[2]
print('fine')
"""


def test_the_same_bits_for_every_number_of_threads() -> None:
    assert forked(THREADS).strip() == "fine"


NARROW = """
from tracejit.codegen.llvm.target import host
from tests.codegen.nest.reductions.test_cross_row_reductions import *
assert host().vector_bits == {bits}
always_chunks(setattr)
for shape in SHAPES:
    test_layernorm_gradient(shape)
for dtype in ("f4", "f8", "i1", "?"):
    test_every_reduction((19, 37), dtype)
test_several_dimensions((5, 4, 33))
test_what_is_not_a_number_is_found_in_any_row()
print('fine')
"""


@narrower
def test_narrower_vectors(features: str, bits: int) -> None:
    run_narrow(NARROW.format(bits=bits), features, bits)
