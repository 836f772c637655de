"""Slabs: a part of each image, with its border, copied to where the kernel reads it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...llvm.emitter import Reg, constant
from .parts import Index, Part, register

#: Vectors of a row of the slab up to which copying it is written out.
UNROLLED: Final = 8


class SlabPart(Part):
    """A part that reads the images, for a part of the sum at a time."""

    #: The slab's pointer.
    slab: str
    #: Channel, row and column of the kernels at which the part of the sum begins, and how many of each.
    at: list[Index]
    counts: list[Index]

    def make_slab(self) -> None:
        """A slab on the stack, with a vector's slack at its end."""
        self.slab = self.w.slot(self.dtype, self.cut.slab_elements + self.target.lanes(self.dtype))

    def fill(self, group: Index, starts: list[Index]) -> None:
        """Copy the images that a block reads, which begins at an image, a row and a column of the result."""
        w, cut = self.w, self.cut
        by_image, by_group, by_channel, by_row, by_column = self.strides[0]
        rows, columns = cut.slab
        top, left = (
            self.sum(
                (starts[axis + 1], cut.stride[axis]), (self.at[axis + 1], cut.dilation[axis]),
                (-cut.before[axis], 1),
            )
            for axis in (0, 1)
        )  # fmt: skip
        source = self.moved(
            w.offset("%b0", self.dtype, self.starts[0]),
            (starts[0], by_image), (group, by_group), (self.at[0], by_channel), (left, by_column),
        )  # fmt: skip

        def image(number: Reg, _: list[Reg]) -> Sequence[Reg]:
            from_image = self.moved(source, (number, by_image))
            to_image = self.moved(self.slab, (number, cut.part[0] * cut.plane))

            def channel(number: Reg, _: list[Reg]) -> Sequence[Reg]:
                from_channel = self.moved(from_image, (number, by_channel))
                to_channel = self.moved(to_image, (number, cut.plane))

                def row(number: Reg, _: list[Reg]) -> Sequence[Reg]:
                    at = w.add(number, register(top))
                    inside = w.lt(w.bitcast(at, "u64"), cut.image[0])  # what is negative is large
                    here = self.moved(from_channel, (at, by_row))
                    self._row(here, self.moved(to_channel, (number, columns)), inside, left)
                    return ()

                w.loop(0, rows, 1, row)
                return ()

            w.loop(0, self.counts[0], 1, channel, nonempty=True)
            return ()

        w.loop(0, cut.cuts[0].unit, 1, image)

    def _row(self, here: str, there: str, inside: Reg, left: Index) -> None:
        """Copy a row of the slab; elements written beyond it are overwritten by the next one, or not read."""
        w, cut = self.w, self.cut
        lanes, (_, columns) = self.target.lanes(self.dtype), cut.slab
        by_column = self.strides[0][4]
        whole = w.splat(inside, lanes)

        def vector(at: Reg, _: list[Reg]) -> Sequence[Reg]:
            places = w.add(w.splat(w.add(at, register(left)), lanes), w.ramp(lanes))
            mask = w.and_(w.lt(w.bitcast(places, "u64"), cut.image[1]), whole)
            value = w.gather(self.moved(here, (at, by_column)), self.dtype, by_column, lanes, mask)
            w.store(value, w.offset(there, self.dtype, at))
            return ()

        if columns > UNROLLED * lanes:
            w.loop(0, columns, lanes, vector)
            return
        for at in range(0, columns, lanes):
            vector(constant(at, "i64"), [])
