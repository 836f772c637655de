"""Lowering of linear algebra ops to kernels: small matrices take a lane each, others use LAPACK."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from ....base.records import record
from ....ir.dtypes import SHORT_NAME
from ....ir.graph import Instruction, Value
from ....ir.ops.linalg.adjugate import ADJUGATE
from ....ir.ops.linalg.cholesky import CHOLESKY
from ....ir.ops.linalg.determinant import MAX_COFACTORS
from ....ir.ops.linalg.lu import LU, LU_SOLVE, PERMUTATION_OF_PIVOTS
from ....ir.ops.linalg.triangular import TRIANGULAR_SOLVE
from ....ir.registry import Attrs, Kind, Op
from ...interface import LINALG_ERROR
from ...llvm.emitter import INT_OF, Reg, constant
from ...llvm.loops import FunctionWriter
from ...lowering.kernel import Kernel, empty_kernel, signature
from ...lowering.lowering import Lowering, LoweringContext
from ...lowering.small_matrices import cycles, fits_registers, is_small, sizes
from ...maths import MathsWriter
from ..lapack.lowering import lapack_kernel, lapack_workspace
from . import adjugates, algorithms
from .groups import BatchPart, GroupKernel
from .matrices import Index, RegisterMatrix, moved
from .memory_matrix import LaneMatrix, Storage

#: The matrices of the results, and in which lanes the op failed, if it can: at most one mask.
Outcome: TypeAlias = tuple[Sequence[LaneMatrix], list[Reg]]


@record(eq=False)
class MatrixOperation:
    """Computation of an op: ``compute(storage, attributes, matrices that are read)``."""

    compute: Callable[[Storage, Attrs, list[LaneMatrix]], Outcome]
    #: The attribute that says whether it raises, with the values for which it does.
    raises: tuple[str, str] | None = None
    #: The message of the error that it raises.
    error: str = ""
    #: Operands that are not read.
    ignored: tuple[int, ...] = ()


def elementwise_results(
    w: MathsWriter, instruction: Instruction, operands: list[list[Reg]]
) -> tuple[list[list[Reg]], Reg | None]:
    """The elements of the results of `instruction`, row by row, from those of its operands; whether it
    failed, if it can."""
    operation, batch = OPERATIONS[instruction.op], math.prod(instruction.operands[0].shape[:-2])
    storage = Storage(w, 1, in_registers=True)
    results: list[list[Reg]] = [[] for _ in instruction.results]
    failures: list[Reg] = []
    for number in range(batch):
        matrices: list[LaneMatrix] = []
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
    """Error message of `instruction`; empty where it cannot fail."""
    operation = OPERATIONS[instruction.op]
    if operation.raises is None or instruction.attrs[operation.raises[0]] != operation.raises[1]:
        return ""
    where = f" ({instruction.location.file}:{instruction.location.line})" if instruction.location else ""
    return f"{LINALG_ERROR}{instruction.op.name}: {operation.error}{where}"


def _cholesky(storage: Storage, attrs: Attrs, matrices: list[LaneMatrix]) -> Outcome:
    (a,), w = matrices, storage.w
    u = a.transposed()
    failed = algorithms.cholesky(u)
    a = u.transposed()

    def clear(i: Index, j: Index) -> None:
        a[i, j] = constant(0.0, a.dtype, a.lanes)

    a.each(0, a.rows, lambda i: a.each(moved(w, i, 1), a.rows, lambda j: clear(i, j)))
    if attrs["on_error"] == "raise":
        return [a], [failed]
    return [storage.mapped(a, a.dtype, lambda x: w.select(failed, math.nan, x))], []


def _lu(storage: Storage, attrs: Attrs, matrices: list[LaneMatrix]) -> Outcome:
    (a,) = matrices
    pivots, order = storage.matrix(min(a.rows, a.columns), 1, INT_OF[a.dtype]), _numbers(storage, a)
    algorithms.lu(a, pivots, order)
    return [a, storage.cast(pivots, "i64"), storage.cast(order, "i64")], []


def _lu_solve(storage: Storage, attrs: Attrs, matrices: list[LaneMatrix]) -> Outcome:
    factors, order, right = matrices
    failed = [algorithms.zero_on_diagonal(factors)] if attrs["on_singular"] == "raise" else []
    order = storage.cast(order, INT_OF[factors.dtype])
    transposed = attrs["transpose"]
    if not transposed:
        right = storage.reordered(right, order, inverse=False)
    for lower in (transposed, not transposed):
        algorithms.solve_triangular(factors, right, lower=not lower, transposed=transposed, unit=not lower)
    if transposed:
        right = storage.reordered(right, order, inverse=True)
    return [right], failed


def _adjugate(storage: Storage, attrs: Attrs, matrices: list[LaneMatrix]) -> Outcome:
    """Adjugate by cofactors, or by the inverse for larger matrices. Singular and nearly singular matrices
    take complete pivoting instead, in memory, since that is rare. The result in a lane does not depend on
    other lanes."""
    (a, factors, order), w = matrices, storage.w
    x = storage.matrix(a.rows, a.rows, a.dtype)
    if a.rows <= MAX_COFACTORS:
        adjugates.cofactors(a, x)
        return [x], []
    regular = adjugates.adjugate_of_regular(factors, storage.cast(order, INT_OF[a.dtype]), x)
    memory = Storage(w, max(a.lanes, regular.lanes), in_registers=False)

    def singular() -> list[Reg]:
        copied = memory.mapped(a, a.dtype, lambda element: element)
        rows, columns = _numbers(memory, a), _numbers(memory, a)
        room = memory.matrix(a.rows, a.rows, a.dtype)
        adjugates.adjugate(copied, rows, columns, room)
        other = memory.reordered(room, columns, inverse=True)

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


def _numbers(storage: Storage, a: LaneMatrix) -> LaneMatrix:
    """The numbers of the rows of `a`, as a column."""
    numbers = storage.matrix(a.rows, 1, INT_OF[a.dtype])

    def number(i: Index) -> None:
        numbers[i, 0] = algorithms.number_of(numbers, i)

    a.each(0, a.rows, number)
    return numbers


def _triangular_solve(storage: Storage, attrs: Attrs, matrices: list[LaneMatrix]) -> Outcome:
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


#: Estimated cycles of an exchange, each of which waits for the one before.
_CYCLES = 8.0


def permutation_kernel(name: str, instruction: Instruction, context: LoweringContext) -> Kernel:
    """Kernel that makes a permutation of each vector of pivots of the batch. A pivot out of range exchanges
    nothing, and is reported at the end."""
    shape = instruction.result.shape
    batch, rows = math.prod(shape[:-1]), shape[-1]
    description = f"permutation {name}: {batch} of {rows} rows"
    if batch * rows == 0:
        return empty_kernel(name, 2, description)
    w = FunctionWriter(context.declarations)

    def vector(index: Reg, bad: list[Reg]) -> Sequence[Reg]:
        start = w.mul(index, rows)
        pivots, order = w.offset("%b0", "i64", start), w.offset("%b1", "i64", start)

        def number(row: Reg, _: list[Reg]) -> Sequence[Reg]:
            w.store(row, w.offset(order, "i64", row))
            return ()

        def exchange(row: Reg, bad: list[Reg]) -> Sequence[Reg]:
            pivot = w.load(w.offset(pivots, "i64", row), "i64")
            outside = w.or_(w.lt(pivot, 0), w.ge(pivot, rows))
            here = w.offset(order, "i64", row)
            there = w.offset(order, "i64", w.select(outside, row, pivot))
            old, new = w.load(here, "i64"), w.load(there, "i64")
            w.store(new, here)
            w.store(old, there)
            return [w.or_(bad[0], outside)]

        w.loop(0, rows, 1, number)
        return w.loop(0, rows, 1, exchange, bad)

    begin, end = Reg("%begin", "i64"), Reg("%end", "i64")
    (bad,) = w.loop(begin, end, 1, vector, [constant(False, "bool")])
    w.ret(w.cast(bad, "i32"))
    where = f" ({instruction.location.file}:{instruction.location.line})" if instruction.location else ""
    message = f"{instruction.op.name}: pivots must be between 0 and {rows - 1}{where}"
    return Kernel(
        name, [w.function(signature(name, 2, result="i32"), "nounwind")], description, tasks=batch,
        cycles=_CYCLES * batch * rows, errors=(message,),
    )  # fmt: skip


def linalg_kernel(name: str, instruction: Instruction, context: LoweringContext) -> Kernel | None:
    """The kernel of an op; None where matrices are not small, and there is no LAPACK for it."""
    if instruction.op is PERMUTATION_OF_PIVOTS:
        return permutation_kernel(name, instruction, context)
    plan = plan_of(name, instruction)
    if plan is None:
        return lapack_kernel(name, instruction, context)
    if plan.batch == 0 or any(part.size == 0 for part in plan.results):
        buffers = len(instruction.operands) + len(instruction.results)
        return empty_kernel(name, buffers, f"{plan.description}: no elements")
    return plan.kernel(context.target, context.declarations)


def linalg_workspace(instruction: Instruction, context: LoweringContext) -> int:
    """Bytes that the kernel works in."""
    plan = plan_of("", instruction)
    return plan.workspace(context.target) if plan is not None else lapack_workspace(instruction, context)


def plan_of(name: str, instruction: Instruction) -> GroupKernel | None:
    """Computation for each matrix of the batch; None where the op has no such kernel, or matrices are too
    large."""
    if not is_small(instruction):
        return None
    operation, a = OPERATIONS[instruction.op], instruction.operands[0]
    rank, (rows, columns, right) = len(a.shape), sizes(instruction)

    def compute(storage: Storage, matrices: list[LaneMatrix]) -> Outcome:
        return operation.compute(storage, instruction.attrs, matrices)

    operands = [
        part_of(operand, rank, read=i not in operation.ignored)
        for i, operand in enumerate(instruction.operands)
    ]
    batch = math.prod(a.shape[:-2])
    of = f"{batch} x {rows}x{columns} {SHORT_NAME[a.dtype]}" + (f", {right} right sides" if right else "")
    return GroupKernel(
        name, batch, operands, [part_of(result, rank) for result in instruction.results], compute,
        fits_registers(instruction), cycles(instruction), f"{instruction.op.name} {name}: {of}",
        tuple(filter(None, [message(instruction)])),
    )  # fmt: skip


def part_of(value: Value, rank: int, *, read: bool = True) -> BatchPart:
    """Part of `value` that belongs to one matrix of a batch of `rank` - 2 axes: a matrix, or a column."""
    shape = value.shape[rank - 2 :]
    rows, columns = (shape[0], 1) if len(shape) == 1 else shape
    return BatchPart(rows, columns, SHORT_NAME[value.dtype], read)


LINALG: Final = Lowering(
    (Kind.LINALG,), linalg_kernel, workspace=linalg_workspace, arithmetic="linear algebra"
)
