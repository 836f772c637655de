"""Matrices in memory: one, whose rows are read by vectors, or as many as there are lanes on the stack."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Final, Self, TypeAlias

from ...llvm.emitter import Reg, constant
from ...llvm.loops import FunctionWriter
from ...maths import MathsWriter
from .arithmetic import Quotients, RealArithmetic, numbers_of
from .matrices import Index, Matrix, RegisterMatrix, Span, Strip, moved

#: Columns of a matrix in memory that are eliminated together: with what is multiplied, they fit the
#: registers.
PANEL: Final = 4
#: Rows and vectors of a tile of one matrix, by whether there are 32 vector registers.
_TILES: Final = {True: (8, 3), False: (4, 2)}
#: Columns of many matrices in memory that are worked on together: multiply-adds in flight, see
#: `base.machine`.
BLOCK: Final = 8
#: Columns that are whole strips of one real matrix, whatever the vectors are.
WHOLE_STRIPS: Final = 96


class _MemoryStrip(Strip):
    """Vectors at `pointer`, each `step` numbers behind the one before."""

    def __init__(self, matrix: MemoryMatrix, pointer: str, count: int, step: Index, lanes: int) -> None:
        self.matrix, self.pointer, self.count, self.step, self.lanes = matrix, pointer, count, step, lanes
        self.mask: Reg | None = None

    def _places(self, row: Index) -> list[str]:
        w, dtype = self.matrix.w, self.matrix.dtype
        first = w.offset(self.pointer, dtype, w.mul(_register(row), self.matrix.strides[0]))
        return [w.offset(first, dtype, w.mul(_register(number), self.step)) for number in range(self.count)]

    def row(self, row: Index) -> list[Reg]:
        matrix = self.matrix
        return [matrix.w.load(place, matrix.dtype, self.lanes, self.mask) for place in self._places(row)]

    def set_row(self, row: Index, values: Sequence[Reg]) -> None:
        w = self.matrix.w
        for place, value in zip(self._places(row), values, strict=True):
            w.store(w.splat(value, self.lanes), place, self.mask)


class MemoryMatrix(Matrix):
    """A matrix at `pointer`, whose rows and columns are `strides` numbers apart."""

    panel = PANEL

    def __init__(
        self, w: FunctionWriter, pointer: str, rows: Index, columns: Index, strides: tuple[Index, Index],
        dtype: str, lanes: int, numbers: RealArithmetic,
    ) -> None:  # fmt: skip
        super().__init__(w, rows, columns, dtype, lanes, numbers)
        self.pointer, self.strides = pointer, strides

    def place(self, row: Index, column: Index) -> str:
        """The pointer to an element's first lane."""
        w, (down, along) = self.w, self.strides
        flat = w.add(w.mul(_register(row), down), w.mul(_register(column), along))
        return w.offset(self.pointer, self.dtype, flat)

    def __getitem__(self, place: tuple[Index, Index]) -> Reg:
        return self.w.load(self.place(*place), self.dtype, self.lanes)

    def __setitem__(self, place: tuple[Index, Index], value: Reg) -> None:
        self.w.store(self.w.splat(value, self.lanes), self.place(*place))

    def line(self, span: Span, index: Index, *, transposed: bool = False) -> list[Reg]:
        w, step = self.w, self.strides[1 if transposed else 0]
        first = self.place(index, span.first) if transposed else self.place(span.first, index)
        places = [w.offset(first, self.dtype, w.mul(_register(number), step)) for number in range(span.count)]
        return [w.load(place, self.dtype, self.lanes) for place in places]

    def fold(
        self,
        first: Index,
        stop: Index,
        carried: Sequence[Reg],
        body: Callable[[Index, list[Reg]], Sequence[Reg]],
    ) -> list[Reg]:
        return self.w.loop(first, stop, 1, body, carried)

    def fold_spans(
        self,
        first: Index,
        stop: Index,
        width: int,
        carried: Sequence[Reg],
        body: Callable[[Span, list[Reg]], Sequence[Reg]],
    ) -> list[Reg]:
        w = self.w
        if isinstance(stop, Reg):
            whole = w.sub(stop, w.integer("urem", w.sub(stop, first), width))
            state = w.loop(first, whole, width, lambda at, state: body(Span(at, width), state), carried)
            return w.loop(whole, stop, 1, lambda at, state: body(Span(at, 1), state), state)
        rest = (stop - first if isinstance(first, int) else stop) % width
        state = w.loop(first, stop - rest, width, lambda at, state: body(Span(at, width), state), carried)
        return list(body(Span(stop - rest, rest), state)) if rest else state

    def square(self, span: Span) -> Strip:
        return _MemoryStrip(self, self.place(0, span.first), span.count, self.strides[1], self.lanes)

    def transposed(self) -> Self:
        matrix = copy.copy(self)
        matrix.rows, matrix.columns, matrix.strides = self.columns, self.rows, self.strides[::-1]
        return matrix

    def subtract_panel(self, panel: Span) -> None:
        w, after = self.w, moved(self.w, panel.first, panel.count)

        def columns(strip: Strip) -> None:
            rows: list[list[Reg]] = []

            def reduce(i: Index) -> list[Reg]:
                values = strip.row(i)
                factors = self.line(Span(panel.first, len(rows)), i, transposed=True)
                for factor, row in zip(factors, rows, strict=True):
                    values = self.numbers.reduced(values, [factor], row)
                strip.set_row(i, values)
                return values

            for number in range(panel.count):
                rows.append(reduce(moved(w, panel.first, number)))
            self.fold(after, self.rows, (), lambda i, _: reduce(i)[:0])

        self.strips(after, columns, panel.count)


