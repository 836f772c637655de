"""Walks over the rows of transforms, and over pairs of rows with mirrored places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from ...llvm.loops import FunctionWriter
from ...llvm.registers import Number, Reg, constant
from .codelets import Complex
from .stockham import Source, Target

#: ``body(row, column, lanes)``.
Body: TypeAlias = Callable[[Reg, Number, int], None]


class Rows:
    """Rows of `columns` transforms side by side, in vectors of `lanes` columns; of one transform, of rows."""

    def __init__(self, w: FunctionWriter, columns: int, lanes: int) -> None:
        self.w, self.columns, self.lanes = w, columns, lanes

    def each(self, first: int, stop: int, body: Body) -> None:
        """Call `body` for the rows from `first` to `stop`, some of them several times."""
        w = self.w
        if self.columns > 1:

            def row(index: Reg, _: list[Reg]) -> Sequence[Reg]:
                def column(place: Reg, _: list[Reg]) -> Sequence[Reg]:
                    body(index, place, self.lanes)
                    return ()

                w.loop(0, self.columns, self.lanes, column)
                return ()

            w.loop(first, stop, 1, row)
            return
        count = stop - first
        if count <= 0:
            return
        lanes = min(self.lanes, 1 << count.bit_length() - 1)

        def rows(index: Reg, _: list[Reg]) -> Sequence[Reg]:
            body(w.min(index, stop - lanes) if count % lanes else index, constant(0, "i64"), lanes)
            return ()

        w.loop(first, stop, lanes, rows)

    def mirrored_source(self, source: Source, size: int) -> Source:
        """The elements at ``size - row`` for those at row."""
        w = self.w
        if self.columns > 1:
            return lambda row, column, lanes: source(w.sub(size, row), column, lanes)

        def load(row: Number, column: Number, lanes: int) -> Complex:
            real, imaginary = source(w.sub(size - lanes + 1, row), column, lanes)
            return self._reversed(real), self._reversed(imaginary)

        return load

    def mirrored_target(self, target: Target, size: int) -> Target:
        """Target that stores the elements for row at ``size - row``."""
        w = self.w
        if self.columns > 1:
            return lambda row, column, value: target(w.sub(size, row), column, value)

        def store(row: Number, column: Number, value: Complex) -> None:
            first = w.sub(size - value[0].lanes + 1, row)
            target(first, column, (self._reversed(value[0]), self._reversed(value[1])))

        return store

    def _reversed(self, x: Reg) -> Reg:
        return x if x.lanes == 1 else self.w.shuffle(x, None, range(x.lanes - 1, -1, -1))
