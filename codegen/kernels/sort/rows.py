"""Rows: vectors of keys as they are compared, with their compare-exchanges and the sorting of blocks.

A row holds keys as signed numbers (vectors of AVX2 are compared so). Where places are asked for, it holds
each key's place, too: in the lower half of the number where the two fit, else in a second vector, which
decides between equal keys.

A block is as many rows as fit in registers. Batcher's network sorts all columns at once, one a lane. Groups
of neighbouring columns are sequences then, read down one column after the other, and two groups become one by
comparing them from both ends: row i with row -1-i, whose lanes are reversed within the two groups. What is
left are exchanges between columns of each half, at distances that halve, and then between rows.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from ...llvm.emitter import BITS, INT_OF, Emitter, Reg, constant
from ...llvm.loops import FunctionWriter
from ...llvm.transpose import turned

#: Number of NaNs that have the sign bit set: all mantissas but 0.
_NEGATIVE_NANS: Final = {"f64": (1 << 52) - 1, "f32": (1 << 23) - 1}


def key_of(b: Emitter, x: Reg, *, merged: bool = False) -> Reg:
    """The key of `x`: larger for larger numbers, and largest for NaNs.

    With `merged`, equal numbers (0.0 and -0.0) and all NaNs have one key; else each has its own, from which
    `value_of` makes the number again.
    """
    key, sign = f"u{BITS[x.dtype]}", 1 << (BITS[x.dtype] - 1)
    if x.is_signed:
        return b.bitcast(b.xor(x, -sign), key)
    if not x.is_float:
        return x
    if merged:
        x = b.exact("fadd", x, 0.0)  # -0.0 becomes 0.0
    bits = b.bits(x)
    # sets the sign of what is positive, turns all bits of what is negative
    turned = b.bitcast(b.xor(bits, b.or_(b.shr(bits, BITS[x.dtype] - 1), -sign)), key)
    if merged:
        return b.select(b.isnan(x), constant(-1, key, x.lanes), turned)
    # negative NaNs, the lowest so far, go round to the highest
    return b.sub(turned, _NEGATIVE_NANS[x.dtype])


def value_of(b: Emitter, key: Reg, dtype: str) -> Reg:
    """The number of `dtype` whose key is `key`."""
    signed, sign = INT_OF.get(dtype, dtype), 1 << (BITS[dtype] - 1)
    if dtype[0] == "u":
        return key
    if dtype[0] == "i":
        return b.xor(b.bitcast(key, dtype), -sign)
    turned = b.bitcast(b.add(key, _NEGATIVE_NANS[dtype]), signed)
    bits = b.xor(turned, b.or_(b.not_(b.shr(turned, BITS[dtype] - 1)), -sign))
    return b.bitcast(bits, dtype)


#: Vectors that are compared lane by lane, by the first of them first.
Row: TypeAlias = list[Reg]

#: Rows that registers hold, by whether there are 32 vectors of them as in AVX-512.
_BLOCK: Final = {True: 16, False: 8}


def batcher(count: int) -> list[tuple[int, int]]:
    """The comparisons that sort `count` elements, lower place first.

    >>> batcher(4)
    [(0, 2), (1, 3), (0, 1), (2, 3), (1, 2)]
    """
    exchanges = []
    top = 1 << max(count - 1, 1).bit_length() - 1
    p = top
    while p:
        q, r, d = top, 0, p
        while True:
            exchanges += [(i, i + d) for i in range(count - d) if i & p == r]
            if q == p:
                break
            d, q, r = q - p, q // 2, p
        p //= 2
    return exchanges


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


class ColumnSorter:
    """Sorts `count` rows of `lanes` columns, both powers of two, and no fewer rows than columns."""

    def __init__(self, w: FunctionWriter, rows: RowFormat, count: int, lanes: int) -> None:
        self.w, self.rows, self.count, self.lanes = w, rows, count, lanes

    def sorted(self, block: list[Row]) -> list[Row]:
        """The block's elements in order, as rows of consecutive ones."""
        block = list(block)
        for low, high in batcher(self.count):
            self.rows.exchange(self.w, block, low, high)
        width = 1
        while width < self.lanes:
            block = self._joined(block, width)
            width *= 2
        return self._read_down(block)

    def _joined(self, block: list[Row], width: int) -> list[Row]:
        """Pairs of groups of `width` columns as one group each."""
        w = self.w
        block, mirrored = list(block), [lane ^ (2 * width - 1) for lane in range(self.lanes)]
        for i in range(self.count // 2):
            low, high = self.rows.ordered(w, block[i], self._moved(block[-1 - i], mirrored))
            block[i] = self._blended(low, high, width)
            block[-1 - i] = self._moved(self._blended(high, low, width), mirrored)
        distance = width // 2
        while distance:
            for i in range(0, self.count, 2):
                block[i], block[i + 1] = self._between_columns(block[i], block[i + 1], distance)
            distance //= 2
        return self.rows.halved(w, block)

    def _between_columns(self, a: Row, b: Row, distance: int) -> tuple[Row, Row]:
        """Compare and exchange columns `distance` apart in two rows."""
        lanes = self.lanes
        left = [lane if not lane & distance else lanes + lane - distance for lane in range(lanes)]
        right = [lane + distance if not lane & distance else lanes + lane for lane in range(lanes)]
        low, high = self.rows.ordered(self.w, self._picked(a, b, left), self._picked(a, b, right))
        return self._picked(low, high, left), self._picked(low, high, right)

    def _read_down(self, block: list[Row]) -> list[Row]:
        """The elements of each column after those of the one before."""
        lanes, parts = self.lanes, []
        for number in range(len(block[0])):
            vectors = [row[number] for row in block]
            squares = [turned(self.w, vectors[i : i + lanes]) for i in range(0, self.count, lanes)]
            parts.append([square[lane] for lane in range(lanes) for square in squares])
        return [list(row) for row in zip(*parts, strict=True)]

    # -- lanes ------------------------------------------------------------------------------------

    def _picked(self, a: Row, b: Row, lanes: list[int]) -> Row:
        return [self.w.shuffle(x, y, lanes) for x, y in zip(a, b, strict=True)]

    def _moved(self, row: Row, lanes: list[int]) -> Row:
        return [self.w.shuffle(x, None, lanes) for x in row]

    def _blended(self, a: Row, b: Row, width: int) -> Row:
        """The first of each two groups of `width` lanes of `a`, and the second of `b`."""
        picks = [lane + self.lanes if lane & width else lane for lane in range(self.lanes)]
        return self._picked(a, b, picks)