class SingleMatrix(MemoryMatrix):
    """A matrix by rows, `pitch` elements apart, of `parts` numbers each. Strips are vectors of `lanes`
    numbers."""

    careful = True

    def __init__(
        self, w: FunctionWriter, pointer: str, rows: Index, columns: Index, pitch: Index,
        dtype: str, lanes: int, parts: int = 1,
    ) -> None:  # fmt: skip
        strides = w.mul(_register(pitch), parts), parts
        super().__init__(w, pointer, rows, columns, strides, dtype, parts, numbers_of(w, parts))
        #: Numbers of a vector.
        self.vector = max(lanes, parts)
        self.tile_rows, self.vectors = _TILES[w.wide_tables]

    def limit_tiles(self, most: int) -> bool:
        """Take tiles of at most so many vectors, or of one of each row. Returns whether they are narrower
        than before; they change no bit."""
        vectors, self.vectors = self.vectors, min(self.vectors, max(1, most // self.tile_rows))
        return self.vectors < vectors

    def quotients(self) -> Callable[[Index], Quotients]:
        return lambda row: self.numbers.quotients(self[row, row])

    def strips(self, first: Index, body: Callable[[Strip], None], unit: int = 1) -> None:
        """Strips of several vectors, then of one, then the elements that are left, masked."""
        w, parts, stop = self.w, self.numbers.parts, self.columns
        width = self.vector // parts
        many = self.vectors * width

        def part(first: Index, stop: Index, vectors: int, end: Index | None = None) -> Index:
            def step(at: Reg, _: list[Reg]) -> Sequence[Reg]:
                strip = _MemoryStrip(self, self.place(0, at), vectors, self.vector, self.vector)
                if end is not None:
                    left = w.mul(w.sub(_register(end), at), parts)
                    strip.mask = w.lt(w.ramp(self.vector), w.splat(left, self.vector))
                body(strip)
                return ()

            w.loop(first, stop, vectors * width, step)
            return stop

        if isinstance(first, int) and isinstance(stop, int):
            whole = part(first, stop - (stop - first) % many, self.vectors)
            last = part(whole, stop - (stop - first) % width, 1)  # nothing where tiles have one vector
        else:
            count = w.sub(_register(stop), first)
            last = part(first, w.sub(_register(stop), w.integer("urem", count, many)), self.vectors)
        part(last, stop, 1, stop)

    def swap_rows(self, row: Index, other: Reg) -> None:
        def swap(strip: Strip) -> None:
            values = strip.row(row), strip.row(other)
            for place, value in zip((row, other), reversed(values), strict=True):
                strip.set_row(place, value)

        self.strips(0, swap)


class ScratchMatrix(MemoryMatrix):
    """Many matrices in memory on the stack, an element of each in a vector."""

    rows: int
    columns: int

    def __init__(self, w: FunctionWriter, rows: int, columns: int, dtype: str, lanes: int) -> None:
        pointer = w.slot(dtype, rows * columns * lanes)
        super().__init__(w, pointer, rows, columns, (columns * lanes, lanes), dtype, lanes, RealArithmetic(w))

    def quotients(self) -> Callable[[Index], Quotients]:
        room = ScratchMatrix(self.w, self.rows, 2, self.dtype, self.lanes)

        def keep(row: Index) -> None:
            divide = self.numbers.quotients(self[row, row])
            room[row, 0], room[row, 1] = divide.scale, divide.reciprocal

        self.each(0, self.rows, keep)
        return lambda row: Quotients.of_parts(self.w, room[row, 0], room[row, 1])

    def strips(self, first: Index, body: Callable[[Strip], None], unit: int = 1) -> None:
        def step(span: Span, _: list[Reg]) -> Sequence[Reg]:
            body(self.square(span))
            return ()

        self.fold_spans(first, self.columns, BLOCK if isinstance(first, int) else unit, (), step)

    def swap_rows(self, row: Index, other: Reg) -> None:
        """Swap rows lane by lane."""
        w, (between, along) = self.w, self.strides
        first = w.offset(self.pointer, self.dtype, w.mul(_register(row), between))
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

        w.loop(0, self.columns, 1, swap)


def _register(index: Index) -> Reg:
    return index if isinstance(index, Reg) else Reg(str(index), "i64")


#: Matrices with a lane for each of a group.
LaneMatrix: TypeAlias = RegisterMatrix | ScratchMatrix


class Storage:
    """Storage of a computation's matrices: in registers, or in memory on the stack."""

    def __init__(self, w: MathsWriter, lanes: int, *, in_registers: bool) -> None:
        self.w, self.lanes, self.in_registers = w, lanes, in_registers

    def matrix(self, rows: int, columns: int, dtype: str) -> LaneMatrix:
        """A matrix to work in, whose elements are yet to be set."""
        if self.in_registers:
            return RegisterMatrix(self.w, [[constant(0, dtype, self.lanes)] * columns for _ in range(rows)])
        return ScratchMatrix(self.w, rows, columns, dtype, self.lanes)

    def cast(self, x: LaneMatrix, dtype: str) -> LaneMatrix:
        """The matrix of integers `x` with elements of `dtype`."""
        return x if x.dtype == dtype else self.mapped(x, dtype, lambda element: self.w.cast(element, dtype))

    def mapped(self, x: LaneMatrix, dtype: str, function: Callable[[Reg], Reg]) -> LaneMatrix:
        """The matrix of what `function` makes of the elements of `x`, of `dtype`."""
        result = self.matrix(x.rows, x.columns, dtype)

        def element(i: Index, j: Index) -> None:
            result[i, j] = function(x[i, j])

        x.each(0, x.rows, lambda i: x.each(0, x.columns, lambda j: element(i, j)))
        return result

    def reordered(self, x: LaneMatrix, order: LaneMatrix, *, inverse: bool) -> LaneMatrix:
        """The matrix whose row i is the row ``order[i]`` of `x`, or with `inverse` whose row ``order[i]`` is
        the row i of `x`. `order` is a column of integers."""
        return _chosen(x, order, inverse) if isinstance(x, RegisterMatrix) else _moved(x, order, inverse)


def _chosen(x: RegisterMatrix, order: LaneMatrix, inverse: bool) -> RegisterMatrix:
    w, numbers = x.w, range(x.rows)
    here = [[w.eq(order[i, 0], j) for j in numbers] for i in numbers]
    elements, rows = x.elements, []
    for i in numbers:
        row = list(elements[0])
        for j in numbers[1:]:
            chosen = here[j][i] if inverse else here[i][j]
            row = [w.select(chosen, x, y) for x, y in zip(elements[j], row, strict=True)]
        rows.append(row)
    return RegisterMatrix(w, rows)


def _moved(x: ScratchMatrix, order: LaneMatrix, inverse: bool) -> ScratchMatrix:
    w, result = x.w, ScratchMatrix(x.w, x.rows, x.columns, x.dtype, x.lanes)

    def row(i: Index) -> None:
        numbers = order[i, 0]
        sources = []
        targets = []
        for lane in range(x.lanes):
            # what came from outside may be anything
            number = w.min(w.cast(w.cast(w.extract(numbers, lane), "i64"), "u64"), x.rows - 1)
            rows = _register(i), w.cast(number, "i64")
            source, target = reversed(rows) if not inverse else rows
            sources.append(w.offset(x.place(source, 0), x.dtype, lane))
            targets.append(w.offset(result.place(target, 0), x.dtype, lane))

        def element(column: Index) -> None:
            at = w.mul(_register(column), x.lanes)
            for source, target in zip(sources, targets, strict=True):
                w.store(w.load(w.offset(source, x.dtype, at), x.dtype), w.offset(target, x.dtype, at))

        x.each(0, x.columns, element)

    x.each(0, x.rows, row)
    return result
