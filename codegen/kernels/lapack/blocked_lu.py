"""LU factors with partial pivoting of large matrices, by blocks of columns.

LAPACK or `lu` factors the rows of a block that are not finished; then tasks exchange the rows of some other
columns each, and solve for the block's rows of U in those to the right. The product of both is taken from the
rest. (Golub and Van Loan, Matrix Computations, 4th edition, 3.4.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...llvm.emitter import Reg, constant
from ...llvm.loops import FunctionWriter
from ...lowering.parallel_for import run_tasks
from ..linalg.algorithms import lu, solve_triangular
from ..linalg.matrices import Index
from ..linalg.memory_matrix import SingleMatrix
from .blocks import FactorizationByProducts, columns_for
from .calls import Caller
from .movement import note_pivots, number_rows

#: Columns of a block, by the number of rows from which it pays. Determinants on a Xeon of 2.5 GHz, us by
#: OpenBLAS alone and in blocks of 16, 32 and 64 columns: 40 rows 26, 13, 16 and none; 64 rows 51, 25, 32 and
#: none; 100 rows 121, 61, 70 and 86; 200 rows 534, 262, 258 and 298; 384 rows 2,456, 1,407, 1,362 and 1,354;
#: 1,000 rows 30,600, 26,300, 21,600 and 20,000.
_BLOCKS: Final = {384: 64, 0: 16}
#: Columns of a task, whole blocks.
_TASK_COLUMNS: Final = 128


class BlockedLU(FactorizationByProducts):
    """Factors in the memory of the first result; pivots from 0, and the order of rows."""

    flops = 2 / 3

    def columns_of_block(self) -> int:
        return columns_for(self.size, _BLOCKS)

    def product_sizes(self, last: int) -> tuple[int, int, int]:
        return self.size - last, self.size - last, self.block

    def product_strides(self) -> tuple[tuple[int, int], tuple[int, int]]:
        return (self.block, 1), (self.size, 1)

    def factor(self, w: FunctionWriter, caller: Caller, index: Reg) -> Reg:
        size = self.size
        source, result = self.matrix(w, 0, index), self.matrix(w, 1, index)
        w.copy(result, source, size * size * self.bytes)
        pivots, order = [w.offset(f"%b{i}", "i64", w.mul(index, size)) for i in (2, 3)]
        height_place, width_place = w.slot(caller.integer, 1), w.slot(caller.integer, 1)

        number_rows(w, order, size)

        def move_pivot(numbers: SingleMatrix, row: Index, by: Reg) -> None:
            numbers[row, 0] = w.add(numbers[row, 0], by)

        def block(number: Reg, _: list[Reg]) -> Sequence[Reg]:
            first = w.mul(number, self.block)
            height = w.sub(constant(size, "i64"), first)
            width = w.min(height, self.block)
            square, room = self.element(w, result, first, first), self.place(w, self.room)
            if caller.has("getrf"):
                integers = self.place(w, self.integers)
                self.transpose(w, (height, width), (square, size), (room, height))
                for value, place in ((height, height_place), (width, width_place)):
                    self.store_integer(w, caller, value, place)
                caller.call(
                    "getrf", [height_place, width_place, room, height_place, integers, caller.info], 0
                )
                self.transpose(w, (width, height), (room, height), (square, size))
                note_pivots(w, (integers, caller.integer), first, width, pivots, order)
            else:
                columns = [
                    SingleMatrix(w, w.offset(start, "i64", first), height, 1, 1, "i64", 1)
                    for start in (pivots, order)
                ]
                lu(self.part(w, square, height, width, size), *columns)
                columns[0].each(0, width, lambda row: move_pivot(columns[0], row, first))
            self.tell(w, first, result)
            w.store_pointer(pivots, w.offset(self.place(w, 0), "i64", 2))
            run_tasks(w, f"{self.name}_part", -(-size // _TASK_COLUMNS))
            last = w.add(first, self.block)

            def rest() -> None:
                below = self.element(w, result, last, first)
                self.negated(w, below, room, w.sub(constant(size, "i64"), last), self.block, self.block)
                right, corner = [self.element(w, result, row, last) for row in (first, last)]
                self.multiply(w, number, room, right, corner)

            w.when(w.lt(last, size), rest)
            return ()

        w.loop(0, len(self.cuts) + 1, 1, block)
        return constant(False, "bool")  # a zero among the pivots is a result

    def task(self, w: FunctionWriter, first: Reg, matrix: str) -> None:
        """Some columns but the block's: their rows are exchanged, and solved where they are to the right."""
        size = self.size
        pivots = w.load_pointer(w.offset(self.place(w, 0), "i64", 2))
        last = w.min(w.add(first, self.block), size)
        square = self.part(w, self.element(w, matrix, first, first), self.block, self.block, size)

        def exchange(column: Reg, count: Reg) -> None:
            def step(row: Reg, _: list[Reg]) -> Sequence[Reg]:
                pivot = w.load(w.offset(pivots, "i64", row), "i64")
                here, there = [self.element(w, matrix, place, column) for place in (row, pivot)]

                def some(at: Reg, lanes: int) -> None:
                    places = [w.offset(place, self.dtype, at) for place in (here, there)]
                    values = [w.load(place, self.dtype, lanes) for place in places]
                    for place, value in zip(places, reversed(values), strict=True):
                        w.store(value, place)

                w.when(w.ne(pivot, row), lambda: self.by_vectors(w, count, some))
                return ()

            w.loop(first, last, 1, step)

        def some_columns(number: Reg, _: list[Reg]) -> Sequence[Reg]:
            begin = w.mul(number, _TASK_COLUMNS)
            end = w.min(w.add(begin, _TASK_COLUMNS), size)
            # on both sides of the block
            before, after = w.min(end, first), w.max(begin, last)
            w.when(w.lt(begin, before), lambda: exchange(begin, w.sub(before, begin)))

            def right() -> None:
                count = w.sub(end, after)
                exchange(after, count)
                x = self.part(w, self.element(w, matrix, first, after), self.block, count, size)
                solve_triangular(square, x, lower=True, transposed=False, unit=True)

            w.when(w.lt(after, end), right)
            return ()

        w.loop(Reg("%begin", "i64"), Reg("%end", "i64"), 1, some_columns)
