"""The ops of linear algebra that have code for small matrices: what each computes, and how it fails."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from ....ir.graph import Instruction
from ....ir.ops.linalg.determinant import ADJUGATE, MAX_COFACTORS
from ....ir.ops.linalg.hermitian import CHOLESKY
from ....ir.ops.linalg.lu import LU, LU_SOLVE, TRIANGULAR_SOLVE
from ....ir.records import record
from ....ir.registry import Attrs, Op
from ...interface import LINALG_ERROR
from ...llvm.emitter import INT_OF, Reg, constant
from ...llvm.loops import FunctionWriter
from . import algorithms
from .matrices import Index, Matrix, RegisterMatrix
from .scratch_matrix import Storage

#: The matrices of the results, and in which lanes the op failed, if it can: at most one mask.
Outcome: TypeAlias = tuple[Sequence[Matrix], list[Reg]]


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


def elementwise_results(
    w: FunctionWriter, instruction: Instruction, operands: list[list[Reg]]
) -> tuple[list[list[Reg]], Reg | None]:
    """The elements of the results of `instruction`, row by row, from those of its operands; whether it
    failed, if it can."""
    operation, batch = OPERATIONS[instruction.op], math.prod(instruction.operands[0].shape[:-2])
    storage = Storage(w, 1, in_registers=True)
    results: list[list[Reg]] = [[] for _ in instruction.results]
    failures: list[Reg] = []
    for number in range(batch):
        matrices: list[Matrix] = []
        for place, (operand, elements) in enumerate(zip(instruction.operands, operands, strict=True)):
            if place in operation.ignored:
                continue
            size = len(elements) // batch
            columns = operand.shape[-1] if operand.dtype.kind == "f" else 1
            mine = elements[number * size : (number + 1) * size]
            matrices.append(
                RegisterMatrix(w, [mine[start : start + columns] for start in range(0, size, columns)])
            )
        computed, failed = operation.compute(storage, instruction.attrs, matrices)
        for result, matrix in zip(results, computed, strict=True):
            assert isinstance(matrix, RegisterMatrix)
            result += [element for row in matrix.elements for element in row]
        failures += failed
    if not failures:
        return results, None
    return results, functools.reduce(w.or_, failures)


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
        return [a], [failed]
    return [storage.mapped(a, a.dtype, lambda x: w.select(failed, math.nan, x))], []


def _lu(storage: Storage, attrs: Attrs, matrices: list[Matrix]) -> Outcome:
    (a,) = matrices
    pivots, order = storage.matrix(min(a.rows, a.columns), 1, INT_OF[a.dtype]), _numbers(storage, a)
    algorithms.lu(a, pivots, order)
    return [a, storage.cast(pivots, "i64"), storage.cast(order, "i64")], []


def _lu_solve(storage: Storage, attrs: Attrs, matrices: list[Matrix]) -> Outcome:
    factors, order, right = matrices
    failed = [algorithms.zero_on_diagonal(factors)] if attrs["on_singular"] == "raise" else []
    order = storage.cast(order, INT_OF[factors.dtype])
    transposed = attrs["transpose"]
    if not transposed:
        right = right.reordered(order, inverse=False)
    for lower in (transposed, not transposed):
        algorithms.solve_triangular(factors, right, lower=not lower, transposed=transposed, unit=not lower)
    if transposed:
        right = right.reordered(order, inverse=True)
    return [right], failed


def _adjugate(storage: Storage, attrs: Attrs, matrices: list[Matrix]) -> Outcome:
    """By the inverse, but for matrices that are singular or nearly so: those take complete pivoting, in
    memory, since that is rare. What lanes have does not depend on others."""
    (a, factors, order), w = matrices, storage.w
    x = storage.matrix(a.rows, a.rows, a.dtype)
    if a.rows <= MAX_COFACTORS:
        algorithms.cofactors(a, x)
        return [x], []
    regular = algorithms.adjugate_of_regular(factors, storage.cast(order, INT_OF[a.dtype]), x)
    memory = Storage(w, max(a.lanes, regular.lanes), in_registers=False)

    def singular() -> list[Reg]:
        copied = memory.mapped(a, a.dtype, lambda element: element)
        rows, columns = _numbers(memory, a), _numbers(memory, a)
        room = memory.matrix(a.rows, a.rows, a.dtype)
        other = algorithms.adjugate(copied, rows, columns, room)

        def chosen(i: Index, j: Index) -> Reg:
            return w.select(regular, x[i, j], other[i, j])

        if storage.in_registers:
            return [chosen(i, j) for i in range(x.rows) for j in range(x.columns)]
        x.each(0, x.rows, lambda i: x.each(0, x.columns, lambda j: x.__setitem__((i, j), chosen(i, j))))
        return []

    elements = [element for row in x.elements for element in row] if isinstance(x, RegisterMatrix) else []
    merged = w.when(w.ne(w.mask_bits(w.not_(regular)), 0), singular, elements)
    if merged:
        x = RegisterMatrix(w, [merged[start : start + a.rows] for start in range(0, len(merged), a.rows)])
    return [x], []


def _numbers(storage: Storage, a: Matrix) -> Matrix:
    """The numbers of the rows of `a`, as a column."""
    numbers = storage.matrix(a.rows, 1, INT_OF[a.dtype])

    def number(i: Index) -> None:
        numbers[i, 0] = algorithms.number_of(a, i)

    a.each(0, a.rows, number)
    return numbers


def _triangular_solve(storage: Storage, attrs: Attrs, matrices: list[Matrix]) -> Outcome:
    a, right = matrices
    unit = attrs["unit_diagonal"]
    failed = []
    if attrs["on_singular"] == "raise":
        unread = constant(False, "bool", storage.lanes)
        failed = [unread if unit else algorithms.zero_on_diagonal(a)]
    algorithms.solve_triangular(a, right, lower=attrs["lower"], transposed=attrs["transpose"], unit=unit)
    return [right], failed


OPERATIONS: Final[Mapping[Op, MatrixOperation]] = {
    CHOLESKY: MatrixOperation(_cholesky, ("on_error", "raise"), "Matrix is not positive definite"),
    LU: MatrixOperation(_lu),
    ADJUGATE: MatrixOperation(_adjugate),
    LU_SOLVE: MatrixOperation(_lu_solve, ("on_singular", "raise"), "singular matrix", ignored=(0,)),
    TRIANGULAR_SOLVE: MatrixOperation(
        _triangular_solve, ("on_singular", "raise"), "singular matrix: a zero on the diagonal"
    ),
}
