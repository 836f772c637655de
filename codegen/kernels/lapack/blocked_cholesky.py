"""Cholesky factors of large matrices, by blocks of columns.

The product of all columns before it is taken from each block; its square is factored in registers, and the
rows below are solved for in tiles of registers, some rows a task. (Golub and Van Loan, Matrix
Computations, 4th edition, 4.2.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from ...llvm.emitter import Reg, constant
from ...llvm.loops import FunctionWriter
from ...lowering.parallel_for import run_tasks
from ..linalg.algorithms import cholesky, solve_triangular
from ..linalg.memory_matrix import WHOLE_STRIPS
from .blocks import FactorizationByProducts, columns_for
from .calls import Caller

#: Columns of a block, by the rows from which it pays. On a Xeon of 2.5 GHz, us by OpenBLAS and in blocks
#: of 32 columns and 96: 40 rows 15 and 8; 100 rows 74 and 35; 200 rows 335 and 138; 500 rows 1,930,
#: 1,776 and 1,880; 1,000 rows 14,900 in blocks of 32, 13,000 of 96.
_BLOCKS: Final = {640: 96, 0: 32}


class BlockedCholesky(FactorizationByProducts):
    """Factors in the memory of the result."""

    flops = 1 / 3

    def columns_of_block(self) -> int:
        return columns_for(self.size, _BLOCKS)

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
            room = self.place(w, self.room)
            self.transpose(w, (width, width), (square, size), (room, self.block))
            failed = cholesky(self.part(w, room, width, width, self.block))
            self.transpose(w, (width, width), (room, self.block), (square, size))
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
        factor = self.part(w, square, self.block, self.block, self.size)

        def some_rows(number: Reg, _: list[Reg]) -> Sequence[Reg]:
            begin = w.add(w.add(first, self.block), w.mul(number, WHOLE_STRIPS))
            height = w.min(w.sub(constant(self.size, "i64"), begin), WHOLE_STRIPS)
            here = self.element(w, matrix, begin, first)
            room = w.offset(self.place(w, self.room), self.dtype, w.mul(number, WHOLE_STRIPS * self.block))
            # lanes are the rows' elements of a column
            self.transpose(w, (height, width), (here, self.size), (room, WHOLE_STRIPS))
            x = self.part(w, room, self.block, WHOLE_STRIPS, WHOLE_STRIPS)
            solve_triangular(factor, x, lower=True, transposed=False, unit=False)
            self.transpose(w, (width, height), (room, WHOLE_STRIPS), (here, self.size))
            return ()

        w.loop(Reg("%begin", "i64"), Reg("%end", "i64"), 1, some_rows)
