"""Loops over rows, columns and time steps of arrays: fields on grids, filters, and factorizations by columns.

The source is that of a loop whose body writes a row, a column or the inside of an array: NumPy's does so in
place, others return the array with the part written.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ..libraries import COMPILED_TORCH, Library
from ..workload import Function, Workload
from .inputs import generator

#: The inside of a grid.
_INSIDE: Final = (slice(1, -1), slice(1, -1))
_ALL: Final = slice(None)


def _invariant_carry(lib: Library, size: int, steps: int) -> Function:
    """The carry's matrix is returned as it is."""

    def step(i: Any, carry: Any) -> Any:
        matrix, sums = carry
        return matrix, lib.put(sums, i, lib.np.sum(matrix[i]))

    return lambda matrix: lib.control.fori_loop(0, steps, step, (matrix, matrix[0] * 0.0))[1]


def _recursive_filter(lib: Library, shape: tuple[int, int], axis: int) -> Function:
    def run(x: Any) -> Any:
        def step(i: Any, y: Any) -> Any:
            here, before = (i, i - 1) if axis == 0 else ((_ALL, i), (_ALL, i - 1))
            return lib.put(y, here, y[before] * 0.5 + x[here])

        return lib.control.fori_loop(1, shape[axis], step, x * 1.0)

    return run


def _read_columns(lib: Library, size: int) -> Function:
    def run(matrix: Any, start: Any) -> Any:
        return lib.control.fori_loop(0, size, lambda i, s: 0.9 * s + matrix[:, i], start)

    return run


def _tuple_of_rows(lib: Library, shape: tuple[int, int]) -> Function:
    """Rows are written, and a total and the weights are carried beside them."""

    def run(x: Any, weights: Any) -> Any:
        def step(i: Any, carry: Any) -> Any:
            y, total, w = carry
            y = lib.put(y, i, lib.np.tanh(y[i - 1]) + 0.3 * x[i])
            return y, total + lib.np.sum(y[i] * w), w

        y, total, _ = lib.control.fori_loop(1, shape[0], step, (x * 1.0, 0.0 * weights[0], weights))
        return y * total

    return run


def _electromagnetic(lib: Library, size: int, steps: int) -> Function:
    """Yee's method in two dimensions: an electric field, and the magnetic ones between its points."""

    def step(i: Any, fields: Any) -> Any:
        e, hx, hy = fields
        hx = lib.put(hx, (_ALL, slice(0, -1)), hx[:, :-1] - 0.5 * (e[:, 1:] - e[:, :-1]))
        hy = lib.put(hy, (slice(0, -1), _ALL), hy[:-1] + 0.5 * (e[1:] - e[:-1]))
        curl = hy[1:-1, 1:-1] - hy[:-2, 1:-1] - hx[1:-1, 1:-1] + hx[1:-1, :-2]
        return lib.put(e, _INSIDE, e[1:-1, 1:-1] + 0.5 * curl), hx, hy

    def run(e: Any) -> Any:
        return lib.control.fori_loop(0, steps, step, (e * 1.0, e * 0.0, e * 0.0))[0]

    return run


def _limited_diffusion(lib: Library, size: int, steps: int) -> Function:
    """Diffusion whose fluxes are cut where they point up the gradient of the field's Laplacian."""

    def limited(flux: Any, slope: Any) -> Any:
        return lib.np.where(flux * slope > 0, 0.0, flux)

    def step(i: Any, u: Any) -> Any:
        inside = 4 * u[1:-1, 1:-1] - u[2:, 1:-1] - u[:-2, 1:-1] - u[1:-1, 2:] - u[1:-1, :-2]
        fx = limited(inside[1:, 1:-1] - inside[:-1, 1:-1], u[2:-1, 2:-2] - u[1:-2, 2:-2])
        fy = limited(inside[1:-1, 1:] - inside[1:-1, :-1], u[2:-2, 2:-1] - u[2:-2, 1:-2])
        change = fx[1:] - fx[:-1] + fy[:, 1:] - fy[:, :-1]
        core = (slice(2, -2), slice(2, -2))
        return lib.put(u, core, u[2:-2, 2:-2] - 0.02 * change)

    return lambda u: lib.control.fori_loop(0, steps, step, u * 1.0)


