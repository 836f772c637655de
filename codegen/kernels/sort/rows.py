"""Rows: vectors of keys as they are compared, with their compare-exchanges.

A row holds keys as signed numbers (vectors of AVX2 are compared so). Where places are asked for, it holds
each key's place, too: in the lower half of the number where the two fit, else in a second vector, which
decides between equal keys.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from ...llvm.emitter import BITS, Reg, constant
from ...llvm.loops import FunctionWriter
from .ordered_keys import key_of, value_of

#: Vectors that are compared lane by lane, by the first of them first.
Row: TypeAlias = list[Reg]

#: Rows that registers hold, by whether there are 32 vectors of them as in AVX-512.
_BLOCK: Final = {True: 16, False: 8}


class RowFormat:
    """Format of keys, and of places, as rows."""

    def __init__(self, element: str, *, places: bool) -> None:
        self.element, self.places = element, places
        width = BITS[element]
        #: Keys, and keys as ranks compare them.
        self.key, self.wide = f"u{width}", "u64" if width == 64 else "u32"
        #: Bits of the place below the key; 0 where it is a vector of its own, or none.
        self.shift = (16 if width <= 16 else 32) if places and width <= 32 else 0
        self.paired = places and not self.shift
        self.dtype = "i64" if width + self.shift > 32 else "i32"
        self.dtypes = [self.dtype, "u32"] if self.paired else [self.dtype]
        self._sign = -(1 << (BITS[self.dtype] - 1))

    def block(self, vector_bits: int) -> int:
        """Number of rows in a block in registers."""
        return _BLOCK[vector_bits >= 512] // len(self.dtypes)

    # -- elements and rows ------------------------------------------------------------------------

    def keys(self, w: FunctionWriter, elements: Reg) -> Reg:
        """The keys of `elements`."""
        return w.cast(key_of(w, elements, merged=self.places), self.wide)

    def row(self, w: FunctionWriter, keys: Reg, places: Reg) -> Row:
        """The row of `keys` that come from `places` (u32)."""
        number = w.bitcast(w.cast(keys, f"u{BITS[self.dtype]}"), self.dtype)
        if self.shift:
            number = w.or_(w.shl(number, self.shift), w.cast(places, self.dtype))
        number = w.xor(number, self._sign)
        return [number, places] if self.paired else [number]

    def content(self, w: FunctionWriter, row: Row) -> Reg:
        """The places of a row (u32), where they are asked for; else its keys."""
        if self.paired:
            return row[1]
        if self.shift:
            return w.cast(w.and_(row[0], (1 << self.shift) - 1), "u32")
        return w.bitcast(w.xor(row[0], self._sign), f"u{BITS[self.dtype]}")

    def result(self, w: FunctionWriter, content: Reg) -> Reg:
        """The places, or elements, of the `content` of a row as they are stored."""
        if self.places:
            return w.cast(content, "i64")
        return value_of(w, w.cast(content, self.key), self.element)

    def greatest(self, places: Reg) -> Row:
        """A row of keys as great as any is, from `places`."""
        number = constant(-1 - self._sign, self.dtype, places.lanes)
        return [number, places] if self.paired else [number]

    # -- comparing --------------------------------------------------------------------------------

    def ordered(self, w: FunctionWriter, a: Row, b: Row) -> tuple[Row, Row]:
        """The smaller of two rows, lane by lane, and the greater."""
        first = w.lt(a[0], b[0])
        if self.paired:
            first = w.or_(first, w.and_(w.eq(a[0], b[0]), w.lt(a[1], b[1])))
        low = [w.select(first, x, y) for x, y in zip(a, b, strict=True)]
        return low, [w.select(first, y, x) for x, y in zip(a, b, strict=True)]

    def exchange(self, w: FunctionWriter, rows: list[Row], low: int, high: int) -> None:
        """Put the smaller of two rows, lane by lane, in the lower place."""
        rows[low], rows[high] = self.ordered(w, rows[low], rows[high])

    def halved(self, w: FunctionWriter, rows: list[Row]) -> list[Row]:
        """Compare rows at half their number, then the halves within themselves."""
        rows, distance = list(rows), len(rows) // 2
        while distance:
            for i in range(len(rows)):
                if not i & distance:
                    self.exchange(w, rows, i, i + distance)
            distance //= 2
        return rows
