"""Small matrix products: a register-blocked nest that reads its operands where they lie.

A tile of the result is kept in registers along the inner dimension. The tile's size follows from the shape,
so that little of it goes over the edges: rows of the last tile overlap the one before, which computes some
twice to the same bits, and stores each of its sums once, when it is complete; the last columns have tiles of
their own, narrower and masked. A small y whose columns lie in memory is transposed first. Of a y that the
first cache does not hold, a strip for one column of tiles is copied, if the second one holds it: (100, 200) @
(200, 768) in f64 took 690 us so on a Xeon of 2.5 GHz, 1280 from where it lies if rows begin lines there, and
2500 if they do not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from ....base.machine import machine
from ....base.records import record
from ...llvm.emitter import BITS, Reg, constant
from ...llvm.function import Code, Declarations
from ...llvm.loops import FunctionWriter
from ...llvm.target import Target
from ...llvm.transpose import put_columns
from ...lowering.kernel import PRODUCT_SLOWDOWN, Kernel, signature
from ...lowering.lowering import LoweringContext
from ...tiers import OPTIMIZED
from . import batches
from .batches import MatrixRows, Product, accumulate, over_batch, over_rows
from .tiles import SUM_PART, tile_for

#: Longer sums are added up in parts of this length: with one accumulator per element, errors grow with it.
INNER: Final = SUM_PART
#: Rows of tiles from which copying a strip of y costs less than it saves.
COPIED_TILES: Final = 3
#: Cost of a vector of y from the second cache, over one from the first.
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
    #: Whether the strip of y that a column of tiles reads is copied, so that its rows lie side by side and
    #: begin lines: a vector that begins within one reads two, and rows that are large powers of two apart
    #: drive each other out of the first cache.
    copies: bool = False

    @property
    def down(self) -> int:
        """Tiles from top to bottom."""
        return math.ceil(self.m / self.rows)

    @property
    def across(self) -> int:
        """Tiles from left to right."""
        return math.ceil(self.n / (self.vectors * self.lanes))


def direct_kernel(name: str, product: Product, context: LoweringContext) -> Kernel:
    """The kernel of ``result = x @ y``, which has elements."""
    batch, dtype = product.batch, product.dtype
    shape = choose_tiles(*product.sizes, dtype, context.target, product.operands[0].strides[-2])
    steps = shape.down * shape.rows * shape.across * shape.vectors * shape.k
    sums, most = shape.rows * shape.vectors, context.parameters.product_copies
    copies = sums * shape.k if sums * shape.k <= UNROLLED else sums
    shortened = copies > most
    if shortened:
        shape = small_tiles(shape, most // 2)
    writer = _Nest(name, product, shape, context.declarations, 0 if shortened else UNROLLED)
    head = (
        f"contraction {name}: {batch} x ({shape.m}x{shape.k} @ {shape.k}x{shape.n}) {dtype}, "
        f"{shape.rows} x {shape.vectors} vectors of {shape.lanes} lanes"
        f"{', y transposed' if writer.transposes else ''}{', strips of y copied' if shape.copies else ''}"
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
    fits = k * vectors * lanes * BITS[dtype] // 8 <= machine().l2_bytes  # the strip, or it is not near
    copies = far and high and fits and -(-m // rows) >= COPIED_TILES
    return Shape(m, n, k, rows, vectors, lanes, far, copies)


def _registers(rows: int, vectors: int) -> int:
    """Number of vector registers that a tile takes: its sums, the fewer of both factors, and one of the
    other."""
    return rows * vectors + min(rows, vectors) + 1


def small_tiles(shape: Shape, most: int) -> Shape:
    """Tiles of `most` rows by a vector. Elements are the same sums, in the same order, as with any others."""
    rows = min(shape.m, most)
    return Shape(shape.m, shape.n, shape.k, rows, 1, shape.lanes, shape.columns_first, shape.copies)


def rows_in_cache(distance: int) -> int:
    """Number of lines `distance` bytes apart that the nearest cache, of 8 ways, can hold."""
    line, way = machine().line_bytes, machine().l1_bytes // 8
    return 8 * (way // math.gcd(distance, way)) if distance % line == 0 else 8 * way // line


class _Nest:
    def __init__(
        self, name: str, product: Product, shape: Shape, declarations: Declarations, unrolled: int
    ) -> None:
        self.name, self.product = name, product
        self.operands, self.dtype = product.operands, product.dtype
        self.shape, self.w, self.unrolled = shape, FunctionWriter(declarations), unrolled
        self.batch, dtype = product.batch, product.dtype
        y = product.operands[1].strides[-2:]
        #: Whether y is read from scratch memory, where its columns were transposed to rows.
        self.transposes = batches.transposing_pays(y, shape.k, shape.n, dtype, shape.lanes)
        width = shape.vectors * shape.lanes
        #: Buffer to which the strip of y for a column of tiles is copied.
        self.strip = (
            MatrixRows(self.w.slot(dtype, shape.k * width), width, 1, padded=True) if shape.copies else None
        )
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
        down, across = (0, shape.down), (0, shape.across)
        if self.batch > 1:
            over_batch(w, self.product, lambda at: self._product(at, down, across), tasks=(begin, end))
        elif self.by_column:
            self._product(self.product.starts(w), down, (begin, end))
        else:
            self._product(self.product.starts(w), (begin, end), across)
        w.ret()
        return [w.function(signature(self.name, 3), "nounwind")]

    def _product(self, at: list[str], down: Range, across: Range) -> None:
        """The tiles of the ranges of one product; `at` has the pointers to x, y and the result."""
        x, y, result = at
        self._tiles(x, self._transposed(y), result, down, across)

    def _transposed(self, y: str) -> MatrixRows:
        """The rows of y: of its transposed copy if it is transposed."""
        row, column = self.operands[1].strides[-2:]
        if not self.transposes:
            return MatrixRows(y, row, column)
        shape = self.shape
        apart = batches.transposed_pitch(shape.n, shape.lanes)
        scratch = self.w.slot(self.dtype, shape.k * apart)
        put_columns(self.w, (y, column), (scratch, apart), (shape.n, shape.k), self.dtype, shape.lanes)
        return MatrixRows(scratch, apart, 1)

    # -- tiles ------------------------------------------------------------------------------------

    def _tiles(self, x: str, y: MatrixRows, result: str, down: Range, across: Range) -> None:
        """All tiles of the ranges: for each row of tiles those across, or where y is far, for each column of
        tiles those down, so that its strip of y stays near."""
        if self.shape.columns_first:
            self._columns(
                y, result, across,
                lambda y, source, result, *edge: self._rows(
                    x, result, down, lambda x, result: self._tile(x, y, source, result, *edge)
                ),
            )  # fmt: skip
        else:
            self._rows(
                x, result, down,
                lambda x, result: self._columns(
                    y, result, across,
                    lambda y, source, result, *edge: self._tile(x, y, source, result, *edge),
                ),
            )  # fmt: skip

    def _rows(self, x: str, result: str, down: Range, body: Callable[[str, str], None]) -> None:
        """`body` on the pointers to x and the result of each row of tiles."""
        shape = self.shape
        moved = [(x, self.operands[0].strides[-2]), (result, shape.n)]
        over_rows(self.w, shape.m, shape.rows, down, self.dtype, moved, lambda here: body(*here))

    def _columns(self, y: MatrixRows, result: str, across: Range, body: Callable[..., None]) -> None:
        """`body` on columns of tiles: the rows of y to read, those in memory that they are a copy of, the
        pointer to the result, how many vectors the tiles have and the last one's mask. Whole ones come in a
        loop, then the one at the edge."""
        w, shape = self.w, self.shape
        width = shape.vectors * shape.lanes
        whole = shape.n // width

        def column(index: Reg, vectors: int, mask: Reg | None) -> None:
            left = w.mul(index, width)
            source = y.moved(w, self.dtype, left)
            near = self._copied(source, vectors, mask)
            body(near, source, w.offset(result, self.dtype, left), vectors, mask)

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

    def _copied(self, source: MatrixRows, vectors: int, mask: Reg | None) -> MatrixRows:
        """The rows of a strip of y that tiles read: its copy, where strips are copied."""
        w, lanes, strip = self.w, self.shape.lanes, self.strip
        if strip is None:
            return source

        def row(index: Reg, _: list[Reg]) -> Sequence[Reg]:
            for v in range(vectors):
                at = index, v * lanes
                value = source.vector(w, self.dtype, at, lanes, mask if v == vectors - 1 else None)
                w.store(value, strip.place(w, self.dtype, *at))
            return ()

        w.loop(0, self.shape.k, 1, row, nonempty=True)
        return strip

    def _tile(
        self, x: str, y: MatrixRows, source: MatrixRows, result: str, vectors: int, mask: Reg | None
    ) -> None:
        """Write one tile of the result, each of whose elements is stored once. Long sums are accumulated in
        parts, in registers: another task may compute rows of this tile as well."""
        w, shape = self.w, self.shape
        places = [
            w.offset(result, self.dtype, row * shape.n + v * shape.lanes)
            for row in range(shape.rows)
            for v in range(vectors)
        ]
        if shape.copies and shape.m * shape.n * BITS[self.dtype] // 8 > machine().l2_bytes // 4:
            for place in places:
                self._fetch(place)

        def sums(start: Reg | int, stop: Reg | int) -> list[Reg]:
            return self._sums(x, y, source, (start, stop), vectors, mask)

        def part(index: Reg, totals: list[Reg]) -> Sequence[Reg]:
            stop = w.min(w.add(index, INNER), constant(shape.k, "i64"))
            add = w.or_ if self.dtype == "bool" else w.add
            return [add(total, more) for total, more in zip(totals, sums(index, stop), strict=True)]

        if shape.k <= INNER:
            totals = sums(0, shape.k)
        else:
            totals = w.loop(0, shape.k, INNER, part, [constant(0, self.dtype, shape.lanes)] * len(places))
        for number, (total, place) in enumerate(zip(totals, places, strict=True)):
            w.store(total, place, mask if number % vectors == vectors - 1 else None)

    def _sums(
        self, x: str, y: MatrixRows, source: MatrixRows, terms: Range, vectors: int, mask: Reg | None
    ) -> list[Reg]:
        """The sums of some `terms` for a tile, from zero on; `source` is where the lines of the next strip of
        y are asked for."""
        w, dtype, shape = self.w, self.dtype, self.shape
        lanes, (x_row, x_column) = shape.lanes, self.operands[0].strides[-2:]

        def step(index: Reg, sums: list[Reg]) -> Sequence[Reg]:
            ys = [
                y.vector(w, dtype, (index, v * lanes), lanes, mask if v == vectors - 1 else None)
                for v in range(vectors)
            ]
            if shape.columns_first:
                for v in range(vectors):
                    self._fetch(source.place(w, dtype, index, (vectors + v) * lanes))
            column = w.offset(x, dtype, w.mul(index, x_column))
            out = []
            for row in range(shape.rows):
                factor = w.splat(w.load(w.offset(column, dtype, row * x_row), dtype), lanes)
                for v in range(vectors):
                    out.append(accumulate(w, sums[row * vectors + v], factor, ys[v]))
            return out

        sums = [constant(0, dtype, lanes)] * (shape.rows * vectors)
        start, stop = terms
        if isinstance(start, int) and isinstance(stop, int) and stop * len(sums) <= self.unrolled:
            for index in range(start, stop):
                sums = list(step(constant(index, "i64"), sums))
            return sums
        return w.loop(start, stop, 1, step, sums, nonempty=True)

    def _fetch(self, place: str) -> None:
        """Ask for the line at `place`, in the next strip of y, which the machine cannot foresee."""
        self.w.declare("llvm.prefetch.p0", "void @llvm.prefetch.p0(ptr, i32, i32, i32)")
        self.w.prefetch(place)
