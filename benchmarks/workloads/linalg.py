"""Systems, factorizations, inverses and determinants, and their gradients, of small and large matrices.

A group of its own, `python -m benchmarks --group linalg`. `linalg-solve-3` is of 10,000 matrices of 3 rows,
`linalg-solve-16` of 1,000 of 16, `linalg-solve-500` of one of 500.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ..libraries import Library
from ..workload import Function, Workload
from .inputs import generator

#: Rows of matrices, by the number of matrices in a batch.
_SIZES: Final = {10_000: (2, 3, 4, 6, 8), 1_000: (12, 16, 32), 1: (100, 500, 1000)}
#: How many times as fast as the best peer, by the number of matrices.
_GOALS: Final = {10_000: 3.0, 1_000: 2.0, 1: 0.95}

#: By name: what is computed of a matrix and a right side, multiply-adds for n rows.
_OPERATIONS: Final[dict[str, tuple[Callable[[Any, Any, Any], Any], Callable[[int], float]]]] = {
    "solve": (lambda linalg, a, b: linalg.solve(a, b), lambda n: n**3 / 3 + n**2),
    "cholesky": (lambda linalg, a, b: linalg.cholesky(a), lambda n: n**3 / 6),
    "inv": (lambda linalg, a, b: linalg.inv(a), lambda n: n**3),
    "qr": (lambda linalg, a, b: linalg.qr(a)[1], lambda n: 4 * n**3 / 3),
    "det": (lambda linalg, a, b: linalg.det(a), lambda n: n**3 / 3),
}


def _program(lib: Library, name: str, count: int, rows: int) -> Function:
    compute = _OPERATIONS[name][0]
    return lambda a, b: compute(lib.np.linalg, a, b)


def _loss(lib: Library, name: str, count: int, rows: int) -> Function:
    compute = _OPERATIONS[name][0]
    return lambda a, b: (compute(lib.np.linalg, a, b) ** 2).sum()


def _inputs(name: str, count: int, rows: int) -> tuple[Any, ...]:
    rng = generator()
    a = rng.standard_normal((count, rows, rows)) / math.sqrt(rows)
    if name == "cholesky":
        a = a @ a.swapaxes(1, 2) + np.eye(rows)
    else:  # regular, with pivots all over
        order = np.argsort(rng.random((count, rows)), axis=1)
        a = np.take_along_axis(a + 2 * np.eye(rows), order[..., None], axis=1)
    return a, rng.standard_normal((count, rows, 1))


def _workload(name: str, count: int, rows: int, *, gradient: bool) -> Workload:
    return Workload(
        f"linalg-{name}-{rows}{'-grad' * gradient}",
        f"{'value and gradient of ' * gradient}{name} of {count:,} matrices {rows}x{rows} f64",
        _loss if gradient else _program,
        _inputs,
        sizes=(name, count, rows),
        tiny=(name, 5, min(rows, 5)),
        gradient=((0, 1) if name == "solve" else (0,)) if gradient else None,
        tolerance=1e-9,
        work=lambda name, count, rows: 2 * count * _OPERATIONS[name][1](rows) * (1 + 2 * gradient),
        unit="f64",
        goal=_GOALS[count],
    )


WORKLOADS: Final = tuple(
    _workload(name, count, rows, gradient=gradient)
    for gradient in (False, True)
    for name in _OPERATIONS
    for count, sizes in _SIZES.items()
    for rows in sizes
    if name != "qr" or count == 1
)
