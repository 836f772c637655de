"""Matrices whose elements are vectors with a lane for each matrix of a group.

Algorithms are written once, over `Matrix`: in registers loops are unrolled and indices are numbers, in
scratch memory loops stay loops and indices are registers (`scratch_matrix`).
"""

from __future__ import annotations

import abc
import functools
from collections.abc import Callable, Sequence
from typing import TypeAlias

from ...llvm.emitter import Reg
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
    def each_panel(self, count: int, body: Callable[[Index, int], None]) -> None:
        """``body(first, width)`` for panels of the first `count` columns, which are eliminated together: in
        registers one, in memory some, so that what is right of them is read and written once for all."""

    @abc.abstractmethod
    def subtract_panel(self, first: Index, width: int) -> None:
        """Eliminate a panel of `width` columns, whose factors are there, from all columns right of it."""

    @abc.abstractmethod
    def swap_rows(self, row: Index, other: Reg) -> None:
        """Swap `row` with the row `other` (an integer for each lane), which is not above it."""

    @abc.abstractmethod
    def swap_columns(self, column: Index, other: Reg) -> None:
        """Swap `column` with the column `other` (an integer for each lane), which is not left of it."""

    @abc.abstractmethod
    def each_block(self, body: Callable[[list[Index]], None]) -> None:
        """``body(columns)`` for the columns that are best worked on together: in registers one at a time,
        since code that goes over all of a matrix again and again keeps its elements in memory; in memory as
        many as there are sums in registers, so that a line of another matrix is read once for all of them."""

    @abc.abstractmethod
    def kept(self, count: int, values: Callable[[Index], Sequence[Reg]]) -> Callable[[Index], Sequence[Reg]]:
        """The `values` of each row, `count` of them, computed once."""

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
        #: Steps that are yet to be done to each column.
        self._waiting: list[list[Callable[[list[Reg]], None]]] = [[] for _ in self._columns]

    @property
    def elements(self) -> list[list[Reg]]:
        """Elements, row by row."""
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

    def each_block(self, body: Callable[[list[Index]], None]) -> None:
        for column in range(self.columns):
            body([column])

    def kept(self, count: int, values: Callable[[Index], Sequence[Reg]]) -> Callable[[Index], Sequence[Reg]]:
        return functools.cache(values)

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

    def each_panel(self, count: int, body: Callable[[Index, int], None]) -> None:
        for column in range(count):
            body(column, 1)

    def subtract_panel(self, first: Index, width: int) -> None:
        assert isinstance(first, int)
        assert width == 1
        self.subtract_products(first + 1, lambda i: self[i, first], lambda j: self[first, j])

    def swap_rows(self, row: Index, other: Reg) -> None:
        """Swap rows by selects: each row below takes the old row where it is the `other`."""
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
