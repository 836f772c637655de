"""Cholesky factors, and LU factors with partial pivoting, of large matrices, by blocks of columns.

LU: LAPACK factors the rows of a block that are not finished, by columns; then tasks exchange the rows of some
other columns each, and solve for the block's rows of U in those to the right. The product of both is taken
from the rest. (Golub and Van Loan, Matrix Computations, 4th edition, 3.4.)

Cholesky: the product of all columns before it is taken from each block; its square is factored by LAPACK, and
the rows below are solved for in tiles of registers (`triangular`), some rows a task. (Golub and Van Loan,
Matrix Computations, 4th edition, 4.2.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from ...llvm.emitter import Reg, constant
from ...llvm.loops import FunctionWriter
from ..parallel_for import run_tasks
from .blocks import FactorizationByProducts, columns_for
from .movement import note_pivots, number_rows
from .problem import Caller
from .triangular import WHOLE_STRIPS, TriangularSystem

#: Columns of a block, by the rows from which it pays. On a Xeon of 2.5 GHz, us by OpenBLAS and in blocks
#: of 32 columns and 96: 40 rows 15 and 8; 100 rows 74 and 35; 200 rows 335 and 138; 500 rows 1,930,
#: 1,776 and 1,880; 1,000 rows 14,900 in blocks of 32, 13,000 of 96.
_CHOLESKY_BLOCKS: Final = {640: 96, 0: 32}


class BlockedCholesky(FactorizationByProducts):
    """Factors in the memory of the result."""

    flops = 1 / 3

    def columns_of_block(self) -> int:
        return columns_for(self.size, _CHOLESKY_BLOCKS)

    def product_sizes(self, last: int) -> tuple[int, int, int]:
        return self.size - last, min(self.block, self.size - last), last

    def product_strides(self) -> tuple[tuple[int, int], tuple[int, int]]:
        return (self.size, 1), (1, self.size)

    def rows_of_room(self) -> int:
        return self.size + WHOLE_STRIPS

    def factor(self, w: FunctionWriter, caller: Caller, index: Reg) -> Reg:
        size = self.size
        source, result = self.matrix(w, 0, index), self.matrix(w, 1, index)
        w.copy(result, source, size * size * self.bytes)
        w.clear(self.place(w, self.room), self.rows_of_room() * self.block * self.bytes)  # for whole strips
        rows, upper, width_place = caller.number(size), caller.text("U"), w.slot(caller.integer, 1)

        def block(number: Reg, seen: list[Reg]) -> Sequence[Reg]:
            first = w.mul(number, self.block)
            width = w.min(w.sub(constant(size, "i64"), first), self.block)
            last = w.add(first, width)
            left = self.element(w, result, first, 0)
            square = w.offset(left, self.dtype, first)

            def product() -> None:
                room = self.place(w, self.room)
                self.negated(w, left, room, width, first, size)
                self.multiply(w, w.sub(number, 1), left, room, square)

            w.when(w.gt(number, 0), product)
            self.store_integer(w, caller, width, width_place)
            caller.call("potrf", [upper, width_place, square, rows, caller.info], 1)
            failed = caller.failed()
            self.tell(w, first, result)
            below = w.sub(constant(size + WHOLE_STRIPS - 1, "i64"), last)
            run_tasks(w, f"{self.name}_part", w.integer("udiv", below, WHOLE_STRIPS))
            return [w.or_(seen[0], failed)]

        (failed,) = w.loop(0, len(self.cuts) + 1, 1, block, [constant(False, "bool")])

        def clear_above(row: Reg, _: list[Reg]) -> Sequence[Reg]:
            after = self.element(w, result, row, w.add(row, 1))
            w.clear(after, w.mul(w.sub(constant(size - 1, "i64"), row), self.bytes))
            return ()

        w.loop(0, size - 1, 1, clear_above)
        if not self.raises:
            w.when(failed, lambda: self._fill(w, result))
        return failed

    def _fill(self, w: FunctionWriter, result: str) -> None:
        def element(place: Reg, _: list[Reg]) -> Sequence[Reg]:
            w.store(constant(math.nan, self.dtype), w.offset(result, self.dtype, place))
            return ()

        w.loop(0, self.size**2, 1, element)

    def task(self, w: FunctionWriter, first: Reg, matrix: str) -> None:
        square, width = self.element(w, matrix, first, first), constant(self.block, "i64")

        def some_rows(number: Reg, _: list[Reg]) -> Sequence[Reg]:
            begin = w.add(w.add(first, self.block), w.mul(number, WHOLE_STRIPS))
            height = w.min(w.sub(constant(self.size, "i64"), begin), WHOLE_STRIPS)
            here = self.element(w, matrix, begin, first)
            room = w.offset(self.place(w, self.room), self.dtype, w.mul(number, WHOLE_STRIPS * self.block))
            # lanes are the rows' elements of a column
            self.transpose(w, (height, width), (here, self.size), (room, WHOLE_STRIPS))
            system = TriangularSystem(
                w, self.dtype, self.lanes, square, room, self.block, (self.size, WHOLE_STRIPS),
                lower=True, transposed=False, unit=False,
            )  # fmt: skip
            system.strips(0, WHOLE_STRIPS)
            self.transpose(w, (width, height), (room, WHOLE_STRIPS), (here, self.size))
            return ()

        w.loop(Reg("%begin", "i64"), Reg("%end", "i64"), 1, some_rows)


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

        def block(number: Reg, _: list[Reg]) -> Sequence[Reg]:
            first = w.mul(number, self.block)
            height = w.sub(constant(size, "i64"), first)
            width = w.min(height, self.block)
            square, room = self.element(w, result, first, first), self.place(w, self.room)
            integers = self.place(w, self.integers)
            self.transpose(w, (height, width), (square, size), (room, height))
            for value, place in ((height, height_place), (width, width_place)):
                self.store_integer(w, caller, value, place)
            caller.call("getrf", [height_place, width_place, room, height_place, integers, caller.info], 0)
            self.transpose(w, (width, height), (room, height), (square, size))
            note_pivots(w, (integers, caller.integer), first, width, pivots, order)
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
        system = TriangularSystem(
            w, self.dtype, self.lanes, self.element(w, matrix, first, first),
            self.element(w, matrix, first, 0), self.block, (size, size),
            lower=True, transposed=False, unit=True,
        )  # fmt: skip

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
                exchange(after, w.sub(end, after))
                system.solve(after, end)

            w.when(w.lt(after, end), right)
            return ()

        w.loop(Reg("%begin", "i64"), Reg("%end", "i64"), 1, some_columns)
