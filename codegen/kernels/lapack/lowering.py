"""Lowering of linear algebra ops to LAPACK. Without LAPACK they are host calls."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

from ....base.lapack.library import LapackLibrary
from ....ir.graph import Instruction, Value
from ....ir.ops.linalg.cholesky import CHOLESKY
from ....ir.ops.linalg.lu import LU, LU_SOLVE
from ....ir.ops.linalg.pairs import complex_instruction
from ....ir.ops.linalg.qr import QR
from ....ir.ops.linalg.triangular import TRIANGULAR_SOLVE
from ....ir.registry import Op
from ...interface import LINALG_ERROR
from ...llvm.emitter import Reg, constant
from ...llvm.loops import FunctionWriter
from ...lowering.kernel import Kernel, empty_kernel, signature
from ...lowering.lowering import LoweringContext
from .blocked_cholesky import BlockedCholesky
from .blocked_lu import BlockedLU
from .blocked_qr import BlockedQR
from .blocked_solutions import BlockedSolution
from .blocks import BlockedFactorization
from .calls import Caller, one_thread, routine
from .problem import Factorization, Problem, dtype_of, element_bytes
from .table import FACTORIZATIONS

#: Cycles of a call for a matrix, and floating operations in a cycle.
_CALL: Final = 1000.0
_FLOPS: Final = 8.0


def lapack_kernel(name: str, instruction: Instruction, context: LoweringContext) -> Kernel | None:
    """Kernel that calls LAPACK for one matrix of the batch after the other; None where the op or LAPACK is
    not there."""
    instruction = complex_instruction(instruction)
    chosen = _factorization(instruction, context)
    if chosen is None:
        return None
    factorization, lapack = chosen
    values = [*instruction.operands, *instruction.results]
    a = instruction.operands[0]
    batch = math.prod(a.shape[:-2])
    description = f"{instruction.op.name} {name}: {batch} x {a.type} by LAPACK"
    if any(value.type.size == 0 for value in instruction.results) or a.type.size == 0:
        return (
            None
            if any(value.type.size for value in instruction.results)
            else empty_kernel(name, len(values), description)
        )
    blocked = _blocked(name, instruction, context, lapack)
    if blocked is not None:
        return blocked.kernel(_message(instruction, factorization))
    dtype, parts = dtype_of(a)
    workspace = factorization.workspace(instruction, element_bytes(a))
    w = FunctionWriter(context.declarations)
    caller = Caller(w, lapack, dtype, parts)
    problem = Problem(
        w, caller, instruction, dtype, parts, context.target.lanes(dtype), [], [], f"%b{len(values)}",
        _Constants(caller),
    )  # fmt: skip

    def one_matrix(index: Reg, seen: list[Reg]) -> Sequence[Reg]:
        places = [_matrix_at(w, i, value, len(a.shape) - 2, index) for i, value in enumerate(values)]
        problem.operands = places[: len(instruction.operands)]
        problem.results = places[len(instruction.operands) :]
        failed = factorization.write(problem)
        return [seen[0] if failed is None else w.or_(seen[0], failed)]

    begin, end = Reg("%begin", "i64"), Reg("%end", "i64")
    with one_thread(w, lapack) as thread_symbols:
        (failed,) = w.loop(begin, end, 1, one_matrix, [constant(False, "bool")])
    message = _message(instruction, factorization)
    buffers = len(values) + bool(workspace)
    if message:
        w.ret(w.cast(failed, "i32"))
    else:
        w.ret()
    code = w.function(signature(name, buffers, result="i32" if message else "void"), "nounwind")
    cycles = batch * (_CALL + parts * parts * factorization.flops(instruction) / _FLOPS)
    return Kernel(
        name, [code], description, tasks=batch, cycles=cycles, errors=(message,) if message else (),
        slowdown=problem.slowdown,
        lapack=(*thread_symbols, *caller.symbols), serial="LAPACK is called for one matrix after the other",
    )  # fmt: skip


#: Writers of blocked factorizations of large matrices, by op.
_BLOCKED: Final[Mapping[Op, type[BlockedFactorization]]] = {
    CHOLESKY: BlockedCholesky,
    LU: BlockedLU,
    QR: BlockedQR,
    TRIANGULAR_SOLVE: BlockedSolution,
    LU_SOLVE: BlockedSolution,
}


class _Constants(dict[tuple[type, object], str]):
    """Pointers to constants by type and value, written in the entry block when first asked for."""

    def __init__(self, caller: Caller) -> None:
        super().__init__()
        self.caller = caller

    def __missing__(self, key: tuple[type, object]) -> str:
        _, value = key
        caller, w = self.caller, self.caller.w
        # slots are in the entry block, and so is what is stored in them first
        operations, w.operations = w.operations, w.slots
        if isinstance(value, str):
            place = caller.text(value)
        elif isinstance(value, float):
            place = caller.element(value)
        else:
            assert isinstance(value, int)
            place = caller.number(value)
        w.operations = operations
        self[key] = place
        return place


def _matrix_at(w: FunctionWriter, number: int, value: Value, batch_rank: int, index: Reg) -> str:
    """The pointer to matrix `index` of the batch in buffer `number`."""
    dtype, parts = dtype_of(value)
    return w.offset(f"%b{number}", dtype, w.mul(index, parts * math.prod(value.shape[batch_rank:])))


def _factorization(
    instruction: Instruction, context: LoweringContext
) -> tuple[Factorization, LapackLibrary] | None:
    factorization, a = FACTORIZATIONS.get(instruction.op.name), instruction.operands[0]
    lapack = context.lapack if factorization is not None and a.dtype.char in "fdFD" else None
    if factorization is None or lapack is None:
        return None
    if not all(lapack.find(routine(name, *dtype_of(a))) for name in factorization.names):
        return None
    return factorization, lapack


def _blocked(
    name: str, instruction: Instruction, context: LoweringContext, lapack: LapackLibrary
) -> BlockedFactorization | None:
    """Writer of a blocked factorization of large matrices; None for others, and for those that LAPACK does
    alone."""
    writer = _BLOCKED.get(instruction.op)
    if writer is None or not writer.fits(instruction, lapack.blocks_from):
        return None
    return writer(name, instruction, context, lapack)


def _message(instruction: Instruction, factorization: Factorization) -> str:
    """Error message of the instruction; empty where it cannot fail."""
    attrs = instruction.attrs
    asked = attrs.get("on_error", attrs.get("on_singular", "raise"))
    if not factorization.error or asked != "raise" or attrs.get("unit_diagonal"):
        return ""
    where = f" ({instruction.location.file}:{instruction.location.line})" if instruction.location else ""
    return f"{LINALG_ERROR}{instruction.op.name}: {factorization.error}{where}"


def lapack_workspace(instruction: Instruction, context: LoweringContext) -> int:
    """Bytes that the kernel works in."""
    instruction = complex_instruction(instruction)
    chosen, a = _factorization(instruction, context), instruction.operands[0]
    if chosen is None or a.type.size == 0:
        return 0
    blocked = _blocked("", instruction, context, chosen[1])
    return blocked.workspace if blocked is not None else chosen[0].workspace(instruction, element_bytes(a))
