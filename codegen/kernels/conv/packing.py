"""Parts that all convolution kernels share: tasks, strided operands, packed kernels, and slabs of images."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Final

from ....ir.access import element_strides, resolve
from ....ir.graph import Instruction
from ....ir.types import contiguous_strides
from ...interface import pack_symbol
from ...llvm.emitter import Reg, constant, pointer
from ...llvm.function import Code
from ...llvm.loops import FunctionWriter
from ..gemm.library import pack_declaration
from ..gemm.tiles import packing_work
from ..kernel import signature
from ..lowering import LoweringContext
from .tiling import Windows

#: Images, kernels, the result and the workspace.
BUFFERS: Final = 4

Index = Reg | int


class Part(ABC):
    """Base of the functions over tasks that a convolution's kernel consists of."""

    suffix = ""

    def __init__(self, name: str, instruction: Instruction, cut: Windows, context: LoweringContext) -> None:
        self.cut, self.dtype, self.target = cut, cut.dtype, context.target
        self.parameters = context.parameters
        self.symbol = f"{name}_{self.suffix}"
        self.w = FunctionWriter(context.declarations)
        self.operand = 0
        self.strides: list[tuple[int, ...]] = []
        self.starts: list[int] = []
        for operand in instruction.operands:
            source, access = resolve(operand, context.defs)
            strides, start = element_strides(access, contiguous_strides(source.shape), len(operand.shape))
            group = (0,) if len(strides) == 4 else ()  # one group, which has no axis
            lead = len(self.strides) == 0  # images come before groups
            self.strides.append((*strides[:lead], *group, *strides[lead:]))
            self.starts.append(start)

    @property
    @abstractmethod
    def tasks(self) -> int:
        """Number of tasks."""

    @property
    @abstractmethod
    def chunk(self) -> int:
        """Number of tasks that a thread claims at a time."""

    @property
    def by_library(self) -> bool:
        """Whether packing is the work of the products' library, which has floats."""
        return self.dtype in ("f32", "f64")

    def code(self) -> Code:
        self.write()
        self.w.ret()
        return [self.w.function(signature(self.symbol, BUFFERS), "nounwind")]

    @abstractmethod
    def write(self) -> None:
        """The function's body."""

    def moved(self, pointer: str, *terms: tuple[Index, int]) -> str:
        """`pointer` moved by the sum of indices times strides, in elements."""
        w = self.w
        for index, stride in terms:
            if stride and not (isinstance(index, int) and index == 0):
                pointer = w.offset(
                    pointer, self.dtype, w.mul(index, stride) if isinstance(index, Reg) else index * stride
                )
        return pointer

    def digits(self, number: Reg, sizes: Sequence[int]) -> list[Index]:
        """`number` in mixed radix: an index for each of `sizes`, the last one fastest."""
        digits: list[Index] = []
        rest = number
        for size in reversed(sizes[1:]):
            if size == 1:
                digits.append(0)
                continue
            digits.append(self.w.integer("urem", rest, size))
            rest = self.w.integer("udiv", rest, size)
        return [rest if sizes[0] > 1 else 0, *reversed(digits)]

    # -- index arithmetic, of constants where it can be ----------------------------------------------

    def sum(self, *terms: tuple[Index, int]) -> Index:
        """The sum of indices times factors."""
        constant = sum(index * factor for index, factor in terms if isinstance(index, int))
        total: Index = constant
        for index, factor in terms:
            if isinstance(index, Reg):
                scaled = self.w.mul(index, factor)
                total = scaled if isinstance(total, int) and total == 0 else self.w.add(scaled, total)
        return total

    def product(self, x: Index, y: Index) -> Index:
        """`x` times `y`."""
        if isinstance(x, int) and isinstance(y, int):
            return x * y
        return self.w.mul(x, y) if isinstance(x, Reg) else self.w.mul(y, x)

    def least(self, x: Index, y: Index) -> Index:
        """The smaller of both."""
        if isinstance(x, int) and isinstance(y, int):
            return min(x, y)
        return self.w.min(register(x), register(y))

    def most(self, x: Index, y: Index) -> Index:
        """The larger of both."""
        if isinstance(x, int) and isinstance(y, int):
            return max(x, y)
        return self.w.max(register(x), register(y))

    def ceiling(self, x: Index, by: int) -> Index:
        """`x` over `by`, rounded up where it is positive; 0 or less where it is not."""
        if by == 1:
            return x
        if isinstance(x, int):
            return -(-x // by)
        return self.w.integer("sdiv", self.w.add(x, by - 1), by)


def register(x: Index) -> Reg:
    """`x` as a register."""
    return x if isinstance(x, Reg) else constant(x, "i64")


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