def _vertical_advection(lib: Library, columns: int, levels: int) -> Function:
    """An implicit step of advection in each column, by the tridiagonal method from top to bottom and back."""

    def run(u: Any, w: Any) -> Any:
        def down(k: Any, carry: Any) -> Any:
            ratio, right = carry
            below, above = -0.25 * w[:, k], 0.25 * w[:, k]
            inverse = 1.0 / (1.0 - below * ratio[:, k - 1])
            right = lib.put(right, (_ALL, k), (u[:, k] - below * right[:, k - 1]) * inverse)
            return lib.put(ratio, (_ALL, k), above * inverse), right

        def up(k: Any, x: Any) -> Any:
            level = levels - 2 - k
            return lib.put(x, (_ALL, level), x[:, level] - ratio[:, level] * x[:, level + 1])

        ratio, right = lib.control.fori_loop(1, levels, down, (0.25 * w, u * 1.0))
        return lib.control.fori_loop(0, levels - 1, up, right)

    return run


def _gram_schmidt(lib: Library, rows: int, columns: int) -> Function:
    def run(a: Any) -> Any:
        def step(i: Any, q: Any) -> Any:
            v = a[:, i] - q @ (q.T @ a[:, i])
            return lib.put(q, (_ALL, i), v / lib.np.sqrt(lib.np.sum(v * v)))

        return lib.control.fori_loop(0, columns, step, a * 0.0)

    return run


def _lu(lib: Library, size: int) -> Function:
    """Elimination by columns, without pivots."""

    def run(a: Any) -> Any:
        below = lib.np.arange(size)

        def step(k: Any, a: Any) -> Any:
            factors = lib.np.where(below > k, a[:, k] / a[k, k], 0.0)
            a = a - factors[:, None] * lib.np.where(below >= k, a[k], 0.0)[None, :]
            return lib.put(a, (_ALL, k), lib.np.where(below > k, factors, a[:, k]))

        return lib.control.fori_loop(0, size - 1, step, a * 1.0)

    return run


def _substitution(lib: Library, size: int, *, back: bool) -> Function:
    def run(a: Any, y: Any) -> Any:
        def step(k: Any, x: Any) -> Any:
            i = size - 1 - k if back else k
            return lib.put(x, i, (y[i] - a[i] @ x) / a[i, i])

        return lib.control.fori_loop(0, size, step, y * 0.0)

    return run


def _forward_substitution(lib: Library, size: int) -> Function:
    return _substitution(lib, size, back=False)


def _back_substitution(lib: Library, size: int) -> Function:
    return _substitution(lib, size, back=True)


def _tiled(lib: Library, shape: tuple[int, int]) -> Function:
    return lambda x, w: lib.np.sum(lib.np.tile(x * x, (3, 2)) * w)


def _cosine(lib: Library, points: int, size: int) -> Function:
    def run(x: Any) -> Any:
        lengths = lib.np.sqrt(lib.np.sum(x * x, axis=1))
        return x @ x.T / (lengths[:, None] * lengths[None, :])

    return run


def _heun(lib: Library, steps: int, size: int) -> Function:
    """Heun's method on decaying values, which become denormal."""

    def step(y: Any, _: Any) -> Any:
        slope = -0.9 * y
        return y + 0.05 * (slope - 0.9 * (y + 0.1 * slope)), None

    return lambda y: lib.control.scan(step, y, None, length=steps)[0]


def _triangles(lib: Library, size: int) -> Function:
    return lambda x: lib.np.tril(x) @ lib.np.triu(x).T


def _scattered(lib: Library, count: int, places: int) -> Function:
    return lambda x, index, values: lib.np.sum(lib.np.index_add(x, index, values) ** 2)


# -- inputs -------------------------------------------------------------------------------------------


def _square(size: int, *_: Any) -> tuple[Any, ...]:
    return (generator().standard_normal((size, size)),)


def _rectangle(rows: int, columns: int) -> tuple[Any, ...]:
    return (generator().standard_normal((rows, columns)),)


def _shaped(shape: tuple[int, int], *_: Any) -> tuple[Any, ...]:
    return (generator().standard_normal(shape),)


def _with_row(shape: tuple[int, int]) -> tuple[Any, ...]:
    rng = generator()
    return rng.standard_normal(shape), rng.standard_normal(shape[1])


def _with_vector(size: int) -> tuple[Any, ...]:
    return _with_row((size, size))


