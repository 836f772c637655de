"""Running folds along one axis.

Along the last axis a vector is folded in itself, by steps of 1, 2, 4, ... lanes, and then with what came
before it: sums are grouped in that fixed way. Along other axes each row of the result is the row before it
folded with the operand's, so that memory is walked in order.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...ir.dtypes import SHORT_NAME
from ...ir.graph import Instruction
from ..emitter import Reg, constant
from ..loops import FunctionWriter
from ..target import Target
from .axis import Lines, shuffle
from .kernel import Kernel, signature


def cumulative_kernel(
    name: str, instruction: Instruction, target: Target, declarations: dict[str, str]
) -> Kernel:
    """Running folds along an axis."""
    (x,) = instruction.operands
    writer = _Writer(instruction, target, declarations)
    text = writer.write(name)
    description = (
        f"cumulative {name}: {instruction.op.name} of {x.type} along axis {instruction.attrs['axis']}"
    )
    cycles = x.type.size * (1.0 if writer.lanes > 1 else 4.0) + x.type.nbytes / 4
    return Kernel(name, text, description, tasks=writer.lines.tasks, cycles=cycles)


class _Writer:
    def __init__(self, instruction: Instruction, target: Target, declarations: dict[str, str]) -> None:
        (x,) = instruction.operands
        self.w = FunctionWriter(declarations)
        self.dtype = SHORT_NAME[x.dtype]
        self.lines = Lines(x.shape, instruction.attrs["axis"])
        self.reverse: bool = instruction.attrs["reverse"]
        fold = instruction.op.reduction
        assert fold is not None
        self.fold = fold
        along = self.lines.extent if self.lines.contiguous else self.lines.inner
        self.lanes = target.lanes(self.dtype)
        while self.lanes > max(along, 1):
            self.lanes //= 2

    def write(self, name: str) -> str:
        if self.lines.contiguous:
            self.lines.rows(self.w, self._row)
        else:
            self.lines.columns(self.w, self._columns)
        self.w.line("ret void")
        return self.w.function(signature(name, 2), "nounwind")

    def _identity(self, lanes: int) -> Reg:
        return constant(self.fold.identity(self.dtype), self.dtype, lanes)

    # -- contiguous lines -------------------------------------------------------------------------

    def _row(self, line: Reg) -> None:
        w, extent, lanes = self.w, self.lines.extent, self.lanes
        start = w.mul(line, extent)
        whole = extent // lanes
        rest = extent - whole * lanes
        # backwards, what does not fill a vector is at the line's beginning and comes last
        first = rest if self.reverse else 0

        def step(index: Reg, state: list[Reg]) -> Sequence[Reg]:
            position = w.sub(whole - 1, index) if self.reverse else index
            at = w.add(start, w.add(w.mul(position, lanes), first))
            return [self._vector(at, state[0], lanes)]

        (before,) = w.loop(0, whole, 1, step, [self._identity(lanes)])
        last = self._ends(before)

        def single(index: Reg, state: list[Reg]) -> Sequence[Reg]:
            position = w.sub(rest - 1, index) if self.reverse else w.add(index, whole * lanes)
            return [self._vector(w.add(start, position), state[0], 1)]

        w.loop(0, rest, 1, single, [last])

    def _ends(self, before: Reg) -> Reg:
        """One lane of a splat vector."""
        return self.w.extract(before, 0)

    def _vector(self, at: Reg, before: Reg, lanes: int) -> Reg:
        """Fold one vector at element `at`; `before` and the result are splats of the fold so far."""
        w = self.w
        value = w.load(w.offset("%b0", self.dtype, at), self.dtype, lanes)
        step = 1
        while step < lanes:
            if self.reverse:
                picks = [lane + step for lane in range(lanes)]
            else:
                picks = [lanes + lane if lane < step else lane - step for lane in range(lanes)]
            value = self.fold.combine(w, shuffle(w, value, self._identity(lanes), picks), value)
            step *= 2
        # the chain from vector to vector is this fold of splats alone
        total: Reg = value
        if lanes > 1:
            total = shuffle(w, value, value, [0 if self.reverse else lanes - 1] * lanes)
        w.store(self.fold.combine(w, before, value), w.offset("%b1", self.dtype, at))
        after: Reg = self.fold.combine(w, before, total)
        return after

    # -- columns ----------------------------------------------------------------------------------

    def _columns(self, outer: Reg, first: Reg, stop: Reg) -> None:
        w, lines = self.w, self.lines
        base = w.mul(outer, lines.extent * lines.inner)
        origin = (lines.extent - 1) * lines.inner if self.reverse else 0
        stride = -lines.inner if self.reverse else lines.inner
        start = w.add(base, origin)

        def row(index: Reg, _: list[Reg]) -> Sequence[Reg]:
            here = w.add(start, w.mul(index, stride))
            self._across(first, stop, lambda column, lanes: self._element(w.add(here, column), lanes, stride))
            return ()

        self._across(first, stop, lambda column, lanes: self._first(w.add(start, column), lanes))
        w.loop(1, lines.extent, 1, row)

    def _across(self, first: Reg, stop: Reg, body: object) -> None:
        """Call ``body(column, lanes)`` over the columns, vectors first."""
        w, lanes = self.w, self.lanes
        assert callable(body)
        call = body

        def vectors(column: Reg, _: list[Reg]) -> Sequence[Reg]:
            call(column, lanes)
            return ()

        def singles(column: Reg, _: list[Reg]) -> Sequence[Reg]:
            call(column, 1)
            return ()

        count = w.sub(stop, first)
        whole = w.add(first, w.sub(count, w.and_(count, lanes - 1)))
        w.loop(first, whole, lanes, vectors)
        if lanes > 1:
            w.loop(whole, stop, 1, singles)

    def _first(self, at: Reg, lanes: int) -> None:
        w = self.w
        value = w.load(w.offset("%b0", self.dtype, at), self.dtype, lanes)
        w.store(self.fold.combine(w, self._identity(lanes), value), w.offset("%b1", self.dtype, at))

    def _element(self, at: Reg, lanes: int, stride: int) -> None:
        w = self.w
        before = w.load(w.offset("%b1", self.dtype, w.sub(at, stride)), self.dtype, lanes)
        value = w.load(w.offset("%b0", self.dtype, at), self.dtype, lanes)
        w.store(self.fold.combine(w, before, value), w.offset("%b1", self.dtype, at))
