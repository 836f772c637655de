"""Products of small blocks by tiles of registers, without copies of their operands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from ....ir.records import record
from ...llvm.emitter import Reg, constant
from ...llvm.loops import Bound, FunctionWriter
from ...maths.support import muladd

#: Rows and vectors of a tile, by whether there are 32 vector registers.
_TILES: Final = {True: (6, 4), False: (4, 2)}


@record
class Operand:
    """A matrix by rows: its first element, and the elements from a row to the next."""

    start: str
    pitch: int


class TileProducts:
    """Writes products ``x y`` whose rows are whole vectors."""

    def __init__(self, w: FunctionWriter, dtype: str, lanes: int) -> None:
        self.w, self.dtype, self.lanes = w, dtype, lanes
        self.rows, self.vectors = _TILES[w.wide_tables]

    def write(self, x: Operand, y: Operand, result: Operand, terms: Bound, rows: Bound, width: Bound) -> None:
        """Write ``x y`` to `result`: sums of `terms` terms, of `rows` by `width` elements."""
        self._tiles(x, y, result, terms, rows, width, subtract=False)

    def take(self, x: Operand, y: Operand, result: Operand, terms: Bound, rows: Bound, width: Bound) -> None:
        """Subtract ``x y`` from `result`."""
        self._tiles(x, y, result, terms, rows, width, subtract=True)

    def _tiles(
        self, x: Operand, y: Operand, result: Operand, terms: Bound, rows: Bound, width: Bound,
        *, subtract: bool,
    ) -> None:  # fmt: skip
        """All tiles: those of some columns after the other, for which a part of y is read again and again."""
        w, step = self.w, self.vectors * self.lanes

        def across(vectors: int) -> Callable[[Reg, list[Reg]], Sequence[Reg]]:
            def columns(at: Reg, _: list[Reg]) -> Sequence[Reg]:
                def down(count: int) -> Callable[[Reg, list[Reg]], Sequence[Reg]]:
                    def tile(row: Reg, _: list[Reg]) -> Sequence[Reg]:
                        self._tile(x, y, result, terms, row, at, (count, vectors), subtract)
                        return ()

                    return tile

                whole = self._whole(rows, self.rows)
                w.loop(0, whole, self.rows, down(self.rows))
                w.loop(whole, rows, 1, down(1))
                return ()

            return columns

        whole = self._whole(width, step)
        w.loop(0, whole, step, across(self.vectors))
        w.loop(whole, width, self.lanes, across(1))

    def _whole(self, size: Bound, by: int) -> Bound:
        """`size` without what is over a multiple of `by`."""
        if isinstance(size, int):
            return size - size % by
        return self.w.sub(size, self.w.integer("urem", size, by))

    def _tile(
        self, x: Operand, y: Operand, result: Operand, terms: Bound, row: Reg, column: Reg,
        size: tuple[int, int], subtract: bool,
    ) -> None:  # fmt: skip
        w, dtype, lanes, (rows, vectors) = self.w, self.dtype, self.lanes, size
        right = w.offset(y.start, dtype, column)

        def start(operand: Operand, number: int) -> str:
            return w.offset(operand.start, dtype, w.mul(w.add(row, number), operand.pitch))

        left = [start(x, number) for number in range(rows)]
        corners = [w.offset(start(result, number), dtype, column) for number in range(rows)]
        places = [w.offset(corner, dtype, v * lanes) for corner in corners for v in range(vectors)]

        def term(k: Reg, sums: list[Reg]) -> Sequence[Reg]:
            here = w.offset(right, dtype, w.mul(k, y.pitch))
            ys = [w.load(w.offset(here, dtype, v * lanes), dtype, lanes) for v in range(vectors)]
            out = []
            for number in range(rows):
                value = w.splat(w.load(w.offset(left[number], dtype, k), dtype), lanes)
                value = w.neg(value) if subtract else value
                own = sums[number * vectors : (number + 1) * vectors]
                out += [muladd(w, value, y, total) for y, total in zip(ys, own, strict=True)]
            return out

        before = [
            w.load(place, dtype, lanes) if subtract else constant(0.0, dtype, lanes) for place in places
        ]
        for place, total in zip(places, w.loop(0, terms, 1, term, before), strict=True):
            w.store(total, place)
