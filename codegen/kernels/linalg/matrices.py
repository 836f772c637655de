"""Matrices whose elements are vectors with a lane for each matrix of a group.

Algorithms are written once, over `Matrix`: in registers loops are unrolled and indices are numbers, in
scratch memory loops stay loops and indices are registers.
"""

from __future__ import annotations

import abc
import functools
from collections.abc import Callable, Sequence
from typing import TypeAlias

from ...llvm.emitter import Reg, constant
from ...llvm.loops import FunctionWriter

#: A row or a column: a number where loops are unrolled.
Index: TypeAlias = "int | Reg"


def moved(w: FunctionWriter, index: Index, by: int) -> Index:
    """`index` + `by`."""
    return index + by if isinstance(index, int) else w.add(index, by)


class Matrix(abc.ABC):
    """`rows` x `columns` elements of `dtype`, each with `lanes`."""

    def __init__(self, w: FunctionWriter, rows: int, columns: int, dtype: str, lanes: int) -> None:
        self.w, self.rows, self.columns, self.dtype, self.lanes = w, rows, columns, dtype, lanes

    @abc.abstractmethod
    def __getitem__(self, place: tuple[Index, Index]) -> Reg:
        """The element in a row and a column."""

    @abc.abstractmethod
    def __setitem__(self, place: tuple[Index, Index], value: Reg) -> None:
        """Set the element in a row and a column."""

    @abc.abstractmethod
    def fold(
        self,
        first: Index,
        stop: Index,
        carried: Sequence[Reg],
        body: Callable[[Index, list[Reg]], Sequence[Reg]],
    ) -> list[Reg]:
        """``carried = body(index, carried)`` for the indices from `first` to `stop`."""

    @abc.abstractmethod
    def reordered(self, order: Matrix, *, inverse: bool) -> Matrix:
        """The matrix whose row i is the row ``order[i]`` of this one, or with `inverse` whose row
        ``order[i]`` is the row i of this one. `order` is a column of integers."""

    @abc.abstractmethod
    def subtract_products(
        self,
        first: Index,
        left: Callable[[Index], Reg],
        right: Callable[[Index], Reg],
        *,
        lower: bool = False,
    ) -> None:
        """Take ``left(i) * right(j)`` from all elements of rows and columns from `first` on, with
        `lower` from those up to the diagonal. ``left`` is called at once, ``right(j)`` when column j is
        computed."""

    @abc.abstractmethod
    def swap_rows(self, row: Index, other: Reg) -> None:
        """Swap `row` with the row `other` (an integer for each lane), which is not above it."""

    @abc.abstractmethod
    def swap_columns(self, column: Index, other: Reg) -> None:
        """The same with columns."""

    @abc.abstractmethod
    def column_blocks(self) -> list[tuple[int, int]]:
        """First columns and stops of what is best worked on together: in registers one column at a time,
        since code that goes over all of a matrix again and again keeps its elements in memory."""

    def each(self, first: Index, stop: Index, body: Callable[[Index], None]) -> None:
        """``body(index)`` for the indices from `first` to `stop`."""

        def step(index: Index, carried: list[Reg]) -> Sequence[Reg]:
            body(index)
            return ()

        self.fold(first, stop, (), step)

    def downward(self, count: int, body: Callable[[Index], None]) -> None:
        """``body(index)`` for the indices from `count` - 1 to 0."""

        def step(index: Index) -> None:
            body(count - 1 - index if isinstance(index, int) else self.w.sub(count - 1, index))

        self.each(0, count, step)


