"""Convolutions: tiles of the result in registers, along the sum over channels and kernel elements.

The lanes of a tile are outputs, its rows are pixels; where there is one output, lanes are neighbours in a row
of pixels. Kernels are packed first, so that the outputs of a tile lie side by side. A task copies the part of
the images that it reads to a slab on its stack, with the zeros around; elements of the slab are then read one
by one wherever they are, from a table of offsets, so that strides and dilations cost nothing and no element
is stored twice. At the end of its sum a tile is transposed in registers and written as the images lie.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Final

from ....base.machine import machine
from ....ir.dtypes import SHORT_NAME
from ....ir.graph import Instruction
from ....ir.registry import Kind
from ...llvm.emitter import BITS, Reg, constant, pointer
from ...llvm.function import Code, FunctionCode, Table
from ...llvm.loops import FunctionWriter
from ...lowering.kernel import PRODUCT_SLOWDOWN, Kernel, empty_kernel, signature
from ...lowering.lowering import Lowering, LoweringContext, content_with_sources
from ...lowering.parallel_for import context_of, run_tasks, task_function
from ..gemm.batches import accumulate
from ..gemm.tiles import parallel_work
from .packing import KernelPacking
from .parts import BUFFERS, Index, register
from .result import ResultPart, transposes_in_memory
from .tiling import windows_of

#: Vectors of a row of the slab up to which copying it is written out.
UNROLLED: Final = 8
#: Slowdown of kernels whose results are transposed in memory: measured on 1x1 kernels.
MEMORY_SLOWDOWN: Final = 0.3


def convolution_kernel(name: str, instruction: Instruction, context: LoweringContext) -> Kernel:
    """The kernel of a convolution."""
    dtype = SHORT_NAME[instruction.result.dtype]
    if instruction.result.type.size == 0:
        return empty_kernel(name, 3, f"convolution {name}: {instruction.result.type} is empty")
    cut = windows_of(instruction, dtype, context.target)
    images, rows, columns = cut.cuts
    head = (
        f"convolution {name}: {images.size} x {cut.groups} groups of {cut.channels} channels to "
        f"{cut.outputs} x {rows.size} x {columns.size} by {cut.kernel[0]} x {cut.kernel[1]} {dtype}, "
        f"tiles of {images.tile} x {rows.tile} x {columns.tile} pixels and {cut.vectors} vectors of "
        f"{cut.accumulator_lanes} lanes, blocks of {images.unit} x {rows.unit} x {columns.unit}"
    )
    pooled = cut.work >= parallel_work()
    parts = [
        KernelPacking(name, instruction, cut, context),
        _Tiles(name, instruction, cut, context),
    ]
    code = [piece for part in parts for piece in part.code()]
    code.append(_driver(name, [(part.symbol, part.tasks, part.chunk) for part in parts], pooled=pooled))
    if pooled:
        code += [task_function(part.symbol, BUFFERS) for part in parts]
    product = dtype if parts[0].by_library else ""
    shortened = transposes_in_memory(context.parameters, cut.lanes)
    return Kernel(
        name, code, head, 1, cut.work / cut.accumulator_lanes, product=product,
        grain=machine().product_task_cycles,
        pooled=pooled, shortened=shortened, worth_compiling=shortened,
        slowdown=MEMORY_SLOWDOWN if shortened else PRODUCT_SLOWDOWN,
    )  # fmt: skip


def convolution_workspace(instruction: Instruction, context: LoweringContext) -> int:
    """Bytes for the packed kernels."""
    if instruction.result.type.size == 0:
        return 0
    dtype = SHORT_NAME[instruction.result.dtype]
    cut = windows_of(instruction, dtype, context.target)
    return max(1, BITS[dtype] // 8) * (cut.groups * cut.panels + cut.width)


def _driver(name: str, parts: list[tuple[str, int, int]], *, pooled: bool) -> FunctionCode:
    """The kernel's own function: one part after the other."""
    w = FunctionWriter()
    pointers = [f"%b{i}" for i in range(BUFFERS)]
    if pooled:
        context_of(w, BUFFERS)
    for symbol, tasks, chunk in parts:
        if pooled:
            run_tasks(w, symbol, tasks, chunk)
        else:
            w.run(symbol, *map(pointer, pointers), constant(0, "i64"), constant(tasks, "i64"))
    w.ret()
    return w.function(signature(name, BUFFERS), "nounwind")


