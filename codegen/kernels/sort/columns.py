"""Sorting of blocks of rows, in registers.

A block is as many rows as fit in registers. Batcher's network sorts all columns at once, one a lane. Groups
of neighbouring columns are sequences then, read down one column after the other, and two groups become one by
comparing them from both ends: row i with row -1-i, whose lanes are reversed within the two groups. What is
left are exchanges between columns of each half, at distances that halve, and then between rows.
"""

from __future__ import annotations

from ...llvm.loops import FunctionWriter
from ...llvm.transpose import transposed
from .rows import Row, RowFormat


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
            squares = [transposed(self.w, vectors[i : i + lanes]) for i in range(0, self.count, lanes)]
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
