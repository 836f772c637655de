"""Chunks of reductions: how much of what nests fold is a task.

A nest that is split (`split.py`), or folds across its rows (`cross_row_reductions.py`), is cut into chunks.
How many, and how they are walked, is known from shapes and the machine alone, before any code is written.
"""

from __future__ import annotations

from typing import Final

from ....base.machine import machine
from ....ir.graph import Instruction, Value
from ....ir.types import Shape, TensorType, remove_axes
from ...lowering.loop_nest import Across, Nest, Split
from ..row_blocks import rows_at_a_time
from .totals import LONG, LONG_COLUMN

#: Rows of a column nest that are walked before the next ones.
BLOCK_ROWS: Final = 8
#: Rows that a nest with moments walks before the next ones: four numbers of each column are read for them and
#: three written, so that twice as many pay as where there is one. On 4096 x 1024 f32: 476 us for 8, 411 for
#: 16, 504 for 32.
MOMENT_ROWS: Final = 16


def split_of(nest: Nest) -> Split | None:
    """Choose how to split the reductions of `nest` into chunks (rfactor); None for nests that are no
    reductions, little work or parallel as they are."""
    folds = [member for member in nest.members if member.is_reduction]
    least = machine().parallel_cycles
    if not folds or 0 in nest.sizes or len(nest.sizes) == nest.parallel or nest.cycles <= least:
        return None
    extent, unit, block = nest.sizes[nest.parallel], 1, 1
    if nest.row_lanes:
        if nest.parallel:
            return None
        if len(nest.sizes) == 1:
            unit = nest.lanes * nest.unroll
            extent = extent // unit * unit
    else:
        if nest.transposed or nest.parallel != 1 or nest.sizes[0] * 8 * len(folds) > machine().l1_bytes:
            # its columns are tasks enough, and partial results would not stay in cache
            return None
        block = BLOCK_ROWS if nest.sizes[0] > nest.lanes * nest.unroll else extent
    most = min(
        machine().chunks, int(nest.cycles / machine().task_cycles), extent // (unit * min(block, BLOCK_ROWS))
    )
    if most < 2:
        return None
    size = -(-extent // (most * unit)) * unit
    return in_blocks(nest, size, block) if block < extent and not nest.row_lanes else apart(nest, size)


def apart(nest: Nest, size: int) -> Split:
    """Chunks of about `size` iterations, each of which is folded at once: of columns whole blocks of terms,
    so that loops over them have as many iterations each."""
    if not nest.row_lanes and size > LONG_COLUMN:
        size = -(-size // LONG) * LONG
    return Split(nest.sizes[nest.parallel] // size, size, size)


def in_blocks(nest: Nest, size: int, block: int) -> Split:
    """Chunks of at least `size` iterations that are walked `block` at a time."""
    size = -(-size // block) * block
    return Split(-(-(nest.sizes[nest.parallel] // block * block) // size), size, block)


def in_larger_blocks(nest: Nest) -> Split:
    """The chunks of a nest with moments, in blocks that pay for them."""
    split = nest.split
    assert split is not None
    return in_blocks(nest, split.size, MOMENT_ROWS) if split.block == BLOCK_ROWS else split


def fold_of_rows(reduction: Instruction, domain: Shape, axes: tuple[int, ...]) -> Instruction | None:
    """The reduction of each row that comes before `reduction`; None where that folds no row."""
    (operand,) = reduction.operands
    wide = {axis for axis in axes if domain[axis] != 1}
    if operand.shape != domain or not wide <= set(reduction.attrs["axes"]):
        return None
    row = Value(TensorType(operand.dtype, remove_axes(domain, axes)))
    return reduction.replace(operands=(operand,), attrs={"axes": axes}, results=(row,))


def across_of(nest: Nest) -> Across:
    """The chunks of `nest`, which folds across its rows."""
    extent, most = nest.sizes[0], 1
    if nest.cycles > machine().parallel_cycles:
        most = max(1, min(machine().chunks, int(nest.cycles / machine().task_cycles), extent))
    size = -(-extent // most)
    if nest.parallel == 1:
        block = rows_at_a_time(nest) if nest.row_lanes else nest.lanes
        size = -(-size // block) * block
    return Across(-(-extent // size), size)