class RegisterMatrix(Matrix):
    """A matrix in registers: as many as it has elements.

    What is done to whole rows waits for each column until an element of it is read. So a column is computed
    at one go, from values that do not change any more: few registers are in use at a time, and of those that
    do not fit, each is stored once.
    """

    def __init__(self, w: FunctionWriter, elements: list[list[Reg]]) -> None:
        first = elements[0][0]
        lanes = max(element.lanes for row in elements for element in row)
        super().__init__(w, len(elements), len(elements[0]), first.dtype, lanes)
        self._columns = [list(column) for column in zip(*elements, strict=True)]
        #: What is yet to be done to each column.
        self._waiting: list[list[Callable[[list[Reg]], None]]] = [[] for _ in self._columns]

    @property
    def elements(self) -> list[list[Reg]]:
        """Its rows."""
        columns = [self._column(number) for number in range(self.columns)]
        return [list(row) for row in zip(*columns, strict=True)]

    def _column(self, number: int) -> list[Reg]:
        """A column, computed."""
        column, waiting = self._columns[number], self._waiting[number]
        if waiting:
            self._waiting[number] = []
            for step in waiting:
                step(column)
        return column

    def __getitem__(self, place: tuple[Index, Index]) -> Reg:
        row, column = place
        assert isinstance(row, int)
        assert isinstance(column, int)
        return self._column(column)[row]

    def __setitem__(self, place: tuple[Index, Index], value: Reg) -> None:
        row, column = place
        assert isinstance(row, int)
        assert isinstance(column, int)
        self._column(column)[row] = value

    def fold(
        self,
        first: Index,
        stop: Index,
        carried: Sequence[Reg],
        body: Callable[[Index, list[Reg]], Sequence[Reg]],
    ) -> list[Reg]:
        assert isinstance(first, int)
        assert isinstance(stop, int)
        state = list(carried)
        for index in range(first, stop):
            state = list(body(index, state))
        return state

    def column_blocks(self) -> list[tuple[int, int]]:
        return [(column, column + 1) for column in range(self.columns)]

    def reordered(self, order: Matrix, *, inverse: bool) -> Matrix:
        w, numbers = self.w, range(self.rows)
        here = [[w.eq(order[i, 0], j) for j in numbers] for i in numbers]
        elements, rows = self.elements, []
        for i in numbers:
            row = list(elements[0])
            for j in numbers[1:]:
                chosen = here[j][i] if inverse else here[i][j]
                row = [w.select(chosen, x, y) for x, y in zip(elements[j], row, strict=True)]
            rows.append(row)
        return RegisterMatrix(w, rows)

    def subtract_products(
        self,
        first: Index,
        left: Callable[[Index], Reg],
        right: Callable[[Index], Reg],
        *,
        lower: bool = False,
    ) -> None:
        assert isinstance(first, int)
        w, factors = self.w, {row: self.w.neg(left(row)) for row in range(first, self.rows)}

        def step(number: int, column: list[Reg]) -> None:
            factor = right(number)
            for row in range(number if lower else first, self.rows):
                column[row] = w.fma(factors[row], factor, column[row])

        for number in range(first, self.columns):
            self._waiting[number].append(functools.partial(step, number))

    def swap_rows(self, row: Index, other: Reg) -> None:
        """By selects: each row below takes the old row where it is the `other`."""
        assert isinstance(row, int)
        w, start = self.w, row
        here = {below: w.eq(other, below) for below in range(start + 1, self.rows)}

        def step(column: list[Reg]) -> None:
            old = column[start]
            for below, chosen in here.items():
                column[start] = w.select(chosen, column[below], column[start])
                column[below] = w.select(chosen, old, column[below])

        for waiting in self._waiting:
            waiting.append(step)

    def swap_columns(self, column: Index, other: Reg) -> None:
        turned = RegisterMatrix(self.w, self._transposed())
        turned.swap_rows(column, other)
        self._columns = turned.elements

    def _transposed(self) -> list[list[Reg]]:
        return [list(line) for line in zip(*self.elements, strict=True)]


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

    def column_blocks(self) -> list[tuple[int, int]]:
        return [(0, self.columns)]

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


class Storage:
    """Where the matrices of a computation are: in registers, or in memory on the stack."""

    def __init__(self, w: FunctionWriter, lanes: int, *, in_registers: bool) -> None:
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


def _register(index: Index) -> Reg:
    return index if isinstance(index, Reg) else Reg(str(index), "i64")
