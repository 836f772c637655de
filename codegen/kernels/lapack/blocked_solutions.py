"""Solutions of large triangular systems with many right sides, alone and by LU factors, in blocks of rows.

Tasks solve for a block's rows, some columns each; the product of both is taken from the rows to come. (Golub
and Van Loan, Matrix Computations, 4th edition, 3.1.4.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ....base.lapack.library import LapackLibrary
from ....ir.graph import Instruction
from ....ir.ops.linalg.lu import LU_SOLVE
from ...llvm.emitter import Reg, constant
from ...llvm.loops import FunctionWriter
from ...lowering.lowering import LoweringContext
from ...lowering.parallel_for import run_tasks
from ..gemm.tiles import blocking, tile_for
from ..linalg.algorithms import solve_triangular
from ..linalg.memory_matrix import WHOLE_STRIPS
from .blocks import STATE_BYTES, ByProducts
from .calls import Caller
from .elements import Elements
from .movement import order_rows
from .problem import aligned

#: Rows of a block: products read and write the rest once for each.
_BLOCK: Final = 128
#: The least rows and columns. Inverses on a Xeon of 2.5 GHz by `triangular`, in blocks, and by torch (MKL),
#: one thread, ms: 300 rows 2.0, 2.4 and 2.4; 500 rows 10.0, 10.1 and 9.8; 1,000 rows 101, 75 and 70.
_MIN_ROWS: Final = 384
_MIN_COLUMNS: Final = 48


class BlockedSolution(ByProducts):
    """Solves in the memory of the result. `passes` are the triangles that are solved one after the other:
    whether each is the lower one, and has ones on its diagonal."""

    flops = 1.0

    def __init__(
        self, name: str, instruction: Instruction, context: LoweringContext, library: LapackLibrary
    ) -> None:
        super().__init__(name, instruction, context, library)
        attrs = instruction.attrs
        self.factors = instruction.op is LU_SOLVE
        self.transposed = attrs["transpose"]
        if self.factors:
            self.passes = (
                [(False, False), (True, True)] if self.transposed else [(True, True), (False, False)]
            )
        else:
            self.passes = [(attrs["lower"], attrs["unit_diagonal"])]
        #: Whether zeros on the diagonal are to be found.
        self.tests = attrs["on_singular"] == "raise" and not all(unit for _, unit in self.passes)
        self.size, (_, self.width) = self.rows, instruction.results[0].shape[-2:]
        self.block, self.pitch = _BLOCK, self.width
        self.cuts = [
            blocking(tile_for(context.target, self.dtype), self.size - last, self.width, _BLOCK)
            for last in range(_BLOCK, self.size, _BLOCK)
        ]
        self.count, self.rest = -(-self.size // _BLOCK), self.size % _BLOCK
        #: Distance from a row of the room of a block to the next.
        self.room_pitch = -(-self.width // WHOLE_STRIPS) * WHOLE_STRIPS
        self.room = STATE_BYTES
        self.room_bytes = _BLOCK * self.room_pitch * self.bytes
        self.solved = self.room + aligned(self.room_bytes)
        self.panels = self.solved + (aligned(self.size * self.width * self.bytes) if self.factors else 0)
        self.workspace = self.panels + max(cut.workspace for cut in self.cuts)

    @classmethod
    def fits(cls, instruction: Instruction, least: int) -> bool:
        rows, columns = instruction.results[0].shape[-2:]
        large = rows >= max(least, _MIN_ROWS) and columns >= _MIN_COLUMNS
        return large and super().fits(instruction, least)

    def product_strides(self) -> tuple[tuple[int, int], tuple[int, int]]:
        return ((1, self.size) if self.transposed else (self.size, 1)), (self.room_pitch, 1)

    def factor(self, w: FunctionWriter, caller: Caller, index: Reg) -> Reg:
        right, result = [
            self.matrix(w, buffer, index) for buffer in (len(self.values) - 2, len(self.values) - 1)
        ]
        factor = self.matrix(w, 1 if self.factors else 0, index)
        w.clear(self.place(w, self.room), self.room_bytes)  # tasks solve for whole strips
        solved = self.place(w, self.solved) if self.factors and self.transposed else result
        if self.factors and not self.transposed:
            self._exchange(w, index, right, result)
        else:
            w.copy(solved, right, self.size * self.width * self.bytes)
        for number in range(len(self.passes)):
            self._pass(w, number, factor, solved)
        if solved is not result:
            self._exchange(w, index, solved, result)
        return (
            Elements(w, self.dtype, 1).zero_among(factor, self.size, self.size + 1)
            if self.tests
            else constant(False, "bool")
        )

    def _exchange(self, w: FunctionWriter, index: Reg, source: str, target: str) -> None:
        """Write the rows of `source` in the order of the factors, or from that back."""
        order = w.offset("%b2", "i64", w.mul(index, self.size))
        order_rows(w, order, (self.size, self.width * self.bytes), source, target, back=self.transposed)

    def _row(self, w: FunctionWriter, matrix: str, row: Reg) -> str:
        return w.offset(matrix, self.dtype, w.mul(row, self.width))

    def _downward(self, number: int) -> bool:
        return bool(self.passes[number][0] != self.transposed)

    def _element(self, w: FunctionWriter, factor: str, row: Reg, column: Reg) -> str:
        """The place of an element of op(factor)."""
        along, down = (column, row) if self.transposed else (row, column)
        return w.offset(factor, self.dtype, w.add(w.mul(along, self.size), down))

    def _pass(self, w: FunctionWriter, number: int, factor: str, solved: str) -> None:
        """Solve with one triangle, block after block."""
        state, downward, zero = self.place(w, 0), self._downward(number), constant(0, "i64")
        w.store_pointer(factor, w.offset(state, "i64", 2))
        w.store(constant(number, "i64"), w.offset(state, "i64", 3))

        def block(step: Reg, _: list[Reg]) -> Sequence[Reg]:
            finished = w.mul(w.add(step, 1), _BLOCK)
            left = w.sub(constant(self.size, "i64"), finished)
            first = w.mul(step, _BLOCK) if downward else w.max(left, 0)
            self.tell(w, first, solved)
            w.store(w.min(w.add(left, _BLOCK), _BLOCK), w.offset(state, "i64", 4))
            run_tasks(w, f"{self.name}_part", self.room_pitch // WHOLE_STRIPS)

            def rest() -> None:
                top = finished if downward else zero
                x = self._element(w, factor, top, first)
                self.multiply(w, step, x, self.place(w, self.room), self._row(w, solved, top))

            w.when(w.gt(left, 0), rest)
            return ()

        w.loop(0, self.count, 1, block)

    def task(self, w: FunctionWriter, first: Reg, matrix: str) -> None:
        """Some columns of a block: solved in its room, where their negatives stay for the product."""
        state, room = self.place(w, 0), self.place(w, self.room)
        factor = w.load_pointer(w.offset(state, "i64", 2))
        number, rows = [w.load(w.offset(state, "i64", place), "i64") for place in (3, 4)]
        corner, block = self._element(w, factor, first, first), self._row(w, matrix, first)

        def by_rows(begin: Reg, turn: bool) -> None:
            count = w.min(w.sub(constant(self.width, "i64"), begin), WHOLE_STRIPS)

            def row(number: Reg, _: list[Reg]) -> Sequence[Reg]:
                there = w.offset(self._row(w, block, number), self.dtype, begin)
                here = w.offset(room, self.dtype, w.add(w.mul(number, self.room_pitch), begin))

                def some(at: Reg, lanes: int) -> None:
                    places = [w.offset(place, self.dtype, at) for place in (here, there)]
                    value = w.load(places[0 if turn else 1], self.dtype, lanes)
                    w.store(value, places[1 if turn else 0])
                    if turn:
                        w.store(w.neg(value), places[0])

                self.by_vectors(w, count, some)
                return ()

            w.loop(0, rows, 1, row)

        def solve(begin: Reg, which: int, size: int) -> None:
            lower, unit = self.passes[which]
            a = self.part(w, corner, size, size, self.size)
            x = self.part(w, w.offset(room, self.dtype, begin), size, WHOLE_STRIPS, self.room_pitch)
            solve_triangular(a, x, lower=lower, transposed=self.transposed, unit=unit)

        def of_size(begin: Reg, which: int) -> None:
            if not self.rest:
                solve(begin, which, _BLOCK)
                return
            sizes = [lambda: solve(begin, which, _BLOCK), lambda: solve(begin, which, self.rest)]
            w.one_of(w.eq(rows, _BLOCK), sizes)

        def some_columns(part: Reg, _: list[Reg]) -> Sequence[Reg]:
            begin = w.mul(part, WHOLE_STRIPS)
            by_rows(begin, turn=False)
            if len(self.passes) == 1:
                of_size(begin, 0)
            else:
                w.one_of(w.eq(number, 0), [lambda: of_size(begin, 0), lambda: of_size(begin, 1)])
            by_rows(begin, turn=True)
            return ()

        w.loop(Reg("%begin", "i64"), Reg("%end", "i64"), 1, some_columns)
