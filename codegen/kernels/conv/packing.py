"""Packing of the kernel of a convolution into the order in which tiles read it."""

from __future__ import annotations

from collections.abc import Sequence

from ...interface import pack_symbol
from ...llvm.emitter import Reg, constant, pointer
from ..gemm.library import pack_declaration
from ..gemm.tiles import packing_work
from .parts import Index, Part, register


class KernelPacking(Part):
    """Kernels as panels: for each block of outputs, the outputs side by side for each term of the sum.

    Terms are in the order of the parts of the sum, and in each of kernel rows, channels and kernel columns.
    """

    suffix = "pack"

    @property
    def stretch(self) -> tuple[int, int, int]:
        """Number of channels, kernel rows and columns that are one run of memory, apart like neighbours."""
        cut = self.cut
        _, _, by_channel, by_row, by_column = self.strides[1]
        rows, columns = cut.kernel
        if cut.part[0] > 1 and rows > 1:  # rows come before channels
            return (1, 1, columns)
        if rows > 1 and by_row != by_column * columns:
            return (1, 1, columns)
        if by_channel != (by_row * rows if rows > 1 else by_column * columns):
            return (1, rows, columns)
        return (cut.part[0], rows, columns)

    @property
    def tasks(self) -> int:
        return self.cut.groups * self.cut.blocks * -(-self.cut.channels // self.stretch[0])

    @property
    def chunk(self) -> int:
        each = self.cut.groups * self.cut.panels // self.tasks
        return max(1, packing_work() // max(1, each))

    def write(self) -> None:
        w, cut = self.w, self.cut
        if self.by_library:
            w.declarations[pack_symbol(self.dtype)] = pack_declaration(self.dtype)
        by_group, by_output = self.strides[1][:2]
        source = w.offset("%b1", self.dtype, self.starts[1])
        narrow = cut.outputs - cut.whole * cut.width, cut.rest_vectors * cut.lanes

        def task(number: Reg, _: list[Reg]) -> Sequence[Reg]:
            channels = -(-cut.channels // self.stretch[0])
            group, block, index = self.digits(number, (cut.groups, self.cut.blocks, channels))
            here = self.moved(source, (group, by_group), (block, by_output * cut.width))
            there = self.moved("%b3", (group, cut.panels), (block, cut.width * cut.terms))
            if not cut.rest_vectors:
                self._channels(index, here, there, cut.width, cut.width)
            elif isinstance(block, int):
                self._channels(index, here, there, *narrow)
            else:
                w.when(
                    w.lt(block, cut.whole), lambda: self._channels(index, here, there, cut.width, cut.width)
                )
                w.when(w.ge(block, cut.whole), lambda: self._channels(index, here, there, *narrow))
            return ()

        w.loop(Reg("%begin", "i64"), Reg("%end", "i64"), 1, task, nonempty=True)

    def _channels(self, index: Index, here: str, there: str, count: int, width: int) -> None:
        """The terms of the channels that are number `index`, in one panel."""
        w, cut = self.w, self.cut
        _, _, by_channel, by_row, by_column = self.strides[1]
        (rows, columns), (channels, together, _) = cut.kernel, self.stretch
        first = self.product(index, channels)
        here = self.moved(here, (first, by_channel))
        if channels > 1:
            terms = self.product(self.remaining(first, channels), rows * columns)
            along = by_column if columns > 1 else by_row if rows > 1 else by_channel
            self._run(here, self.moved(there, (first, rows * columns * width)), along, terms, count, width)
            return
        if together > 1 or rows == 1 or cut.part[0] == 1:
            apart: Index = columns
            start = self.product(first, rows * columns)
        else:
            block = w.integer("udiv", first, cut.part[0]) if isinstance(first, Reg) else 0
            begin = self.product(block, cut.part[0])
            apart = self.product(self.remaining(begin, cut.part[0]), columns)
            start = self.sum((begin, rows * columns), (first, columns), (begin, -columns))
        there = self.moved(there, (start, width))

        def row(i: Reg, _: list[Reg]) -> Sequence[Reg]:
            place = self.moved(there, (self.product(i, apart), width))
            along = by_column if columns > 1 else by_row
            self._run(self.moved(here, (i, by_row)), place, along, together * columns, count, width)
            return ()

        w.loop(0, rows, together, row)

    def remaining(self, begin: Index, most: int) -> Index:
        """Number of channels from `begin` on, at most `most`."""
        if isinstance(begin, int):
            return min(self.cut.channels - begin, most)
        return self.w.min(self.w.sub(self.cut.channels, begin), constant(most, "i64"))

    def _run(self, here: str, there: str, along: int, terms: Index, count: int, width: int) -> None:
        w, by_output = self.w, self.strides[1][1]
        if self.by_library:
            steps, sizes = (by_output, along), (count, terms, width)
            w.run(
                pack_symbol(self.dtype), pointer(here), *map(register, steps), pointer(there),
                *map(register, sizes),
            )  # fmt: skip
            return

        def term(k: Reg, _: list[Reg]) -> Sequence[Reg]:
            source, place = self.moved(here, (k, along)), self.moved(there, (k, width))

            def element(i: Reg, _: list[Reg]) -> Sequence[Reg]:
                value = w.load(self.moved(source, (i, by_output)), self.dtype)
                w.store(value, w.offset(place, self.dtype, i))
                return ()

            w.loop(0, count, 1, element)
            return ()

        w.loop(0, terms, 1, term, nonempty=True)
