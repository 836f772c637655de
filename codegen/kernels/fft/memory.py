"""Array access of transforms: the sources and targets of passes (`stockham`).

Where transforms lie side by side (`inner` of them), lanes are columns; else they are rows of one transform,
or transforms whose elements are transposed into columns by transposes in registers (`TransposedLines`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ....base.machine import machine
from ....base.records import record
from ...llvm.loops import FunctionWriter
from ...llvm.registers import Number, Reg, constant
from ...llvm.transpose import transposed
from .codelets import Complex
from .stockham import RowPlanes, Source, Target, plus, times_size


@record(eq=False)
class ArrayAccess:
    """An array from `pointer` on, whose rows are `inner` elements apart.

    Of pairs only the first `present` columns are read and written, if there are so many and not more.
    With each vector, the line `ahead` elements behind it is asked for: what is read or written next.
    """

    w: FunctionWriter
    dtype: str
    pointer: str
    inner: int
    present: int | None = None
    ahead: Number = 0

    def _place(self, row: Number, column: Number, width: int) -> str:
        elements = plus(self.w, times_size(self.w, row, self.inner), column)
        return self.w.offset(self.pointer, self.dtype, times_size(self.w, elements, width))

    # -- pairs ------------------------------------------------------------------------------------

    def load_pairs(self, row: Number, column: Number, lanes: int) -> Complex:
        """Complex numbers that lie as pairs."""
        w, place, (low, high) = self.w, self._place(row, column, 2), self._masks(lanes)
        self._ask_for(place, 2 * lanes, write=False)
        first = w.load(place, self.dtype, lanes, low)
        second = w.load(w.offset(place, self.dtype, lanes), self.dtype, lanes, high)
        if lanes == 1:
            return first, second
        return (
            w.shuffle(first, second, range(0, 2 * lanes, 2)),
            w.shuffle(first, second, range(1, 2 * lanes, 2)),
        )

    def store_pairs(self, row: Number, column: Number, value: Complex) -> None:
        """Store complex numbers as pairs."""
        w, place, lanes = self.w, self._place(row, column, 2), value[0].lanes
        (first, second), (low, high) = value, self._masks(lanes)
        if lanes > 1:
            picks = [lane // 2 + lane % 2 * lanes for lane in range(2 * lanes)]
            first, second = (w.shuffle(*value, picks[start : start + lanes]) for start in (0, lanes))
        self._ask_for(place, 2 * lanes, write=True)
        w.store(first, place, low)
        w.store(second, w.offset(place, self.dtype, lanes), high)

    def _masks(self, lanes: int) -> tuple[Reg | None, Reg | None]:
        """Masks of the numbers that are there in each half of `lanes` pairs; None for all."""
        if self.present is None:
            return None, None
        counts = min(2 * self.present, lanes), max(2 * self.present - lanes, 0)
        return self.w.tail_mask(counts[0], lanes), self.w.tail_mask(counts[1], lanes)

    def _ask_for(self, place: str, elements: int, *, write: bool) -> None:
        """Ask for what lies `ahead` of the `elements` at `place`."""
        w, step = self.w, machine().line_bytes * 8 // int(self.dtype[1:])
        if self.ahead == 0 or elements < step:
            return
        behind = w.offset(place, self.dtype, self.ahead)
        for first in range(0, elements, step):
            w.prefetch(w.offset(behind, self.dtype, first), near=False, write=write)

    # -- real numbers -----------------------------------------------------------------------------

    def load_halves(self, row: Number, column: Number, lanes: int) -> Complex:
        """Neighbouring real numbers of a transform as real and imaginary part."""
        if self.inner == 1:
            return self.load_pairs(row, column, lanes)
        w, row = self.w, times_size(self.w, row, 2)
        even, odd = (self._place(plus(w, row, part), column, 1) for part in (0, 1))
        for place in (even, odd):
            self._ask_for(place, lanes, write=False)
        return w.load(even, self.dtype, lanes), w.load(odd, self.dtype, lanes)

    def store_halves(self, row: Number, column: Number, value: Complex) -> None:
        """Store real and imaginary part as neighbouring real numbers of a transform."""
        if self.inner == 1:
            self.store_pairs(row, column, value)
            return
        w, row = self.w, times_size(self.w, row, 2)
        for part in (0, 1):
            place = self._place(plus(w, row, part), column, 1)
            self._ask_for(place, value[part].lanes, write=True)
            w.store(value[part], place)

    def load_real(self, row: Number, column: Number, lanes: int) -> Complex:
        """Real numbers as complex ones."""
        place = self._place(row, column, 1)
        self._ask_for(place, lanes, write=False)
        value = self.w.load(place, self.dtype, lanes)
        return value, constant(0.0, self.dtype, lanes)

    def store_real(self, row: Number, column: Number, value: Complex) -> None:
        """The real parts."""
        place = self._place(row, column, 1)
        self._ask_for(place, value[0].lanes, write=True)
        self.w.store(value[0], place)


def swapped_source(source: Source) -> Source:
    """`source` with the parts exchanged: transforms of that are those of the other direction."""
    return lambda row, column, lanes: source(row, column, lanes)[::-1]


def swapped_target(target: Target) -> Target:
    """`target` with the parts exchanged."""
    return lambda row, column, value: target(row, column, value[::-1])


def scaled_target(w: FunctionWriter, target: Target, scale: float) -> Target:
    """`target` of `scale` times its values."""
    if scale == 1.0:
        return target
    return lambda row, column, value: target(row, column, (w.mul(value[0], scale), w.mul(value[1], scale)))


# -- transforms one behind the other --------------------------------------------------------------


@record(eq=False)
class TransposedLines:
    """Transforms of `count` numbers that lie one behind the other from `pointer` on, as many as planes have
    columns.

    Numbers are pairs with `parts` = 2, else real.
    """

    w: FunctionWriter
    dtype: str
    pointer: str
    count: int
    parts: int

    def load(self, planes: RowPlanes) -> None:
        """Turn them into the columns of `planes`."""
        w, lanes = self.w, planes.columns

        def block(first: Reg, size: int) -> None:
            mask = None if size == lanes else w.tail_mask(size, lanes)
            rows = [w.load(self._row(row, first), self.dtype, lanes, mask) for row in range(lanes)]
            for number, vector in enumerate(transposed(w, rows)[:size]):
                w.store(vector, self._plane(planes, first, number))

        self._blocks(lanes, block)

    def store(self, planes: RowPlanes) -> None:
        """Turn the columns of `planes` into them."""
        w, lanes = self.w, planes.columns

        def block(first: Reg, size: int) -> None:
            mask = None if size == lanes else w.tail_mask(size, lanes)
            columns = [
                w.load(self._plane(planes, first, number), self.dtype, lanes) for number in range(size)
            ]
            columns += [Reg("zeroinitializer", self.dtype, lanes)] * (lanes - size)
            for row, vector in enumerate(transposed(w, columns)):
                w.store(vector, self._row(row, first), mask)

        self._blocks(lanes, block)

    def _row(self, row: int, first: Reg) -> str:
        return self.w.offset(self.pointer, self.dtype, self.w.add(first, row * self.count))

    def _plane(self, planes: RowPlanes, first: Reg, number: int) -> str:
        """Pointer to number ``first + number`` of each transform; blocks begin with a real part."""
        w = self.w
        plane = planes.imaginary if self.parts == 2 and number % 2 else planes.real
        row = w.add(w.integer("lshr", first, self.parts - 1), number // self.parts)
        return w.offset(plane, self.dtype, w.mul(row, planes.columns))

    def _blocks(self, lanes: int, body: Callable[[Reg, int], None]) -> None:
        w, whole = self.w, self.count // lanes * lanes

        def block(first: Reg, _: list[Reg]) -> Sequence[Reg]:
            body(first, lanes)
            return ()

        w.loop(0, whole, lanes, block)
        if whole < self.count:
            body(constant(whole, "i64"), self.count - whole)
