"""Systems with one Toeplitz matrix, by loops of our own."""

from __future__ import annotations

from collections.abc import Sequence

from ....ir.graph import Instruction
from ...llvm.emitter import Reg, constant
from ...llvm.registers import Number
from .elements import Elements, Parts
from .problem import Problem, WorkspaceParts


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
