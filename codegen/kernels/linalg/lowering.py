"""How ops of linear algebra become kernels: small matrices a lane for each, others by LAPACK."""

from __future__ import annotations

import math
from typing import Final

from ....ir.dtypes import SHORT_NAME
from ....ir.graph import Instruction, Value
from ....ir.ops.linalg.lu import PERMUTATION_OF_PIVOTS
from ....ir.ops.linalg.small import cycles, fits_registers, is_small, sizes
from ....ir.registry import Kind
from ..kernel import Kernel, empty_kernel
from ..lapack.lowering import lapack_kernel, lapack_workspace
from ..lowering import Lowering, LoweringContext
from .groups import BatchPart, GroupKernel
from .matrices import Matrix
from .operations import OPERATIONS, Outcome, message
from .permutations import permutation_kernel
from .storage import Storage


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
