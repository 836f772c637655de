"""Adjugates of matrices, one a lane: by cofactors, by the inverse, and by complete pivoting."""

from __future__ import annotations

from typing import Final

from ...llvm.emitter import Reg, constant
from .algorithms import number_of, solve_triangular
from .matrices import Index, Span, moved
from .memory_matrix import LaneMatrix, ScratchMatrix

#: The distance from 1 to the next number.
EPSILON: Final = {"f32": 2.0**-23, "f64": 2.0**-52}


def cofactors(a: LaneMatrix, x: LaneMatrix) -> None:
    """The adjugate of `a`, of up to three rows, into `x`: each minor with an error of few roundings of its
    own, so that matrices of rank 1 have nearly zero, too.

    Kahan's difference of products, see Jeannerod, Louvet and Muller 2013: ``p q - r s`` is
    ``fma(p, q, -t) + fma(-r, s, t)`` with ``t = r s`` rounded.
    """
    w, size = a.w, a.rows

    def minor(p: Reg, q: Reg, r: Reg, s: Reg) -> Reg:
        product = w.mul(r, s)
        return w.add(w.fma(p, q, w.neg(product)), w.fma(w.neg(r), s, product))

    def element(i: int, j: int) -> Reg:
        if size == 1:
            return constant(1.0, a.dtype, a.lanes)
        if size == 2:
            return a[1 - j, 1 - i] if i == j else w.neg(a[i, j])
        # rows and columns in a circle: the sign is in their order
        (below, last), (right, end) = [((k + 1) % 3, (k + 2) % 3) for k in (j, i)]
        return minor(a[below, right], a[last, end], a[below, end], a[last, right])

    for i in range(size):
        for j in range(size):
            x[i, j] = element(i, j)


def adjugate_of_regular(factors: LaneMatrix, order: LaneMatrix, x: LaneMatrix) -> Reg:
    """``det(a) a^-1`` into `x`, by the LU factors of a; in which lanes a is regular by far, so that it is
    accurate."""
    w, size = factors.w, factors.rows

    def diagonal(k: Index, carried: list[Reg]) -> list[Reg]:
        product, largest = carried
        pivot = factors[k, k]
        return [w.mul(product, pivot), w.max(largest, w.abs(pivot))]

    start = [constant(value, factors.dtype, factors.lanes) for value in (1.0, 0.0)]
    product, largest = factors.fold(0, size, start, diagonal)
    bound = w.mul(largest, size * EPSILON[factors.dtype])

    def is_large(k: Index, carried: list[Reg]) -> list[Reg]:
        return [w.and_(carried[0], w.gt(w.abs(factors[k, k]), bound))]

    regular = factors.fold(0, size, [constant(True, "bool", factors.lanes)], is_large)[0]
    odd = _is_odd(order)
    determinant = w.select(odd, w.neg(product), product)
    _permuted_unit(order, x)
    solve_triangular(factors, x, lower=True, transposed=False, unit=True)
    solve_triangular(factors, x, lower=False, transposed=False, unit=False)

    def scale(i: Index, j: Index) -> None:
        x[i, j] = w.mul(x[i, j], determinant)

    x.each(0, size, lambda i: x.each(0, size, lambda j: scale(i, j)))
    return regular


def _is_odd(order: LaneMatrix) -> Reg:
    """Mask of the lanes whose permutation is odd, which means an odd number of pairs in the wrong order."""
    w, size = order.w, order.rows

    def row(i: Index, carried: list[Reg]) -> list[Reg]:
        number = order[i, 0]

        def pair(j: Index, odd: list[Reg]) -> list[Reg]:
            return [w.xor(odd[0], w.gt(number, order[j, 0]))]

        return order.fold(moved(w, i, 1), size, carried, pair)

    return order.fold(0, size, [constant(False, "bool", order.lanes)], row)[0]


def _permuted_unit(order: LaneMatrix, x: LaneMatrix) -> None:
    """The unit matrix with its rows in `order`, into `x`."""
    w, size = x.w, x.rows

    def element(i: Index, j: Index) -> None:
        x[i, j] = w.select(w.eq(order[i, 0], number_of(order, j)), constant(1.0, x.dtype, x.lanes), 0.0)

    x.each(0, size, lambda i: x.each(0, size, lambda j: element(i, j)))


def adjugate(a: LaneMatrix, rows: LaneMatrix, columns: LaneMatrix, x: LaneMatrix) -> None:
    """The adjugate of any matrix `a`, which it overwrites, with the numbers of `rows` and of `columns`, into
    `x`: its rows are to be moved to the places that `columns` tells then.

    By complete pivoting ``P a Q = L U`` and ``adj(a) = det(P) det(Q) Q adj(U) L^-1 P``. Of
    ``U = [V v; 0 d]`` it is ``adj(U) = det(V) [d V^-1, -V^-1 v; 0, 1]``, where no division is by the last
    pivot d. Where the one before is zero, the rank is n - 2 or less, and the adjugate zero.
    """
    w, size = a.w, a.rows
    factor = _factor_completely(a, rows, columns)
    _permuted_unit(rows, x)
    solve_triangular(a, x, lower=True, transposed=False, unit=True)
    last = a[size - 1, size - 1]

    def scale(i: Index, j: Index) -> None:
        x[i, j] = w.mul(x[i, j], last)

    a.each(0, size - 1, lambda i: a.each(0, size, lambda j: scale(i, j)))
    a[size - 1, size - 1] = constant(1.0, a.dtype, a.lanes)
    solve_triangular(a, x, lower=False, transposed=False, unit=False)

    def whole(i: Index, j: Index) -> None:
        x[i, j] = w.mul(x[i, j], factor)

    a.each(0, size, lambda i: a.each(0, size, lambda j: whole(i, j)))


def _factor_completely(a: LaneMatrix, rows: LaneMatrix, columns: LaneMatrix) -> Reg:
    """LU factors with complete pivoting in place of `a`, whose row ``rows[i]`` and column ``columns[i]`` is
    the i-th one there. Returns the product of all pivots but the last, with the sign of the permutations. A
    pivot of zero becomes 1."""
    assert isinstance(a, ScratchMatrix), "its transpose is the same memory"
    w, size = a.w, a.rows

    def step(k: Index, carried: list[Reg]) -> list[Reg]:
        (product,), after = carried, moved(w, k, 1)

        def search(i: Index, state: list[Reg]) -> list[Reg]:
            def along(j: Index, state: list[Reg]) -> list[Reg]:
                best, row, column = state
                value = w.abs(a[i, j])
                larger = w.gt(value, best)
                places = [
                    w.select(larger, number_of(rows, place), old) for place, old in ((i, row), (j, column))
                ]
                return [w.select(larger, value, best), *places]

            return a.fold(k, size, state, along)

        own = number_of(rows, k)
        _, row, column = a.fold(k, size, [w.abs(a[k, k]), own, own], search)
        a.swap_rows(k, row)
        rows.swap_rows(k, row)
        a.transposed().swap_rows(k, column)
        columns.swap_rows(k, column)
        odd = w.xor(w.ne(row, own), w.ne(column, own))
        pivot = a[k, k]
        nonzero = a.numbers.nonzero(pivot)
        divide = a.numbers.quotients(nonzero)

        def factor(i: Index) -> None:
            a[i, k] = divide.of(a[i, k])

        a.each(after, size, factor)
        a.subtract_panel(Span(k, 1))
        a[k, k] = nonzero
        signed = w.select(odd, w.neg(pivot), pivot)
        return [w.mul(product, signed)]

    return a.fold(0, size - 1, [constant(1.0, a.dtype, a.lanes)], step)[0]
