"""How a nest's iterations are cut into tasks, which threads share."""

from __future__ import annotations

from typing import Final

from .loop_nest import Nest

#: Vectors in one task, where lanes run along the outermost loop.
BLOCK_VECTORS: Final = 256


def task_count(nest: Nest) -> int:
    """How many tasks the nest's function can be asked for."""
    if nest.vector_dim == 0 and not nest.row_lanes:
        step = nest.lanes * nest.unroll * vector_block(nest)
        return max(1, -(-nest.sizes[0] // step))
    return nest.sizes[0] if nest.parallel else 1


def vector_block(nest: Nest) -> int:
    """Groups of vectors per task, along a vector dimension that is outermost."""
    return BLOCK_VECTORS // nest.unroll if len(nest.sizes) == nest.parallel else 1
