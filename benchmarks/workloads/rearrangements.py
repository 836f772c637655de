"""Repeats, tiles, stacks, pixels and gathers, with arithmetic around them; searches in a sorted line."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ..libraries import COMPILED_TORCH, Library
from ..workload import Function, Workload
from .inputs import generator, normal


def _repeat_rows(lib: Library, *shape: int) -> Function:
    return lambda x: lib.np.repeat(x, 2, axis=1)[::2] * 1.5


def _stack(lib: Library, x: Any) -> Any:
    return lib.np.stack([x, x * 2.0]).reshape(2 * x.shape[0], -1)


def _padded_tiles(lib: Library, *shape: int) -> Function:
    xp = lib.np

    def run(x: Any) -> Any:
        x = xp.tile(_stack(lib, xp.repeat(x, 2, axis=1)), (2, 1))
        return xp.pad(x, ((1, 2), (0, 3)))[::2] * 1.5

    return run


def _tiles_of_tiles(lib: Library, *shape: int) -> Function:
    xp = lib.np

    def run(x: Any) -> Any:
        x = xp.tile(_stack(lib, x), (2, 1))
        return xp.tile(xp.where(x > 0, x, 0.1 * x), (2, 1)) * 1.5

    return run


def _repeated_stack(lib: Library, *shape: int) -> Function:
    return lambda x: lib.np.sum((lib.np.repeat(_stack(lib, x), 2, axis=1) * 1.5 + 0.3) ** 2)


def _pixels(lib: Library, *shape: int) -> Function:
    return lambda x: lib.np.moveaxis(x, 0, -1) * 2.0 - 1.0


def _enlarged(lib: Library, *shape: int) -> Function:
    return lambda x: lib.np.repeat(lib.np.repeat(x, 2, axis=0), 2, axis=1) * 0.5


def _elements_of_rows(lib: Library, *sizes: int) -> Function:
    return lambda x, i, j: lib.np.take_along_axis(x[i], j[:, None], axis=1)[:, 0] * 2.0


def _columns(lib: Library, *sizes: int) -> Function:
    return lambda x, i, j: lib.np.sum(x.T[:, i], axis=0)


def _rows(rows: int, width: int, count: int) -> tuple[Any, ...]:
    rng = generator()
    return rng.standard_normal((rows, width)), rng.integers(0, rows, count), rng.integers(0, width, count)


def _interpolated(lib: Library, *sizes: int) -> Function:
    return lambda x, line, values: lib.np.interp(x, line, values)


def _line(count: int, points: int) -> tuple[Any, ...]:
    rng = generator()
    return rng.random(count), np.linspace(0.0, 1.0, points), rng.standard_normal(points)


def _chain(lib: Library, *sizes: int) -> Function:
    return lambda a, b, c: a @ b @ c


def _matrices(m: int, k: int, n: int, p: int) -> tuple[Any, ...]:
    return normal((m, k), (k, n), (n, p))


def _row(
    name: str, what: str, program: Any, sizes: tuple[Any, ...], tiny: tuple[Any, ...], inputs: Any = None,
    **more: Any,
) -> Workload:  # fmt: skip
    options = {"skip": ("torch", COMPILED_TORCH), "tolerance": 1e-9} | more
    return Workload(
        f"rearrange-{name}", what, program, inputs or (lambda *shape: normal(shape)), sizes, tiny, **options
    )


WORKLOADS: Final = (
    _row("repeat", "every other row of 117x700 f64 with each column twice", _repeat_rows, (117, 700), (5, 3)),
    _row("padded-tiles", "478x256 f64 repeated, stacked, tiled, padded", _padded_tiles, (478, 256), (3, 2)),
    _row("tiles-of-tiles", "544x512 f64 stacked and tiled twice", _tiles_of_tiles, (544, 512), (3, 4)),
    _row("repeated-stack-grad", "gradient of a sum over 404x454 f64, stacked and repeated", _repeated_stack,
         (404, 454), (3, 4), gradient=(0,)),
    _row("pixels", "three planes of 256x256 f64 as pixels", _pixels, (3, 256, 256), (3, 4, 5)),
    _row("enlarged", "256x256 pixels of three f64, each four times", _enlarged, (256, 256, 3), (4, 5, 3)),
    _row("elements-of-rows", "an element of each of 5,000 rows of 1000x100 f64", _elements_of_rows,
         (1000, 100, 5000), (7, 5, 11), _rows),
    _row("columns", "sums of 3,000 columns of the transpose of 1000x100 f64", _columns, (1000, 100, 3000),
         (7, 5, 11), _rows),
    _row("interpolated", "50,000 f64 between 500 points", _interpolated, (50_000, 500), (11, 7), _line),
    _row("products", "60x70 @ 70x80 @ 80x50 f64", _chain, (60, 70, 80, 50), (3, 4, 5, 6), _matrices),
)  # fmt: skip