class _Tiles(ResultPart):
    """Blocks of the result, each from a slab of the images."""

    suffix = "tiles"

    @property
    def tasks(self) -> int:
        return self.cut.units * self.cut.shares

    @property
    def chunk(self) -> int:
        return max(1, self.tasks // machine().chunks)  # the kernels are read once for each

    def code(self) -> Code:
        """The table of offsets, where it is read, and the function."""
        if self.cut.taps_share_loads:
            return super().code()
        return [Table(f"@{self.symbol}_table", "i32", self.cut.offsets()), *super().code()]

    def write(self) -> None:
        w, cut = self.w, self.cut
        self.make_slab()
        sizes, steps = (cut.channels, *cut.kernel), cut.part

        def over(axis: int, at: list[Index]) -> None:
            if axis < 3:

                def block(index: Reg, _: list[Reg]) -> Sequence[Reg]:
                    over(axis + 1, [*at, index if sizes[axis] > steps[axis] else 0])
                    return ()

                w.loop(0, sizes[axis], steps[axis], block)
                return
            self._part_of_sum(at)

        over(0, [])

    def _part_of_sum(self, at: list[Index]) -> None:
        """All tasks, for the part of the sum that begins `at` channel, row and column of the kernels."""
        w, cut = self.w, self.cut
        sizes = (cut.channels, *cut.kernel)
        counts: list[Index] = [
            part if isinstance(begin, int) else w.min(w.sub(size, begin), constant(part, "i64"))
            for begin, size, part in zip(at, sizes, cut.part, strict=True)
        ]
        self.at, self.counts = at, counts
        self.first_term = self.sum((at[0], cut.kernel[0] * cut.kernel[1]), (at[1], cut.kernel[1]), (at[2], 1))

        def task(number: Reg, _: list[Reg]) -> Sequence[Reg]:
            images, rows, columns = cut.cuts
            sizes = cut.groups, images.units, rows.units, columns.units, cut.shares
            group, *blocks, share = self.digits(number, sizes)
            starts, skips = [], []
            for block, part in zip(blocks, cut.cuts, strict=True):
                begin = self.product(block, part.unit)
                start: Index = (
                    begin if part.size % part.unit == 0 else self.least(begin, part.size - part.unit)
                )
                starts.append(start)
                skips.append(0 if start is begin else self.sum((begin, 1), (start, -1)))
            self.fill(group, starts)
            self._blocks(group, share, starts, skips)
            return ()

        w.loop(Reg("%begin", "i64"), Reg("%end", "i64"), 1, task, nonempty=True)

    # -- tiles ------------------------------------------------------------------------------------

    def _blocks(self, group: Index, share: Index, starts: list[Index], skips: list[Index]) -> None:
        """The outputs of a share, a block at a time."""
        w, cut = self.w, self.cut
        _, rows, columns = cut.cuts
        size = rows.size * columns.size
        panels = self.moved("%b3", (group, cut.panels))
        result = self.moved(
            "%b2", (starts[0], cut.groups * cut.outputs * size), (group, cut.outputs * size),
            (starts[1], columns.size), (starts[2], 1),
        )  # fmt: skip

        def block(number: Index, vectors: int, outputs: int) -> None:
            width = vectors * cut.lanes
            panel = self.moved(panels, (number, cut.width * cut.terms), (self.first_term, width))
            self._pixels(
                panel, self.moved(result, (number, cut.width * size)), starts[1], skips, vectors, outputs
            )

        def whole(index: Reg, _: list[Reg]) -> Sequence[Reg]:
            block(index, cut.vectors, cut.width)
            return ()

        rest = cut.outputs - cut.whole * cut.width
        if isinstance(share, int):
            w.loop(0, cut.whole, 1, whole)
            if rest:
                block(cut.whole, cut.rest_vectors, rest)
            return
        first = w.mul(share, cut.blocks_each)
        if cut.whole:
            w.loop(first, w.min(w.add(first, cut.blocks_each), constant(cut.whole, "i64")), 1, whole)
        if rest:
            last = w.eq(share, cut.shares - 1)
            w.when(last, lambda: block(cut.whole, cut.rest_vectors, rest))

    def _pixels(
        self, panel: str, result: str, top: Index, skips: list[Index], vectors: int, outputs: int
    ) -> None:
        """All tiles of the block that are not done already."""
        w, cut = self.w, self.cut
        _, rows, columns = cut.cuts

        def first(cut_: object, skip: Index) -> Index:
            tile = cut_.tile  # type: ignore[attr-defined]
            return 0 if isinstance(skip, int) else w.integer("udiv", skip, tile)

        def row(i: Reg, _: list[Reg]) -> Sequence[Reg]:
            def column(j: Reg, _: list[Reg]) -> Sequence[Reg]:
                x = self.moved(
                    self.slab, (i, rows.tile * cut.stride[0] * cut.slab[1]), (j, columns.tile * cut.stride[1])
                )
                place = self.moved(result, (i, rows.tile * columns.size), (j, columns.tile))
                done = [
                    skips[0],
                    self.sum((skips[1], 1), (i, -rows.tile)),
                    self.sum((skips[2], 1), (j, -columns.tile)),
                ]
                self.write_tile(
                    self._sums(x, panel, self.sum((top, 1), (i, rows.tile)), vectors),
                    place,
                    done,
                    vectors,
                    outputs,
                )
                return ()

            w.loop(first(columns, skips[2]), columns.unit // columns.tile, 1, column, nonempty=True)
            return ()

        w.loop(first(rows, skips[1]), rows.unit // rows.tile, 1, row, nonempty=True)

    def _kernel_rows(self, first: Index) -> tuple[Index, Index]:
        """The kernel rows of the part that a tile from row `first` on needs: the others see zeros alone."""
        cut = self.cut
        step, apart, before = cut.stride[0], cut.dilation[0], cut.before[0]
        count, last = self.counts[1], cut.image[0] - 1 + before
        if before <= 0 and (cut.cuts[1].size - 1) * step + (cut.kernel[0] - 1) * apart <= last:
            return 0, count
        top = self.sum((first, step), (self.at[1], apart))
        low = self.ceiling(self.sum((before - (cut.cuts[1].tile - 1) * step, 1), (top, -1)), apart)
        high = self.ceiling(self.sum((last + 1, 1), (top, -1)), apart)
        low = self.least(self.most(low, 0), self.sum((count, 1), (-1, 1)))
        return low, self.least(self.most(high, self.sum((low, 1), (1, 1))), count)

    def _sums(self, x: str, panel: str, top: Index, vectors: int) -> list[Reg]:
        """The sums of the tile whose images begin at `x`."""
        w, cut = self.w, self.cut
        columns = cut.slab[1]
        places = [
            b * cut.part[0] * cut.plane + r * cut.stride[0] * columns + q * cut.stride[1]
            for b, r, q in cut.pixels
        ]
        terms, width = self.product(self.counts[0], self.counts[2]), vectors * cut.lanes

        def row(i: Reg, sums: list[Reg]) -> Sequence[Reg]:
            here = self.moved(x, (i, cut.dilation[0] * columns))
            weights = self.moved(panel, (self.product(i, terms), width))
            if cut.taps_share_loads:
                return self._terms_of_windows(here, weights, places, sums)
            return w.loop(
                0, terms, 1, functools.partial(self._term, here, weights, places), sums, nonempty=True
            )

        zero = constant(False if self.dtype == "bool" else 0, self.dtype, cut.accumulator_lanes)
        low, high = self._kernel_rows(top)
        return w.loop(low, high, 1, row, [zero] * (len(places) * vectors), nonempty=True)

    def _term(self, here: str, weights: str, places: list[int], term: Reg, sums: list[Reg]) -> Sequence[Reg]:
        """One term added to all sums of the tile."""
        w, dtype, lanes = self.w, self.dtype, self.cut.lanes
        vectors = len(sums) // len(places)
        offset = w.load(w.offset(f"@{self.symbol}_table", "i32", term), "i32")
        here = w.offset(here, dtype, w.cast(offset, "i64"))
        weights = w.offset(weights, dtype, w.mul(term, vectors * lanes))
        if self.cut.along > 1:
            return self._added(here, [self._weight(weights, 0)], places, sums)
        ys = [w.load(w.offset(weights, dtype, v * lanes), dtype, lanes) for v in range(vectors)]
        out = []
        for number, pixel in enumerate(places):
            value = w.splat(w.load(w.offset(here, dtype, pixel), dtype), lanes)
            for v in range(vectors):
                out.append(accumulate(w, sums[number * vectors + v], value, ys[v]))
        return out

    # -- lanes along columns ----------------------------------------------------------------------

    def _weight(self, weights: str, term: int) -> Reg:
        """An element of the kernel in all lanes."""
        w, dtype = self.w, self.dtype
        return w.splat(w.load(w.offset(weights, dtype, term), dtype), self.cut.along)

    def _added(self, here: str, weights: list[Reg], places: list[int], sums: list[Reg]) -> list[Reg]:
        """The sums with terms added that are a vector apart: neighbours read the same vectors for them."""
        w, cut = self.w, self.cut
        loaded: dict[int, Reg] = {}
        out = []
        for total, place in zip(sums, places, strict=True):
            for number, weight in enumerate(weights):
                at = place + number * cut.along
                if at not in loaded:
                    loaded[at] = w.load(w.offset(here, self.dtype, at), self.dtype, cut.along)
                total = accumulate(w, total, loaded[at], weight)
            out.append(total)
        return out

    def _terms_of_windows(self, here: str, weights: str, places: list[int], sums: list[Reg]) -> list[Reg]:
        """The terms of a kernel row, by pairs that are a vector apart."""
        w, cut = self.w, self.cut
        channels, _, columns = self.counts
        along = cut.along

        def channel(number: Reg, sums: list[Reg]) -> Sequence[Reg]:
            line = self.moved(here, (number, cut.plane))
            taps = self.moved(weights, (self.product(number, columns), 1))

            def terms(count: int, at: Reg, sums: list[Reg]) -> Sequence[Reg]:
                tap = w.offset(taps, self.dtype, at)
                factors = [self._weight(tap, term * along) for term in range(count)]
                return self._added(w.offset(line, self.dtype, at), factors, places, sums)

            def block(at: Reg, sums: list[Reg]) -> Sequence[Reg]:
                return w.loop(at, w.add(at, along), 1, functools.partial(terms, 2), sums, nonempty=True)

            whole = w.and_(register(columns), -2 * along)
            sums = w.loop(0, whole, 2 * along, block, sums)
            return w.loop(whole, columns, 1, functools.partial(terms, 1), sums)

        return w.loop(0, channels, 1, channel, sums, nonempty=True)


CONVOLUTION: Final = Lowering(
    (Kind.CONVOLUTION,),
    convolution_kernel,
    workspace=convolution_workspace,
    content=content_with_sources,
    flops=lambda instruction: 2 * instruction.result.type.size * math.prod(instruction.operands[1].shape[2:]),
    arithmetic="A convolution",
)
