"""LU factors with partial pivoting, column after column.

What is above in a column is solved for, all columns before it are taken from the rest, four at a time, and
the largest element becomes the pivot. Source: Golub and Van Loan, Matrix Computations, 4th edition, 3.4.7
(elimination by gaxpys).
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Final

from ..llvm.emitter import Reg, constant
from .routine import INTEGER, Routine

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
