"""L D L^H factors by LAPACK, for one matrix."""

from __future__ import annotations

from collections.abc import Sequence

from ....base.lapack.calls import ldl_routine
from ....ir.graph import Instruction
from ...llvm.emitter import Reg, constant
from .problem import BLOCK, Problem, WorkspaceParts, size_of


def ldl(p: Problem) -> Reg | None:
    """L D L^H factors by LAPACK; `syconv` exchanges rows of L as the pivots did, and sets D's sides apart."""
    w, (size, _), attrs = p.w, size_of(p.instruction), p.instruction.attrs
    is_lower, hermitian = attrs["lower"], attrs["hermitian"] and p.parts == 2
    parts = _parts(p.instruction, p.bytes)
    factors, off, work, pivots = (p.place(start) for start in parts.start.values())
    triangle, d, order = p.results
    uplo = "'L" if is_lower else "'U"
    p.transpose((size, size), p.operands[0], factors)
    routine = ldl_routine(p.instruction.operands[0].dtype, attrs["hermitian"])
    p.call(routine, [uplo, size, factors, size, pivots, work, parts.count["work"]])
    p.call("syconv", [uplo, "'C", size, factors, size, pivots, off])
    p.transpose((size, size), factors, triangle)
    w.clear(d, size * size * p.bytes)

    def row(index: Reg, _: list[Reg]) -> Sequence[Reg]:
        """Row `index` of the unit triangle, and of D what lies on the diagonal."""
        start = w.mul(index, size)
        w.store(p.load(triangle, w.add(start, index)), p.at(d, w.add(start, index)))
        if is_lower:
            beyond, count = w.add(index, 1), w.sub(constant(size - 1, "i64"), index)
        else:
            beyond, count = constant(0, "i64"), index
        w.clear(p.at(triangle, w.add(start, beyond)), w.mul(count, p.bytes))
        w.copy(p.at(triangle, w.add(start, index)), p.element(1.0), p.bytes)
        w.store(index, w.offset(order, "i64", index))
        return ()

    w.loop(0, size, 1, row)

    def side(index: Reg, _: list[Reg]) -> Sequence[Reg]:
        """The element of D beside the diagonal that LAPACK has at `index`; zeros where there is no block."""
        other = w.add(index, 1 if is_lower else -1)
        below, above = w.add(w.mul(other, size), index), w.add(w.mul(index, size), other)
        value = p.load(off, index)
        w.store(value, p.at(d, below))
        w.store(value, p.at(d, above))
        if hermitian:
            p.conjugate(p.at(d, above), 1)
        return ()

    # a block's other element would be written again with zero
    def block(index: Reg, _: list[Reg]) -> Sequence[Reg]:
        value = p.load(off, index)
        parts = [value] if p.parts == 1 else [w.extract(value, part) for part in range(2)]
        there = [w.ne(part, 0.0) for part in parts]
        w.when(there[0] if len(there) == 1 else w.or_(*there), lambda: list(side(index, [])))
        return ()

    w.loop(0, size - 1, 1, block) if is_lower else w.loop(1, size, 1, block)

    def exchange(step: Reg, second: list[Reg]) -> Sequence[Reg]:
        """Exchange the row of a pivot; of a 2x2 block, which has the same negative pivot twice, only the
        second row."""
        index = step if is_lower else w.sub(constant(size - 1, "i64"), step)
        pivot = w.load(w.offset(pivots, p.caller.integer, index), p.caller.integer)
        pivot = pivot if p.caller.integer == "i64" else w.cast(pivot, "i64")
        moves = w.or_(w.gt(pivot, 0), second[0])
        other = w.sub(w.select(w.gt(pivot, 0), pivot, w.sub(constant(0, "i64"), pivot)), 1)
        here = w.offset(order, "i64", index)
        there = w.offset(order, "i64", w.select(moves, other, index))
        own, others = w.load(here, "i64"), w.load(there, "i64")
        w.store(others, here)
        w.store(own, there)
        return [w.not_(moves)]

    w.loop(0, size, 1, exchange, [constant(False, "bool")])
    return None


def _parts(instruction: Instruction, nbytes: int) -> WorkspaceParts:
    (size, _), parts = size_of(instruction), WorkspaceParts()
    parts.add("factors", size * size, nbytes)
    parts.add("off", size, nbytes)
    parts.add("work", BLOCK * size, nbytes)
    parts.add("pivots", size, 8)
    return parts


def ldl_workspace(instruction: Instruction, nbytes: int) -> int:
    """Bytes for the factors by columns, D's sides, the pivots and LAPACK's own workspace."""
    return _parts(instruction, nbytes).end
