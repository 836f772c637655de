"""Transposed reads of maps, in square tiles.

A vector along the last dimension would gather each lane from a cache line of its own. Instead, squares of as
many elements as a vector has lanes are read the way they lie, turned in registers, and put in a small
scratch square, from which the map reads them row by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ....base.records import record
from ....ir.graph import Value
from ...llvm import strided_reads
from ...llvm.emitter import Reg, constant
from ...llvm.function import Declarations
from ...llvm.transpose import turned
from ...lowering.loop_nest import Leaf, Member, Memory, Nest, Write
from .element import Places
from .nest_writer import NestWriter

#: The longest edge of a square: more vectors than registers would be spilled.
LONGEST_EDGE: Final = 16
#: Squares side by side along the transposed leaves. What is read then are whole cache lines but the first and
#: the last: with one square and an array that begins within a line, each line was read twice (4.5 against
#: 2.2 ms for 2048x2048 f32).
GROUP: Final = 4
#: Tasks that a strip of squares should leave where tasks are strips.
_LEAST_TASKS: Final = 8
#: Rows of a square are written one after the other where their ops cost less than this, else as a loop.
UNROLLED_COST: Final = 4.0


@record
class Tiles:
    """Traversal of a nest in square tiles."""

    #: The dimension along which the transposed leaves lie; the other edge is along the last one.
    dim: int
    edge: int
    #: Number of squares that are one strip.
    group: int
    #: Leaves that are read transposed, each with the scratch square that takes its place.
    leaves: tuple[tuple[Memory, Memory], ...]

    def tasks(self, nest: Nest) -> int:
        """Number of tasks that the nest's function can be asked for."""
        return -(-nest.sizes[0] // (self.edge * self.group)) if self.dim == 0 else nest.sizes[0]

    def __str__(self) -> str:
        read = ", ".join(f"b{leaf.buffer}{list(leaf.strides)}" for leaf, _ in self.leaves)
        return f"  in squares of {self.edge} x {self.edge}, {self.group} side by side, which turn {read}"


def tiles_of(nest: Nest) -> Tiles | None:
    """Choose the square tiles in which to walk `nest`, None where nothing is read transposed."""
    last = nest.vector_dim
    edge = min(nest.lanes, LONGEST_EDGE)
    plain = nest.stages == 1 and not nest.scratch_sizes and len(nest.sizes) == nest.parallel
    if last is None or not plain or edge < 2 or nest.sizes[last] < edge:
        return None
    memories: dict[Memory, None] = {}
    for source in _sources(nest):
        if isinstance(source, Memory) and _is_far(source, last, edge):
            memories[source] = None
    for dim in range(last):
        if nest.sizes[dim] >= edge:
            leaves = [memory for memory in memories if memory.strides[dim] == 1]
            if leaves:
                strides = tuple(edge if axis == dim else int(axis == last) for axis in range(last + 1))
                group = nest.sizes[dim] // edge // (_LEAST_TASKS if dim == 0 else 1)
                squares = [Memory(-1 - i, leaf.dtype, strides, 0) for i, leaf in enumerate(leaves)]
                group = min(max(group, 1), GROUP)
                return Tiles(dim, edge, group, tuple(zip(leaves, squares, strict=True)))
    return None


def _is_far(leaf: Memory, last: int, edge: int) -> bool:
    """Whether lanes along `last` would be gathered from far apart."""
    stride = leaf.strides[last]
    return leaf.buffer is not None and stride not in (0, 1) and not strided_reads.pays(stride, edge)


def _sources(nest: Nest) -> list[Leaf | Value]:
    return [operand for member in nest.members for operand in member.operands] + [
        write.source for write in nest.writes
    ]


def in_squares(nest: Nest, tiles: Tiles) -> Nest:
    """The nest that reads the scratch squares."""
    swapped: dict[Leaf | Value, Leaf | Value] = dict(tiles.leaves)

    def of(source: Leaf | Value) -> Leaf | Value:
        return swapped.get(source, source)

    return Nest(
        name=nest.name,
        sizes=nest.sizes,
        parallel=nest.parallel,
        lanes=tiles.edge,
        members=[
            Member(member.instruction, tuple(map(of, member.operands)), member.row_level, member.stage)
            for member in nest.members
        ],
        writes=[Write(of(write.source), write.memory, write.row_level, write.stage) for write in nest.writes],
        stages=1,
        asked=nest.asked,
        scratch_sizes=[(square.dtype, tiles.edge**2) for _, square in tiles.leaves],
    )


class TileWriter(NestWriter):
    """Writes the function of a nest that is walked in squares."""

    def __init__(
        self,
        nest: Nest,
        tiles: Tiles,
        declarations: Declarations,
        streamed: frozenset[Memory] = frozenset(),
    ) -> None:
        super().__init__(in_squares(nest, tiles), declarations, streamed)
        self.tiles = tiles
        #: Rows of the strip that is being written.
        self.height = tiles.edge
        self.squares = {square for _, square in tiles.leaves}

    def _accesses(self) -> list[Memory]:
        return super()._accesses() + [leaf for leaf, _ in self.tiles.leaves]

    def _outer(self, dim: int, places: Places, begin: Reg, end: Reg) -> None:
        if dim == self.tiles.dim:
            self._strips(dim, places, begin, end)
        elif dim == self.nest.vector_dim:
            self._line(dim, places)
        else:
            super()._outer(dim, places, begin, end)

    def _strips(self, dim: int, places: Places, begin: Reg, end: Reg) -> None:
        """Walk the dimension along which transposed leaves lie, in whole strips, then the rest."""
        w, tall = self.w, self.tiles.edge * self.tiles.group
        whole, rest = divmod(self.nest.sizes[dim], tall)

        def strip(index: Reg, _: list[Reg]) -> Sequence[Reg]:
            self._strip(dim, places, w.mul(index, tall), tall)
            return ()

        if dim == 0:
            w.loop(begin, w.min(end, whole), 1, strip)
            if rest:
                w.when(
                    w.gt(end, whole), lambda: self._strip(dim, places, constant(whole * tall, "i64"), rest)
                )
            return
        w.loop(0, whole, 1, strip)
        if rest:
            self._strip(dim, places, constant(whole * tall, "i64"), rest)

    def _strip(self, dim: int, places: Places, start: Reg, height: int) -> None:
        self.height = height
        self._outer(dim + 1, self._move(places, dim, start), start, start)

    def _line(self, last: int, places: Places) -> None:
        """A strip, from its beginning to its end along the last dimension."""
        w, edge, extent = self.w, self.tiles.edge, self.nest.sizes[last]
        whole = extent // edge * edge

        def step(index: Reg, _: list[Reg]) -> Sequence[Reg]:
            self._across(self._move(places, last, index), edge)
            return ()

        w.loop(0, whole, edge, step)
        if whole < extent:
            self._across(self._move(places, last, constant(whole, "i64")), extent - whole)

    def _across(self, places: Places, width: int) -> None:
        """The squares that lie side by side in a strip."""
        w, edge, dim, height = self.w, self.tiles.edge, self.tiles.dim, self.height
        whole = height // edge * edge

        def square(index: Reg, _: list[Reg]) -> Sequence[Reg]:
            self._square(self._move(places, dim, index), edge, width)
            return ()

        w.loop(0, whole, edge, square)
        if whole < height:
            self._square(self._move(places, dim, constant(whole, "i64")), height - whole, width)

    def _move(self, places: Places, dim: int, index: Reg) -> Places:
        """`places` with loop dimension `dim` at `index`; squares stay where they are."""
        return {**self.advance(places, dim, index), **{square: places[square] for square in self.squares}}

    def _square(self, places: Places, height: int, width: int) -> None:
        w, nest, tiles, edge = self.w, self.nest, self.tiles, self.tiles.edge
        for leaf, square in tiles.leaves:
            self._turn(leaf, str(places[leaf]), str(places[square]), height, width)
        mask = w.tail_mask(width, edge) if width < edge else None
        # the inside of a window may be read as it lies, too
        sources = {leaf for leaf, _ in tiles.leaves} - set(super()._accesses())
        here = {memory: place for memory, place in places.items() if memory not in sources}

        def row(index: Reg, _: list[Reg]) -> Sequence[Reg]:
            self.point(self.advance(here, tiles.dim, index), 1, mask)
            return ()

        if sum(member.instruction.cost for member in nest.members) < UNROLLED_COST:
            for index in range(height):
                row(constant(index, "i64"), [])
        else:
            w.loop(0, height, 1, row)

    def _turn(self, leaf: Memory, source: str, square: str, height: int, width: int) -> None:
        """Read `width` vectors of `height` elements of the leaf, and put their transpose in its square."""
        w, edge, last = self.w, self.tiles.edge, len(self.nest.sizes) - 1
        dtype = "u8" if leaf.dtype == "bool" else leaf.dtype
        mask = w.tail_mask(height, edge) if height < edge else None
        block = [
            w.load(w.offset(source, dtype, column * leaf.strides[last]), dtype, edge, mask)
            for column in range(width)
        ]
        block += [constant(0, dtype, edge)] * (edge - width)
        for row, vector in enumerate(turned(w, block)[:height]):
            w.store(vector, w.offset(square, dtype, row * edge))
