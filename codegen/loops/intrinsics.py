"""Instructions that a kernel calls: procedures over places in memory, each with a meaning over NumPy arrays
and the code that has it.

A place is a buffer, the element at which it begins, and how many elements further on each next row does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from ...base.records import record
from ..llvm.emitter import constant
from ..llvm.loops import FunctionWriter
from ..llvm.transpose import put_columns, put_rows, transposed


@record(eq=False)
class RowsAt:
    """Rows of elements that an instruction reads or writes at a place."""

    rows: int
    columns: int
    written: bool


@record(eq=False)
class Intrinsic:
    """An instruction: its `places` for some sizes; its meaning, from the rows at places that are read to
    those at places that are written; its code, over a pointer and a step for each place; and the sizes that
    it expects where it does not take some, else nothing."""

    places: Callable[[Sequence[int]], Sequence[RowsAt]]
    meaning: Callable[..., Sequence[Any]]
    emit: Callable[[FunctionWriter, str, Sequence[tuple[str, int]], Sequence[int]], None]
    expected: Callable[[Sequence[int]], str]


def _transposed(
    w: FunctionWriter, dtype: str, places: Sequence[tuple[str, int]], sizes: Sequence[int]
) -> None:
    """Read `width` vectors of `height` elements, and write their transpose, rows of `edge` elements: the last
    `edge` - `width` of each are zeros."""
    (source, apart), (square, pitch) = places
    height, width, edge = sizes
    mask = w.tail_mask(height, edge) if height < edge else None
    block = [w.load(w.offset(source, dtype, column * apart), dtype, edge, mask) for column in range(width)]
    block += [constant(0, dtype, edge)] * (edge - width)
    for row, vector in enumerate(transposed(w, block)[:height]):
        w.store(vector, w.offset(square, dtype, row * pitch))


def _transpose_meaning(rows: Any, edge: int) -> Any:
    square = rows.T
    result = square.__class__((square.shape[0], edge), square.dtype)
    result[:] = 0
    result[:, : square.shape[1]] = square
    return result


def _transpose_expected(sizes: Sequence[int]) -> str:
    if len(sizes) == 3:
        height, width, edge = sizes
        if 1 <= height <= edge and 1 <= width <= edge and edge & (edge - 1) == 0:
            return ""
    return "a height, a width, and a power of two that is no less than these"


def _block_expected(sizes: Sequence[int]) -> str:
    if len(sizes) == 3:
        rows, length, lanes = sizes
        if 1 <= rows <= lanes and length >= 1 and lanes & (lanes - 1) == 0:
            return ""
    return "a number of rows, their length, and a power of two of lanes that is no less than the rows"


INTRINSICS: Final[dict[str, Intrinsic]] = {
    # sizes: the height and the width of what is read transposed, and the edge of the square that it fills
    "transpose": Intrinsic(
        lambda sizes: (RowsAt(sizes[1], sizes[0], written=False), RowsAt(sizes[0], sizes[2], written=True)),
        lambda sizes, rows: [_transpose_meaning(rows, sizes[2])],
        _transposed,
        _transpose_expected,
    ),
    # sizes: some rows, their length, and the lanes of a vector, which are no fewer; of a row or a column
    "transpose_rows": Intrinsic(
        lambda sizes: (RowsAt(sizes[0], sizes[1], written=False), RowsAt(sizes[1], sizes[2], written=True)),
        lambda sizes, rows: [_transpose_meaning(rows, sizes[2])],
        lambda w, dtype, places, sizes: put_columns(
            w, places[0], places[1], (sizes[0], sizes[1]), dtype, sizes[2]
        ),
        _block_expected,
    ),
    "transpose_columns": Intrinsic(
        lambda sizes: (RowsAt(sizes[1], sizes[2], written=False), RowsAt(sizes[0], sizes[1], written=True)),
        lambda sizes, columns: [columns[:, : sizes[0]].T],
        lambda w, dtype, places, sizes: put_rows(
            w, places[0], places[1], (sizes[0], sizes[1]), dtype, sizes[2]
        ),
        _block_expected,
    ),
}
