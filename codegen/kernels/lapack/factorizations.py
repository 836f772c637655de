"""Cholesky, LU and QR factors and triangular systems by LAPACK and BLAS, for one matrix.

Each function writes the code, and gives the condition of failure, or None where there is none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ....ir.graph import Instruction
from ...llvm.emitter import Reg, constant
from ..linalg import algorithms
from ..linalg.memory_matrix import SingleMatrix
from .movement import copy_below, note_pivots, number_rows, order_rows
from .problem import BLOCK, Problem, Sizes, aligned, size_of, zero_among
from .triangular import fits_tiles, solve_in_tiles, solve_vector

# -- Cholesky -------------------------------------------------------------------------------------


def cholesky(p: Problem) -> Reg | None:
    """Cholesky factor: the lower triangle by rows is LAPACK's upper one by columns."""
    w, (size, _), result = p.w, size_of(p.instruction), p.results[0]
    if p.caller.has("potrf"):
        w.copy(result, p.operands[0], size * size * p.bytes)
        p.call("potrf", ["'U", size, result, size])
        failed = p.caller.failed()
    else:
        p.transpose((size, size), p.operands[0], result)
        failed = algorithms.cholesky(p.matrix(result, size, size))
        copy_below(w, p.matrix(result, size, size))

    def clear_above(row: Reg, _: list[Reg]) -> Sequence[Reg]:
        first = p.at(result, w.add(w.mul(row, size + 1), 1))
        w.clear(first, w.mul(w.sub(constant(size - 1, "i64"), row), p.bytes))
        return ()

    w.loop(0, size - 1, 1, clear_above)
    if p.instruction.attrs["on_error"] == "raise":
        return failed

    def fill() -> list[Reg]:
        p.fill(result, size * size * p.parts, math.nan)
        return []

    w.when(failed, fill)
    return None


# -- triangular systems ---------------------------------------------------------------------------


def _solve(p: Problem, factor: str, right: str, columns: int, *, lower: bool, unit: bool) -> None:
    """Solve in place: ``x^T op(a)^T = b^T`` to LAPACK, for which `factor` is transposed.

    It knows no conjugation alone, and of a vector none of what is transposed already: then both sides are.
    """
    attrs = p.instruction.attrs
    transposed, conjugated = attrs["transpose"], attrs["conjugate"] and p.parts == 2
    size = p.instruction.operands[0].shape[-1]
    in_tiles, in_lines = fits_tiles(p, size, columns), columns == 1 and not p.caller.has("trsv")
    uplo, diagonal = "'U" if lower else "'L", "'U" if unit else "'N"
    around = conjugated and (in_tiles or in_lines or transposed == (columns == 1))
    if around:
        p.conjugate(right, size * columns)
    if in_tiles:
        solve_in_tiles(p, factor, right, size, columns, lower=lower, transposed=transposed, unit=unit)
    elif in_lines:
        solve_vector(p, factor, right, size, lower=lower, transposed=transposed, unit=unit)
    elif columns == 1:
        operation = "'N" if transposed else "'C" if conjugated else "'T"
        p.call("trsv", [uplo, operation, diagonal, size, factor, size, right, 1], info=False)
    else:
        operation = "'N" if not transposed else "'C" if conjugated else "'T"
        p.call(
            "trsm",
            ["'R", uplo, operation, diagonal, columns, size, p.element(1.0), factor, size, right, columns],
            info=False,
        )
    if around:
        p.conjugate(right, size * columns)


def triangular_solve(p: Problem) -> Reg | None:
    """Solve a triangular system in the memory of the result."""
    attrs, right = p.instruction.attrs, p.instruction.operands[1]
    rows, columns = right.shape[-2:]
    p.w.copy(p.results[0], p.operands[1], rows * columns * p.bytes)
    _solve(p, p.operands[0], p.results[0], columns, lower=attrs["lower"], unit=attrs["unit_diagonal"])
    if attrs["on_singular"] == "raise" and not attrs["unit_diagonal"]:
        return zero_among(p, p.operands[0], rows, rows + 1)
    return None


# -- LU -------------------------------------------------------------------------------------------


