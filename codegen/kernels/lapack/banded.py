"""Systems with one banded matrix, by LAPACK."""

from __future__ import annotations

from collections.abc import Sequence

from ....ir.graph import Instruction
from ...llvm.emitter import Reg
from .problem import Problem, WorkspaceParts, aligned, zero_among

# -- by Gaussian elimination ----------------------------------------------------------------------


def banded_lu(p: Problem) -> Reg | None:
    """LU factors of a banded matrix: the diagonals as columns, with room for those that pivoting fills."""
    w, attrs = p.w, p.instruction.attrs
    below, above = attrs["below"], attrs["above"]
    rows, size = p.instruction.operands[0].shape[-2:]
    width, factors = below + rows, p.results[0]
    own = p.workspace

    def column(index: Reg, _: list[Reg]) -> Sequence[Reg]:
        start = w.mul(index, width)
        w.clear(p.at(factors, start), below * p.bytes)

        def diagonal(row: Reg, _: list[Reg]) -> Sequence[Reg]:
            value = p.load(p.operands[0], w.add(w.mul(row, size), index))
            w.store(value, p.at(factors, w.add(start, w.add(row, below))))
            return ()

        w.loop(0, rows, 1, diagonal)
        return ()

    w.loop(0, size, 1, column)
    p.call("gbtrf", [size, size, below, above, factors, width, own])

    def pivot(step: Reg, _: list[Reg]) -> Sequence[Reg]:
        value = w.load(w.offset(own, p.caller.integer, step), p.caller.integer)
        wide = value if p.caller.integer == "i64" else w.cast(value, "i64")
        w.store(w.sub(wide, 1), w.offset(p.results[1], "i64", step))
        return ()

    w.loop(0, size, 1, pivot)
    return None  # a zero among the pivots is a result


def banded_lu_workspace(instruction: Instruction, nbytes: int) -> int:
    """Bytes for LAPACK's pivots."""
    return aligned(8 * instruction.operands[0].shape[-1])


def banded_solve(p: Problem) -> Reg | None:
    """Solve a banded system by LU factors: right sides by columns, and the solutions back."""
    w, attrs = p.w, p.instruction.attrs
    below, above, transposed = attrs["below"], attrs["above"], attrs["transpose"]
    _, factors, pivots, right = p.operands
    size, columns = p.instruction.operands[3].shape[-2:]
    width = p.instruction.operands[1].shape[-1]
    parts = _solve_parts(p.instruction, p.bytes)
    x, own = (p.place(start) for start in parts.start.values())

    def pivot(step: Reg, _: list[Reg]) -> Sequence[Reg]:
        value = w.add(w.load(w.offset(pivots, "i64", step), "i64"), 1)
        value = value if p.caller.integer == "i64" else w.cast(value, p.caller.integer)
        w.store(value, w.offset(own, p.caller.integer, step))
        return ()

    w.loop(0, size, 1, pivot)
    p.transpose((size, columns), right, x)
    conjugated = attrs["conjugate"] and p.parts == 2
    if conjugated and not transposed:
        p.conjugate(x, size * columns)
    operation = "'N" if not transposed else "'C" if conjugated else "'T"
    p.call("gbtrs", [operation, size, below, above, columns, factors, width, own, x, size])
    if conjugated and not transposed:
        p.conjugate(x, size * columns)
    p.transpose((columns, size), x, p.results[0])
    if attrs["on_singular"] == "raise":
        return zero_among(p, p.at(factors, below + above), size, width)
    return None


def _solve_parts(instruction: Instruction, nbytes: int) -> WorkspaceParts:
    (size, columns), parts = instruction.operands[-1].shape[-2:], WorkspaceParts()
    parts.add("x", size * columns, nbytes)
    parts.add("pivots", size, 8)
    return parts


def banded_solve_workspace(instruction: Instruction, nbytes: int) -> int:
    """Bytes for the solutions by columns, and for LAPACK's pivots."""
    return _solve_parts(instruction, nbytes).end


# -- of positive definite matrices ----------------------------------------------------------------


def banded_cholesky(p: Problem) -> Reg | None:
    """Cholesky factors of a banded matrix: the diagonals as columns, factored in place."""
    rows, size = p.instruction.operands[0].shape[-2:]
    uplo = "'L" if p.instruction.attrs["lower"] else "'U"
    p.transpose((rows, size), p.operands[0], p.results[0])
    p.call("pbtrf", [uplo, size, rows - 1, p.results[0], rows])
    return p.caller.failed()


def banded_cholesky_solve(p: Problem) -> Reg | None:
    """Solve a banded system by Cholesky factors: right sides by columns, and the solutions back."""
    size, columns = p.instruction.operands[2].shape[-2:]
    width = p.instruction.operands[1].shape[-1]
    uplo = "'L" if p.instruction.attrs["lower"] else "'U"
    p.transpose((size, columns), p.operands[2], p.workspace)
    p.call("pbtrs", [uplo, size, width - 1, columns, p.operands[1], width, p.workspace, size])
    p.transpose((columns, size), p.workspace, p.results[0])
    return None
