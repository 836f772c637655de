"""Tiling of convolutions: the tile of the result in registers, and blocks of images, rows and columns.

The sum over channels and the kernel's rows and columns is cut too, first by channels, then by rows, then by
columns; a part of it is a stretch of the kernels as they are packed. All follows from types and machine.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any, Final

from ....base.machine import machine
from ....base.records import record
from ....ir.graph import Instruction
from ...llvm.emitter import BITS
from ...llvm.target import Target
from ..gemm.tiles import TASKS, parallel_work, tile_for

#: Terms of a sum that are added up before they go to memory: with one accumulator errors grow with them.
TERMS: Final = 1024
#: Cycles to write a vector of the result, and to begin a tile.
STORE_CYCLES: Final = 4.0
TILE_CYCLES: Final = 20.0


def slab_bytes() -> int:
    """Bytes of a slab, the part of the images that a task reads: in the second cache, and on the stack."""
    return machine().l2_bytes // 8


@record
class Cut:
    """A dimension of `size` in tiles of `tile` and blocks of `unit`, a multiple of that.

    The last block overlaps the one before; tiles that are done already are passed over.
    """

    size: int
    tile: int
    unit: int

    @property
    def units(self) -> int:
        """Number of blocks."""
        return -(-self.size // self.unit)

    @property
    def overlaps(self) -> bool:
        """Whether the last tile computes some elements that another one has."""
        return self.size % self.tile > 0


@record
class Windows:
    """Sizes of a convolution and of what it is cut into. Pairs are for rows and columns."""

    dtype: str
    lanes: int
    groups: int
    outputs: int
    channels: int
    image: tuple[int, int]
    kernel: tuple[int, int]
    stride: tuple[int, int]
    dilation: tuple[int, int]
    #: Zeros before the first row and column.
    before: tuple[int, int]
    #: Images, rows and columns of the result.
    cuts: tuple[Cut, Cut, Cut]
    #: Vectors of outputs in a tile.
    vectors: int
    #: Columns of the result in a vector, where there is one output: the lanes of others are outputs.
    along: int
    #: Channels, and rows and columns of the kernels, in a part of the sum.
    part: tuple[int, int, int]

    @property
    def taps_share_loads(self) -> bool:
        """Whether elements of a kernel row that are a vector apart are taken together."""
        return self.along > 1 and self.dilation[1] == 1 and self.part[2] >= 2 * self.along

    @property
    def width(self) -> int:
        """Outputs in a tile."""
        return self.vectors * self.lanes

    @property
    def terms(self) -> int:
        """Number of products that an element is the sum of."""
        return self.channels * math.prod(self.kernel)

    @property
    def whole(self) -> int:
        """Blocks of `width` outputs."""
        return self.outputs // self.width

    @property
    def rest_vectors(self) -> int:
        """Vectors of the last outputs, which fill no block."""
        return -(-(self.outputs % self.width) // self.lanes)

    @property
    def panels(self) -> int:
        """Elements of the packed kernels of a group."""
        return self.terms * (self.whole * self.width + self.rest_vectors * self.lanes)

    @property
    def slab(self) -> tuple[int, int]:
        """Rows and columns of the slab."""
        return _reach(self, self.cuts[1].unit, 0), _reach(self, self.cuts[2].unit, 1)

    @property
    def plane(self) -> int:
        """Elements from one channel of the slab to the next: an odd number of lines, so that channels do not
        fall on the same sets of the cache."""
        return _plane(math.prod(self.slab), self.dtype)

    @property
    def slab_elements(self) -> int:
        """Elements of the slab, without the vector that may go beyond its end."""
        return self.cuts[0].unit * self.part[0] * self.plane

    @property
    def blocks(self) -> int:
        """Blocks of outputs, the rest among them."""
        return self.whole + (self.rest_vectors > 0)

    @property
    def units(self) -> int:
        """Slabs."""
        return self.groups * math.prod(cut.units for cut in self.cuts)

    @property
    def blocks_each(self) -> int:
        """Blocks of outputs in a task: all, or fewer where there are few slabs."""
        if self.work < parallel_work() or self.units >= TASKS:
            return self.blocks
        return -(-self.blocks // -(-TASKS // self.units))

    @property
    def shares(self) -> int:
        """Tasks that read the same slab."""
        return -(-self.blocks // self.blocks_each)

    @property
    def split(self) -> bool:
        """Whether sums are added up in parts."""
        return self.part != (self.channels, *self.kernel)

    @property
    def masked(self) -> bool:
        """Whether some elements of a tile must not be written: they would be added twice."""
        return self.split and any(cut.overlaps for cut in self.cuts)

    @property
    def work(self) -> int:
        """Multiplications."""
        return self.groups * self.outputs * self.terms * math.prod(cut.size for cut in self.cuts)

    @property
    def pixels(self) -> list[tuple[int, int, int]]:
        """The image, row and column of each element of a tile, or of the first one of each vector."""
        images, rows, columns = (cut.tile for cut in self.cuts)
        return list(itertools.product(range(images), range(rows), range(0, columns, self.along)))

    @property
    def accumulator_lanes(self) -> int:
        """Lanes of a sum of the tile."""
        return max(self.lanes, self.along)

    def offsets(self) -> list[int]:
        """Offsets in the slab of the terms of one kernel row, in the order of the packed kernels."""
        channels, _, columns = self.part
        return [c * self.plane + j * self.dilation[1] for c in range(channels) for j in range(columns)]


def windows_of(instruction: Instruction, dtype: str, target: Target) -> Windows:
    """The cutting of a convolution whose result has elements."""
    x, w = instruction.operands
    attrs: Any = instruction.attrs
    result = instruction.result
    outputs, channels, *extents = w.shape[-4:]
    kernel = extents[0], extents[1]
    groups = math.prod(x.shape[1:-3])
    lanes = min(target.lanes(dtype), 16)
    while lanes > 1 and lanes // 2 >= outputs:
        lanes //= 2
    sizes = (result.shape[0], *result.shape[-2:])
    along = _columns_in_vector(sizes[2], outputs, attrs["stride"][1], dtype, target)
    terms = min(TERMS, channels * math.prod(kernel))
    vectors, tile = _tile(sizes, outputs, terms, lanes, along, dtype, target)
    windows = Windows(
        dtype, lanes, groups, outputs, channels, (x.shape[-2], x.shape[-1]), kernel, attrs["stride"],
        attrs["dilation"], attrs["padding"][::2],
        tuple(Cut(size, number, number) for size, number in zip(sizes, tile, strict=True)),  # type: ignore[arg-type]
        vectors, along, _part(channels, *kernel),
    )  # fmt: skip
    while windows.slab_elements * _bytes(dtype) > slab_bytes() and max(windows.part) > 1:
        windows = _with(windows, part=_halved(windows.part))
    return _grown(windows)


def _columns_in_vector(columns: int, outputs: int, stride: int, dtype: str, target: Target) -> int:
    """The columns of the result that are the lanes of a vector: 1 where these are outputs."""
    lanes = min(target.lanes(dtype), 16)
    return lanes if outputs == 1 and stride == 1 and columns >= lanes and dtype != "bool" else 1


def _tile(
    sizes: tuple[int, ...], outputs: int, terms: int, lanes: int, along: int, dtype: str, target: Target
) -> tuple[int, tuple[int, int, int]]:
    """The vectors and pixels of the tile that takes the fewest cycles: one per multiply-add of a vector, half
    a one per load, and the writing."""
    if along > 1:  # each vector of columns counts like a pixel
        vectors, (images, rows, columns) = _tile(
            (*sizes[:2], sizes[2] // along), outputs, terms, lanes, 1, dtype, target
        )
        return vectors, (images, rows, columns * along)
    largest = tile_for(target, dtype)
    budget, wide = largest.rows * largest.vectors, -(-outputs // lanes)
    in_flight = machine().multiply_adds_in_flight  # a smaller tile waits for its own sums

    def cost(vectors: int, tile: tuple[int, int, int]) -> float:
        blocks = [vectors] * (wide // vectors) + [wide % vectors] * (wide % vectors > 0)
        pixels = math.prod(tile)
        steps = sum(max(pixels * v, (pixels + v) / 2 + v / 2, in_flight) for v in blocks) * terms
        runs = -(-pixels // lanes) if tile[2] == sizes[2] else tile[0] * tile[1] * -(-tile[2] // lanes)
        turning = -(-pixels // lanes) * (lanes.bit_length() - 1) + runs * STORE_CYCLES
        count = math.prod(-(-size // number) for size, number in zip(sizes, tile, strict=True))
        return count * (steps + wide * lanes * turning + len(blocks) * TILE_CYCLES)

    choices = [
        (cost(vectors, tile), -tile[2], tile, vectors)
        for vectors in range(1, min(wide, 4) + 1)
        for tile in _tiles(sizes, max(1, budget // vectors))
    ]
    _, _, tile, vectors = min(choices)
    return vectors, tile


def _tiles(sizes: tuple[int, ...], most: int) -> Iterator[tuple[int, int, int]]:
    for columns in range(1, min(sizes[2], most) + 1):
        for rows in range(1, min(sizes[1], most // columns) + 1):
            for images in range(1, min(sizes[0], most // (columns * rows)) + 1):
                yield images, rows, columns


def _part(channels: int, rows: int, columns: int) -> tuple[int, int, int]:
    """Channels, rows and columns of a part of the sum: as many channels as make `TERMS`; within one channel,
    as many rows; within one row, as many columns."""
    if rows * columns <= TERMS:
        return _even(channels, TERMS // (rows * columns)), rows, columns
    if columns <= TERMS:
        return 1, _even(rows, TERMS // columns), columns
    return 1, 1, _even(columns, TERMS)


def _halved(part: tuple[int, int, int]) -> tuple[int, int, int]:
    """Half of the part, roughly; a dimension is cut when those before it are 1."""
    channels, rows, columns = part
    if channels > 1:
        return -(-channels // 2), rows, columns
    if rows > 1:
        return 1, -(-rows // 2), columns
    return 1, 1, -(-columns // 2)


def _grown(windows: Windows) -> Windows:
    """Larger blocks of columns, then of rows, as long as the slab stays small and there are tasks enough."""
    least = TASKS if windows.work >= parallel_work() else 1
    for axis in (2, 1):
        cut = windows.cuts[axis]
        best = windows
        for count in range(2, cut.size // cut.tile + 1):
            cuts = list(windows.cuts)
            cuts[axis] = Cut(cut.size, cut.tile, cut.tile * count)
            larger = _with(windows, cuts=tuple(cuts))
            if larger.slab_elements * _bytes(windows.dtype) > slab_bytes() or (
                larger.units < least and axis == 1
            ):
                break
            if larger.units < best.units:
                best = larger
        windows = best
    return windows


def _with(windows: Windows, **changes: object) -> Windows:
    fields = {name: getattr(windows, name) for name in Windows.__annotations__}
    return Windows(**{**fields, **changes})


def _reach(windows: Windows, unit: int, axis: int) -> int:
    """Number of elements of an axis of the images that `unit` elements of the result read in a part of the
    sum."""
    taps = windows.part[axis + 1]
    return (unit - 1) * windows.stride[axis] + (taps - 1) * windows.dilation[axis] + 1


def _plane(elements: int, dtype: str) -> int:
    line = 64 // _bytes(dtype)
    lines = -(-elements // line)
    return (lines + 1 - lines % 2) * line


def _bytes(dtype: str) -> int:
    return max(1, BITS[dtype] // 8)


def _even(size: int, most: int) -> int:
    """The size of blocks of at most `most` that are all about alike."""
    return -(-size // -(-size // most))
