"""Triangular systems and Cholesky factors, column after column.

Source: Golub and Van Loan, Matrix Computations, 4th edition: 3.1 (triangular systems), 4.2.5 (Cholesky
factors by inner products).
"""

from __future__ import annotations

from collections.abc import Sequence

from ..kernels.lapack.elements import Parts
from ..llvm.emitter import Reg, constant
from .routine import INTEGER, Routine


class _Triangle:
    """The matrix `a` of a routine, of which the arguments say what is read of it: see `trsm`."""

    def __init__(self, r: Routine) -> None:
        self.r, w = r, r.w
        self.leading = r.integer("lda")
        self.upper, self.turned = r.is_letter("uplo", "U"), w.not_(r.is_letter("trans", "N"))
        self.unit = r.is_letter("diag", "U")
        conjugated = r.is_letter("trans", "C")
        #: 1 where elements are conjugated, else -1.
        self.sign = w.select(conjugated, constant(1.0, r.dtype), -1.0)

    def conjugated(self, x: Parts) -> Parts:
        """`x`, conjugated where the matrix is."""
        return [x[0], *[self.r.w.neg(self.r.w.mul(part, self.sign)) for part in x[1:]]]

    def diagonal(self, k: Reg) -> Parts:
        """Divisor of row k: the element on the diagonal, or 1 for a unit triangle."""
        r, w = self.r, self.r.w
        value = self.conjugated(r.load(r.element("%a", k, k, self.leading), 0))
        return [w.select(self.unit, one, part) for one, part in zip(r.number(1.0), value, strict=True)]


def trsm(r: Routine) -> None:
    """``op(a) x = b`` (side L) or ``x op(a) = b`` (R), in the memory of b; alpha is 1."""
    w = r.w
    triangle, rows, columns, leading = _Triangle(r), r.integer("m"), r.integer("n"), r.integer("ldb")

    def left() -> list[Reg]:
        def column(j: Reg, _: list[Reg]) -> Sequence[Reg]:
            _solve_column(r, triangle, r.element("%b", 0, j, leading), rows)
            return ()

        w.loop(0, columns, 1, column)
        return []

    w.one_of(r.is_letter("side", "L"), [left, lambda: _solve_right(r, triangle, rows, columns, leading)])


def trsv(r: Routine) -> None:
    """``op(a) x = b`` in the memory of b, whose elements lie one behind the other."""
    _solve_column(r, _Triangle(r), "%x", r.integer("n"))


def _solve_column(r: Routine, triangle: _Triangle, x: str, size: Reg) -> None:
    """``op(a) x = b`` for one column."""
    w = r.w

    def in_order(forward: Reg, row: object) -> None:
        def step(number: Reg, _: list[Reg]) -> Sequence[Reg]:
            row(w.select(forward, number, w.sub(w.sub(size, 1), number)))  # type: ignore[operator]
            return ()

        w.loop(0, size, 1, step)

    def by_multiples() -> list[Reg]:
        """Solve row k, and subtract its multiples from the remaining rows: below the diagonal, or above."""

        def row(k: Reg) -> None:
            value = r.quotient(r.load(x, k), triangle.diagonal(k))
            r.store(value, x, k)
            first = w.select(triangle.upper, constant(0, INTEGER), w.add(k, 1))
            count = w.select(triangle.upper, k, w.sub(w.sub(size, 1), k))
            r.subtract(r.at(x, first), [(value, r.element("%a", first, k, triangle.leading))], count)

        in_order(w.not_(triangle.upper), row)
        return []

    def by_sums() -> list[Reg]:
        """Solve row k, which is a column of `a`, after subtracting its dot product with the rows already
        solved."""

        def row(k: Reg) -> None:
            first = w.select(triangle.upper, constant(0, INTEGER), w.add(k, 1))
            count = w.select(triangle.upper, k, w.sub(w.sub(size, 1), k))
            other = r.element("%a", first, k, triangle.leading)
            rest = r.sub(r.load(x, k), r.dot(other, r.at(x, first), count, triangle.sign))
            r.store(r.quotient(rest, triangle.diagonal(k)), x, k)

        in_order(triangle.upper, row)
        return []

    w.one_of(triangle.turned, [by_sums, by_multiples])


def _solve_right(r: Routine, triangle: _Triangle, rows: Reg, columns: Reg, leading: Reg) -> list[Reg]:
    """``x op(a) = b``: column after column of b, of some rows at a time, which stay in the cache."""
    w = r.w
    forward = w.eq(triangle.upper, w.not_(triangle.turned))
    one = constant(1, INTEGER)
    row_step = w.select(triangle.turned, triangle.leading, one)
    column_step = w.select(triangle.turned, one, triangle.leading)

    def numbered(step: Reg) -> Reg:
        return w.select(forward, step, w.sub(w.sub(columns, 1), step))

    for start, stop, vectors, lanes in r.spans(rows):

        def some_rows(at: Reg, _: list[Reg], vectors: int = vectors, lanes: int = lanes) -> Sequence[Reg]:
            def places(column: Reg) -> list[str]:
                here = w.offset(r.element("%b", 0, column, leading), r.dtype, at)
                return [w.offset(here, r.dtype, number * lanes) for number in range(vectors)]

            def solve(step: Reg, _: list[Reg]) -> Sequence[Reg]:
                j = numbered(step)
                here = places(j)

                def subtract(before: Reg, totals: list[Reg]) -> Sequence[Reg]:
                    k = numbered(before)
                    coefficient = w.add(w.mul(k, row_step), w.mul(j, column_step))
                    factor = r.spread(triangle.conjugated(r.load("%a", coefficient)))
                    others = [w.load(place, r.dtype, lanes) for place in places(k)]
                    return [
                        r.minus_product(total, factor, other)
                        for total, other in zip(totals, others, strict=True)
                    ]

                totals = w.loop(0, step, 1, subtract, [w.load(place, r.dtype, lanes) for place in here])
                divisor = triangle.diagonal(j)
                for place, total in zip(here, totals, strict=True):
                    w.store(r.divided(total, divisor), place)
                return ()

            w.loop(0, columns, 1, solve)
            return ()

        w.loop(start, stop, vectors * lanes, some_rows)
    return []


def potrf(r: Routine) -> None:
    """``u^H u = a`` for the upper triangle (uplo U), in its memory; `info` is the first row, from 1 on, that
    is not positive, else 0. A NaN is no failure, as in small matrices."""
    w = r.w
    size, leading = r.integer("n"), r.integer("lda")
    conjugated = constant(1.0, r.dtype)

    def column(j: Reg, seen: list[Reg]) -> Sequence[Reg]:
        own = r.element("%a", 0, j, leading)

        def row(i: Reg, _: list[Reg]) -> Sequence[Reg]:
            other = r.element("%a", 0, i, leading)
            rest = r.sub(r.load(own, i), r.dot(other, own, i, conjugated))
            diagonal = r.load(other, i)[0]
            r.store([w.div(part, diagonal) for part in rest], own, i)
            return ()

        w.loop(0, j, 1, row)
        rest = w.sub(r.load(own, j)[0], r.dot(own, own, j, conjugated)[0])
        r.store([w.sqrt(rest), *r.number(0.0)[1:]], own, j)
        failed = w.and_(w.le(rest, 0.0), w.eq(seen[0], 0))
        return [w.select(failed, w.add(j, 1), seen[0])]

    (info,) = w.loop(0, size, 1, column, [constant(0, INTEGER)])
    w.store(info, "%info")
