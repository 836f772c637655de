"""Kernels beside C that is written by hand (`benchmarks/limits/c`): ``python -m benchmarks.limits``.

C functions are called like the workload, without "c-" and with underscores. Ours are written with NumPy's
functions, and in plain loops where NumPy has no words for them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ..libraries import LIBRARIES, Library
from ..workload import Function, Workload
from .elementwise import _black_scholes, _expression, _options
from .inputs import DTYPES, generator, normal
from .plain_loops import _bands, _edit_distance, _mandelbrot, _sequences, _tridiagonal
from .reductions import _layernorm, _softmax
from .simulation import _bodies, _gravity

Array = Any


def _nine_points(lib: Library, *shape: int) -> Function:
    def blur(u: Array) -> Array:
        sides = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        corners = u[:-2, :-2] + u[:-2, 2:] + u[2:, :-2] + u[2:, 2:]
        return 0.25 * u[1:-1, 1:-1] + 0.125 * sides + 0.0625 * corners

    return blur


def _five_points(lib: Library, *shape: int) -> Function:
    def step(u: Array) -> Array:
        inside = u[1:-1, 1:-1]
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        return inside + 0.2 * (around - 4.0 * inside)

    return step


def _shortest_paths(lib: Library, size: int) -> Function:
    """Floyd's and Warshall's algorithm."""

    def paths(d: Array) -> Array:
        for k in range(size):
            d = lib.np.minimum(d, d[:, k, None] + d[k])
        return d

    return paths


def _systems(count: int) -> tuple[Array, ...]:
    """Matrices away from singular ones, which take pivots all the same."""
    matrices, right = normal((count, 3, 3), (count, 3))
    return matrices + 2.0 * np.eye(3)[[1, 2, 0]], right


def _signals(rows: int) -> tuple[Array, ...]:
    re, im = normal((rows, 1024), (rows, 1024))
    return (re + 1j * im,)


def _index(table: int, count: int) -> Array:
    return generator().integers(0, table, count)


def _row(
    name: str,
    what: str,
    program: Callable[..., Function],
    inputs: Callable[..., tuple[Any, ...]],
    sizes: tuple[int, ...],
    tiny: tuple[int, ...],
    *shapes: Callable[..., tuple[int, ...]],
    dtypes: tuple[str, ...] = ("f64",),
    tolerance: float = 1e-12,
) -> Workload:
    """A workload whose results have these shapes, by its sizes, and dtypes."""
    function = name.removesuffix("-large").replace("-", "_")

    def results(*sizes: int) -> tuple[tuple[tuple[int, ...], Any], ...]:
        return tuple((shape(*sizes), _DTYPES[dtype]) for shape, dtype in zip(shapes, dtypes, strict=True))

    return Workload(
        f"c-{name}",
        what,
        program,
        inputs,
        sizes,
        tiny,
        c=lambda library, *sizes: library.bind(function, results, sizes),
        skip=LIBRARIES[1:],
        tolerance=tolerance,
    )


_DTYPES: Final = {**DTYPES, "i64": np.int64, "c128": np.complex128}
_MILLION: Final = (1_000_000,)


def _flat(n: int, *_: int) -> tuple[int, ...]:
    return (n,)


def _same(*sizes: int) -> tuple[int, ...]:
    return sizes


def _inside(n: int, m: int) -> tuple[int, ...]:
    return n - 2, m - 2


def _last(*sizes: int) -> tuple[int, ...]:
    return sizes[-1:]


def _number(*_: int) -> tuple[int, ...]:
    return ()


WORKLOADS: Final = (
    _row(
        "copy", "copy of a million f64",
        lambda lib, n: lambda x: lib.np.copy(x), lambda n: normal((n,)), _MILLION, (37,), _flat,
    ),
    _row(
        "axpy", "2.5 x + y, a million f64",
        lambda lib, n: lambda x, y: 2.5 * x + y, lambda n: normal((n,), (n,)), _MILLION, (37,), _flat,
    ),
    _row(
        "dot", "dot product of two vectors of a million f64",
        lambda lib, n: lambda x, y: x @ y, lambda n: normal((n,), (n,)), _MILLION, (37,), _number,
        tolerance=1e-10,
    ),
    _row(
        "softmax", "softmax of rows, 1024x1024 f32",
        _softmax, lambda *shape: normal(shape, dtype="f32"), (1024, 1024), (5, 37), _same,
        dtypes=("f32",), tolerance=1e-5,
    ),
    _row(
        "layer-norm", "layer norm of rows, 1024x1024 f32",
        _layernorm, lambda *shape: normal(shape, shape[1:], shape[1:], dtype="f32"),
        (1024, 1024), (5, 37), _same, dtypes=("f32",), tolerance=1e-5,
    ),
    _row(
        "variance", "variance of rows, 1000x1000 f64",
        lambda lib, *_: lambda x: lib.np.var(x, axis=1), lambda *shape: normal(shape),
        (1000, 1000), (5, 37), _flat,
    ),
    _row(
        "exp-chain", "exp(-x/2) / (1 + exp(-y)) + xy, a million f64",
        _expression, lambda n: normal((n,), (n,)), _MILLION, (37,), _flat,
    ),
    _row(
        "black-scholes", "calls and puts of 200,000 options, f64",
        _black_scholes, _options, (200_000,), (37,), _flat, _flat, dtypes=("f64", "f64"),
    ),
    _row(
        "five-point", "five-point stencil on 1024x1024 f64",
        _five_points, lambda *shape: normal(shape), (1024, 1024), (7, 37), _inside,
    ),
    _row(
        "nine-point", "nine-point stencil on 1024x1024 f64",
        _nine_points, lambda *shape: normal(shape), (1024, 1024), (7, 37), _inside,
    ),
    _row(
        "n-body", "accelerations of 1,000 bodies, f64",
        _gravity, _bodies, (1000,), (37,), lambda n: (n, 3), tolerance=1e-11,
    ),
    _row(
        "mandelbrot", "512x512 points of Mandelbrot's set, up to 100 steps each, plain loops",
        lambda lib, *sizes: _mandelbrot(range, *sizes), lambda *_: (np.full(1, -2.0),), (512, 100), (37, 20),
        # a point whose path rounds to the other side of the circle counts another number of steps
        lambda n, _: (n, n), dtypes=("i64",), tolerance=0.02,
    ),
    _row(
        "gemm", "product of two 64x64 f64 matrices",
        lambda lib, *_: lambda a, b: a @ b, lambda n, k, m: normal((n, k), (k, m)),
        (64, 64, 64), (19, 21, 37), lambda n, k, m: (n, m),
    ),
    _row(
        "gemm-large", "product of two 1024x1024 f64 matrices",
        lambda lib, *_: lambda a, b: a @ b, lambda n, k, m: normal((n, k), (k, m)),
        (1024, 1024, 1024), (133, 201, 117), lambda n, k, m: (n, m),
    ),
    _row(
        "gemv", "product of a 1024x1024 f64 matrix and a vector",
        lambda lib, *_: lambda a, x: a @ x, lambda n, m: normal((n, m), (m,)), (1024, 1024), (19, 37), _flat,
    ),
    _row(
        "solve-3x3", "100,000 systems of three equations, f64",
        lambda lib, _: lambda a, b: lib.np.linalg.solve(a, b[..., None])[..., 0],
        _systems, (100_000,), (37,), lambda n: (n, 3), tolerance=1e-8,
    ),
    _row(
        "fir", "64 taps over 100,000 f64",
        lambda lib, *_: lambda x, h: lib.np.convolve(x, h, mode="valid"),
        lambda n, taps: normal((n,), (taps,)), (100_000, 64), (137, 21), lambda n, taps: (n - taps + 1,),
    ),
    _row(
        "cumulative-sum", "cumulative sum of a million f64",
        lambda lib, _: lambda x: lib.np.cumsum(x), lambda n: normal((n,)), _MILLION, (300_001,), _flat,
        tolerance=1e-11,
    ),
    _row(
        "histogram", "counts of a million i64 below 256",
        lambda lib, n, bins: lambda x: lib.np.bincount(x, minlength=bins),
        lambda n, bins: (_index(bins, n),), (1_000_000, 256), (137, 11), _last, dtypes=("i64",),
    ),
    _row(
        "gather", "a million elements of a table of 100,000 f64",
        lambda lib, *_: lambda table, index: lib.np.take(table, index),
        lambda size, n: (*normal((size,)), _index(size, n)), (100_000, 1_000_000), (37, 61), _last,
    ),
    _row(
        "scatter-add", "a million f64 added to elements of 100,000",
        lambda lib, *_: lib.np.index_add,
        lambda size, n: (*normal((size,)), _index(size, n), *normal((n,))),
        (100_000, 1_000_000), (37, 61), _flat,
    ),
    _row(
        "transpose", "transpose of 1000x1000 f64",
        lambda lib, *_: lambda x: lib.np.copy(x.T), lambda *shape: normal(shape), (1000, 1000), (37, 61),
        lambda n, m: (m, n),
    ),
    _row(
        "lu", "LU factors of a 64x64 f64 matrix, and pivots",
        lambda lib, _: lib.np.lu_factor, lambda n: normal((n, n)), (64,), (37,),
        lambda n: (n, n), _flat, dtypes=("f64", "i64"), tolerance=1e-10,
    ),
    _row(
        "fft-1024", "64 transforms of 1,024 complex f64",
        lambda lib, _: lib.np.fft.fft, _signals, (64,), (3,), lambda n: (n, 1024), dtypes=("c128",),
    ),
    _row(
        "tridiagonal", "a tridiagonal system of 100,000 equations, f64, plain loops",
        lambda lib, n: _tridiagonal(range, n), _bands, (100_000,), (37,), _flat,
    ),
    _row(
        "floyd-warshall", "shortest paths between 256 nodes, f64",
        _shortest_paths, lambda n: (generator().random((n, n)),), (256,), (37,), lambda n: (n, n),
    ),
    _row(
        "edit-distance", "edit distance of sequences of 1,000, plain loops",
        lambda lib, n, _: _edit_distance(range, n), lambda n, _: _sequences(n),
        (1000, 1000), (37, 37), _number, dtypes=("i64",),
    ),
)  # fmt: skip
