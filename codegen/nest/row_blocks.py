"""Row blocking: several rows at a time, so that values of the row level are computed in vectors.

A row nest folds each row to scalars, and what follows from those (the logarithm of a sum of exponentials, the
residual of a regression) would be scalar code: for short rows, most of the time. Here a stage runs over a
block of rows, one after the other, and what each was folded to lies side by side in memory of the stack. The
ops of the row level are then vector code, a lane for each row, and the next stage's rows read their numbers
there. A block is small enough to stay in the first cache from one stage to the next. Rows that fill no block
are done one by one.
"""

from __future__ import annotations

from typing import Final

from ...base.machine import machine
from ..llvm.emitter import BITS
from ..lowering.loop_nest import Memory, Nest, Window, memories_of

#: Cycles that the row level costs for each row at the least.
MIN_CYCLES: Final = 8.0


def rows_at_a_time(nest: Nest) -> int:
    """Number of rows of `nest` in a block; 1 where they are done one by one."""
    if not nest.row_lanes or not nest.parallel or nest.split is not None or nest.kept:
        return 1
    level = [member for member in nest.members if member.row_level and not member.is_reduction]
    cost = sum(member.instruction.cost for member in level)
    sources = [source for member in level for source in member.operands]
    sources += [write.source for write in nest.writes if write.row_level]
    if cost < MIN_CYCLES or any(isinstance(source, Window) for source in sources):
        return 1
    read = {
        memory
        for member in nest.members
        for source in member.operands
        if not member.row_level or member.is_reduction
        for memory in memories_of(source)
        if memory.buffer is not None and memory.strides[-1] and memory.strides[nest.parallel - 1]
    }
    length = 1
    for size in nest.sizes[nest.parallel :]:
        length *= size
    nbytes = nest.lanes * length * sum(_bits(memory) for memory in read) // 8
    fits = nbytes <= machine().l1_bytes // 2 and nest.sizes[nest.parallel - 1] >= nest.lanes
    return nest.lanes if fits else 1


def are_blocked_rows(nest: Nest) -> bool:
    """Whether `nest` folds along rows that are done in blocks."""
    alone = nest.split is None and nest.across is None and 0 not in nest.sizes
    return nest.row_lanes and alone and rows_at_a_time(nest) > 1


def blocked_tasks(nest: Nest) -> int:
    """The tasks of rows in blocks: a block, or all rows of an outer dimension."""
    return -(-nest.sizes[0] // rows_at_a_time(nest)) if nest.parallel == 1 else nest.sizes[0]


def _bits(memory: Memory) -> int:
    return 8 if memory.dtype == "bool" else BITS[memory.dtype]
