"""Square tiles for maps that read something transposed.

A vector along the last dimension would gather each lane from a cache line of its own. Instead, squares of as
many elements as a vector has lanes are read the way they lie, transposed in registers, and put in a small
scratch square, from which the map reads them row by row (`loops/passes/transpose_reads.py`).
"""

from __future__ import annotations

from typing import Final

from ...base.records import record
from ...ir.graph import Value
from ..llvm import strided_reads
from ..lowering.loop_nest import Leaf, Memory, Nest

#: The longest edge of a square: more vectors than registers would be spilled.
LONGEST_EDGE: Final = 16
#: Squares side by side along the transposed leaves. What is read then are whole cache lines but the first and
#: the last: with one square and an array that begins within a line, each line was read twice (4.5 against
#: 2.2 ms for 2048x2048 f32).
GROUP: Final = 4
#: Tasks that a strip of squares should leave where tasks are strips.
_MIN_TASKS: Final = 8
#: Rows of a square are written one after the other where their ops cost less than this, else as a loop.
UNROLLED_COST: Final = 4.0


@record
class Tiles:
    """Traversal of a nest in square tiles."""

    #: The dimension along which the transposed leaves lie; the other edge is along the last one.
    dim: int
    edge: int
    #: Number of squares that are one strip.
    group: int

    def tasks(self, nest: Nest) -> int:
        """Number of tasks that the nest's function can be asked for."""
        return -(-nest.sizes[0] // (self.edge * self.group)) if self.dim == 0 else nest.sizes[0]


def tiles_of(nest: Nest) -> Tiles | None:
    """Choose the square tiles in which to walk `nest`, None where nothing is read transposed."""
    last = nest.vector_dim
    edge = min(nest.lanes, LONGEST_EDGE)
    plain = nest.stages == 1 and not nest.scratch_sizes and len(nest.sizes) == nest.parallel
    if last is None or not plain or edge < 2 or nest.sizes[last] < edge:
        return None
    memories: dict[Memory, None] = {}
    for source in _sources(nest):
        if isinstance(source, Memory) and _is_far(source, last, edge):
            memories[source] = None
    for dim in range(last):
        if nest.sizes[dim] >= edge and any(memory.strides[dim] == 1 for memory in memories):
            group = nest.sizes[dim] // edge // (_MIN_TASKS if dim == 0 else 1)
            return Tiles(dim, edge, min(max(group, 1), GROUP))
    return None


def _is_far(leaf: Memory, last: int, edge: int) -> bool:
    """Whether lanes along `last` would be gathered from far apart."""
    stride = leaf.strides[last]
    return leaf.buffer is not None and stride not in (0, 1) and not strided_reads.pays(stride, edge)


def _sources(nest: Nest) -> list[Leaf | Value]:
    return [operand for member in nest.members for operand in member.operands] + [
        write.source for write in nest.writes
    ]
