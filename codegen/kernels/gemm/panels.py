"""Panels, into which strips of a matrix are packed.

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
from ...llvm.transpose import transposed
from .tiles import Tile

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

        def transposed_whole() -> None:
            self._strips(self._turn)
            w.ret()

        self._clear_narrow_panel()
        w.when(w.eq(self.across, 1), copied)
        if register_transposes:  # they are half of the text
            w.when(w.and_(w.eq(self.along, 1), w.ge(self.k, self.lanes)), transposed_whole)
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
            for i, column in enumerate(transposed(w, block)):
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
