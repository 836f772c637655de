"""Tasks of a nest: the division of its iterations among threads, and the loops that let signals in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..lowering.exits import BETWEEN_POLLS, LONG_CYCLES
from ..lowering.loop_nest import Nest

#: Vectors in one task, where lanes run along the outermost loop.
BLOCK_VECTORS: Final = 256


def task_count(nest: Nest) -> int:
    """Number of tasks that the nest's function can be asked for."""
    if nest.serial:
        return 1
    if nest.vector_dim == 0 and not nest.row_lanes:
        step = nest.lanes * nest.unroll * vector_block(nest)
        return max(1, -(-nest.sizes[0] // step))
    return nest.sizes[0] if nest.parallel else 1


def vector_block(nest: Nest) -> int:
    """Groups of vectors per task, along a vector dimension that is outermost."""
    return BLOCK_VECTORS // nest.unroll if len(nest.sizes) == nest.parallel else 1


def polling_dim(sizes: Sequence[int], first: int, cycles: float) -> int | None:
    """The loop, of those from `first` up to the innermost, whose steps let signals in, of a task that takes
    `cycles` in all; None where a task is over soon."""
    if cycles <= LONG_CYCLES:
        return None
    for dim in range(first, len(sizes) - 1):
        cycles /= max(1, sizes[dim])
        if cycles <= LONG_CYCLES:
            return dim if cycles >= BETWEEN_POLLS else None if dim == first else dim - 1
    return len(sizes) - 2 if len(sizes) - 2 >= first else None
