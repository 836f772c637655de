"""Variances of columns in one pass over them.

Sums of squared distances from a mean need the mean first, and a second pass. But about any number c

    sum (x - m)^2  =  sum (x - c)^2  +  (c - m) (2 sum (x - c)  +  n (c - m))

so a chunk of rows sums distances and squares of distances from a number of its own, which is near the mean:
that of its first rows. What is added then is small beside the first sum, and nothing cancels; that is where
this differs from sums of squares less a square of sums. When the mean is known, the chunks' sums are put
together. A number c that is an outlier costs accuracy where few others are like it: at most as many times as
there are more rows in a chunk than in its beginning, but then the outlier is in the variance, too. The mean
itself is summed as ever.
"""

from __future__ import annotations

import math
from typing import Final

from ....ir.analysis.moments import second_moments
from ....ir.dtypes import SHORT_NAME
from ....ir.graph import Function
from ...llvm.emitter import Reg, constant
from ...lowering.loop_nest import Member, Nest, Split
from ...maths.support import muladd
from ..writing.element import ElementPass, Places, RowValues
from .folding import fold_loops, totals_of
from .split import BLOCK_ROWS, SplitWriter
from .totals import column_step

#: Rows whose mean is a chunk's number.
FIRST_ROWS: Final = 16
#: Rows that are walked before the next ones: four numbers of each column are read for them and three written,
#: so that twice as many pay as where there is one. On 4096 x 1024 f32: 476 us for 8, 411 for 16, 504 for 32.
MOMENT_ROWS: Final = 16


def join_moments(nest: Nest, region: Function) -> None:
    """Note which sums of `nest`, which computes `region`, need no pass of their own: none where its second
    stage does something else, too."""
    if nest.split is None or nest.row_lanes:
        return
    moments = second_moments(region)
    stages = {member.value: member.stage for member in nest.members}
    if any(write.stage == 1 and not write.row_level for write in nest.writes):
        return
    second = [member.value for member in nest.members if member.is_reduction and member.stage == 1]
    if not second or any(value not in moments or stages.get(moments[value].total) != 0 for value in second):
        return
    nest.moments = {value: moments[value] for value in second}
    if nest.split.block == BLOCK_ROWS:
        nest.split = Split(nest.split.chunks, nest.split.size, MOMENT_ROWS)


class MomentWriter(SplitWriter):
    """Writes the functions of a split nest whose second stage is part of its first one."""

    def is_walked(self, stage: int) -> bool:
        return stage != 1

    def planned_in(self, stage: int) -> ElementPass:
        plan = super().planned_in(stage)
        if stage == 0:
            plan.seconds = {self.members[value]: moment.total for value, moment in self.nest.moments.items()}
            plan.away = list(self.layout.away)
        return plan

    def known_rows(self, stage: int, copies: int, places: Places, mask: Reg | None) -> list[RowValues]:
        rows = super().known_rows(stage, copies, places, mask)
        for copy, row in enumerate(rows):
            for total, memory in self.layout.near.items() if stage == 0 else ():
                row.near[total] = self.read(memory, places, copy, mask, row_level=True)
        return rows

    def begin(
        self, stage: int, bounds: tuple[Reg, Reg], places: Places, copies: int, mask: Reg | None
    ) -> None:
        super().begin(stage, bounds, places, copies, mask)
        if stage != 0:
            return
        w, nest = self.w, self.nest
        empty = [self.layout.partial[self.members[value]] for value in nest.moments]
        for memory in (*empty, *self.layout.away.values()):
            self.clear(constant(0.0, memory.dtype, nest.lanes), memory, places, copies, mask)
        firsts = [self.members[total] for total in self.layout.near]
        plan = ElementPass(self, 0, firsts, [], [])
        rows = [RowValues() for _ in range(copies)]
        self._row_members(0, rows, places, mask)
        stop = w.min(w.add(bounds[0], FIRST_ROWS), bounds[1])
        self.bounds = bounds[0], stop, FIRST_ROWS
        count = w.mul(w.sub(stop, bounds[0]), self._inner())

        def innermost(at: Places, state: list[Reg]) -> list[Reg]:
            out: list[Reg] = []
            for copy, row in enumerate(rows):
                mine = state[copy * len(firsts) : (copy + 1) * len(firsts)]
                out += plan.run(at, row, copy, mask, mine, fold_mask=None)
            return out

        totals = totals_of(self, firsts, nest.lanes, copies)
        sums = fold_loops(self, totals, column_step(nest, innermost), nest.parallel, len(nest.sizes), places)
        for copy in range(copies):
            for member, total in zip(firsts, sums[copy * len(firsts) :], strict=False):
                mean = w.div(total, w.splat(w.cast(count, total.dtype), total.lanes))
                mean = w.select(w.lt(w.abs(mean), math.inf), mean, 0.0)
                self.save(mean, self.layout.near[member.value], places, copy, mask)

    def _inner(self) -> int:
        """Elements of a column in each row."""
        return math.prod(self.nest.sizes[self.nest.parallel + 1 :])

    def folded_by_chunk(
        self, member: Member, chunk: Reg, rows: list[RowValues], places: Places, copy: int, mask: Reg | None
    ) -> Reg:
        w = self.w
        partial = super().folded_by_chunk(member, chunk, rows, places, copy, mask)
        moment = self.nest.moments.get(member.value)
        if moment is None:
            return partial
        near = self.read(self.layout.near[moment.total], places, copy, mask, row_level=True)
        away = self.sum_of_chunk(self.layout.away[moment.total], places, copy, mask)
        left = w.sub(constant(self.nest.sizes[self.nest.parallel], "i64"), w.mul(chunk, self.split.size))
        count = w.mul(w.min(left, constant(self.split.size, "i64")), self._inner())
        number = w.splat(w.cast(count, SHORT_NAME[member.value.dtype]), partial.lanes)
        apart = w.sub(near, rows[copy].values[moment.mean])
        return w.add(partial, w.mul(apart, muladd(w, number, apart, w.add(away, away))))

    def finished(self, member: Member, total: Reg) -> Reg:
        """Clamp a sum of squares to zero: rounding must not make it negative."""
        if member.value not in self.nest.moments:
            return total
        return self.w.select(self.w.lt(total, 0.0), 0.0, total)
