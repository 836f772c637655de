"""Tile and block sizes: the register tile of a machine, and the blocking of a product of a given shape.

All of it follows from dtype, shape and machine, never from the number of threads: so do the results.
"""

from __future__ import annotations

from typing import Final

from ....base.machine import machine
from ....base.records import record
from ...llvm.emitter import BITS
from ...llvm.target import Target

#: Terms that products add up one after the other, in registers: what longer sums are off by grows with it.
SUM_PART: Final = 256
#: Elements of the inner dimension in one block: panels of it stay in the second cache of a core (of 512 KB or
#: more), which feeds the tiles as well as the first does; longer blocks read and write the result less often.
#: Two parts of a sum, at most.
INNER: Final = 2 * SUM_PART
#: Tasks of a product for threads at least: so many that none has to wait long for the last one.
TASKS: Final = 12


def packed_elements() -> int:
    """Elements of packed x, and of packed y, at a time: some megabytes, which the outermost cache holds."""
    return machine().l3_bytes // 32


def parallel_work() -> int:
    """Multiplications from which a product is cut into tasks for threads."""
    return 4 * machine().task_multiplications


def packing_work() -> int:
    """Elements that a packing task should at least have: a microsecond or two."""
    return machine().task_multiplications // 16


@record
class Tile:
    """A block of the result in registers: `rows` by `vectors` vectors of `lanes`."""

    dtype: str
    rows: int
    vectors: int
    lanes: int

    @property
    def columns(self) -> int:
        """Columns of the tile."""
        return self.vectors * self.lanes


def tile_for(target: Target, dtype: str) -> Tile:
    """The tile that fills the vector registers, leaving some for a row of y and an element of x."""
    if target.vector_bits == 512:  # 32 registers, and elements of x are splat as they are loaded
        rows, vectors = 14, 2
    elif target.triple.startswith(("x86_64", "i686")):  # 16 registers; without AVX products need one as well
        rows, vectors = (6 if target.vector_bits == 256 else 4), 2
    else:  # 32 registers, of which x takes some: four elements at a time
        rows, vectors = 8, 3
    return Tile(dtype, rows, vectors, target.lanes(dtype))


@record
class Blocking:
    """Blocking of a product: sizes of blocks in elements, and of tasks in panels."""

    tile: Tile
    m: int
    n: int
    k: int
    #: Rows of x, columns of y and inner elements that are packed at a time.
    rows: int
    columns: int
    inner: int
    #: Row panels and column panels of the result in one task; panels that one packing task packs.
    row_panels: int
    column_panels: int
    packing: int

    @property
    def workspace(self) -> int:
        """Bytes for the packed panels, with a vector's slack behind each of both."""
        tile = self.tile
        rows, columns = _up(self.rows, tile.rows), _up(self.columns, tile.columns)
        elements = _up(rows * self.inner + tile.columns, 16) + _up(columns * self.inner + tile.columns, 16)
        return elements * BITS[tile.dtype] // 8


def blocking(tile: Tile, m: int, n: int, k: int) -> Blocking:
    """The blocks of an ``m x k`` by ``k x n`` product; no dimension may be 0."""
    inner = _even(k, INNER)
    packed = packed_elements() // inner
    rows = _even(m, max(tile.rows, packed // tile.rows * tile.rows), tile.rows)
    columns = _even(n, max(tile.columns, packed // tile.columns * tile.columns), tile.columns)
    down, across = _parts(rows, tile.rows), _parts(columns, tile.columns)
    row_panels, column_panels, packing = down, across, max(down, across)
    if m * n * k >= parallel_work():
        least = machine().task_multiplications
        most = 16 * least  # some tens of microseconds
        work = min(max(m * n * k // TASKS, least), most)
        tiles = max(1, work // (tile.rows * tile.columns * inner))
        # a panel of y is read from afar once for all rows of a task
        row_panels = min(down, 8, tiles)
        column_panels = min(across, max(1, tiles // row_panels))
        row_panels = min(down, max(1, tiles // column_panels))
        packing = max(1, packing_work() // (inner * tile.columns), (down + across) // (2 * TASKS))
    return Blocking(tile, m, n, k, rows, columns, inner, row_panels, column_panels, packing)


def _even(size: int, most: int, unit: int = 1) -> int:
    """The size of blocks, a multiple of `unit` unless there is one, such that all are about alike."""
    if size <= most:
        return size
    return min(most, _up(_parts(size, _parts(size, most)), unit))


def _parts(size: int, by: int) -> int:
    return -(-size // by)


def _up(size: int, unit: int) -> int:
    return _parts(size, unit) * unit
