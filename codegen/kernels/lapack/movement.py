"""Moves of whole rows and columns of matrices: transposition, and the order in which pivots leave rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...llvm.emitter import Reg
from ...llvm.loops import FunctionWriter
from ...llvm.transpose import transposed
from ..linalg.memory_matrix import MemoryMatrix

#: Rows and columns of the blocks in which complex matrices are transposed, for the caches' sake.
_COMPLEX_BLOCK: Final = 4


def transpose(
    w: FunctionWriter,
    dtype: str,
    size: tuple[Reg | int, Reg | int],
    source: tuple[str, Reg | int],
    target: tuple[str, Reg | int],
    lanes: int,
    parts: int = 1,
) -> None:
    """Write a matrix of `size` (rows, columns) transposed: squares of `lanes` elements in registers, what is
    left by elements.

    `source` and `target` are pointers, and how many elements a row is behind the one before. Elements are
    `parts` numbers of `dtype`.
    """
    if parts == 2 and dtype == "f32":  # a pair is as wide as one f64, which is moved bit by bit
        dtype, parts, lanes = "f64", 1, max(lanes // 2, 1)
    rows, columns = size
    side = _COMPLEX_BLOCK if parts == 2 else lanes

    def whole(count: Reg | int) -> Reg | int:
        return w.and_(count, -side) if isinstance(count, Reg) else count - count % side

    def at(matrix: tuple[str, Reg | int], row: Reg | int, column: Reg | int) -> str:
        pointer, stride = matrix
        return w.offset(pointer, dtype, w.mul(w.add(w.mul(row, stride), column), parts))

    whole_rows, whole_columns = whole(rows), whole(columns)

    def squares(i: Reg, _: list[Reg]) -> Sequence[Reg]:
        def square(j: Reg, _: list[Reg]) -> Sequence[Reg]:
            sources = [at(source, w.add(i, k), j) for k in range(side)]
            if parts == 2:
                elements = [
                    [w.load(w.offset(place, dtype, 2 * k), dtype, 2) for place in sources]
                    for k in range(side)
                ]
                for k, column in enumerate(elements):
                    place = at(target, w.add(j, k), i)
                    for row, value in enumerate(column):
                        w.store(value, w.offset(place, dtype, 2 * row))
                return ()
            vectors = [w.load(place, dtype, lanes) for place in sources]
            for k, vector in enumerate(transposed(w, vectors)):
                w.store(vector, at(target, w.add(j, k), i))
            return ()

        w.loop(0, whole_columns, side, square)
        return ()

    def elements(first: tuple[Reg | int, Reg | int], last: tuple[Reg | int, Reg | int]) -> None:
        def row(i: Reg, _: list[Reg]) -> Sequence[Reg]:
            def element(j: Reg, _: list[Reg]) -> Sequence[Reg]:
                w.store(w.load(at(source, i, j), dtype, parts), at(target, j, i))
                return ()

            w.loop(first[1], last[1], 1, element)
            return ()

        w.loop(first[0], last[0], 1, row)

    if 0 in (whole_rows, whole_columns):
        elements((0, 0), (rows, columns))
        return
    w.loop(0, whole_rows, side, squares)
    elements((0, whole_columns), (whole_rows, columns))
    elements((whole_rows, 0), (rows, columns))


def copy_below(w: FunctionWriter, a: MemoryMatrix) -> None:
    """Copy the elements above the diagonal of a square matrix to the places below it."""

    def row(i: Reg, _: list[Reg]) -> Sequence[Reg]:
        def element(j: Reg, _: list[Reg]) -> Sequence[Reg]:
            a[i, j] = a[j, i]
            return ()

        w.loop(0, i, 1, element)
        return ()

    w.loop(0, a.rows, 1, row)


def number_rows(w: FunctionWriter, order: str, count: int) -> None:
    """Set the `order` of `count` rows to the identity permutation."""

    def number(row: Reg, _: list[Reg]) -> Sequence[Reg]:
        w.store(row, w.offset(order, "i64", row))
        return ()

    w.loop(0, count, 1, number)


def note_pivots(
    w: FunctionWriter, written: tuple[str, str], first: Reg | int, count: Reg | int, pivots: str, order: str
) -> None:
    """Write the `pivots` of the rows from `first` on, counted from 0, and exchange rows in their `order`.

    `written` is where LAPACK left them, from 1 on and from the row `first`, and the dtype of its integers.
    """
    place, integer = written

    def exchange(step: Reg, _: list[Reg]) -> Sequence[Reg]:
        pivot = w.load(w.offset(place, integer, step), integer)
        pivot = w.add(w.sub(pivot if integer == "i64" else w.cast(pivot, "i64"), 1), first)
        row = w.add(step, first)
        w.store(pivot, w.offset(pivots, "i64", row))
        here, there = w.offset(order, "i64", row), w.offset(order, "i64", pivot)
        old, new = w.load(here, "i64"), w.load(there, "i64")
        w.store(new, here)
        w.store(old, there)
        return ()

    w.loop(0, count, 1, exchange)


def order_rows(
    w: FunctionWriter, order: str, size: tuple[int, int], source: str, target: str, *, back: bool
) -> None:
    """Write the rows of `source` in their `order`, or `back` from it, to `target`; `size` is how many they
    are, and the bytes of each."""
    count, nbytes = size

    def move(row: Reg, _: list[Reg]) -> Sequence[Reg]:
        other = w.load(w.offset(order, "i64", row), "i64")
        to, place = (other, row) if back else (row, other)
        there, here = [w.offset(m, "u8", w.mul(n, nbytes)) for m, n in ((target, to), (source, place))]
        w.copy(there, here, nbytes)
        return ()

    w.loop(0, count, 1, move)
