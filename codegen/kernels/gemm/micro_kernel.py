"""The micro-kernel: it reads two panels from end to end, and computes a tile of the result."""

from __future__ import annotations

from collections.abc import Sequence

from ...interface import PRODUCT_KERNELS
from ...llvm.emitter import BITS, Reg, constant
from ...llvm.function import Declarations, FunctionCode
from ...llvm.loops import FunctionWriter
from ...maths.support import muladd
from .tiles import SUM_PART, Tile

MICRO_KERNEL = PRODUCT_KERNELS[0]
#: Bytes of a line of the caches.
LINE = 64


def micro_kernel(tile: Tile, declarations: Declarations, variants: int) -> FunctionCode:
    """``@micro(ptr a, ptr b, ptr c, i64 k, i64 stride, i64 rows, i64 columns, i1 first)``.

    ``c[i, j] (+)= sum over p of a[p, i] b[p, j]``, where ``c``'s rows are `stride` elements apart and
    only the first `rows` and `columns` of the tile are there; `first` sets instead of adding. There is code
    of its own for each of `variants`, see `ScheduleParameters.micro_kernels`.
    """
    return _Micro(tile, declarations).write(variants)


class _Micro:
    def __init__(self, tile: Tile, declarations: Declarations) -> None:
        self.tile = tile
        self.w = FunctionWriter(declarations)

    def write(self, variants: int) -> FunctionCode:
        w, tile = self.w, self.tile
        if variants == 1:  # all tiles as if they were parts of one
            self._part(self._sums(tile.rows))
            w.ret()
        else:
            self._by_size()
        return w.function(
            f"void @{MICRO_KERNEL}(ptr noalias %a, ptr noalias %b, ptr noalias %c, i64 %k, i64 %stride, "
            "i64 %rows, i64 %columns, i1 %first)",
            "nounwind",
        )

    def _by_size(self) -> None:
        """Choose the code by size: whole tiles, partial ones, and those of few rows."""
        w, tile = self.w, self.tile
        self._fetch()
        rows, half = Reg("%rows", "i64"), -(-tile.rows // 2)

        def few() -> None:
            self._part(self._sums(half))
            w.ret()

        w.when(w.le(rows, half), few)
        sums = self._sums(tile.rows)

        def whole() -> None:
            self._whole(sums)
            w.ret()

        w.when(w.and_(w.eq(rows, tile.rows), w.eq(Reg("%columns", "i64"), tile.columns)), whole)
        self._part(sums)
        w.ret()

    def _sums(self, rows: int) -> list[Reg]:
        """The sums of the tile's first `rows`, in one part or two."""
        w, tile = self.w, self.tile
        dtype, lanes = tile.dtype, tile.lanes

        def step(index: Reg, sums: list[Reg]) -> Sequence[Reg]:
            row = w.offset("%b", dtype, w.mul(index, tile.columns))
            ys = [w.load(w.offset(row, dtype, v * lanes), dtype, lanes) for v in range(tile.vectors)]
            column = w.offset("%a", dtype, w.mul(index, tile.rows))
            out = []
            for i in range(rows):
                x = w.splat(w.load(w.offset(column, dtype, i), dtype), lanes)
                out += [
                    muladd(w, x, y, total)
                    for y, total in zip(ys, sums[i * tile.vectors : (i + 1) * tile.vectors], strict=True)
                ]
            return out

        k, zeros = Reg("%k", "i64"), [constant(0, dtype, lanes)] * (rows * tile.vectors)
        kept = w.slot(dtype, len(zeros) * lanes)

        def place(number: int) -> str:
            return w.offset(kept, dtype, number * lanes)

        def part(first: Reg, _: list[Reg]) -> Sequence[Reg]:
            stop = w.add(first, SUM_PART)
            sums = w.loop(first, w.min(stop, k), 1, step, zeros, nonempty=True)

            def keep() -> None:
                for number, total in enumerate(sums):
                    w.store(total, place(number))

            w.when(w.lt(stop, k), keep)
            return sums

        def add(_: Reg, sums: list[Reg]) -> Sequence[Reg]:
            return [w.add(w.load(place(number), dtype, lanes), total) for number, total in enumerate(sums)]

        last = w.loop(0, k, SUM_PART, part, zeros, nonempty=True)
        return w.loop(SUM_PART, k, SUM_PART, add, last)  # once, or not at all

    def _fetch(self) -> None:
        """Ask for the tile of the result, which is far away: it is there when the sums are.

        Into the second cache: rows that are a power of two apart meet in the same few sets of the first, and
        drive each other out. Rows that start within a line end in one more.
        """
        w, tile = self.w, self.tile
        w.declare("llvm.prefetch.p0", "void @llvm.prefetch.p0(ptr, i32, i32, i32)")
        size = tile.columns * BITS[tile.dtype] // 8
        for i in range(tile.rows):
            row = w.offset("%c", tile.dtype, w.mul(Reg("%stride", "i64"), i)) if i else "%c"
            for at in (*range(0, size, LINE), size - 1):
                w.prefetch(w.offset(row, "u8", at), near=False)

    def _place(self, row: Reg | int, vector: int) -> str:
        w, tile = self.w, self.tile
        start = w.offset("%c", tile.dtype, w.mul(Reg("%stride", "i64"), row)) if row != 0 else "%c"
        return w.offset(start, tile.dtype, vector * tile.lanes)

    def _whole(self, sums: list[Reg]) -> None:
        w, tile = self.w, self.tile
        places = [self._place(i, v) for i in range(tile.rows) for v in range(tile.vectors)]

        def store() -> None:
            for place, total in zip(places, sums, strict=True):
                w.store(total, place)

        def add() -> None:
            # read all, then write: a write holds up a read that is whole pages away from it, as rows
            # often are
            totals = [
                w.add(w.load(place, tile.dtype, tile.lanes), total)
                for place, total in zip(places, sums, strict=True)
            ]
            for place, total in zip(places, totals, strict=True):
                w.store(total, place)

        w.one_of(Reg("%first", "bool"), [store, add])

    def _part(self, sums: list[Reg]) -> None:
        """Store a partial tile by way of the stack, from which the part inside the result is read row by
        row."""
        w, tile = self.w, self.tile
        rows = len(sums) // tile.vectors
        kept = w.slot(tile.dtype, rows * tile.columns)
        for i in range(rows):
            for v in range(tile.vectors):
                total = sums[i * tile.vectors + v]
                w.store(total, w.offset(kept, tile.dtype, i * tile.columns + v * tile.lanes))
        masks = [
            w.lt(w.add(w.ramp(tile.lanes), v * tile.lanes), w.splat(Reg("%columns", "i64"), tile.lanes))
            for v in range(tile.vectors)
        ]

        def row(index: Reg, _: list[Reg]) -> Sequence[Reg]:
            source = w.offset(kept, tile.dtype, w.mul(index, tile.columns))
            for v in range(tile.vectors):
                total = w.load(w.offset(source, tile.dtype, v * tile.lanes), tile.dtype, tile.lanes)
                place = self._place(index, v)
                # before the first block there may be anything, NaN too
                before = w.load(place, tile.dtype, tile.lanes, masks[v])
                total = w.select(Reg("%first", "bool"), total, w.add(before, total))
                w.store(total, place, masks[v])
            return ()

        w.loop(0, Reg("%rows", "i64"), 1, row, nonempty=True)
