"""Systems with one banded matrix, by LAPACK, and with one Toeplitz matrix, by loops of our own."""

from __future__ import annotations

from collections.abc import Sequence

from ....ir.graph import Instruction
from ...llvm.emitter import Reg, constant
from ...llvm.registers import Number
from .elements import Elements, Parts
from .problem import Problem, WorkspaceParts, aligned, zero_among


class _Recursion(Elements):
    """Writes Levinson's recursion: see the op, whose names it has."""

    def __init__(self, p: Problem) -> None:
        super().__init__(p.w, p.dtype, p.parts)
        self.p = p
        self.size, self.columns = p.instruction.operands[1].shape[-2:]
        self.line, self.right = p.operands
        self.x = p.results[0]
        parts = _parts(p.instruction, p.bytes)
        self.first, self.last = (p.place(start) for start in parts.start.values())

    # -- the recursion ------------------------------------------------------------------------------

    def diagonal(self, number: Reg) -> Parts:
        """The element of the diagonal `number` below the main one."""
        number = self.w.sub(constant(0, "i64"), number) if self.p.instruction.attrs["transpose"] else number
        return self.load(self.line, self.w.add(number, self.size - 1))

    def sums(self, count: Reg, terms: list[tuple[int, str, int, Number]]) -> list[Parts]:
        """Sums over i below `count`, one for each (sign, pointer, step, start) of `terms`: of the diagonal
        ``count - i``, or for sign -1 of ``-1 - i``, times element ``start + step i``."""
        w, parts = self.w, self.parts
        zero = self.number(0.0)

        def term(i: Reg, totals: list[Reg]) -> Sequence[Reg]:
            following: list[Reg] = []
            for place, (sign, pointer, step, start) in enumerate(terms):
                diagonal = self.diagonal(w.sub(count if sign > 0 else constant(-1, "i64"), i))
                value = self.load(pointer, w.add(w.mul(i, step), start))
                total = totals[parts * place : parts * (place + 1)]
                following += self.add(total, self.mul(diagonal, value))
            return following

        totals = w.loop(constant(0, "i64"), count, 1, term, zero * len(terms), nonempty=True)
        return [totals[parts * place : parts * (place + 1)] for place in range(len(terms))]

    def begin(self) -> Reg:
        """The solutions of one row; whether there are none."""
        w = self.w
        pivot = self.diagonal(constant(0, "i64"))
        inverse = self.inverse(pivot)
        self.store(inverse, self.first, 0)
        self.store(inverse, self.last, 0)

        def column(index: Reg, _: list[Reg]) -> Sequence[Reg]:
            self.store(self.mul(self.load(self.right, index), inverse), self.x, index)
            return ()

        w.loop(0, self.columns, 1, column)
        return self.is_zero(pivot)

    def extend(self, m: Reg, seen: list[Reg]) -> Sequence[Reg]:
        """Extend the solutions of m rows to m + 1 rows."""
        w = self.w
        error, other = self.sums(m, [(1, self.first, 1, 0), (-1, self.last, 1, 0)])
        rest = self.sub(self.number(1.0), self.mul(error, other))
        inverse = self.inverse(rest)
        self.store(self.number(0.0), self.first, m)

        def element(i: Reg, before: list[Reg]) -> Sequence[Reg]:
            """Update element i of both solutions. `last` moves by one place, so its element before is
            carried."""
            first, last, moved = self.load(self.first, i), self.load(self.last, i), list(before)
            self.store(self.mul(self.sub(first, self.mul(error, moved)), inverse), self.first, i)
            self.store(self.mul(self.sub(moved, self.mul(other, first)), inverse), self.last, i)
            return last

        self.store(self.number(0.0), self.last, m)
        stop = w.add(m, 1)
        w.loop(constant(0, "i64"), stop, 1, element, self.number(0.0), nonempty=True)

        def column(index: Reg, _: list[Reg]) -> Sequence[Reg]:
            (total,) = self.sums(m, [(1, self.x, self.columns, index)])
            missing = self.sub(self.load(self.right, w.add(w.mul(m, self.columns), index)), total)
            self.store(self.number(0.0), self.x, w.add(w.mul(m, self.columns), index))

            def update(i: Reg, _: list[Reg]) -> Sequence[Reg]:
                place = w.add(w.mul(i, self.columns), index)
                step = self.mul(self.load(self.last, i), missing)
                self.store(self.add(self.load(self.x, place), step), self.x, place)
                return ()

            w.loop(constant(0, "i64"), stop, 1, update, nonempty=True)
            return ()

        w.loop(0, self.columns, 1, column)
        return [w.or_(seen[0], self.is_zero(rest))]


def toeplitz_solve(p: Problem) -> Reg | None:
    """Levinson's recursion."""
    recursion = _Recursion(p)
    failed = recursion.begin()
    (failed,) = p.w.loop(1, recursion.size, 1, recursion.extend, [failed])
    return failed


def _parts(instruction: Instruction, nbytes: int) -> WorkspaceParts:
    parts = WorkspaceParts()
    for name in ("first", "last"):
        parts.add(name, instruction.operands[1].shape[-2], nbytes)
    return parts


def toeplitz_workspace(instruction: Instruction, nbytes: int) -> int:
    """Bytes for the solutions of the first and the last unit vector."""
    return _parts(instruction, nbytes).end


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
    below, above, turned = attrs["below"], attrs["above"], attrs["transpose"]
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
    if conjugated and not turned:
        p.conjugate(x, size * columns)
    operation = "'N" if not turned else "'C" if conjugated else "'T"
    p.call("gbtrs", [operation, size, below, above, columns, factors, width, own, x, size])
    if conjugated and not turned:
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