def lu(p: Problem) -> Reg | None:
    """LU factors by LAPACK, transposed to its columns and back; its pivots count from 1."""
    w, (rows, columns) = p.w, size_of(p.instruction)
    least = min(rows, columns)
    factors, pivots, permutation = p.results
    if not p.caller.has("getrf"):
        w.copy(factors, p.operands[0], rows * columns * p.bytes)
        number_rows(w, permutation, rows)
        places = [SingleMatrix(w, place, rows, 1, 1, "i64", 1) for place in (pivots, permutation)]
        algorithms.lu(p.matrix(factors, rows, columns), *places)
        return None
    by_columns = p.workspace
    own = p.place(aligned(rows * columns * p.bytes))
    p.transpose((rows, columns), p.operands[0], by_columns)
    p.call("getrf", [rows, columns, by_columns, rows, own])
    p.transpose((columns, rows), by_columns, factors)

    number_rows(w, permutation, rows)
    note_pivots(w, (own, p.caller.integer), 0, least, pivots, permutation)
    return None  # a zero among the pivots is a result


def lu_workspace(instruction: Instruction, nbytes: int) -> int:
    """Bytes for the transposed matrix and the pivots."""
    rows, columns = size_of(instruction)
    return aligned(rows * columns * nbytes) + aligned(8 * min(rows, columns))


def lu_solve(p: Problem) -> Reg | None:
    """Solve by LU factors: rows in the order of the permutation, and two triangular systems."""
    w, attrs = p.w, p.instruction.attrs
    size, columns = p.instruction.operands[3].shape[-2:]
    _, lu, permutation, right = p.operands
    (result,) = p.results
    transposed = attrs["transpose"]
    solved = p.workspace if transposed else result
    if transposed:
        w.copy(solved, right, size * columns * p.bytes)

    size_of_rows = size, columns * p.bytes
    if not transposed:
        order_rows(w, permutation, size_of_rows, right, result, back=False)
    for lower in (False, True) if transposed else (True, False):
        _solve(p, lu, solved, columns, lower=lower, unit=lower)
    if transposed:
        order_rows(w, permutation, size_of_rows, solved, result, back=True)
    if attrs["on_singular"] == "raise":
        return zero_among(p, lu, size, size + 1)
    return None


def lu_solve_workspace(instruction: Instruction, nbytes: int) -> int:
    """Bytes for the solution before its rows are exchanged."""
    size, columns = instruction.operands[3].shape[-2:]
    return size * columns * nbytes if instruction.attrs["transpose"] else 0


# -- QR -------------------------------------------------------------------------------------------


def qr(p: Problem) -> Reg | None:
    """QR factors from `geqrf`, as NumPy calls it; `gelqf` of the matrix as it lies takes half as long
    again."""
    w, (rows, columns) = p.w, size_of(p.instruction)
    least, r = min(rows, columns), p.results[-1]
    height = p.instruction.results[-1].shape[-2]
    basis, tau, work, length = _qr_places(p.instruction, p.bytes)
    by_columns = p.workspace
    p.transpose((rows, columns), p.operands[0], by_columns)
    p.call("geqrf", [rows, columns, by_columns, rows, p.place(tau), p.place(work), length])

    def column(index: Reg, _: list[Reg]) -> Sequence[Reg]:
        """Column `index` of r down to the diagonal, and zeros below."""

        def above(row: Reg, _: list[Reg]) -> Sequence[Reg]:
            value = p.load(by_columns, w.add(w.mul(index, rows), row))
            below = w.gt(row, index)
            w.store(w.select(below, 0.0, value), p.at(r, w.add(w.mul(row, columns), index)))
            return ()

        w.loop(0, least, 1, above)
        return ()

    w.loop(0, columns, 1, column)
    if height > least:
        w.clear(p.at(r, least * columns), (height - least) * columns * p.bytes)
    if len(p.results) == 2:
        inner = p.instruction.results[0].shape[-1]
        w.copy(p.place(basis), by_columns, rows * least * p.bytes)
        p.call("orgqr", [rows, inner, least, p.place(basis), rows, p.place(tau), p.place(work), length])
        p.transpose((inner, rows), p.place(basis), p.results[0])
    return None


def _qr_places(instruction: Instruction, nbytes: int) -> Sizes:
    """Bytes where q by columns, tau and LAPACK's workspace begin, and the number of elements of that."""
    rows, columns = size_of(instruction)
    inner = instruction.results[0].shape[-1] if len(instruction.results) == 2 else 0
    basis = aligned(rows * columns * nbytes)
    tau = basis + aligned(rows * inner * nbytes)
    work = tau + aligned(min(rows, columns) * nbytes)
    return basis, tau, work, BLOCK * max(rows, columns)


def qr_workspace(instruction: Instruction, nbytes: int) -> int:
    """Bytes for the matrix and q by columns, the reflectors' scales and LAPACK's own workspace."""
    _, _, work, length = _qr_places(instruction, nbytes)
    return work + length * nbytes
