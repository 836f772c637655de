"""Matrices in memory on the stack, whose elements are vectors with a lane for each matrix of a group."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from ...llvm.emitter import Reg, constant
from ...llvm.loops import FunctionWriter
from ...maths import MathsWriter
from .matrices import Index, Matrix, RegisterMatrix, moved

#: Columns of a matrix in memory that are worked on together: multiply-adds in flight, see `base.machine`.
BLOCK: Final = 8
#: Columns of a matrix in memory that are eliminated together, from as many: with what is multiplied, they fit
#: the registers.
PANEL: Final = 4


class ScratchMatrix(Matrix):
    """A matrix in memory on the stack."""

    def __init__(self, w: FunctionWriter, rows: int, columns: int, dtype: str, lanes: int) -> None:
        super().__init__(w, rows, columns, dtype, lanes)
        self.pointer = w.slot(dtype, rows * columns * lanes)

    def place(self, row: Index, column: Index) -> str:
        """The pointer to an element's first lane."""
        w = self.w
        flat = w.add(_register(w.mul(_register(row), self.columns)), column)
        return w.offset(self.pointer, self.dtype, w.mul(flat, self.lanes))

    def __getitem__(self, place: tuple[Index, Index]) -> Reg:
        return self.w.load(self.place(*place), self.dtype, self.lanes)

    def __setitem__(self, place: tuple[Index, Index], value: Reg) -> None:
        self.w.store(self.w.splat(value, self.lanes), self.place(*place))

    def fold(
        self,
        first: Index,
        stop: Index,
        carried: Sequence[Reg],
        body: Callable[[Index, list[Reg]], Sequence[Reg]],
    ) -> list[Reg]:
        return self.w.loop(first, stop, 1, body, carried)

    def each_block(self, body: Callable[[list[Index]], None]) -> None:
        w, whole = self.w, self.columns - self.columns % BLOCK

        def block(first: Reg, _: list[Reg]) -> Sequence[Reg]:
            body([w.add(first, number) for number in range(BLOCK)])
            return ()

        if whole:
            w.loop(0, whole, BLOCK, block)
        if whole < self.columns:
            body(list(range(whole, self.columns)))

    def kept(self, count: int, values: Callable[[Index], Sequence[Reg]]) -> Callable[[Index], Sequence[Reg]]:
        room = ScratchMatrix(self.w, self.rows, count, self.dtype, self.lanes)

        def keep(row: Index) -> None:
            for number, value in enumerate(values(row)):
                room[row, number] = value

        self.each(0, self.rows, keep)
        return lambda row: [room[row, number] for number in range(count)]

    def reordered(self, order: Matrix, *, inverse: bool) -> Matrix:
        w, result = self.w, ScratchMatrix(self.w, self.rows, self.columns, self.dtype, self.lanes)

        def row(i: Index) -> None:
            numbers = order[i, 0]
            sources = []
            targets = []
            for lane in range(self.lanes):
                # what came from outside may be anything
                number = w.min(w.cast(w.cast(w.extract(numbers, lane), "i64"), "u64"), self.rows - 1)
                rows = _register(i), w.cast(number, "i64")
                source, target = reversed(rows) if not inverse else rows
                sources.append(w.offset(self._row(source), self.dtype, lane))
                targets.append(w.offset(result._row(target), self.dtype, lane))

            def element(column: Index) -> None:
                at = w.mul(_register(column), self.lanes)
                for source, target in zip(sources, targets, strict=True):
                    w.store(
                        w.load(w.offset(source, self.dtype, at), self.dtype), w.offset(target, self.dtype, at)
                    )

            self.each(0, self.columns, element)

        self.each(0, self.rows, row)
        return result

    def subtract_products(
        self,
        first: Index,
        left: Callable[[Index], Reg],
        right: Callable[[Index], Reg],
        *,
        lower: bool = False,
    ) -> None:
        w = self.w

        def row(i: Index) -> None:
            factor = w.neg(left(i))

            def element(j: Index) -> None:
                self[i, j] = w.fma(factor, right(j), self[i, j])

            self.each(first, moved(w, i, 1) if lower else self.columns, element)

        self.each(first, self.rows, row)

    def each_panel(self, count: int, body: Callable[[Index, int], None]) -> None:
        rest = count % PANEL

        def panel(first: Reg, _: list[Reg]) -> Sequence[Reg]:
            body(first, PANEL)
            return ()

        if count > rest:
            self.w.loop(0, count - rest, PANEL, panel)
        if rest:
            body(count - rest, rest)

    def subtract_panel(self, first: Index, width: int) -> None:
        w, numbers = self.w, range(width)
        panel, start = [moved(w, first, number) for number in numbers], moved(w, first, width)

        def eliminate(factors: Sequence[Reg], values: list[Reg], rows: list[list[Reg]]) -> list[Reg]:
            for factor, row in zip(factors, rows, strict=True):
                values = [w.fma(w.neg(factor), x, value) for x, value in zip(row, values, strict=True)]
            return values

        def block(columns: list[Index]) -> None:
            rows: list[list[Reg]] = []
            for number, i in enumerate(panel):
                factors = [self[i, k] for k in panel[:number]]
                rows.append(eliminate(factors, [self[i, j] for j in columns], rows))
                self._set_row(i, columns, rows[-1])

            def below(i: Index) -> None:
                factors = [self[i, k] for k in panel]
                self._set_row(i, columns, eliminate(factors, [self[i, j] for j in columns], rows))

            self.each(start, self.rows, below)

        # panels before this one are whole
        rest = (self.columns - start if isinstance(start, int) else self.columns) % PANEL

        def whole(column: Reg, _: list[Reg]) -> Sequence[Reg]:
            block([w.add(column, number) for number in range(PANEL)])
            return ()

        w.loop(start, self.columns - rest, PANEL, whole)
        if rest:
            block(list(range(self.columns - rest, self.columns)))

    def _set_row(self, row: Index, columns: list[Index], values: list[Reg]) -> None:
        for column, value in zip(columns, values, strict=True):
            self[row, column] = value

    def _row(self, row: Reg) -> str:
        """The pointer to the first element of `row`."""
        return self.w.offset(self.pointer, self.dtype, self.w.mul(row, self.columns * self.lanes))

    def swap_rows(self, row: Index, other: Reg) -> None:
        self._swap(row, other, self.columns, (self.columns, 1))

    def swap_columns(self, column: Index, other: Reg) -> None:
        self._swap(column, other, self.rows, (1, self.columns))

    def _swap(self, line: Index, other: Reg, count: int, strides: tuple[int, int]) -> None:
        """Swap two lines of `count` elements lane by lane; `strides` are those of lines, and of elements."""
        w, between, along = self.w, strides[0] * self.lanes, strides[1] * self.lanes
        first = w.offset(self.pointer, self.dtype, w.mul(_register(line), between))
        others = [
            w.offset(
                self.pointer,
                self.dtype,
                w.add(w.mul(w.cast(w.extract(other, lane), "i64"), between), lane),
            )
            for lane in range(self.lanes)
        ]

        def swap(number: Reg, _: list[Reg]) -> Sequence[Reg]:
            at = w.mul(number, along)
            for lane, pointer in enumerate(others):
                places = [w.offset(first, self.dtype, w.add(at, lane)), w.offset(pointer, self.dtype, at)]
                values = [w.load(place, self.dtype) for place in places]
                for place, value in zip(places, reversed(values), strict=True):
                    w.store(value, place)
            return ()

        w.loop(0, count, 1, swap)


