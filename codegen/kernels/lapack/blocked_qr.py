"""QR factors of middle-sized and large matrices, by blocks of reflectors.

The matrix is kept by columns: a row here is one of its columns. LAPACK finds the reflectors of a block, and
``I - V T V^T`` applies them together; tasks apply it to some of the columns to come, and then, from the last
block on, to those of the identity. V has reflectors as columns, and ``T^-1`` is the part of ``V^T V`` above
the diagonal with the reciprocals of their scales on it (Joffrain, Low, Quintana-Orti, van de Geijn and Van
Zee, Accumulating Householder transformations, revisited, ACM TOMS 32, 2006).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from ....base.lapack.library import LapackLibrary
from ....base.records import record
from ....ir.graph import Instruction
from ...llvm.emitter import Reg, constant
from ...llvm.loops import Bound, FunctionWriter
from ...lowering.lowering import LoweringContext
from ...lowering.parallel_for import part_of, run_tasks
from ...maths.support import muladd
from ..linalg.algorithms import solve_triangular
from .blocks import STATE_BYTES, BlockedFactorization, columns_for
from .calls import Caller
from .problem import aligned

#: Rows and vectors of a tile, by whether there are 32 vector registers.
_TILES: Final = {True: (6, 4), False: (4, 2)}


@record
class Operand:
    """A matrix by rows: its first element, and the elements from a row to the next."""

    start: str
    pitch: int


class TileProducts:
    """Writes products ``x y`` whose rows are whole vectors."""

    def __init__(self, w: FunctionWriter, dtype: str, lanes: int) -> None:
        self.w, self.dtype, self.lanes = w, dtype, lanes
        self.rows, self.vectors = _TILES[w.wide_tables]

    def write(self, x: Operand, y: Operand, result: Operand, terms: Bound, rows: Bound, width: Bound) -> None:
        """Write ``x y`` to `result`: sums of `terms` terms, of `rows` by `width` elements."""
        self._tiles(x, y, result, terms, rows, width, subtract=False)

    def take(self, x: Operand, y: Operand, result: Operand, terms: Bound, rows: Bound, width: Bound) -> None:
        """Subtract ``x y`` from `result`."""
        self._tiles(x, y, result, terms, rows, width, subtract=True)

    def _tiles(
        self, x: Operand, y: Operand, result: Operand, terms: Bound, rows: Bound, width: Bound,
        *, subtract: bool,
    ) -> None:  # fmt: skip
        """Write all tiles, column strip by column strip, so that a part of y is read again and again."""
        w, step = self.w, self.vectors * self.lanes

        def across(vectors: int) -> Callable[[Reg, list[Reg]], Sequence[Reg]]:
            def columns(at: Reg, _: list[Reg]) -> Sequence[Reg]:
                def down(count: int) -> Callable[[Reg, list[Reg]], Sequence[Reg]]:
                    def tile(row: Reg, _: list[Reg]) -> Sequence[Reg]:
                        self._tile(x, y, result, terms, row, at, (count, vectors), subtract)
                        return ()

                    return tile

                whole = self._whole(rows, self.rows)
                w.loop(0, whole, self.rows, down(self.rows))
                w.loop(whole, rows, 1, down(1))
                return ()

            return columns

        whole = self._whole(width, step)
        w.loop(0, whole, step, across(self.vectors))
        w.loop(whole, width, self.lanes, across(1))

    def _whole(self, size: Bound, by: int) -> Bound:
        """Largest multiple of `by` up to `size`."""
        if isinstance(size, int):
            return size - size % by
        return self.w.sub(size, self.w.integer("urem", size, by))

    def _tile(
        self, x: Operand, y: Operand, result: Operand, terms: Bound, row: Reg, column: Reg,
        size: tuple[int, int], subtract: bool,
    ) -> None:  # fmt: skip
        w, dtype, lanes, (rows, vectors) = self.w, self.dtype, self.lanes, size
        right = w.offset(y.start, dtype, column)

        def start(operand: Operand, number: int) -> str:
            return w.offset(operand.start, dtype, w.mul(w.add(row, number), operand.pitch))

        left = [start(x, number) for number in range(rows)]
        corners = [w.offset(start(result, number), dtype, column) for number in range(rows)]
        places = [w.offset(corner, dtype, v * lanes) for corner in corners for v in range(vectors)]

        def term(k: Reg, sums: list[Reg]) -> Sequence[Reg]:
            here = w.offset(right, dtype, w.mul(k, y.pitch))
            ys = [w.load(w.offset(here, dtype, v * lanes), dtype, lanes) for v in range(vectors)]
            out = []
            for number in range(rows):
                value = w.splat(w.load(w.offset(left[number], dtype, k), dtype), lanes)
                value = w.neg(value) if subtract else value
                own = sums[number * vectors : (number + 1) * vectors]
                out += [muladd(w, value, y, total) for y, total in zip(ys, own, strict=True)]
            return out

        before = [
            w.load(place, dtype, lanes) if subtract else constant(0.0, dtype, lanes) for place in places
        ]
        for place, total in zip(places, w.loop(0, terms, 1, term, before), strict=True):
            w.store(total, place)


#: Reflectors of a block, by the columns from which it pays.
_BLOCKS: Final = {384: 32, 0: 16}
#: Columns that a task changes.
_TASK_COLUMNS: Final = 24


class BlockedQR(BlockedFactorization):
    """Factors of matrices of any shape; the results are q, if it is asked for, and r."""

    flops = 8 / 3

    def __init__(
        self, name: str, instruction: Instruction, context: LoweringContext, library: LapackLibrary
    ) -> None:
        super().__init__(name, instruction, context, library)
        self.least = min(self.rows, self.columns)
        self.block = max(columns_for(self.least, _BLOCKS), self.lanes)
        #: Columns of q; 0 where there is none.
        self.inner = instruction.results[0].shape[-1] if len(instruction.results) == 2 else 0
        #: Distance from a column to the next: whole vectors, and zeros behind the last row.
        self.pitch = -(-self.rows // self.lanes) * self.lanes
        self.count = -(-self.least // self.block)
        self.square = self.block**2
        end = STATE_BYTES
        places = []
        for elements in (
            self.columns * self.pitch, self.inner * self.pitch, self.block * self.pitch,
            self.pitch * self.block, self.count * self.square, self.square, self.square,
            self.count * self.block, self.block,
        ):  # fmt: skip
            places.append(end)
            end += aligned(elements * self.bytes)
        #: Bytes where these begin: the matrix and q; V by reflectors and by rows; the transposed T of all
        #: blocks; T and its transposed inverse of one; the reflectors' scales; LAPACK's own workspace.
        self.matrix_at, self.basis_at, self.reflectors_at, self.transposed_at = places[:4]
        self.transposed_triangles_at, self.triangle_at, self.inverse_at, self.scales_at, self.work_at = (
            places[4:]
        )
        self.workspace = end

    def factor(self, w: FunctionWriter, caller: Caller, index: Reg) -> Reg:
        rows, columns = constant(self.rows, "i64"), constant(self.columns, "i64")
        by_columns = self.place(w, self.matrix_at)
        w.clear(by_columns, self.columns * self.pitch * self.bytes)
        w.clear(self.place(w, self.scales_at), self.count * self.block * self.bytes)
        self.transpose(w, (rows, columns), (self.matrix(w, 0, index), self.columns), (by_columns, self.pitch))
        places = [w.slot(caller.integer, 1) for _ in range(2)]
        pitch, length = caller.number(self.pitch), caller.number(self.block)

        def block(number: Reg, _: list[Reg]) -> Sequence[Reg]:
            first = w.mul(number, self.block)
            width = w.min(w.sub(constant(self.least, "i64"), first), self.block)
            for value, place in zip((w.sub(rows, first), width), places, strict=True):
                self.store_integer(w, caller, value, place)
            corner = self._corner(w, by_columns, first)
            scales = w.offset(self.place(w, self.scales_at), self.dtype, first)
            work = self.place(w, self.work_at)
            caller.call("geqrf", [*places, corner, pitch, scales, work, length, caller.info], 0)
            self._read_reflectors(w, first, width)
            self._find_triangle(w, number, first)
            self._apply(w, first, self.triangle_at, by_columns, w.add(first, width), self.columns)
            return ()

        w.loop(0, self.count, 1, block)
        self._write_r(w, by_columns, index)
        if self.inner:
            self._write_q(w, index)
        return constant(False, "bool")

    def _corner(self, w: FunctionWriter, matrix: str, first: Reg) -> str:
        """The first element on the diagonal of the block that begins with column `first`."""
        return w.offset(matrix, self.dtype, w.mul(first, self.pitch + 1))

    def _read_reflectors(self, w: FunctionWriter, first: Reg, width: Reg) -> None:
        """Write V by reflectors and by rows: ones on its diagonal, zeros above, and beyond `width`."""
        corner = self._corner(w, self.place(w, self.matrix_at), first)
        reflectors, height = self.place(w, self.reflectors_at), w.sub(constant(self.pitch, "i64"), first)

        def reflector(number: Reg, _: list[Reg]) -> Sequence[Reg]:
            start = w.mul(number, self.pitch)
            here, there = [w.offset(place, self.dtype, start) for place in (corner, reflectors)]

            def copy() -> None:
                w.copy(there, here, w.mul(height, self.bytes))
                w.clear(there, w.mul(number, self.bytes))
                w.store(constant(1.0, self.dtype), w.offset(there, self.dtype, number))

            w.when(w.lt(number, width), copy)
            w.when(w.ge(number, width), lambda: w.clear(there, w.mul(height, self.bytes)))
            return ()

        w.loop(0, self.block, 1, reflector)
        sizes = constant(self.block, "i64"), height
        self.transpose(w, sizes, (reflectors, self.pitch), (self.place(w, self.transposed_at), self.block))

    def _find_triangle(self, w: FunctionWriter, number: Reg, first: Reg) -> None:
        """Write T of a block, and T transposed."""
        inverse = self.place(w, self.inverse_at)
        transposed = self._transposed_triangle(w, number)
        V = Operand(self.place(w, self.reflectors_at), self.pitch)
        by_rows = Operand(self.place(w, self.transposed_at), self.block)
        height = w.sub(constant(self.pitch, "i64"), first)
        products = TileProducts(w, self.dtype, self.lanes)
        products.write(V, by_rows, Operand(inverse, self.block), height, self.block, self.block)
        w.clear(transposed, self.square * self.bytes)

        def row(k: Reg, _: list[Reg]) -> Sequence[Reg]:
            scale = w.load(w.offset(self.place(w, self.scales_at), self.dtype, w.add(first, k)), self.dtype)
            diagonal = w.mul(k, self.block + 1)
            # where there is no reflector the scale is 0, and T has zeros
            w.store(w.div(constant(1.0, self.dtype), scale), w.offset(inverse, self.dtype, diagonal))
            w.store(constant(1.0, self.dtype), w.offset(transposed, self.dtype, diagonal))
            return ()

        w.loop(0, self.block, 1, row)
        size = constant(self.block, "i64")
        a, x = (self.part(w, place, self.block, self.block, self.block) for place in (inverse, transposed))
        solve_triangular(a, x, lower=True, transposed=False, unit=False)
        self.transpose(
            w, (size, size), (transposed, self.block), (self.place(w, self.triangle_at), self.block)
        )

    def _transposed_triangle(self, w: FunctionWriter, number: Reg) -> str:
        """The transposed T of block `number`."""
        return w.offset(self.place(w, self.transposed_triangles_at), self.dtype, w.mul(number, self.square))

    def _apply(
        self, w: FunctionWriter, first: Reg, triangle_at: int | str, matrix: str, begin: Reg, end: int
    ) -> None:
        """Apply the block from `first` on to columns of `matrix`, from `begin` to before `end`."""
        triangle = self.place(w, triangle_at) if isinstance(triangle_at, int) else triangle_at
        state = self.place(w, 0)
        self.tell(w, first, matrix)
        w.store_pointer(triangle, w.offset(state, "i64", 2))
        w.store(begin, w.offset(state, "i64", 3))
        w.store(constant(end, "i64"), w.offset(state, "i64", 4))
        columns = w.max(w.sub(constant(end, "i64"), begin), 0)
        tasks = w.integer("udiv", w.add(columns, _TASK_COLUMNS - 1), _TASK_COLUMNS)
        run_tasks(w, f"{self.name}_part", tasks)

    def task(self, w: FunctionWriter, first: Reg, matrix: str) -> None:
        """Take ``C V T V^T`` from rows of C, which are some of the matrix's columns."""
        state = self.place(w, 0)
        triangle = Operand(w.load_pointer(w.offset(state, "i64", 2)), self.block)
        start, stop = [w.load(w.offset(state, "i64", place), "i64") for place in (3, 4)]
        V = Operand(self.place(w, self.reflectors_at), self.pitch)
        by_rows = Operand(self.place(w, self.transposed_at), self.block)
        slots = [Operand(w.slot(self.dtype, _TASK_COLUMNS * self.block), self.block) for _ in range(2)]
        products = TileProducts(w, self.dtype, self.lanes)
        height, below = w.sub(constant(self.pitch, "i64"), first), w.offset(matrix, self.dtype, first)

        def some_columns(number: Reg, _: list[Reg]) -> Sequence[Reg]:
            begin, end = part_of(w, number, _TASK_COLUMNS, w.sub(stop, start))
            place = w.mul(w.add(start, begin), self.pitch)
            changed = Operand(w.offset(below, self.dtype, place), self.pitch)
            count = w.sub(end, begin)
            products.write(changed, by_rows, slots[0], height, count, self.block)
            products.write(slots[0], triangle, slots[1], self.block, count, self.block)
            products.take(slots[1], V, changed, self.block, count, height)
            return ()

        w.loop(Reg("%begin", "i64"), Reg("%end", "i64"), 1, some_columns)

    def _write_r(self, w: FunctionWriter, by_columns: str, index: Reg) -> None:
        result = self.matrix(w, len(self.values) - 1, index)
        height = self.values[-1].shape[-2]
        sizes = constant(self.columns, "i64"), constant(self.least, "i64")
        self.transpose(w, sizes, (by_columns, self.pitch), (result, self.columns))

        def clear(row: Reg, _: list[Reg]) -> Sequence[Reg]:
            w.clear(w.offset(result, self.dtype, w.mul(row, self.columns)), w.mul(row, self.bytes))
            return ()

        w.loop(1, self.least, 1, clear)
        if height > self.least:
            rest = w.offset(result, self.dtype, self.least * self.columns)
            w.clear(rest, (height - self.least) * self.columns * self.bytes)

    def _write_q(self, w: FunctionWriter, index: Reg) -> None:
        basis = self.place(w, self.basis_at)
        w.clear(basis, self.inner * self.pitch * self.bytes)

        def one(column: Reg, _: list[Reg]) -> Sequence[Reg]:
            w.store(constant(1.0, self.dtype), self._corner(w, basis, column))
            return ()

        w.loop(0, self.inner, 1, one)

        def block(step: Reg, _: list[Reg]) -> Sequence[Reg]:
            number = w.sub(constant(self.count - 1, "i64"), step)
            first = w.mul(number, self.block)
            width = w.min(w.sub(constant(self.least, "i64"), first), self.block)
            w.when(w.gt(step, 0), lambda: self._read_reflectors(w, first, width))
            self._apply(w, first, self._transposed_triangle(w, number), basis, first, self.inner)
            return ()

        w.loop(0, self.count, 1, block)
        sizes = constant(self.inner, "i64"), constant(self.rows, "i64")
        self.transpose(w, sizes, (basis, self.pitch), (self.matrix(w, 1, index), self.inner))
