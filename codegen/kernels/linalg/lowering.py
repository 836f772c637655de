"""How ops of linear algebra become kernels: small matrices a lane for each, others by LAPACK."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from ....ir.dtypes import SHORT_NAME
from ....ir.graph import Instruction, Value
from ....ir.ops.linalg.lu import PERMUTATION_OF_PIVOTS
from ....ir.ops.linalg.small import cycles, fits_registers, is_small, sizes
from ....ir.registry import Kind
from ...llvm.emitter import Reg, constant
from ...llvm.loops import FunctionWriter
from ..kernel import Kernel, empty_kernel, signature
from ..lapack.lowering import lapack_kernel, lapack_workspace
from ..lowering import Lowering, LoweringContext
from .groups import BatchPart, GroupKernel
from .matrices import Matrix
from .operations import OPERATIONS, Outcome, message
from .scratch_matrix import Storage

#: About the cycles of an exchange, each of which waits for the one before.
_CYCLES = 8.0


def permutation_kernel(name: str, instruction: Instruction, context: LoweringContext) -> Kernel:
    """One vector of pivots of the batch after the other. A pivot out of range exchanges nothing, and is
    reported in the end."""
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
    """What is computed for each matrix of the batch; None where the op has no such kernel, or matrices are
    too large."""
    if not is_small(instruction):
        return None
    operation, a = OPERATIONS[instruction.op], instruction.operands[0]
    rank, (rows, columns, right) = len(a.shape), sizes(instruction)

    def compute(storage: Storage, matrices: list[Matrix]) -> Outcome:
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
    """What `value` has of a matrix of a batch of `rank` - 2 axes: a matrix, or a column."""
    shape = value.shape[rank - 2 :]
    rows, columns = (shape[0], 1) if len(shape) == 1 else shape
    return BatchPart(rows, columns, SHORT_NAME[value.dtype], read)


LINALG: Final = Lowering(
    (Kind.LINALG,), linalg_kernel, workspace=linalg_workspace, arithmetic="linear algebra"
)
