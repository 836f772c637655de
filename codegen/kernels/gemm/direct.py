"""Small matrix products: a register-blocked nest that reads its operands where they lie.

A tile of the result is kept in registers along the inner dimension. The tile's size follows from the shape,
so that little of it goes over the edges: rows of the last tile overlap the one before, which computes some
twice to the same bits; the last columns have tiles of their own, narrower and masked. A small y whose columns
lie in memory is turned first. Of a y that the first cache does not hold, a strip for one
column of tiles is copied: (100, 200) @ (200, 768) in f64 took 690 us so on a Xeon of 2.5 GHz, 1280 from where
it lies if rows begin lines there, and 2500 if they do not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from ....ir.machine import machine
from ....ir.records import record
from ....ir.types import TensorType
from ...llvm.emitter import BITS, Reg, constant
from ...llvm.function import Code, Declarations
from ...llvm.loops import FunctionWriter
from ...llvm.target import Target
from ...llvm.transpose import put_columns
from ...tiers import OPTIMIZED
from ..kernel import PRODUCT_SLOWDOWN, Kernel, signature
from ..lowering import LoweringContext
from . import batches
from .batches import Strided, accumulate, over_batch, over_rows
from .tiles import SUM_PART, tile_for

#: Longer sums are added up in parts of this length: with one accumulator per element, errors grow with it.
INNER: Final = SUM_PART
#: Rows of tiles from which copying a strip of y costs less than it saves.
COPIED_TILES: Final = 3
#: What a vector of y from the second cache takes, over one from the first.
SECOND_CACHE: Final = 4.5
#: Multiply-adds of vectors up to which the loop over the inner dimension is written out.
UNROLLED: Final = OPTIMIZED.parameters.product_copies

Range: TypeAlias = tuple[Reg | int, Reg | int]


@record
class Shape:
    """Sizes of a product and of its tiles: `rows` by `vectors` of `lanes`."""

    m: int
    n: int
    k: int
    rows: int
    vectors: int
    lanes: int
    #: Whether tiles are walked column by column.
    columns_first: bool = False

    #: Whether tiles are as high as registers allow: x's rows do not drive each other out of the cache.
    high: bool = False

    @property
    def copies(self) -> bool:
        """Whether the strip of y that a column of tiles reads is copied, so that its rows lie side by side
        and begin lines: a vector that begins within one reads two, and rows that are large powers of two
        apart drive each other out of the first cache."""
        return self.columns_first and self.high and self.down >= COPIED_TILES

    @property
    def down(self) -> int:
        """Tiles from top to bottom."""
        return math.ceil(self.m / self.rows)

    @property
    def across(self) -> int:
        """Tiles from left to right."""
        return math.ceil(self.n / (self.vectors * self.lanes))


def direct_kernel(
    name: str,
    types: tuple[TensorType, TensorType, TensorType],
    operands: tuple[Strided, Strided],
    dtype: str,
    context: LoweringContext,
) -> Kernel:
    """The kernel of ``result = x @ y`` for `types` of x, y and the result, which has elements."""
    x, _, result = types
    batch = math.prod(result.shape[:-2])
    shape = choose_tiles(
        x.shape[-2], result.shape[-1], x.shape[-1], dtype, context.target, operands[0].strides[-2]
    )
    steps = shape.down * shape.rows * shape.across * shape.vectors * shape.k
    sums, most = shape.rows * shape.vectors, context.parameters.product_copies
    copies = sums * shape.k if sums * shape.k <= UNROLLED else sums
    shortened = copies > most
    if shortened:
        shape = small_tiles(shape, most // 2)
    writer = _Nest(name, types, operands, dtype, shape, context.declarations, 0 if shortened else UNROLLED)
    head = (
        f"contraction {name}: {batch} x ({shape.m}x{shape.k} @ {shape.k}x{shape.n}) {dtype}, "
        f"{shape.rows} x {shape.vectors} vectors of {shape.lanes} lanes"
        f"{', y turned' if writer.turns else ''}{', strips of y copied' if shape.copies else ''}"
    )
    return Kernel(
        name,
        writer.write(),
        head,
        writer.tasks,
        batch * (steps + 10.0),
        grain=machine().product_task_cycles,
        shortened=shortened,
        slowdown=PRODUCT_SLOWDOWN,
    )


def choose_tiles(m: int, n: int, k: int, dtype: str, target: Target, x_row: int) -> Shape:
    """The tile that takes the least time: as much for a multiply-add of a vector as for a load, since cores
    begin two of each in a cycle, or fewer multiply-adds.

    `x_row` is how far apart x's rows are, in elements.
    """
    lanes = target.lanes(dtype)
    while lanes > 1 and lanes // 2 >= n:
        lanes //= 2
    if dtype[0] != "f":
        return Shape(m, n, k, max(1, min(m, 4)), 2, lanes)
    tile = tile_for(target, dtype)
    wide = max(1, math.ceil(n / lanes))
    budget = _registers(tile.rows, tile.vectors)
    most = max(4, rows_in_cache(x_row * BITS[dtype] // 8) - 2)

    # a y that is read for several rows of tiles is near, or its strips are, unless tiles are low anyway
    far = k * n * BITS[dtype] // 8 > machine().l1_bytes * 7 // 4
    strip, high = 8, min(m, most) >= tile.rows
    if far and high:
        strip = max(2, machine().l1_bytes * 7 // (k * lanes * BITS[dtype]))
    in_flight = machine().multiply_adds_in_flight  # a smaller tile waits for its own sums

    def step(rows: int, vectors: int) -> float:
        read_again = k * (vectors * lanes if far else n) * BITS[dtype] // 8
        load = 1.0 if read_again <= machine().l1_bytes // 2 else SECOND_CACHE
        return max(rows * vectors, rows + vectors * load, in_flight) + 2

    def cost(rows: int, vectors: int) -> float:
        strips, rest = divmod(wide, vectors)
        return -(-m // rows) * (strips * step(rows, vectors) + (step(rows, rest) if rest else 0))

    choices = [
        (cost(rows, vectors), -rows * vectors, rows, vectors)
        for vectors in range(1, min(wide, 8, strip) + 1)
        for rows in range(1, max(1, min(m, most)) + 1)
        if rows == 1 or _registers(rows, vectors) <= budget
    ]
    _, _, rows, vectors = min(choices)
    return Shape(m, n, k, rows, vectors, lanes, far, high)


def _registers(rows: int, vectors: int) -> int:
    """How many vector registers a tile takes: its sums, the fewer of both factors, and one of the other."""
    return rows * vectors + min(rows, vectors) + 1


def small_tiles(shape: Shape, most: int) -> Shape:
    """Tiles of `most` rows by a vector. Elements are the same sums, in the same order, as with any others."""
    rows = min(shape.m, most)
    return Shape(shape.m, shape.n, shape.k, rows, 1, shape.lanes, shape.columns_first, shape.high)


def rows_in_cache(distance: int) -> int:
    """How many lines `distance` bytes apart the nearest cache, of 8 ways, can hold."""
    line, way = machine().line_bytes, machine().l1_bytes // 8
    return 8 * (way // math.gcd(distance, way)) if distance % line == 0 else 8 * way // line


class _Nest:
    def __init__(
        self,
        name: str,
        types: tuple[TensorType, TensorType, TensorType],
        operands: tuple[Strided, Strided],
        dtype: str,
        shape: Shape,
        declarations: Declarations,
        unrolled: int,
    ) -> None:
        self.name, self.types, self.operands, self.dtype = name, types, operands, dtype
        self.shape, self.w, self.unrolled = shape, FunctionWriter(declarations), unrolled
        self.batch = math.prod(types[2].shape[:-2])
        y = operands[1].strides[-2:]
        #: Whether y is read from scratch memory, where its columns were turned to rows.
        self.turns = batches.turning_pays(y, shape.k, shape.n, dtype, shape.lanes)
        self.y_strides = (batches.turned_pitch(shape.n, shape.lanes), 1) if self.turns else y
        #: Where the strip of y that is read lies in memory, where it is copied from.
        self.source = ""
        #: What y's rows are apart where tiles read them.
        self.y_row = shape.vectors * shape.lanes if shape.copies else self.y_strides[0]
        self.strip = self.w.slot(dtype, shape.k * self.y_row) if shape.copies else ""
        #: Whether tasks are columns of tiles; else they are rows of tiles, or the matrices of a batch.
        self.by_column = self.batch == 1 and (shape.columns_first or shape.down < min(4, shape.across))

    @property
    def tasks(self) -> int:
        if self.batch > 1:
            return self.batch
        return self.shape.across if self.by_column else self.shape.down

    def write(self) -> Code:
        w, shape = self.w, self.shape
        begin, end = Reg("%begin", "i64"), Reg("%end", "i64")
        starts = [*[operand.start(w, self.dtype) for operand in self.operands], "%b2"]
        down, across = (0, shape.down), (0, shape.across)
        if self.batch > 1:
            over_batch(
                w, self.types, self.operands, starts, self.dtype,
                lambda at: self._tiles(self._near(at), down, across), tasks=(begin, end),
            )  # fmt: skip
        elif self.by_column:
            self._tiles(self._near(starts), down, (begin, end))
        else:
            self._tiles(self._near(starts), (begin, end), across)
        w.ret()
        return [w.function(signature(self.name, 3), "nounwind")]

    def _near(self, at: list[str]) -> list[str]:
        """The pointers to matrices, y's to its turned copy if it is turned."""
        if not self.turns:
            return at
        shape, (apart, _) = self.shape, self.y_strides
        scratch = self.w.slot(self.dtype, shape.k * apart)
        columns, size = (at[1], self.operands[1].strides[-1]), (shape.n, shape.k)
        put_columns(self.w, columns, (scratch, apart), size, self.dtype, shape.lanes)
        return [at[0], scratch, at[2]]

    # -- tiles ------------------------------------------------------------------------------------

    def _tiles(self, at: list[str], down: Range, across: Range) -> None:
        """All tiles of the ranges: for each row of tiles those across, or where y is far, for each column of
        tiles those down, so that its strip of y stays near."""
        if self.shape.columns_first:
            self._columns(at, across, lambda here, *edge: self._rows(here, down, self._tile, edge))
        else:
            self._rows(at, down, lambda here: self._columns(here, across, self._tile), ())

    def _rows(self, at: list[str], down: Range, body: Callable[..., None], edge: tuple[Any, ...]) -> None:
        shape = self.shape
        moved = [(at[0], self.operands[0].strides[-2]), (at[2], shape.n)]
        over_rows(
            self.w,
            shape.m,
            shape.rows,
            down,
            self.dtype,
            moved,
            lambda here: body([here[0], at[1], here[1]], *edge),
        )

    def _columns(self, at: list[str], across: Range, body: Callable[..., None]) -> None:
        """`body` on columns of tiles, with how many vectors they have and the last one's mask: whole ones in
        a loop, then the one at the edge."""
        w, shape = self.w, self.shape
        width = shape.vectors * shape.lanes
        whole = shape.n // width

        def column(index: Reg, vectors: int, mask: Reg | None) -> None:
            left = w.mul(index, width)
            y = w.offset(at[1], self.dtype, w.mul(left, self.y_strides[1]))
            if shape.copies:
                self._copy(y, vectors, mask)
            self.source = y
            strip = self.strip or y
            body([at[0], strip, w.offset(at[2], self.dtype, left)], vectors, mask)

        def inside(index: Reg, _: list[Reg]) -> Sequence[Reg]:
            column(index, shape.vectors, None)
            return ()

        rest = shape.n - whole * width
        mask = w.tail_mask(rest % shape.lanes, shape.lanes) if rest % shape.lanes else None

        def edge() -> None:
            column(constant(whole, "i64"), math.ceil(rest / shape.lanes), mask)

        first, last = across
        if isinstance(first, int) or isinstance(last, int):
            w.loop(0, whole, 1, inside)
            if rest:
                edge()
            return
        if whole:
            w.loop(first, w.min(last, constant(whole, "i64")), 1, inside)
        if rest:
            w.when(w.gt(last, whole), edge)

    def _copy(self, source: str, vectors: int, mask: Reg | None) -> None:
        """Copy a strip of y."""
        w, lanes = self.w, self.shape.lanes

        def row(index: Reg, _: list[Reg]) -> Sequence[Reg]:
            here = w.offset(source, self.dtype, w.mul(index, self.y_strides[0]))
            there = w.offset(self.strip, self.dtype, w.mul(index, self.y_row))
            for v in range(vectors):
                only = mask if v == vectors - 1 else None
                value = w.load(w.offset(here, self.dtype, v * lanes), self.dtype, lanes, only)
                w.store(value, w.offset(there, self.dtype, v * lanes))
            return ()

        w.loop(0, self.shape.k, 1, row, nonempty=True)

    def _tile(self, at: list[str], vectors: int, mask: Reg | None) -> None:
        """One tile of the result; its sums are added up in parts where they are long."""
        w, shape = self.w, self.shape
        if shape.copies and shape.m * shape.n * BITS[self.dtype] // 8 > machine().l2_bytes // 4:
            for place, _ in self._places(at, vectors, mask):
                self._fetch(place)
        if shape.k <= INNER:
            for total, (place, only) in zip(
                self._sums(at, 0, shape.k, vectors, mask), self._places(at, vectors, mask), strict=True
            ):
                w.store(total, place, only)
            return
        zero = constant(0, self.dtype, shape.lanes)
        for place, only in self._places(at, vectors, mask):
            w.store(zero, place, only)

        def part(index: Reg, _: list[Reg]) -> Sequence[Reg]:
            stop = w.min(w.add(index, INNER), constant(shape.k, "i64"))
            sums = self._sums(at, index, stop, vectors, mask)
            for total, (place, only) in zip(sums, self._places(at, vectors, mask), strict=True):
                before = w.load(place, self.dtype, shape.lanes, only)
                w.store(w.or_(before, total) if self.dtype == "bool" else w.add(before, total), place, only)
            return ()

        w.loop(0, shape.k, INNER, part)

    def _places(self, at: list[str], vectors: int, mask: Reg | None) -> list[tuple[str, Reg | None]]:
        """Where each vector of a tile of the result is, and which of its lanes."""
        w, shape = self.w, self.shape
        return [
            (w.offset(at[2], self.dtype, row * shape.n + v * shape.lanes), mask if v == vectors - 1 else None)
            for row in range(shape.rows)
            for v in range(vectors)
        ]

    def _sums(
        self, at: list[str], start: Reg | int, stop: Reg | int, vectors: int, mask: Reg | None
    ) -> list[Reg]:
        w, dtype, shape = self.w, self.dtype, self.shape
        lanes = shape.lanes
        x_strides, apart = self.operands[0].strides[-2:], self.y_strides[1]

        def step(index: Reg, sums: list[Reg]) -> Sequence[Reg]:
            y_row = w.offset(at[1], dtype, w.mul(index, self.y_row))
            ys = [
                w.gather(
                    w.offset(y_row, dtype, v * lanes * apart),
                    dtype, apart, lanes, mask if v == vectors - 1 and not shape.copies else None,
                )
                for v in range(vectors)
            ]  # fmt: skip
            if shape.columns_first:
                ahead = w.offset(self.source, dtype, w.mul(index, self.y_strides[0]))
                for v in range(vectors):
                    self._fetch(w.offset(ahead, dtype, (vectors + v) * lanes))
            x_column = w.offset(at[0], dtype, w.mul(index, x_strides[1]))
            out = []
            for row in range(shape.rows):
                x = w.splat(w.load(w.offset(x_column, dtype, row * x_strides[0]), dtype), lanes)
                for v in range(vectors):
                    out.append(accumulate(w, sums[row * vectors + v], x, ys[v]))
            return out

        sums = [constant(0, dtype, lanes)] * (shape.rows * vectors)
        if isinstance(start, int) and isinstance(stop, int) and stop * len(sums) <= self.unrolled:
            for index in range(start, stop):
                sums = list(step(constant(index, "i64"), sums))
            return sums
        return w.loop(start, stop, 1, step, sums, nonempty=True)

    def _fetch(self, place: str) -> None:
        """Ask for the line at `place`, in the next strip of y, which the machine cannot foresee."""
        self.w.declare("llvm.prefetch.p0", "void @llvm.prefetch.p0(ptr, i32, i32, i32)")
        self.w.prefetch(place)
