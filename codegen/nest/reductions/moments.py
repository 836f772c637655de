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
from typing import TYPE_CHECKING, Any, Final

from ....ir.analysis.moments import second_moments
from ....ir.dtypes import BY_NAME, SHORT_NAME, DType
from ....ir.graph import Function, Instruction, Value
from ....ir.registry import OPS
from ....ir.types import TensorType
from ...lowering.loop_nest import Leaf, Member, Memory, Nest, NestConstant

if TYPE_CHECKING:
    from .split import Phases

#: Rows whose mean is a chunk's number.
FIRST_ROWS: Final = 16


def joined_moments(nest: Nest, region: Function) -> dict[Value, Any]:
    """The sums of a split `nest`, which computes `region`, that need no pass of their own: none where its
    second stage does something else, too."""
    if nest.split is None or nest.row_lanes:
        return {}
    moments = second_moments(region)
    stages = {member.value: member.stage for member in nest.members}
    if any(write.stage == 1 and not write.row_level for write in nest.writes):
        return {}
    second = [member.value for member in nest.members if member.is_reduction and member.stage == 1]
    if not second or any(value not in moments or stages.get(moments[value].total) != 0 for value in second):
        return {}
    return {value: moments[value] for value in second}


class Moments:
    """Members that the nests of a nest with moments have beside its own: those of chunks, and of totals."""

    def __init__(self, nest: Nest) -> None:
        self.nest = nest
        by_value = {member.value: member for member in nest.members}
        #: Numbers near the means, by the sums that distances from them are folded to; and those sums.
        self.near: dict[Value, Value] = {}
        self.away: dict[Value, Value] = {}
        #: Sums of squared distances from those numbers, by the sums that they are for.
        self.square: dict[Value, Value] = {}
        #: Members at each element, folds among them; and these alone.
        self.distances: list[Member] = []
        self.folds: list[Member] = []
        #: The elements that are folded, by their sums.
        self.elements: dict[Value, Leaf | Value] = {}
        distance: dict[Value, Value] = {}
        for second, moment in nest.moments.items():
            total, origin = moment.total, by_value[second].instruction
            if total not in self.near:
                self.elements[total] = by_value[total].operands[0]
                self.near[total] = Value(TensorType(total.dtype, ()))
                member = made(origin, "sub", total.dtype, self.elements[total], self.near[total])
                distance[total] = member.value
                away = made(origin, "sum", total.dtype, member.value, row_level=True)
                self.away[total] = away.value
                self.distances.append(member)
                self.folds.append(away)
            squared = made(origin, "mul", second.dtype, distance[total], distance[total])
            fold = made(origin, "sum", second.dtype, squared.value, row_level=True)
            self.square[second] = fold.value
            self.distances.append(squared)
            self.folds.append(fold)
        self.distances += self.folds

    def beginning(self, count: int) -> list[Member]:
        """The members of a nest over the first `count` elements of each chunk, which computes `near`."""
        members: list[Member] = []
        for total, near in self.near.items():
            dtype, by_value = total.dtype, {member.value: member for member in self.nest.members}
            origin, name = by_value[total].instruction, SHORT_NAME[total.dtype]
            fold = made(origin, "sum", dtype, self.elements[total], row_level=True)
            number = NestConstant(float(count), name)
            mean = made(origin, "div", dtype, fold.value, number, row_level=True, stage=1)
            size = made(origin, "abs", dtype, mean.value, row_level=True, stage=1)
            below = size.value, NestConstant(math.inf, name)
            finite = made(origin, "lt", BY_NAME["bool"], *below, row_level=True, stage=1)
            chosen = made(
                origin, "where", dtype, finite.value, mean.value, NestConstant(0.0, name), row_level=True,
                stage=1, result=near,
            )  # fmt: skip
            members += [fold, mean, size, finite, chosen]
        return members

    def totals(self, phases: Phases) -> list[Member]:
        """The members of a nest of totals that put the chunks' sums together, when the means are known."""
        members: list[Member] = []
        by_value = {member.value: member for member in self.nest.members}
        for second, moment in self.nest.moments.items():
            origin, dtype, name = by_value[second].instruction, second.dtype, SHORT_NAME[second.dtype]
            near, away = phases.part(self.near[moment.total]), phases.part(self.away[moment.total])
            number = self._number(phases, origin, dtype, members)
            apart = made(origin, "sub", dtype, near, moment.mean, stage=1)
            twice = made(origin, "add", dtype, away, away, stage=1)
            moved = made(origin, "mul", dtype, number, apart.value, stage=1)
            both = made(origin, "add", dtype, moved.value, twice.value, stage=1)
            more = made(origin, "mul", dtype, apart.value, both.value, stage=1)
            term = made(origin, "add", dtype, phases.part(self.square[second]), more.value, stage=1)
            total = made(origin, "sum", dtype, term.value, row_level=True, stage=1)
            zero = NestConstant(0.0, name)
            below = made(origin, "lt", BY_NAME["bool"], total.value, zero, row_level=True, stage=2)
            # rounding must not make it negative
            result = made(
                origin, "where", dtype, below.value, zero, total.value, row_level=True, stage=2, result=second
            )
            members += [apart, twice, moved, both, more, term, total, below, result]
        return members

    def _number(
        self, phases: Phases, origin: Instruction, dtype: DType, members: list[Member]
    ) -> Leaf | Value:
        """The number of elements of a chunk, all of which but the last one have as many."""
        extent, size = self.nest.sizes[phases.dim], phases.split.size
        last = extent - (phases.parts - 1) * size
        if last == size:
            return NestConstant(float(size * phases.inner), SHORT_NAME[dtype])
        i64, left = BY_NAME["i64"], Memory(None, "i64", (0, -size), extent)
        is_last = made(origin, "le", BY_NAME["bool"], left, NestConstant(last, "i64"))
        counts = [NestConstant(count * phases.inner, "i64") for count in (last, size)]
        count = made(origin, "where", i64, is_last.value, *counts)
        number = made(origin, "cast", dtype, count.value, dtype=dtype)
        members += [is_last, count, number]
        return number.value


def made(
    origin: Instruction, op: str, of: DType, *operands: Leaf | Value, row_level: bool = False, stage: int = 0,
    result: Value | None = None, **attrs: Any,
) -> Member:  # fmt: skip
    """A member that computes `op` of `operands`, for the line of `origin`; its dtype is `of`."""
    value = Value(TensorType(of, ())) if result is None else result
    instruction = Instruction(OPS[op], (), attrs, (value,), origin.location)
    return Member(instruction, operands, row_level, stage)
