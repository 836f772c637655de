"""The ops of linear algebra that have code for small matrices: what each computes, and how it fails."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from ....ir.graph import Instruction
from ....ir.ops.linalg.cholesky import CHOLESKY
from ....ir.ops.linalg.lu import LU, LU_SOLVE
from ....ir.ops.linalg.triangular import TRIANGULAR_SOLVE
from ....ir.records import record
from ....ir.registry import Attrs, Op
from ...interface import LINALG_ERROR
from ...llvm.emitter import INT_OF, Reg
from . import algorithms
from .matrices import Index, Matrix, Storage

#: The matrices of the results, and in which lanes the op failed, if it can.
Outcome: TypeAlias = tuple[Sequence[Matrix], Reg | None]


@record(eq=False)
class MatrixOperation:
    """What an op computes: ``compute(storage, attributes, matrices that are read)``."""

    compute: Callable[[Storage, Attrs, list[Matrix]], Outcome]
    #: The attribute that says whether it raises, with the values for which it does.
    raises: tuple[str, str] | None = None
    #: What it raises.
    error: str = ""
    #: Operands that are not read.
    ignored: tuple[int, ...] = ()


def message(instruction: Instruction) -> str:
    """What `instruction` raises; empty where it cannot fail."""
    operation = OPERATIONS[instruction.op]
    if operation.raises is None or instruction.attrs[operation.raises[0]] != operation.raises[1]:
        return ""
    where = f" ({instruction.location.file}:{instruction.location.line})" if instruction.location else ""
    return f"{LINALG_ERROR}{instruction.op.name}: {operation.error}{where}"


def _cholesky(storage: Storage, attrs: Attrs, matrices: list[Matrix]) -> Outcome:
    (a,), w = matrices, storage.w
    failed = algorithms.cholesky(a)
    if attrs["on_error"] == "raise":
        return [a], failed
    return [storage.mapped(a, a.dtype, lambda x: w.select(failed, math.nan, x))], None


def _lu(storage: Storage, attrs: Attrs, matrices: list[Matrix]) -> Outcome:
    (a,) = matrices
    numbers = INT_OF[a.dtype]
    pivots = storage.matrix(min(a.rows, a.columns), 1, numbers)
    order = storage.matrix(a.rows, 1, numbers)

    def number(i: Index) -> None:
        order[i, 0] = algorithms.number_of(a, i)

    a.each(0, a.rows, number)
    algorithms.lu(a, pivots, order)
    return [a, storage.cast(pivots, "i64"), storage.cast(order, "i64")], None


def _lu_solve(storage: Storage, attrs: Attrs, matrices: list[Matrix]) -> Outcome:
    factors, order, right = matrices
    failed = algorithms.zero_on_diagonal(factors) if attrs["on_singular"] == "raise" else None
    order = storage.cast(order, INT_OF[factors.dtype])
    transposed = attrs["transpose"]
    if not transposed:
        right = right.reordered(order, inverse=False)
    for lower in (transposed, not transposed):
        algorithms.solve_triangular(factors, right, lower=not lower, transposed=transposed, unit=not lower)
    if transposed:
        right = right.reordered(order, inverse=True)
    return [right], failed


def _triangular_solve(storage: Storage, attrs: Attrs, matrices: list[Matrix]) -> Outcome:
    a, right = matrices
    unit = attrs["unit_diagonal"]
    raises = attrs["on_singular"] == "raise" and not unit
    failed = algorithms.zero_on_diagonal(a) if raises else None
    algorithms.solve_triangular(a, right, lower=attrs["lower"], transposed=attrs["transpose"], unit=unit)
    return [right], failed


OPERATIONS: Final[Mapping[Op, MatrixOperation]] = {
    CHOLESKY: MatrixOperation(_cholesky, ("on_error", "raise"), "Matrix is not positive definite"),
    LU: MatrixOperation(_lu),
    LU_SOLVE: MatrixOperation(_lu_solve, ("on_singular", "raise"), "singular matrix", ignored=(0,)),
    TRIANGULAR_SOLVE: MatrixOperation(
        _triangular_solve, ("on_singular", "raise"), "singular matrix: a zero on the diagonal"
    ),
}