def _register(index: Index) -> Reg:
    return index if isinstance(index, Reg) else Reg(str(index), "i64")


class Storage:
    """Storage of a computation's matrices: in registers, or in memory on the stack."""

    def __init__(self, w: MathsWriter, lanes: int, *, in_registers: bool) -> None:
        self.w, self.lanes, self.in_registers = w, lanes, in_registers

    def matrix(self, rows: int, columns: int, dtype: str) -> Matrix:
        """A matrix to work in, whose elements are yet to be set."""
        if self.in_registers:
            return RegisterMatrix(self.w, [[constant(0, dtype, self.lanes)] * columns for _ in range(rows)])
        return ScratchMatrix(self.w, rows, columns, dtype, self.lanes)

    def cast(self, x: Matrix, dtype: str) -> Matrix:
        """The matrix of integers `x` with elements of `dtype`."""
        return x if x.dtype == dtype else self.mapped(x, dtype, lambda element: self.w.cast(element, dtype))

    def mapped(self, x: Matrix, dtype: str, function: Callable[[Reg], Reg]) -> Matrix:
        """The matrix of what `function` makes of the elements of `x`, of `dtype`."""
        result = self.matrix(x.rows, x.columns, dtype)

        def element(i: Index, j: Index) -> None:
            result[i, j] = function(x[i, j])

        x.each(0, x.rows, lambda i: x.each(0, x.columns, lambda j: element(i, j)))
        return result
