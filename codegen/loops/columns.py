"""Columns that lie side by side, such as real and imaginary parts: read and stored as whole vectors, in which
their elements take turns. An access of each column alone would be one of every second element."""

from __future__ import annotations

from collections.abc import Sequence

from ..llvm import strided_reads
from ..llvm.emitter import Reg
from ..llvm.loops import FunctionWriter
from .lines import ask_for


def read_columns(
    w: FunctionWriter, dtype: str, count: int, place: str, lanes: int, mask: Reg | None
) -> list[Reg]:
    """The elements of `count` neighbouring columns, the first of which begins at `place`."""
    vectors = [
        w.load(w.offset(place, dtype, number * lanes), dtype, lanes, _spread(w, mask, count, lanes, number))
        for number in range(count)
    ]
    values = []
    for column in range(count):
        elements = vectors[0]
        for picks, vector in zip(strided_reads.picks(count, lanes, column), vectors[1:], strict=True):
            elements = w.shuffle(elements, vector, picks)
        values.append(elements)
    return values


def put_columns(
    w: FunctionWriter, columns: Sequence[Reg], place: str, lanes: int, mask: Reg | None,
    *, past_cache: bool, asked: bool, before: int = 0,
) -> None:  # fmt: skip
    """Store neighbouring columns from `place` on, which is `before` elements behind where a line of the cache
    may begin; lines are `asked` for ahead."""
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
        if asked and mask is None:
            ask_for(w, dtype, place, number * lanes, write=True, before=before)
        target = w.offset(place, dtype, number * lanes)
        if past_cache and mask is None:
            w.store_past_cache(elements, target)
        else:
            w.store(elements, target, _spread(w, mask, count, lanes, number))


def _spread(w: FunctionWriter, mask: Reg | None, count: int, lanes: int, number: int) -> Reg | None:
    """The `mask` of rows for the elements of vector `number` of `count` columns."""
    if mask is None:
        return None
    return w.shuffle(mask, None, [(number * lanes + lane) // count for lane in range(lanes)])
