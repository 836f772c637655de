"""Columns that lie side by side, such as real and imaginary parts: read and stored as whole vectors, in which
their elements take turns. An access of each column alone would be one of every second element."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from ...llvm import strided_reads
from ...llvm.emitter import Reg
from ...llvm.loops import FunctionWriter
from ...lowering.loop_nest import Memory, Nest, Write
from .prefetch import ask_for

#: Most columns that are stored together, with so many values.
MOST_COLUMNS: Final = 8
MOST_DIFFERENT: Final = 4


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


def read_columns(
    w: FunctionWriter, columns: Sequence[Memory], place: str, lanes: int, copy: int, mask: Reg | None
) -> list[Reg]:
    """The elements of neighbouring columns, the first of which begins at `place`: of vectors side by side
    the ones number `copy`."""
    count, dtype = len(columns), columns[0].dtype
    vectors = [
        w.load(
            w.offset(place, dtype, (count * copy + number) * lanes),
            dtype,
            lanes,
            _spread(w, mask, count, lanes, number),
        )
        for number in range(count)
    ]
    values = []
    for column in range(count):
        elements = vectors[0]
        for picks, vector in zip(strided_reads.picks(count, lanes, column), vectors[1:], strict=True):
            elements = w.shuffle(elements, vector, picks)
        values.append(elements)
    return values


def neighbouring_writes(nest: Nest, writes: Sequence[Write]) -> dict[Write, tuple[Write, ...]]:
    """The writes of all columns along which the lanes lie, in order, by the first of them."""
    dim = nest.vector_dim
    if dim is None or nest.lanes == 1:
        return {}
    rows: dict[tuple[int | None, str, tuple[int, ...]], dict[int, Write]] = {}
    for write in writes:
        memory = write.memory
        if write.fold is None and not write.row_level and 1 < memory.strides[dim] <= MOST_COLUMNS:
            rows.setdefault((memory.buffer, memory.dtype, memory.strides), {})[memory.offset] = write
    together: dict[Write, tuple[Write, ...]] = {}
    for (_, _, strides), by_offset in rows.items():
        count, offsets = strides[dim], sorted(by_offset)
        while len(offsets) >= count:
            first = offsets[0]
            columns = tuple(by_offset[at] for at in range(first, first + count) if at in by_offset)
            if len(columns) == count and len({column.source for column in columns}) <= MOST_DIFFERENT:
                together[columns[0]] = columns
                del offsets[:count]
            else:
                del offsets[0]
    return together


def put_columns(
    w: FunctionWriter, columns: Sequence[Reg], place: str, lanes: int, copy: int, mask: Reg | None,
    *, past_cache: bool, asked: bool,
) -> None:  # fmt: skip
    """Store neighbouring columns from `place` on: of vectors side by side the ones number `copy`."""
    count = len(columns)
    if columns[0].dtype == "bool":
        columns = [w.convert("zext", column, "u8") for column in columns]
    dtype, vectors = columns[0].dtype, [w.splat(column, lanes) for column in columns]
    for number in range(count):
        at = [divmod(number * lanes + lane, count) for lane in range(lanes)]
        distinct = {vectors[column].text: vectors[column] for _, column in at}
        first, *others = distinct.values()
        # lanes of a vector that is not there yet hold anything
        elements = w.shuffle(first, None, [row for row, _ in at])
        for other in others:
            picks = [
                lanes + row if vectors[column].text == other.text else lane
                for lane, (row, column) in enumerate(at)
            ]
            elements = w.shuffle(elements, other, picks)
        elements_before = (count * copy + number) * lanes
        if asked and mask is None:
            ask_for(w, dtype, place, elements_before, write=True)
        target = w.offset(place, dtype, elements_before)
        if past_cache and mask is None:
            w.store_past_cache(elements, target)
        else:
            w.store(elements, target, _spread(w, mask, count, lanes, number))


def _spread(w: FunctionWriter, mask: Reg | None, count: int, lanes: int, number: int) -> Reg | None:
    """The `mask` of rows for the elements of vector `number` of `count` columns."""
    if mask is None:
        return None
    return w.shuffle(mask, None, [(number * lanes + lane) // count for lane in range(lanes)])
