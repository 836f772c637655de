"""Matrices as the algorithms see them, and those whose elements are registers.

Algorithms are written once, over `Matrix`: in registers loops are unrolled and indices are numbers, in memory
loops stay loops and indices are registers (`memory_matrix`).
"""

from __future__ import annotations

import abc
import functools
from collections.abc import Callable, Sequence
from typing import TypeAlias

from ....base.records import record
from ...llvm.emitter import Reg
from ...llvm.loops import FunctionWriter
from .arithmetic import Quotients, RealArithmetic

#: A row or a column: a number where loops are unrolled.
Index: TypeAlias = "int | Reg"


def moved(w: FunctionWriter, index: Index, by: int) -> Index:
    """`index` + `by`."""
    return index + by if isinstance(index, int) else w.add(index, by)


@record
class Span:
    """Rows or columns that follow each other: `count` from `first` on."""

    first: Index
    count: int


class Strip(abc.ABC):
    """Some columns of a matrix, `count` vectors in a row, that are worked on together."""

    count: int

    @abc.abstractmethod
    def row(self, row: Index) -> list[Reg]:
        """The vectors of a row."""

    @abc.abstractmethod
    def set_row(self, row: Index, values: Sequence[Reg]) -> None:
        """Set the vectors of a row."""

    def rows(self, w: FunctionWriter, rows: Span) -> list[Reg]:
        """The vectors of some rows, row by row."""
        return [value for number in range(rows.count) for value in self.row(moved(w, rows.first, number))]


class Matrix(abc.ABC):
    """`rows` x `columns` elements of `dtype`, each with `lanes`, which `numbers` computes with."""

    #: Rows and columns that are eliminated together. More than 1 where what is right of them is in memory: it
    #: is read and written once for all of them.
    panel = 1
    #: Rows of a strip whose sums are in registers together.
    tile_rows = 1
    #: Whether Cholesky factors are rounded as little as LAPACK's: the many products that are taken from an
    #: element are summed before, and it is divided.
    careful = False

    def __init__(
        self, w: FunctionWriter, rows: Index, columns: Index, dtype: str, lanes: int, numbers: RealArithmetic
    ) -> None:
        self.w, self.rows, self.columns, self.dtype, self.lanes = w, rows, columns, dtype, lanes
        self.numbers = numbers

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
    def fold_spans(
        self,
        first: Index,
        stop: Index,
        width: int,
        carried: Sequence[Reg],
        body: Callable[[Span, list[Reg]], Sequence[Reg]],
    ) -> list[Reg]:
        """``carried = body(span, carried)`` for the indices from `first` to `stop`, `width` at a time, and
        what is left. Where `stop` alone is a number, `first` is a multiple of `width`."""

    @abc.abstractmethod
    def strips(self, first: Index, body: Callable[[Strip], None], unit: int = 1) -> None:
        """``body(strip)`` for the columns from `first` on, a multiple of `unit`: in registers one at a time,
        since code that goes over all of a matrix again and again keeps its elements in memory; in memory as
        many as there are sums in registers, so that a line of another matrix is read once for all of
        them."""

    @abc.abstractmethod
    def square(self, span: Span) -> Strip:
        """The columns of `span`, an element a vector."""

    @abc.abstractmethod
    def transposed(self) -> Matrix:
        """The transposed matrix; `self` is not used any more, as both may be in one memory."""

    @abc.abstractmethod
    def subtract_panel(self, panel: Span) -> None:
        """Eliminate a panel of columns, whose factors are there, from all columns right of it."""

    @abc.abstractmethod
    def swap_rows(self, row: Index, other: Reg) -> None:
        """Swap `row` with the row `other` (an integer for each lane), which is not above it."""

    @abc.abstractmethod
    def quotients(self) -> Callable[[Index], Quotients]:
        """Quotients by the element of each row on the diagonal."""

    def line(self, span: Span, index: Index, *, transposed: bool = False) -> list[Reg]:
        """The elements of column `index` in the rows of `span`, or of the transposed matrix."""
        places = [moved(self.w, span.first, number) for number in range(span.count)]
        return [self[index, place] if transposed else self[place, index] for place in places]

    def each(self, first: Index, stop: Index, body: Callable[[Index], None]) -> None:
        """``body(index)`` for the indices from `first` to `stop`."""

        def step(index: Index, carried: list[Reg]) -> Sequence[Reg]:
            body(index)
            return ()

        self.fold(first, stop, (), step)


class _RegisterStrip(Strip):
    def __init__(self, matrix: RegisterMatrix, columns: Sequence[int]) -> None:
        self.matrix, self.columns, self.count = matrix, columns, len(columns)

    def row(self, row: Index) -> list[Reg]:
        matrix = self.matrix
        return [matrix.w.splat(matrix[row, column], matrix.lanes) for column in self.columns]

    def set_row(self, row: Index, values: Sequence[Reg]) -> None:
        for column, value in zip(self.columns, values, strict=True):
            self.matrix[row, column] = value


class RegisterMatrix(Matrix):
    """A matrix in registers: as many as it has elements.

    What is done to whole rows waits for each column until an element of it is read. So a column is computed
    at one go, from values that do not change any more: few registers are in use at a time, and of those that
    do not fit, each is stored once.
    """

    rows: int
    columns: int

    def __init__(self, w: FunctionWriter, elements: Sequence[Sequence[Reg]]) -> None:
        first = elements[0][0]
        lanes = max(element.lanes for row in elements for element in row)
        super().__init__(w, len(elements), len(elements[0]), first.dtype, lanes, RealArithmetic(w))
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
        return functools.reduce(lambda state, index: list(body(index, state)), range(first, stop), [*carried])

    def fold_spans(
        self,
        first: Index,
        stop: Index,
        width: int,
        carried: Sequence[Reg],
        body: Callable[[Span, list[Reg]], Sequence[Reg]],
    ) -> list[Reg]:
        assert width == 1
        return self.fold(first, stop, carried, lambda index, state: body(Span(index, 1), state))

    def strips(self, first: Index, body: Callable[[Strip], None], unit: int = 1) -> None:
        self.each(first, self.columns, lambda column: body(self.square(Span(column, 1))))

    def square(self, span: Span) -> Strip:
        assert isinstance(span.first, int)
        return _RegisterStrip(self, range(span.first, span.first + span.count))

    def transposed(self) -> RegisterMatrix:
        return RegisterMatrix(self.w, [self._column(number) for number in range(self.columns)])

    def subtract_panel(self, panel: Span) -> None:
        first = panel.first
        assert isinstance(first, int)
        factors = self._column(first)[first + 1 :]

        def step(column: list[Reg]) -> None:
            column[first + 1 :] = self.numbers.reduced(column[first + 1 :], factors, [column[first]])

        for waiting in self._waiting[first + 1 :]:
            waiting.append(step)

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

    def quotients(self) -> Callable[[Index], Quotients]:
        return functools.cache(lambda row: self.numbers.quotients(self[row, row]))