def _winds(columns: int, levels: int) -> tuple[Any, ...]:
    rng = generator()
    return rng.standard_normal((columns, levels)), rng.uniform(-1, 1, (columns, levels))


def _dominant(size: int) -> tuple[Any, ...]:
    return (generator().standard_normal((size, size)) + 3 * size * np.eye(size),)


def _lower(size: int) -> tuple[Any, ...]:
    (a,) = _dominant(size)
    return np.tril(a), generator().standard_normal(size)


def _upper(size: int) -> tuple[Any, ...]:
    (a,) = _dominant(size)
    return np.triu(a), generator().standard_normal(size)


def _tiles(shape: tuple[int, int]) -> tuple[Any, ...]:
    rng = generator()
    return rng.standard_normal(shape), rng.standard_normal((3 * shape[0], 2 * shape[1]))


def _decaying(steps: int, size: int) -> tuple[Any, ...]:
    return (generator().standard_normal(size).astype(np.float32),)


def _scatter(count: int, places: int) -> tuple[Any, ...]:
    rng = generator()
    return rng.standard_normal(places), rng.integers(0, places, count), rng.standard_normal(count)


def _row(
    name: str, what: str, program: Any, inputs: Any, sizes: tuple[Any, ...], tiny: tuple[Any, ...],
    **more: Any,
) -> Workload:  # fmt: skip
    options = {"skip": ("torch", COMPILED_TORCH), "tolerance": 1e-9} | more
    return Workload(f"steps-{name}", what, program, inputs, sizes, tiny, **options)


WORKLOADS: Final = (
    _row("invariant-carry", "sums of the rows of a 1000x1000 matrix that the carry holds, 1,000 steps, f64",
         _invariant_carry, _square, (1000, 1000), (4, 4)),
    _row("filter-rows", "a recursive filter down the rows of 400x200 f64", _recursive_filter,
         _shaped, ((400, 200), 0), ((5, 3), 0)),
    _row("filter-columns", "a recursive filter along the columns of 400x200 f64", _recursive_filter, _shaped,
         ((400, 200), 1), ((5, 3), 1)),
    _row("read-columns", "a decaying sum over the columns of 1000x1000 f64", _read_columns, _with_vector,
         (1000,), (4,)),
    _row("tuple-of-rows", "rows of 500x100 f64 in turn, with a total and weights in the carry",
         _tuple_of_rows,
         _with_row, ((500, 100),), ((5, 3),)),
    _row("electromagnetic", "100 steps of electromagnetic fields on 256x256 f64", _electromagnetic, _square,
         (256, 100), (6, 2)),
    _row("limited-diffusion", "50 steps of diffusion with limited fluxes on 256x256 f64", _limited_diffusion,
         _square, (256, 50), (8, 2)),
    _row("vertical-advection", "implicit vertical advection in 4,096 columns of 80 levels, f64",
         _vertical_advection, _winds, (4096, 80), (3, 5)),
    _row("gram-schmidt", "Gram-Schmidt on 300x100 f64, column by column", _gram_schmidt, _rectangle, (300,
         100),
         (6, 4)),
    _row("lu", "LU of 200x200 f64, column by column", _lu, _dominant, (200,), (4,)),
    _row("forward-substitution", "forward substitution with 500x500 f64", _forward_substitution, _lower,
         (500,),
         (4,)),
    _row("back-substitution", "back substitution with 500x500 f64", _back_substitution, _upper, (500,), (4,)),
    _row("tile-grad", "gradient of a weighted sum of 3x2 tiles of 300x200 f64", _tiled, _tiles, ((300, 200),),
         ((3, 2),), gradient=(0,)),
    _row("cosine", "cosine similarities of 120 points of 32 f64", _cosine, _rectangle, (120, 32), (5, 3)),
    _row("heun-denormal", "2,230 steps of Heun's method on 75 decaying f32", _heun, _decaying, (2230, 75),
         (5, 3),
         tolerance=1e-4),
    _row("triangles", "tril(x) @ triu(x).T of 64x64 f64", _triangles, _square, (64,), (4,)),
    _row("scatter-grad", "gradient of the squares of 100,000 f64 added into 10,000 places", _scattered,
         _scatter,
         (100_000, 10_000), (9, 4), gradient=(0, 2)),
)  # fmt: skip
