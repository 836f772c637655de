"""Values that several stages of a nest need: computed again, read back from where they were written, or kept
in scratch memory, which is a row long and stays in the first cache. There is room behind it for the last
vector of a row: a masked store is not forwarded to the load behind it, and rows of 6 waited for memory each.

That cache is small, and rows of a power of two lie in its same sets: on 4096 rows of 4 KB, dividing a second
time was 1.1 (softmax's gradient) and 1.2 times (layernorm's) as fast as one more row of scratch. So a value
may take over the place of one that is read for the last time in the stage that computes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...base.machine import machine
from ...ir.dtypes import SHORT_NAME
from ...ir.graph import Value
from ...ir.types import contiguous_strides
from ..lowering.loop_nest import Member, Memory, Nest

#: A value kept for a later stage is recomputed if that costs at most this many cycles per element.
RECOMPUTE_COST: Final = 6.0


def scratch_bytes() -> int:
    """Bytes of stack that a nest may use for values kept between stages."""
    return machine().l2_bytes // 4


def keep_between_stages(nest: Nest) -> None:
    """Decide which values are kept in scratch, and where."""
    if nest.stages == 1:
        return
    row = 1
    for size in nest.sizes[nest.parallel :]:
        row *= size
    width = row if nest.row_lanes else row * nest.lanes * nest.unroll
    chosen, budget = [], scratch_bytes()
    for member in _worth_keeping(nest):
        nbytes = width * member.value.dtype.itemsize
        if nbytes <= budget:
            budget -= nbytes
            chosen.append(member)
    last, strides, before = _last_reads(nest, chosen), _strides(nest), len(nest.scratch_sizes)
    #: Element type of each slot, and the last stage in which its value is read.
    slots: list[tuple[str, int]] = []
    for member in chosen:
        dtype = SHORT_NAME[member.value.dtype]
        free = (number for number, slot in enumerate(slots) if slot[0] == dtype and slot[1] <= member.stage)
        number = next(free, len(slots))
        if number == len(slots):
            slots.append((dtype, 0))
            nest.scratch_sizes.append((dtype, width))
        slots[number] = (dtype, last[member.value])
        nest.kept[member.value] = Memory(-before - number - 1, dtype, strides, 0)


def _worth_keeping(nest: Nest) -> list[Member]:
    """The members that later stages need and that cost much to compute again, in order."""
    stored = {
        w.source for w in nest.writes if isinstance(w.source, Value) and not w.row_level and w.fold is None
    }
    by_value = {member.value: member for member in nest.members}
    cost: dict[Value, float] = {}
    for member in nest.members:
        inputs = sum(cost.get(operand, 0.0) for operand in member.operands if isinstance(operand, Value))
        free = member.row_level or member.value in stored
        cost[member.value] = 0.0 if free else inputs + member.instruction.cost
    used_late = {
        source
        for member in nest.members
        for source in member.operands
        if isinstance(source, Value)
        and not by_value[source].row_level
        and by_value[source].stage < member.stage
    }
    return [
        member
        for member in nest.members
        if member.value in used_late and member.value not in stored and cost[member.value] > RECOMPUTE_COST
    ]


def _last_reads(nest: Nest, kept: Sequence[Member]) -> dict[Value, int]:
    """The last stage that reads each of `kept`: for its own members, or to compute others again."""
    by_value = {member.value: member for member in nest.members}
    last: dict[Value, int] = {member.value: member.stage for member in kept}
    for stage in range(nest.stages):
        sources = [write.source for write in nest.writes if write.stage == stage and not write.row_level]
        for member in nest.members:
            if member.stage == stage and (member.is_reduction or member in kept):
                sources += member.operands
        seen: set[Value] = set()
        while sources:
            source = sources.pop()
            if not isinstance(source, Value) or source in seen:
                continue
            seen.add(source)
            member = by_value[source]
            if source in last and member.stage < stage:
                last[source] = stage
            elif not member.row_level:
                sources += member.operands
    return last


def _strides(nest: Nest) -> tuple[int, ...]:
    reduced = contiguous_strides(nest.sizes[nest.parallel :])
    if nest.row_lanes:
        return (0,) * nest.parallel + reduced
    width = nest.lanes * nest.unroll
    return (0,) * nest.parallel + tuple(stride * width for stride in reduced)
