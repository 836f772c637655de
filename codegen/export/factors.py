"""Triangular systems, Cholesky factors, LU factors with partial pivoting and QR factors, column after column.

Source: Golub and Van Loan, Matrix Computations, 4th edition: 3.1 (triangular systems), 4.2.5 (Cholesky
factors by inner products).

LU: what is above in a column is solved for, all columns before it are taken from the rest, four at a time,
and the largest element becomes the pivot. Source: Golub and Van Loan, Matrix Computations, 4th edition, 3.4.7
(elimination by gaxpys).

QR: a reflection is ``1 - tau v v^H`` with v[0] = 1, in LAPACK's convention. Source: Golub and Van Loan,
Matrix Computations, 4th edition, 5.1 and 5.2; LAPACK's larfg.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Final

from ..kernels.lapack.elements import Parts
from ..llvm.emitter import BITS, Reg, constant
from .routine import INTEGER, Routine


def geqrf(r: Routine) -> None:
    """R above the diagonal and the reflections' vectors below it, in the memory of the m x n matrix."""
    w = r.w
    rows, columns, leading = r.integer("m"), r.integer("n"), r.integer("lda")

    def step(k: Reg, _: list[Reg]) -> Sequence[Reg]:
        own, below = r.element("%a", k, k, leading), w.sub(w.sub(rows, 1), k)
        tau = _reflection(r, own, below)
        r.store(tau, "%tau", k)
        _apply(r, own, below, _conjugate(r, tau), w.add(k, 1), columns, k, leading)
        return ()

    w.loop(0, w.min(rows, columns), 1, step)
    w.store(constant(0, "i64"), "%info")


def orgqr(r: Routine) -> None:
    """The first n columns of the product of k reflections, in their memory."""
    w = r.w
    rows, columns, count, leading = (r.integer(name) for name in ("m", "n", "k", "lda"))
    nbytes = BITS[r.dtype] // 8 * r.parts

    def unit(j: Reg, _: list[Reg]) -> Sequence[Reg]:
        own = r.element("%a", 0, j, leading)
        w.clear(own, w.mul(rows, nbytes))
        r.store(r.number(1.0), own, j)
        return ()

    w.loop(count, columns, 1, unit)

    def step(number: Reg, _: list[Reg]) -> Sequence[Reg]:
        k = w.sub(w.sub(count, 1), number)
        own, below = r.element("%a", k, k, leading), w.sub(w.sub(rows, 1), k)
        tau = r.load("%tau", k)
        _apply(r, own, below, tau, w.add(k, 1), columns, k, leading)
        minus = [w.neg(part) for part in tau]
        r.multiply(r.at(own, 1), minus, below)
        r.store(r.add(r.number(1.0), minus), own, 0)
        w.clear(r.element("%a", 0, k, leading), w.mul(k, nbytes))
        return ()

    w.loop(0, count, 1, step)
    w.store(constant(0, "i64"), "%info")


def _reflection(r: Routine, own: str, below: Reg) -> Parts:
    """Make all `below` the first element of a column zero by a reflection, and return its tau. Its vector
    takes their memory, and the element that remains that of the first."""
    w = r.w
    alpha, rest = r.load(own, 0), r.at(own, 1)
    largest_below = r.largest(rest, below)
    nothing = w.eq(largest_below, 0.0)
    if r.parts > 1:
        nothing = w.and_(nothing, w.eq(alpha[1], 0.0))

    def reflect() -> list[Reg]:
        largest = largest_below
        for part in alpha:
            largest = w.max(w.abs(part), largest)
        size = r.norm(own, w.add(below, 1), largest)
        beta = w.neg(w.copysign(size, alpha[0]))
        tau = [w.div(w.sub(beta, alpha[0]), beta), *[w.div(w.neg(part), beta) for part in alpha[1:]]]
        r.divide(rest, [w.sub(alpha[0], beta), *alpha[1:]], below)
        r.store([beta, *r.number(0.0)[1:]], own, 0)
        return tau

    return w.when(w.not_(nothing), reflect, r.number(0.0))


