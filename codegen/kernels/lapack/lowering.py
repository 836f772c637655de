"""Lowering of linear algebra ops to LAPACK, with a table of them. Without LAPACK they are host calls."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from ....ir.graph import Instruction, Value
from ....ir.lapack.library import LapackLibrary
from ....ir.ops.linalg.hermitian import CHOLESKY
from ....ir.ops.linalg.lu import LU, LU_SOLVE, TRIANGULAR_SOLVE
from ....ir.ops.linalg.pairs import complex_instruction
from ....ir.ops.linalg.svd import NO_SINGULAR_VALUES, QR
from ....ir.registry import Op
from ...interface import LINALG_ERROR
from ...llvm.emitter import Reg, constant
from ...llvm.loops import FunctionWriter
from ..kernel import Kernel, empty_kernel, signature
from ..lowering import LoweringContext
from . import factorizations, spectra, structured
from .blocked_factors import BlockedCholesky, BlockedLU
from .blocked_qr import BlockedQR
from .blocked_solutions import BlockedSolution
from .blocks import BlockedFactorization
from .problem import (
    Caller,
    Factorization,
    Problem,
    dtype_of,
    element_bytes,
    no_workspace,
    one_thread,
    routine,
    size_of,
)


def _cube(factor: float) -> Callable[[Instruction], float]:
    """Floating operations: `factor` times the larger side and the square of the smaller one."""

    def flops(instruction: Instruction) -> float:
        rows, columns = size_of(instruction)
        return factor * max(rows, columns) * min(rows, columns) ** 2

    return flops


def _of_right_sides(factor: float) -> Callable[[Instruction], float]:
    def flops(instruction: Instruction) -> float:
        size, columns = instruction.operands[-1].shape[-2:]
        return factor * size * size * columns

    return flops


def _of_band(factor: float) -> Callable[[Instruction], float]:
    def flops(instruction: Instruction) -> float:
        rows, size = instruction.operands[0].shape[-2:]
        columns = instruction.operands[-1].shape[-1] if len(instruction.operands) > 1 else rows
        return factor * size * rows * columns

    return flops


#: Message where `eig` has no result.
NO_EIGENVALUES: Final = "Array must not contain infs or NaNs, or eigenvalues did not converge"

#: Lowerings by the names of the ops.
FACTORIZATIONS: Final[dict[str, Factorization]] = {
    "cholesky": Factorization(
        factorizations.cholesky,
        no_workspace,
        ("potrf",),
        _cube(1 / 3),
        "Matrix is not positive definite",
    ),
    "triangular_solve": Factorization(
        factorizations.triangular_solve,
        no_workspace,
        ("trsm", "trsv"),
        _of_right_sides(1.0),
        "singular matrix",
    ),
    "lu": Factorization(factorizations.lu, factorizations.lu_workspace, ("getrf",), _cube(2 / 3)),
    "lu_solve": Factorization(
        factorizations.lu_solve,
        factorizations.lu_solve_workspace,
        ("trsm", "trsv"),
        _of_right_sides(2.0),
        "singular matrix",
    ),
    "qr": Factorization(factorizations.qr, factorizations.qr_workspace, ("geqrf", "orgqr"), _cube(4.0)),
    "banded_lu": Factorization(
        structured.banded_lu, structured.banded_lu_workspace, ("gbtrf",), _of_band(2.0)
    ),
    "banded_solve": Factorization(
        structured.banded_solve,
        structured.banded_solve_workspace,
        ("gbtrs",),
        _of_band(4.0),
        "singular matrix",
    ),
    "banded_cholesky": Factorization(
        structured.banded_cholesky, no_workspace, ("pbtrf",), _of_band(1.0), "Matrix is not positive definite"
    ),
    "banded_cholesky_solve": Factorization(
        structured.banded_cholesky_solve, structured.banded_solve_workspace, ("pbtrs",), _of_band(4.0)
    ),
    "toeplitz_solve": Factorization(
        structured.toeplitz_solve,
        structured.toeplitz_workspace,
        (),
        _of_right_sides(4.0),
        "singular principal minor",
    ),
    "ldl": Factorization(factorizations.ldl, factorizations.ldl_workspace, ("sytrf", "syconv"), _cube(1 / 3)),
    "schur": Factorization(
        spectra.schur, spectra.schur_workspace, ("gees", "trsen"), _cube(25.0), NO_EIGENVALUES
    ),
    "sylvester": Factorization(
        spectra.sylvester, spectra.sylvester_workspace, ("gemm", "trsyl"), _cube(10.0)
    ),
    "eigh": Factorization(
        spectra.eigh, spectra.eigh_workspace, ("syevd",), _cube(9.0), "Eigenvalues did not converge"
    ),
    "eigvalsh": Factorization(
        spectra.eigh, spectra.eigh_workspace, ("syevd",), _cube(4 / 3), "Eigenvalues did not converge"
    ),
    "eig": Factorization(spectra.eig, spectra.eig_workspace, ("geev",), _cube(25.0), NO_EIGENVALUES),
    "eigvals": Factorization(spectra.eig, spectra.eig_workspace, ("geev",), _cube(10.0), NO_EIGENVALUES),
    "svd": Factorization(spectra.svd, spectra.svd_workspace, ("gesdd",), _cube(20.0), NO_SINGULAR_VALUES),
    "svdvals": Factorization(
        spectra.svd, spectra.svd_workspace, ("gesdd",), _cube(8 / 3), NO_SINGULAR_VALUES
    ),
}


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
