"""The result of a convolution: tiles, whose lanes are outputs and rows are pixels, written as images lie."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from ...llvm.emitter import Reg, constant
from ...llvm.transpose import transposed
from ...tiers import ScheduleParameters
from .parts import Index
from .slab import SlabPart


def transposes_in_memory(parameters: ScheduleParameters, lanes: int) -> bool:
    """Whether tiles are transposed in memory: shorter text where vectors have more than two lanes."""
    return not parameters.register_transposes and lanes > 2


class ResultPart(SlabPart):
    """A part that writes tiles of the result."""

    #: The first term of the part of the sum that is being written.
    first_term: Index

    def write_tile(self, sums: list[Reg], place: str, done: list[Index], vectors: int, outputs: int) -> None:
        """A tile's sums, set or added: outputs are lanes, pixels are to be."""
        w, cut = self.w, self.cut
        if not cut.split:
            self._stores(sums, place, done, vectors, outputs, lambda total, *_: total)
            return
        zero = w.eq(self.first_term, 0) if isinstance(self.first_term, Reg) else constant(True, "bool")

        def added(total: Reg, at: str, mask: Reg | None) -> Reg:
            # before the first part there may be anything, NaN too
            before = w.load(at, self.dtype, total.lanes, mask)
            both = w.or_(before, total) if self.dtype == "bool" else w.add(before, total)
            return w.select(zero, total, both)

        self._stores(sums, place, done, vectors, outputs, added)

    def _stores(
        self, sums: list[Reg], place: str, done: list[Index], vectors: int, outputs: int,
        combine: Callable[[Reg, str, Reg | None], Reg],
    ) -> None:  # fmt: skip
        w, cut = self.w, self.cut
        lanes, pixels = cut.lanes, cut.pixels
        _, rows, columns = cut.cuts
        size = rows.size * columns.size
        far = [b * cut.groups * cut.outputs * size + r * columns.size + q for b, r, q in pixels]
        zero = constant(False if self.dtype == "bool" else 0, self.dtype, lanes)

        def store(total: Reg, at: str, mask: Reg | None) -> None:
            w.store(combine(total, at, mask), at, mask)

        if cut.along > 1:
            for number, (b, r, q) in enumerate(pixels):
                fresh = self._fresh([(b, r, q + lane) for lane in range(cut.along)], done)
                store(sums[number], w.offset(place, self.dtype, far[number]), fresh)
            return
        if transposes_in_memory(self.parameters, lanes):
            self._stores_in_memory(sums, place, far, done, vectors, outputs, store)
            return
        for left in range(0, len(pixels), lanes):
            group = pixels[left : left + lanes]
            fresh = self._fresh(group, done)
            stretches = _stretches(far[left : left + lanes])
            for v in range(vectors):
                block = [sums[(left + i) * vectors + v] for i in range(len(group))]
                block = transposed(w, block + [zero] * (lanes - len(block)))
                for lane in range(min(lanes, outputs - v * lanes)):
                    row = w.offset(place, self.dtype, (v * lanes + lane) * size)
                    for begin, count, offset in stretches:
                        at = w.offset(row, self.dtype, offset - begin)
                        if lanes == 1 and fresh is not None:
                            w.when(fresh, functools.partial(store, block[lane], at, None))
                        else:
                            store(block[lane], at, self._mask(begin, count, fresh))

    def _stores_in_memory(
        self, sums: list[Reg], place: str, far: list[int], done: list[Index], vectors: int, outputs: int,
        store: Callable[[Reg, str, Reg | None], None],
    ) -> None:  # fmt: skip
        """Store a tile in compact code: write its sums to the stack, and read them back transposed, output by
        output."""
        w, cut, dtype = self.w, self.cut, self.dtype
        lanes, pixels = cut.lanes, cut.pixels
        size = cut.cuts[1].size * cut.cuts[2].size
        wide, tall = vectors * lanes, -(-len(pixels) // lanes) * lanes
        kept, rows = w.slot(dtype, len(pixels) * wide), w.slot(dtype, wide * tall)
        for number, total in enumerate(sums):
            w.store(total, w.offset(kept, dtype, number * lanes))

        def pixel(i: Reg, _: list[Reg]) -> Sequence[Reg]:
            source, target = w.offset(kept, dtype, w.mul(i, wide)), w.offset(rows, dtype, i)

            def output(j: Reg, _: list[Reg]) -> Sequence[Reg]:
                value = w.load(w.offset(source, dtype, j), dtype)
                w.store(value, w.offset(target, dtype, w.mul(j, tall)))
                return ()

            w.loop(0, outputs, 1, output, nonempty=True)
            return ()

        w.loop(0, len(pixels), 1, pixel, nonempty=True)
        groups = [
            (left, _stretches(far[left : left + lanes]), self._fresh(pixels[left : left + lanes], done))
            for left in range(0, len(pixels), lanes)
        ]

        def line(j: Reg, _: list[Reg]) -> Sequence[Reg]:
            row, line = w.offset(place, dtype, w.mul(j, size)), w.offset(rows, dtype, w.mul(j, tall))
            for left, stretches, fresh in groups:
                total = w.load(w.offset(line, dtype, left), dtype, lanes)
                for begin, count, offset in stretches:
                    store(total, w.offset(row, dtype, offset - begin), self._mask(begin, count, fresh))
            return ()

        w.loop(0, outputs, 1, line, nonempty=True)

    def _mask(self, begin: int, count: int, fresh: Reg | None) -> Reg | None:
        """The lanes of a stretch; None for all."""
        lanes = self.cut.lanes
        if count == lanes:
            return fresh
        bits = ", ".join(
            f"i1 {'true' if begin <= lane < begin + count else 'false'}" for lane in range(lanes)
        )
        mask = Reg(f"<{bits}>", "bool", lanes)
        return mask if fresh is None else self.w.and_(fresh, mask)

    def _fresh(self, group: list[tuple[int, int, int]], done: list[Index]) -> Reg | None:
        """Mask of the pixels of a group that are not done already; None where that does not matter."""
        w, cut = self.w, self.cut
        if not cut.masked:
            return None
        fresh: Reg | None = None
        for axis, axis_cut in enumerate(cut.cuts):
            skip = done[axis]
            if not axis_cut.overlaps or isinstance(skip, int):
                continue
            lanes = cut.accumulator_lanes
            places = [pixel[axis] for pixel in group] + [0] * (lanes - len(group))
            text = ", ".join(f"i64 {place}" for place in places)
            index = Reg(f"<{text}>", "i64", lanes) if lanes > 1 else constant(places[0], "i64")
            later = w.ge(index, w.splat(skip, lanes))
            fresh = later if fresh is None else w.and_(fresh, later)
        return fresh


def _stretches(places: list[int]) -> list[tuple[int, int, int]]:
    """Runs of neighbours in `places`: the first one's number, how many, and its place."""
    stretches: list[tuple[int, int, int]] = []
    for number, place in enumerate(places):
        if (
            stretches
            and place == stretches[-1][2] + stretches[-1][1]
            and number == stretches[-1][0] + stretches[-1][1]
        ):
            stretches[-1] = stretches[-1][0], stretches[-1][1] + 1, stretches[-1][2]
        else:
            stretches.append((number, 1, place))
    return stretches
