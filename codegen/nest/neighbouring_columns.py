"""Accesses of columns that lie side by side, such as real and imaginary parts, which are read and stored
together (`loops/columns.py`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from ..llvm import strided_reads
from ..lowering.loop_nest import Memory, Nest, Write

#: Most columns that are stored together, with so many values.
MAX_COLUMNS: Final = 8
MAX_DIFFERENT: Final = 4


def neighbouring_reads(nest: Nest, leaves: Iterable[Memory]) -> dict[Memory, tuple[Memory, ...]]:
    """All columns of a row in order, by each of them, if `leaves` have them all and lanes lie along them."""
    dim = nest.vector_dim
    if dim is None:
        return {}
    rows: dict[tuple[int, str, tuple[int, ...], int], dict[int, Memory]] = {}
    for leaf in leaves:
        count = leaf.strides[dim]
        if leaf.buffer is None or leaf.buffer < 0 or leaf.dtype == "bool" or count < 2:
            continue
        if strided_reads.pays(count, nest.lanes):
            row, column = divmod(leaf.offset, count)
            rows.setdefault((leaf.buffer, leaf.dtype, leaf.strides, row), {})[column] = leaf
    together: dict[Memory, tuple[Memory, ...]] = {}
    for (_, _, strides, _), columns in rows.items():
        if len(columns) == strides[dim]:
            in_order = tuple(columns[column] for column in range(len(columns)))
            together.update(dict.fromkeys(in_order, in_order))
    return together


def neighbouring_writes(nest: Nest, writes: Sequence[Write]) -> dict[Write, tuple[Write, ...]]:
    """The writes of all columns along which the lanes lie, in order, by the first of them."""
    dim = nest.vector_dim
    if dim is None or nest.lanes == 1:
        return {}
    rows: dict[tuple[int | None, str, tuple[int, ...]], dict[int, Write]] = {}
    for write in writes:
        memory = write.memory
        if write.fold is None and not write.row_level and 1 < memory.strides[dim] <= MAX_COLUMNS:
            rows.setdefault((memory.buffer, memory.dtype, memory.strides), {})[memory.offset] = write
    together: dict[Write, tuple[Write, ...]] = {}
    for (_, _, strides), by_offset in rows.items():
        count, offsets = strides[dim], sorted(by_offset)
        while len(offsets) >= count:
            first = offsets[0]
            columns = tuple(by_offset[at] for at in range(first, first + count) if at in by_offset)
            if len(columns) == count and len({column.source for column in columns}) <= MAX_DIFFERENT:
                together[columns[0]] = columns
                del offsets[:count]
            else:
                del offsets[0]
    return together
