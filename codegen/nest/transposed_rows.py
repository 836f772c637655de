"""Transposed row blocks for short rows that are folded: a lane for each row, as many rows as a vector has
lanes.

Lanes along a row of a few numbers are mostly empty, or fold two vectors of which one has a rest, and each
fold ends with the lanes folded together: softmax over rows of 5 f32 took 9 ns an element, 100 operations a
row of which 60 wait for one another. So a block of rows is transposed in registers into scratch memory, where
the elements of each column lie side by side. The nest runs over columns there, and its results for each
element are transposed back. Ops of the row level are vectors, too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

from ...base.machine import machine
from ...ir.graph import Value
from ..llvm.emitter import BITS
from ..lowering.loop_nest import Leaf, Memory, Nest, TransposedRows, Window, Write, body_cost

#: Vectors of fewer lanes have no empty ones to speak of.
MIN_LANES: Final = 4
#: Rows up to this length are a block of a few kilobytes, which stays in the first cache.
LONGEST_ROW: Final = 64
#: Cycles that a row waits until the lanes of a vector are folded, while the next rows are begun.
FOLD_CYCLES: Final = 10.0
#: Cycles to transpose a vector: to load its parts, to join and to interleave them, to store it.
TRANSPOSE_CYCLES: Final = 6.0


def transpose_rows(nest: Nest) -> None:
    """Make a row nest with short rows a nest of columns, by transposed row blocks, where its accesses allow
    that."""
    if not nest.row_lanes or not nest.parallel or len(nest.sizes) != nest.parallel + 1:
        return
    if nest.lanes < MIN_LANES or nest.sizes[-2] < nest.lanes or not 2 <= nest.sizes[-1] <= LONGEST_ROW:
        return
    moved: dict[Memory, Memory] = {}
    sources = [operand for member in nest.members for operand in member.operands]
    sources += [write.source for write in nest.writes]
    if not all(_lies_well(source, nest, moved) for source in sources):
        return
    reads = len(moved)
    elements = [write.memory for write in nest.writes if write.fold is None and not write.row_level]
    if not all(memory.strides[-2] and _lies_well(memory, nest, moved) for memory in elements):
        return
    if not moved or not _pays(nest, moved):
        return
    for member in nest.members:
        member.operands = tuple([_moved(operand, moved) for operand in member.operands])
    nest.writes[:] = [
        Write(_moved(w.source, moved), moved.get(w.memory, w.memory), w.row_level, w.stage, w.fold)
        for w in nest.writes
    ]
    nest.scratch_sizes += [(memory.dtype, nest.sizes[-1] * nest.lanes) for memory in moved]
    nest.row_lanes, nest.unroll = False, 1
    pairs = [(scratch, memory) for memory, scratch in moved.items()]
    nest.transposed = TransposedRows(tuple(pairs[:reads]), tuple(pairs[reads:]))


def _pays(nest: Nest, moved: Iterable[Memory]) -> bool:
    """Whether turning the accesses `moved`, and empty lanes in the last block, cost less than folds of lanes
    along rows, and empty ones in the last vector; and blocks stay in the first cache."""
    rows, vectors, accesses = nest.sizes[-2], nest.sizes[-1] / nest.lanes, list(moved)
    cost = body_cost(nest.members)
    folds = sum(member.is_reduction for member in nest.members)
    saved = folds * FOLD_CYCLES + (math.ceil(vectors) - vectors) * cost
    turning = len(accesses) * vectors * TRANSPOSE_CYCLES
    empty = -rows % nest.lanes / rows * (turning + vectors * cost)
    nbytes = nest.sizes[-1] * nest.lanes * sum(BITS[memory.dtype] for memory in accesses) // 8
    return saved > turning + empty and nbytes <= machine().l1_bytes // 2


def _lies_well(source: Leaf | Value, nest: Nest, moved: dict[Memory, Memory]) -> bool:
    """Whether lanes for rows read or write `source` as whole vectors: after it is transposed to scratch
    memory, which is noted in `moved`, where its rows lie in memory."""
    if isinstance(source, Window):
        return False
    if not isinstance(source, Memory) or source.buffer is None or source.strides[-2] in (0, 1):
        return True
    if source.strides[-1] != 1 or source.strides[-2] < nest.sizes[-1] or source.dtype == "bool":
        return False
    strides = (*(0 for _ in nest.sizes[:-2]), 1, nest.lanes)
    moved.setdefault(source, Memory(-1 - len(moved), source.dtype, strides, 0))
    return True


def _moved(source: Leaf | Value, moved: dict[Memory, Memory]) -> Leaf | Value:
    return moved.get(source, source) if isinstance(source, Memory) else source
