"""Panels: a strip of a matrix is packed into one, and the micro-kernel reads two of them from end to end.

A panel of width W holds, for each inner index, the W elements across the strip side by side. The strip's own
strides decide how it is read: rows of neighbours are copied, columns of neighbours transposed in registers,
anything else goes element by element. What lies beyond a narrow strip in its panel is zero: nothing is kept
of it, but what the memory held before may be denormal numbers, with which CPUs compute slowly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from ...interface import PRODUCT_KERNELS
from ...llvm.emitter import BITS, Reg, constant
from ...llvm.function import Declarations, FunctionCode
from ...llvm.loops import FunctionWriter
from ...llvm.target import Target
from ...llvm.transpose import turned
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


PACKING = PRODUCT_KERNELS[1]
#: Rows of neighbours that are copied at a time: (512, 768) in f64 takes 1.2 ns an element, 1.9 row by row.
TOGETHER: Final = 8


def packing_function(
    tile: Tile, target: Target, declarations: Declarations, *, register_transposes: bool
) -> FunctionCode:
    """``@pack(ptr source, i64 across, i64 along, ptr panels, i64 count, i64 k, i64 width)``.

    Packs `count` elements across by `k` along, which are `across` and `along` elements apart, as panels of
    `width` elements, of which the last may have less. Without `register_transposes` what lies across is
    packed element by element.
    """
    return _Packing(tile, target, declarations).write(register_transposes=register_transposes)


class _Packing:
    def __init__(self, tile: Tile, target: Target, declarations: Declarations) -> None:
        self.dtype, self.lanes = tile.dtype, tile.lanes
        self.fast_masks = target.fast_masks
        self.w = FunctionWriter(declarations)
        self.across, self.along = Reg("%across", "i64"), Reg("%along", "i64")
        self.count, self.k, self.width = Reg("%count", "i64"), Reg("%k", "i64"), Reg("%width", "i64")

    def write(self, *, register_transposes: bool) -> FunctionCode:
        w = self.w

        def copied() -> None:
            self._copy()
            w.ret()

        def turned_whole() -> None:
            self._strips(self._turn)
            w.ret()

        self._clear_narrow_panel()
        w.when(w.eq(self.across, 1), copied)
        if register_transposes:  # they are half of the text
            w.when(w.and_(w.eq(self.along, 1), w.ge(self.k, self.lanes)), turned_whole)
        self._strips(self._element_by_element)
        w.ret()
        return w.function(
            f"void @{PACKING}(ptr noalias %source, i64 %across, i64 %along, ptr noalias %panels, i64 %count, "
            "i64 %k, i64 %width)",
            "nounwind",
        )

    def _clear_narrow_panel(self) -> None:
        """Zeros for the last panel, where the strip is narrower: for its elements beyond the strip."""
        w = self.w
        whole = w.integer("udiv", self.count, self.width)
        size = w.mul(self.width, self.k)

        def clear() -> None:
            panel = w.offset("%panels", self.dtype, w.mul(whole, size))
            w.clear(panel, w.mul(size, BITS[self.dtype] // 8))

        w.when(w.lt(w.mul(whole, self.width), self.count), clear)

    def _strips(
        self, body: Callable[[str, str, Reg], None], source: str = "%source", panels: str = "%panels"
    ) -> None:
        """`body` on the part of each panel that one vector holds: where it is read and written, and how many
        elements it has."""
        w = self.w
        each = w.mul(self.width, self.k)

        def panel(index: Reg, _: list[Reg]) -> Sequence[Reg]:
            left = w.mul(index, self.width)
            size = w.min(w.sub(self.count, left), self.width)
            from_here = w.offset(source, self.dtype, w.mul(left, self.across))
            to_here = w.offset(panels, self.dtype, w.mul(index, each))

            def strip(at: Reg, _: list[Reg]) -> Sequence[Reg]:
                valid = w.min(w.sub(size, at), constant(self.lanes, "i64"))
                here = w.offset(from_here, self.dtype, w.mul(at, self.across))
                body(here, w.offset(to_here, self.dtype, at), valid)
                return ()

            w.loop(0, size, self.lanes, strip, nonempty=True)
            return ()

        rounded = w.sub(w.add(self.count, self.width), 1)
        w.loop(0, w.integer("udiv", rounded, self.width), 1, panel, nonempty=True)

    def _by_vectors(self, valid: Reg, body: Callable[[Reg | None], None]) -> None:
        """`body` with a mask of the valid lanes; without one for whole vectors where masks are slow."""
        w = self.w
        mask = w.lt(w.ramp(self.lanes), w.splat(valid, self.lanes))
        if self.fast_masks:
            body(mask)
            return
        w.one_of(w.eq(valid, self.lanes), [lambda: body(None), lambda: body(mask)])

    def _copy(self) -> None:
        """A few rows at a time through all panels: memory is read in the order in which it lies, and each
        panel, which is on pages of its own, is written to less often."""
        w = self.w

        def rows(first: Reg, count: int) -> None:
            def vectors(here: str, there: str, valid: Reg) -> None:
                def copied(mask: Reg | None) -> None:
                    for row in range(count):
                        source = w.offset(here, self.dtype, w.mul(self.along, row))
                        target = w.offset(there, self.dtype, w.mul(self.width, row))
                        w.store(w.load(source, self.dtype, self.lanes, mask), target, mask)

                self._by_vectors(valid, copied)

            source = w.offset("%source", self.dtype, w.mul(first, self.along))
            self._strips(vectors, source, w.offset("%panels", self.dtype, w.mul(first, self.width)))

        def several(index: Reg, _: list[Reg]) -> Sequence[Reg]:
            rows(index, TOGETHER)
            return ()

        def single(index: Reg, _: list[Reg]) -> Sequence[Reg]:
            rows(index, 1)
            return ()

        whole = w.mul(w.integer("udiv", self.k, constant(TOGETHER, "i64")), TOGETHER)
        w.loop(0, whole, TOGETHER, several)
        w.loop(whole, self.k, 1, single)

    def _turn(self, source: str, panel: str, valid: Reg) -> None:
        self._by_vectors(valid, lambda mask: self._transpose(source, panel, valid, mask))

    def _transpose(self, source: str, panel: str, valid: Reg, mask: Reg | None) -> None:
        """Squares of `lanes` by `lanes`; the last along overlaps the one before."""
        w, lanes = self.w, self.lanes
        last = w.sub(self.k, lanes)
        end = w.sub(valid, 1)
        # rows beyond the strip repeat its last one
        rows = [w.mul(w.min(constant(i, "i64"), end), self.across) for i in range(lanes)]

        def square(index: Reg, _: list[Reg]) -> Sequence[Reg]:
            start = w.min(index, last)
            here = w.offset(source, self.dtype, start)
            there = w.offset(panel, self.dtype, w.mul(start, self.width))
            block = [w.load(w.offset(here, self.dtype, row), self.dtype, lanes) for row in rows]
            for i, column in enumerate(turned(w, block)):
                w.store(column, w.offset(there, self.dtype, w.mul(self.width, i)), mask)
            return ()

        w.loop(0, self.k, lanes, square, nonempty=True)

    def _element_by_element(self, source: str, panel: str, valid: Reg) -> None:
        w = self.w

        def row(index: Reg, _: list[Reg]) -> Sequence[Reg]:
            here = w.offset(source, self.dtype, w.mul(index, self.along))
            there = w.offset(panel, self.dtype, w.mul(index, self.width))

            def element(i: Reg, _: list[Reg]) -> Sequence[Reg]:
                value = w.load(w.offset(here, self.dtype, w.mul(i, self.across)), self.dtype)
                w.store(value, w.offset(there, self.dtype, i))
                return ()

            w.loop(0, valid, 1, element, nonempty=True)
            return ()

        w.loop(0, self.k, 1, row, nonempty=True)
