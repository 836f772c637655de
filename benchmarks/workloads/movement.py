"""Gathers, scatters, cumulative sums and sorting."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from ..libraries import Library
from ..workload import Function, Workload
from .inputs import generator, normal


def _gather(lib: Library, *sizes: int) -> Function:
    return lambda x, index: x[index]


def _scatter_add(lib: Library, *sizes: int) -> Function:
    add = lib.np.index_add
    return lambda x, index, values: add(x, index, values)


def _scatter_add_numba(nb: Any, *sizes: int) -> Function:
    @nb.njit
    def run(x: Any, index: Any, values: Any) -> Any:
        out = x.copy()
        for i in range(index.size):
            out[index[i]] += values[i]
        return out

    compiled: Function = run
    return compiled


def _cumsum(lib: Library, axis: int, *shape: int) -> Function:
    return lambda x: lib.np.cumsum(x, axis)


def _cumsum_numba(nb: Any, axis: int, *shape: int) -> Function:

    @nb.njit
    def run(x: Any) -> Any:
        out, total = np.empty_like(x), 0.0
        for i in range(x.size):
            total += x[i]
            out[i] = total
        return out

    compiled: Function = run
    return compiled


def _sort(lib: Library, *shape: int) -> Function:
    return lambda x: lib.np.sort(x)


def _argsort(lib: Library, *shape: int) -> Function:
    return lambda x: lib.np.argsort(x)


def _permutations(lines: int, extent: int) -> tuple[Any, ...]:
    """Lines without equal elements, whose order would be each library's own."""
    line = np.arange(extent, dtype=np.float32) - extent / 2
    return (generator().permuted(np.tile(line, (lines, 1)), axis=1),)


def _indices(rows: int, count: int, *inner: int) -> tuple[Any, ...]:
    (x,) = normal((rows, *inner), dtype="f32")
    return x, generator().integers(rows, size=count)


def _additions(rows: int, count: int, *inner: int) -> tuple[Any, ...]:
    x, values = normal((rows, *inner), (count, *inner), dtype="f32")
    return x, generator().integers(rows, size=count), values


def _running(axis: int, *shape: int) -> Workload:
    name = {1: "rows", 0: "columns"}[axis] if len(shape) > 1 else "all"
    return Workload(
        f"cumsum-{name}",
        f"cumulative sums of {'x'.join(map(str, shape))} f64"
        + (f" along axis {axis}" if len(shape) > 1 else ""),
        _cumsum,
        lambda axis, *shape: normal(shape),
        sizes=(axis, *shape),
        tiny=(axis, *((5, 7) if len(shape) > 1 else (11,))),
        numba=_cumsum_numba if len(shape) == 1 else None,
        tolerance=1e-9,
        traffic=lambda axis, *shape: 2 * 8 * math.prod(shape),
    )


WORKLOADS: Final = (
    Workload(
        "gather",
        "a million of a million f32, in random order",
        _gather,
        _indices,
        sizes=(1_000_000, 1_000_000),
        tiny=(7, 11),
        traffic=lambda rows, count: 16 * count,
    ),
    Workload(
        "gather-rows",
        "10,000 rows of 100,000x64 f32, as an embedding",
        _gather,
        _indices,
        sizes=(100_000, 10_000, 64),
        tiny=(7, 11, 3),
        traffic=lambda rows, count, width: 8 * count * width,
    ),
    Workload(
        "scatter-add",
        "a million f32 added into 100,000 places",
        _scatter_add,
        _additions,
        sizes=(100_000, 1_000_000),
        tiny=(7, 11),
        numba=_scatter_add_numba,
        tolerance=1e-5,
        traffic=lambda rows, count: 12 * count,
    ),
    Workload(
        "scatter-add-rows",
        "10,000 rows added into 10,000x64 f32",
        _scatter_add,
        _additions,
        sizes=(10_000, 10_000, 64),
        tiny=(7, 11, 3),
        tolerance=1e-5,
        traffic=lambda rows, count, width: 4 * width * (2 * rows + count),
    ),
    _running(1, 2048, 1024),
    _running(0, 2048, 1024),
    _running(0, 4_000_000),
    Workload(
        "sort",
        "a million f32 in random order",
        _sort,
        lambda size: normal((size,), dtype="f32"),
        sizes=(1_000_000,),
        tiny=(37,),
        traffic=lambda size: 8 * size,
    ),
    Workload(
        "sort-rows",
        "4,000 lines of 256 f32",
        _sort,
        lambda *shape: normal(shape, dtype="f32"),
        sizes=(4000, 256),
        tiny=(19, 37),
        traffic=lambda *shape: 8 * math.prod(shape),
    ),
    Workload(
        "sort-rows-f64",
        "4,000 lines of 256 f64",
        _sort,
        lambda *shape: normal(shape),
        sizes=(4000, 256),
        tiny=(19, 37),
        traffic=lambda *shape: 16 * math.prod(shape),
    ),
    Workload(
        "argsort-rows",
        "the order of 4,000 lines of 256 f32",
        _argsort,
        _permutations,
        sizes=(4000, 256),
        tiny=(19, 37),
        traffic=lambda *shape: 12 * math.prod(shape),
    ),
)
