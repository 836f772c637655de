"""Triangular systems of middle-sized real matrices with many right sides, in place, in tiles of registers.

Lanes lie along the right sides, which are contiguous. A tile has some rows of them: products with the rows
that are solved already are taken from it, then it is solved in registers. BLAS's ``trsm`` copies both
operands first. Its time over this one's, as many right sides as rows, one thread of a Zen 4, factors lower,
upper and transposed: f64 2.9 to 3.6 at 48 rows, 2.0 to 2.7 at 200, 1.4 to 1.7 at 512, 1.0 to 1.4 at 1,000.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...llvm.emitter import Reg, constant
from ...llvm.loops import Bound, FunctionWriter
from ...lowering.kernel import PRODUCT_SLOWDOWN
from ...maths.support import muladd
from ..linalg.algorithms import Quotients
from .problem import Problem

#: Bytes of a factor up to which this pays: every strip of right sides reads it again.
MAX_BYTES: Final = 1 << 21
#: Rows and vectors of a tile, by whether there are 32 vector registers.
_TILES: Final = {True: (8, 3), False: (4, 2)}
#: Right sides that are whole strips of tiles, whatever the vectors are.
WHOLE_STRIPS: Final = 96


def fits_tiles(p: Problem, size: int, columns: int) -> bool:
    """Whether a triangular system of `p` is solved here."""
    return p.parts == 1 and p.lanes > 1 and columns >= p.lanes and size * size * p.bytes <= MAX_BYTES


def solve_in_tiles(
    p: Problem, factor: str, right: str, size: int, columns: int,
    *, lower: bool, transposed: bool, unit: bool,
) -> None:  # fmt: skip
    """Solve ``op(factor) x = right`` in place of `right`; op transposes as said. Of `factor` the `lower` or
    the upper triangle is read, with `unit` without its diagonal, which counts as ones."""
    p.slowdown = PRODUCT_SLOWDOWN
    system = TriangularSystem(
        p.w, p.dtype, p.lanes, factor, right, size, (size, columns),
        lower=lower, transposed=transposed, unit=unit,
    )  # fmt: skip
    end = columns - columns % p.lanes
    whole = end - end % system.width
    system.strips(0, whole)
    system.strips(whole, end, vectors=1)
    if end < columns:
        system.strip(constant(end, "i64"), 1, p.w.tail_mask(columns - end, p.lanes))


class TriangularSystem:
    """Triangular system whose rows are solved downward, or from the last one on.

    `pitches` are the elements from a row of `factor` to the next, and from a row of `right`.
    """

    def __init__(
        self, w: FunctionWriter, dtype: str, lanes: int, factor: str, right: str, size: int,
        pitches: tuple[int, int], *, lower: bool, transposed: bool, unit: bool,
    ) -> None:  # fmt: skip
        self.w, self.dtype, self.lanes, self.factor, self.right = w, dtype, lanes, factor, right
        self.size, self.unit = size, unit
        pitch, self.pitch = pitches
        self.downward = lower != transposed
        #: Elements from a row of op(factor) to the next, and from a column.
        self.strides = (1, pitch) if transposed else (pitch, 1)
        self.rows, self.vectors = _TILES[w.wide_tables]
        #: Right sides that are solved for at once.
        self.width = self.vectors * lanes

    def solve(self, begin: Reg, end: Reg) -> None:
        """Solve for the right sides from `begin` to before `end`."""
        w = self.w
        strips = w.sub(end, w.integer("urem", w.sub(end, begin), self.width))
        self.strips(begin, strips)

        def rest(column: Reg, _: list[Reg]) -> Sequence[Reg]:
            here = w.lt(w.ramp(self.lanes), w.splat(w.sub(end, column), self.lanes))
            self.strip(column, 1, here)
            return ()

        w.loop(strips, end, self.lanes, rest)

    def strips(self, begin: Bound, end: Bound, vectors: int = 0) -> None:
        """Solve for the right sides up to `end`, whole strips of them, or of so many vectors."""
        count = vectors or self.vectors

        def strip(column: Reg, _: list[Reg]) -> Sequence[Reg]:
            self.strip(column, count, None)
            return ()

        self.w.loop(begin, end, count * self.lanes, strip)

    def element(self, row: Reg, column: Reg) -> str:
        """The place of an element of op(factor)."""
        w, (down, along) = self.w, self.strides
        return w.offset(self.factor, self.dtype, w.add(w.mul(row, down), w.mul(column, along)))

    def strip(self, column: Reg, vectors: int, mask: Reg | None) -> None:
        """Solve for some columns of the right sides, tile by tile."""
        w, size, rest = self.w, self.size, self.size % self.rows
        whole = size - rest

        def tile(number: Reg, _: list[Reg]) -> Sequence[Reg]:
            first = number if self.downward else w.sub(constant(size - self.rows, "i64"), number)
            self.tile(first, self.rows, column, vectors, mask)
            return ()

        w.loop(0, whole, self.rows, tile)
        if rest:
            self.tile(constant(whole if self.downward else 0, "i64"), rest, column, vectors, mask)

    def tile(self, first: Reg, rows: int, column: Reg, vectors: int, mask: Reg | None) -> None:
        """Solve for `rows` rows from `first` on."""
        w, dtype, lanes = self.w, self.dtype, self.lanes
        top = w.offset(self.right, dtype, column)
        places = [
            [
                w.offset(top, dtype, w.add(w.mul(w.add(first, row), self.pitch), v * lanes))
                for v in range(vectors)
            ]
            for row in range(rows)
        ]
        held = [w.load(place, dtype, lanes, mask) for row in places for place in row]

        def subtract(other: Reg, state: list[Reg]) -> Sequence[Reg]:
            solved = w.offset(top, dtype, w.mul(other, self.pitch))
            ys = [w.load(w.offset(solved, dtype, v * lanes), dtype, lanes, mask) for v in range(vectors)]
            start = self.element(first, other)
            out = []
            for row in range(rows):
                x = self._negated(w.offset(start, dtype, row * self.strides[0]))
                out += [muladd(w, x, ys[v], state[row * vectors + v]) for v in range(vectors)]
            return out

        start: Bound = 0 if self.downward else w.add(first, rows)
        stop: Bound = first if self.downward else self.size
        held = w.loop(start, stop, 1, subtract, held)
        corner = self.element(first, first)

        def at(row: int, other: int) -> str:
            return w.offset(corner, dtype, row * self.strides[0] + other * self.strides[1])

        order = list(range(rows)) if self.downward else list(range(rows - 1, -1, -1))
        for done, row in enumerate(order):
            own = slice(row * vectors, (row + 1) * vectors)
            if not self.unit:
                divide = Quotients(w, w.splat(w.load(at(row, row), dtype), lanes))
                held[own] = [divide.of(value) for value in held[own]]
            for value, place in zip(held[own], places[row], strict=True):
                w.store(value, place, mask)
            for other in order[done + 1 :]:
                x = self._negated(at(other, row))
                for v in range(vectors):
                    held[other * vectors + v] = muladd(
                        w, x, held[row * vectors + v], held[other * vectors + v]
                    )

    def _negated(self, place: str) -> Reg:
        w = self.w
        return w.neg(w.splat(w.load(place, self.dtype), self.lanes))