def _apply(
    r: Routine, vector: str, below: Reg, tau: Parts, first: Reg, stop: Reg, row: Reg, leading: Reg
) -> None:
    """Apply a reflection to the columns from `first` to `stop`, from `row` on."""
    w, conjugated = r.w, constant(1.0, r.dtype)

    def column(j: Reg, _: list[Reg]) -> Sequence[Reg]:
        own = r.element("%a", row, j, leading)
        rest, tail = r.at(own, 1), r.at(vector, 1)
        head = r.load(own, 0)
        factor = r.mul(tau, r.add(head, r.dot(tail, rest, below, conjugated)))
        r.store(r.sub(head, factor), own, 0)
        r.subtract(rest, [(factor, tail)], below)
        return ()

    w.loop(first, stop, 1, column)


def _conjugate(r: Routine, x: Parts) -> Parts:
    return [x[0], *[r.w.neg(part) for part in x[1:]]]


#: Columns that are taken from another one at a time.
_AT_A_TIME: Final = 4


def getrf(r: Routine) -> None:
    """Factors of an m x n matrix in its memory, pivots from 1 on; `info` is the first zero among them."""
    w = r.w
    rows, columns, leading = r.integer("m"), r.integer("n"), r.integer("lda")
    least = w.min(rows, columns)

    def step(j: Reg, seen: list[Reg]) -> Sequence[Reg]:
        own = r.element("%a", 0, j, leading)
        above = w.min(j, least)
        _solve_above(r, own, above, leading)
        _subtract_columns(r, own, above, w.sub(rows, above), leading)
        return w.when(w.lt(j, least), lambda: [pivot(j, own, seen[0])], seen)

    def pivot(j: Reg, own: str, seen: Reg) -> Reg:
        row = _pivot(r, own, j, rows)
        w.store(w.add(row, 1), w.offset("%ipiv", INTEGER, j))
        w.when(w.ne(row, j), lambda: _swap(r, j, row, columns, leading))
        value = r.load(own, j)
        zero = r.is_zero(value)
        below = w.add(j, 1)
        w.when(w.not_(zero), lambda: r.divide(r.at(own, below), value, w.sub(rows, below)))
        return w.select(w.and_(zero, w.eq(seen, 0)), below, seen)

    (info,) = w.loop(0, columns, 1, step, [constant(0, INTEGER)])
    w.store(info, "%info")


def _solve_above(r: Routine, own: str, above: Reg, leading: Reg) -> None:
    """Solve for the first `above` elements, by the triangle left of them."""
    w = r.w

    def row(k: Reg, _: list[Reg]) -> Sequence[Reg]:
        below = w.add(k, 1)
        term = r.load(own, k), r.element("%a", below, k, leading)
        r.subtract(r.at(own, below), [term], w.sub(above, below))
        return ()

    w.loop(0, above, 1, row)


def _subtract_columns(r: Routine, own: str, above: Reg, count: Reg, leading: Reg) -> None:
    """Subtract the first `above` columns, times the elements solved for, from the `count` elements below."""
    w, rest = r.w, r.at(own, above)

    def some(first: Reg, _: list[Reg], many: int) -> Sequence[Reg]:
        numbers = [w.add(first, number) for number in range(many)]
        terms = [(r.load(own, k), r.element("%a", above, k, leading)) for k in numbers]
        r.subtract(rest, terms, count)
        return ()

    whole = w.and_(above, -_AT_A_TIME)
    w.loop(0, whole, _AT_A_TIME, functools.partial(some, many=_AT_A_TIME))
    w.loop(whole, above, 1, functools.partial(some, many=1))


def _pivot(r: Routine, own: str, j: Reg, rows: Reg) -> Reg:
    """The row from j on of the element whose parts' sizes have the largest sum, the first of equal ones."""
    w = r.w

    def size(i: Reg) -> Reg:
        return functools.reduce(w.add, [w.abs(part) for part in r.load(own, i)])

    def search(i: Reg, carried: list[Reg]) -> Sequence[Reg]:
        best, row = carried
        value = size(i)
        larger = w.gt(value, best)
        return [w.select(larger, value, best), w.select(larger, i, row)]

    return w.loop(w.add(j, 1), rows, 1, search, [size(j), j])[1]


def _swap(r: Routine, row: Reg, other: Reg, columns: Reg, leading: Reg) -> list[Reg]:
    """Swap two rows of the whole matrix."""

    def column(k: Reg, _: list[Reg]) -> Sequence[Reg]:
        places = [r.element("%a", number, k, leading) for number in (row, other)]
        values = [r.load(place, 0) for place in places]
        for place, value in zip(places, reversed(values), strict=True):
            r.store(value, place, 0)
        return ()

    r.w.loop(0, columns, 1, column)
    return []


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
