"""Columns that lie side by side, such as real and imaginary parts: read and stored as whole vectors, in which
their elements take turns. An access of each column alone would be one of every second element."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...llvm import strided_reads
from ...llvm.emitter import Reg
from ...llvm.loops import FunctionWriter
from ..loop_nest import Memory, Nest, Write


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


def neighbouring_writes(nest: Nest, writes: Sequence[Write]) -> dict[Write, Write]:
    """The writes of two columns along which the lanes lie: the second one by the first one."""
    dim = nest.vector_dim
    if dim is None:
        return {}
    plain = [
        write
        for write in writes
        if write.fold is None and not write.row_level and write.memory.strides[dim] == 2
    ]
    firsts = {
        (write.memory.buffer, write.memory.strides, write.memory.offset): write
        for write in plain
        if write.memory.offset % 2 == 0 and write.memory.dtype != "bool"
    }
    pairs: dict[Write, Write] = {}
    for write in plain:
        first = firsts.get((write.memory.buffer, write.memory.strides, write.memory.offset - 1))
        if first is not None:
            pairs[first] = write
    return pairs


def put_pairs(
    w: FunctionWriter, values: tuple[Reg, Reg], place: str, lanes: int, copy: int, mask: Reg | None,
    *, past_cache: bool,
) -> None:  # fmt: skip
    """Store two columns from `place` on: of vectors side by side the ones number `copy`."""
    first, second = [w.splat(value, lanes) for value in values]
    for half in range(2):
        turns = range(half * lanes // 2, (half + 1) * lanes // 2)
        both = w.shuffle(first, second, [lane for turn in turns for lane in (turn, lanes + turn)])
        there = w.offset(place, first.dtype, (2 * copy + half) * lanes)
        if past_cache and mask is None:
            w.store_past_cache(both, there)
        else:
            w.store(both, there, _spread(w, mask, 2, lanes, half))


def _spread(w: FunctionWriter, mask: Reg | None, count: int, lanes: int, number: int) -> Reg | None:
    """The `mask` of rows for the elements of vector `number` of `count` columns."""
    if mask is None:
        return None
    return w.shuffle(mask, None, [(number * lanes + lane) // count for lane in range(lanes)])
