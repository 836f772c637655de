"""Parts that all matrix product kernels share: strided operands, steps of sums, and loops over rows and
batches.

A small y whose columns lie in memory is transposed, into rows in scratch memory. Products whose lanes run
along the rows of y would gather each of its rows, element by element, and again for each row of tiles: 102
products of (2, 32) and a transposed (3, 32) in f64 took 32 us, 5 of y as it lies.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ....base.machine import machine
from ....base.records import record
from ....ir.dtypes import SHORT_NAME
from ....ir.types import TensorType, contiguous_strides
from ...llvm.emitter import BITS, Reg, constant
from ...llvm.loops import FunctionWriter
from ...maths.support import muladd


def transposing_pays(strides: tuple[int, ...], k: int, n: int, dtype: str, lanes: int) -> bool:
    """Whether a (k, n) matrix with these strides is transposed: it lies along its columns, each of half a
    vector at least, and its rows stay in the first cache."""
    return (
        dtype != "bool"
        and lanes > 1
        and strides[-2] == 1 != strides[-1]
        and k >= lanes // 2
        and 2 * k * transposed_pitch(n, lanes) * BITS[dtype] // 8 <= machine().l1_bytes
    )


def transposed_pitch(n: int, lanes: int) -> int:
    """Elements from one row to the next in scratch memory: at least a vector."""
    return max(n, lanes)


@record
class Strided:
    """An operand: element strides per dimension and an offset into a buffer, by its number."""

    strides: tuple[int, ...]
    offset: int
    buffer: int

    def start(self, w: FunctionWriter, dtype: str) -> str:
        """The pointer to its first element."""
        return w.offset(f"%b{self.buffer}", dtype, self.offset)


@record
class Product:
    """The product ``result = x @ y``: the types of all three, and where x and y lie."""

    types: tuple[TensorType, TensorType, TensorType]
    operands: tuple[Strided, Strided]

    @property
    def dtype(self) -> str:
        """The short name of the result's dtype."""
        return SHORT_NAME[self.types[2].dtype]

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Rows and columns of a result, and the length of its sums."""
        m, n = self.types[2].shape[-2:]
        return m, n, self.types[0].shape[-1]

    @property
    def batch(self) -> int:
        """Number of matrices."""
        return math.prod(self.types[2].shape[:-2])

    def starts(self, w: FunctionWriter) -> list[str]:
        """The pointers to x, y and the result."""
        return [*[operand.start(w, self.dtype) for operand in self.operands], "%b2"]


@record
class MatrixRows:
    """Rows of a matrix that tiles read: where the first one begins, and how far rows and columns are apart,
    in elements."""

    start: str
    row: int
    column: int
    #: Whether each row has whole vectors, however few of their lanes are the matrix's.
    padded: bool = False

    def moved(self, w: FunctionWriter, dtype: str, columns: Reg) -> MatrixRows:
        """Rows from another column on."""
        return MatrixRows(w.offset(self.start, dtype, w.mul(columns, self.column)), self.row, self.column)

    def place(self, w: FunctionWriter, dtype: str, row: Reg, column: int) -> str:
        """The pointer to an element."""
        return w.offset(w.offset(self.start, dtype, w.mul(row, self.row)), dtype, column * self.column)

    def vector(self, w: FunctionWriter, dtype: str, at: tuple[Reg, int], lanes: int, mask: Reg | None) -> Reg:
        """Elements of a row from a column on; those of the `mask`, where rows end within a vector."""
        place = self.place(w, dtype, *at)
        return w.gather(place, dtype, self.column, lanes, None if self.padded else mask)


def accumulate(w: FunctionWriter, total: Reg, x: Reg, y: Reg) -> Reg:
    """`total` with the product of `x` and `y` added: by one rounding of floats, modular for integers, and for
    bools ``or``."""
    if total.dtype == "bool":
        return w.or_(total, w.and_(x, y))
    if total.is_float:
        return muladd(w, x, y, total)
    return w.add(total, w.mul(x, y))


def over_rows(
    w: FunctionWriter,
    size: int,
    rows: int,
    tiles: tuple[Reg | int, Reg | int],
    dtype: str,
    moved: Sequence[tuple[str, int]],
    body: Callable[[list[str]], None],
) -> None:
    """Call `body` for each of `tiles` of `rows` out of `size`, with pointers moved to the tile's first row:
    `moved` gives each pointer and the distance of its rows, in elements of `dtype`. The last tile overlaps
    the one before, which computes some rows twice, to the same bits. They may be two tasks: so `body` stores
    each element of the result once, and does not read it; see `kernels.parallel_for`."""

    def tile(index: Reg, _: list[Reg]) -> Sequence[Reg]:
        top = w.mul(index, rows)
        if size % rows:
            top = w.min(top, constant(size - rows, "i64"))
        body([w.offset(pointer, dtype, w.mul(top, by)) for pointer, by in moved])
        return ()

    w.loop(tiles[0], tiles[1], 1, tile, nonempty=True)


def over_batch(
    w: FunctionWriter,
    product: Product,
    body: Callable[[list[str]], None],
    *,
    tasks: tuple[Reg, Reg] | None = None,
) -> None:
    """Call `body` with the pointers to x, y and the result of each matrix of the batch, from the first of
    `tasks` to the last or all."""
    shape, pointers = product.types[2].shape, product.starts(w)
    strides = [operand.strides[:-2] for operand in product.operands] + [contiguous_strides(shape)[:-2]]
    sizes, by = _merged(shape[:-2], strides)

    def matrix(number: Reg, _: list[Reg]) -> Sequence[Reg]:
        here, rest = pointers, number
        for axis in range(len(sizes) - 1, -1, -1):
            index = rest
            if axis:
                index = w.integer("urem", rest, sizes[axis])
                rest = w.integer("udiv", rest, sizes[axis])
            here = [
                w.offset(place, product.dtype, w.mul(index, steps[axis])) if steps[axis] else place
                for place, steps in zip(here, by, strict=True)
            ]
        body(here)
        return ()

    if not sizes:
        body(pointers)
    elif tasks is not None:
        w.loop(tasks[0], tasks[1], 1, matrix, nonempty=True)
    else:
        w.loop(0, math.prod(sizes), 1, matrix)


def _merged(shape: tuple[int, ...], strides: list[tuple[int, ...]]) -> tuple[list[int], list[list[int]]]:
    """Collapse batch dimensions: those of size 1 are dropped, and neighbours with contiguous strides in all
    operands are merged."""
    sizes: list[int] = []
    by: list[list[int]] = [[] for _ in strides]
    for axis, size in enumerate(shape):
        if size == 1:
            continue
        here = [stride[axis] for stride in strides]
        if sizes and all(mine[-1] == step * size for mine, step in zip(by, here, strict=True)):
            sizes[-1] *= size
            for mine, step in zip(by, here, strict=True):
                mine[-1] = step
            continue
        sizes.append(size)
        for mine, step in zip(by, here, strict=True):
            mine.append(step)
    return sizes, by
