"""Sorting many short lines by networks, with a lane for each line.

Lines are transposed, so that a vector (a *row*) holds one element of each. What compares two elements of a
line is then the minimum and the maximum of two rows. Blocks of rows that fit in registers are sorted by
Batcher's network. Two sorted runs become one by comparing them from both ends (the first of one with the last
of the other), which leaves the lower half below the upper one, and then each half with itself at distances
that halve. Several distances are one pass over memory: rows `apart` from each other are a block in registers.
Rows behind the line are the greatest that there are, and stay where they are.

Sources: Knuth, The Art of Computer Programming 3, 5.2.2 (Batcher's method) and 5.3.4 (bitonic sorters).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from ...llvm.emitter import Reg, constant
from ...llvm.function import Code, Declarations
from ...llvm.loops import FunctionWriter
from ...llvm.target import Target
from ...llvm.transpose import transposed
from ...lowering.kernel import signature
from ...tiers import ScheduleParameters
from .columns import batcher
from .rows import Row
from .strategy import SortPlan

#: Cycles of a comparison of two rows, and of two rows and where they came from.
_CYCLES: Final = {1: 3.0, 2: 10.0}


class NetworkWriter:
    """Writes the kernel, whose tasks are groups of as many lines as a vector of rows has lanes."""

    def __init__(
        self, plan: SortPlan, target: Target, parameters: ScheduleParameters, declarations: Declarations
    ) -> None:
        self.plan, self.w = plan, FunctionWriter(declarations)
        self.format = plan.rows
        self.lanes = target.lanes(self.format.dtype)
        #: Rows in registers.
        self.block = max(self.lanes, self.format.block(target.vector_bits))
        self.shortened = self.block > parameters.network_rows
        if self.shortened:
            self.lanes = self.block = min(self.lanes, parameters.network_rows)
        self.padded = max(self.block, 1 << (plan.extent - 1).bit_length())
        #: Groups of lines that none shares with another.
        self.groups = max(1, plan.lines // self.lanes)
        self.whole = plan.extent // self.block * self.block
        self.rows: list[str] = []
        self.dtypes = self.format.dtypes

    @property
    def cycles(self) -> float:
        """Rough estimate of the cycles of all lines."""
        stages = self.padded.bit_length() - 1
        return self.groups * self.padded * (stages * (stages + 1) / 4 * _CYCLES[len(self.dtypes)] + 4)

    def write(self, name: str) -> Code:
        """The code of ``@name(ptr %b0, ptr %b1, i64 %begin, i64 %end)`` over groups of lines."""
        w = self.w
        if self.plan.extent > self.block:
            self.rows = [w.slot(dtype, self.padded * self.lanes) for dtype in self.dtypes]
        stop = Reg("%end", "i64")
        if self.plan.lines > self.lanes and self.plan.lines % self.lanes:
            # the last task sorts the lines that are left, with some of its own again
            stop = w.add(stop, w.cast(w.eq(stop, self.groups), "i64"))
        w.loop(Reg("%begin", "i64"), stop, 1, lambda group, _: self._group(group))
        w.ret()
        return [w.function(signature(name, 2), "nounwind")]

    def _group(self, group: Reg) -> Sequence[Reg]:
        """Sort `lanes` lines. Where there are fewer, the last one several times."""
        w, plan = self.w, self.plan
        line = w.min(w.mul(group, self.lanes), max(plan.lines - self.lanes, 0))
        first = w.mul(line, plan.extent)
        starts = [w.add(first, min(lane, plan.lines - 1) * plan.extent) for lane in range(self.lanes)]
        if not self.rows:
            zero = constant(0, "i64")
            self._put(starts, zero, self._sorted(starts, zero, plan.extent), plan.extent)
            return ()
        self._blocks(lambda at, count: self._keep(at, self._sorted(starts, at, count)))
        beyond = -(-plan.extent // self.block) * self.block

        def pad(index: Reg, _: Row) -> Sequence[Reg]:
            self._keep(index, [self._last(index)])
            return ()

        w.loop(beyond, self.padded, 1, pad)
        run = 2 * self.block
        while run <= self.padded:
            self._merge(run)
            run *= 2
        self._blocks(
            lambda at, count: self._put(
                starts, at, self.format.halved(w, self._rows(at, 1, self.block)), count
            )
        )
        return ()

    def _blocks(self, body: Callable[[Reg, int], None]) -> None:
        """Call ``body(first row, how many are of the line)`` for the line's blocks."""

        def each(index: Reg, _: Row) -> Sequence[Reg]:
            body(index, self.block)
            return ()

        self.w.loop(0, self.whole, self.block, each)
        if self.whole < self.plan.extent:
            body(constant(self.whole, "i64"), self.plan.extent - self.whole)

    # -- merging ----------------------------------------------------------------------------------

    def _merge(self, run: int) -> None:
        """Make runs of half as many rows one, but for the distances within a block, which are a pass of their
        own or, at the end, on the way out."""
        w, apart = self.w, max(run // self.block, self.block)
        radix = run // apart

        def from_ends(at: Reg, base: Reg) -> None:
            mirrored = w.sub(w.add(at, run - 1 - (radix // 2 - 1) * apart), base)
            low = self._rows(w.add(at, base), apart, radix // 2)
            high = self._rows(mirrored, apart, radix // 2)
            rows = low + high
            for i in range(radix // 2):
                self.format.exchange(w, rows, i, radix - 1 - i)
            self._keep(w.add(at, base), self.format.halved(w, rows[: radix // 2]), apart)
            self._keep(mirrored, self.format.halved(w, rows[radix // 2 :]), apart)

        self._passes(run, apart, from_ends)
        while apart > (1 if run < self.padded else self.block):
            distance, apart = apart, max(apart // self.block, self.block if apart > self.block else 1)
            self._within(distance, apart)

    def _within(self, distance: int, apart: int) -> None:
        """Compare rows at distances below `distance`, down to `apart`."""
        w, radix = self.w, distance // apart

        def clean(at: Reg, base: Reg) -> None:
            first = w.add(at, base)
            self._keep(first, self.format.halved(w, self._rows(first, apart, radix)), apart)

        self._passes(distance, apart, clean)

    def _passes(self, size: int, apart: int, body: Callable[[Reg, Reg], None]) -> None:
        """Call ``body(first row, place)`` for runs of `size`, and each of their first `apart` places."""
        w = self.w

        def run(at: Reg, _: Row) -> Sequence[Reg]:
            def place(base: Reg, _: Row) -> Sequence[Reg]:
                body(at, base)
                return ()

            w.loop(0, apart, 1, place)
            return ()

        w.loop(0, -(-self.plan.extent // size) * size, size, run)

    # -- rows in scratch --------------------------------------------------------------------------

    def _rows(self, first: Reg, apart: int, count: int) -> list[Row]:
        """`count` rows from `first` on, `apart` from each other."""
        w, rows = self.w, []
        for number in range(count):
            at = w.mul(w.add(first, number * apart), self.lanes)
            parts = zip(self.rows, self.dtypes, strict=True)
            rows.append([w.load(w.offset(text, dtype, at), dtype, self.lanes) for text, dtype in parts])
        return rows

    def _keep(self, first: Reg, rows: list[Row], apart: int = 1) -> None:
        """Store `rows` from `first` on; the rest of a block that is not full is behind the line."""
        w = self.w
        for number, row in enumerate(rows):
            at = w.mul(w.add(first, number * apart), self.lanes)
            for part, pointer in zip(row, self.rows, strict=True):
                w.store(part, w.offset(pointer, part.dtype, at))

    def _last(self, at: Reg) -> Row:
        """The row `at` a place behind the line: as great as any key, and from further on."""
        return self.format.greatest(self.w.splat(self.w.cast(at, "u32"), self.lanes))

    # -- elements ---------------------------------------------------------------------------------

    def _sorted(self, starts: list[Reg], at: Reg, count: int) -> list[Row]:
        """A block from `at` on, of which `count` rows are of the lines."""
        w = self.w
        rows: list[Row] = []
        for first in range(0, self.block, self.lanes):
            if first < count:
                rows += self._taken(starts, w.add(at, first), min(count - first, self.lanes))
        del rows[count:]
        for low, high in batcher(count):
            self.format.exchange(w, rows, low, high)
        return rows + [self._last(w.add(at, i)) for i in range(count, self.block)]

    def _taken(self, starts: list[Reg], at: Reg, count: int) -> list[Row]:
        """A square of elements as rows."""
        w, plan, lanes = self.w, self.plan, self.lanes
        mask, keys = None if count == lanes else w.tail_mask(count, lanes), []
        for start in starts:
            x = w.load(w.offset("%b0", plan.dtype, w.add(start, at)), plan.dtype, lanes, mask)
            keys.append(self.format.keys(w, x))
        rows = []
        for number, key in enumerate(transposed(w, keys)):
            place = w.splat(w.cast(w.add(at, number), "u32"), lanes)
            rows.append(self.format.row(w, key, place))
        return rows

    def _put(self, starts: list[Reg], at: Reg, rows: list[Row], count: int) -> None:
        """Store `count` rows of a block as elements of the lines, or as their places."""
        w, lanes = self.w, self.lanes
        for first in range(0, count, lanes):
            square = [self.format.content(w, row) for row in rows[first : first + lanes]]
            mask = None if count - first >= lanes else w.tail_mask(count - first, lanes)
            for start, x in zip(starts, transposed(w, square), strict=True):
                result = self.format.result(w, x)
                w.store(result, w.offset("%b1", result.dtype, w.add(w.add(start, at), first)), mask)
