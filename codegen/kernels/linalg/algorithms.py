"""Cholesky and LU factorisations and triangular solves, in place, over `Matrix`.

They are stated once, for matrices in registers and in scratch memory, for one lane and for many. Rounding is
the same in all of them: each step is one multiply-add, in one order.

Sources: Golub and Van Loan, Matrix Computations, 4th edition: 3.4.1 (outer-product LU with partial pivoting),
4.2 (outer-product Cholesky), 3.1 (triangular systems).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...llvm.emitter import INT_OF, Reg, constant
from ...llvm.loops import FunctionWriter
from .matrices import Index, Matrix, moved

#: The bits of a float's exponent, and of the exponent of 1.
_EXPONENT: Final = {"f32": 0xFF << 23, "f64": 0x7FF << 52}
_ONE: Final = {"f32": 0x7F << 23, "f64": 0x3FF << 52}
#: The distance from 1 to the next number.
EPSILON: Final = {"f32": 2.0**-23, "f64": 2.0**-52}


class Quotients:
    """Divides many numbers by `divisor` with one division. With `sign`, the divisor has the size of `divisor`
    and that sign, which may be known later."""

    def __init__(self, w: FunctionWriter, divisor: Reg, sign: Reg | None = None) -> None:
        self.w = w
        # the power of two that takes the divisor to [0.5, 1), so that its reciprocal is a normal number; the
        # ends of the range come close
        lowest, one = _EXPONENT[divisor.dtype] & -_EXPONENT[divisor.dtype], _ONE[divisor.dtype]
        exponent = w.and_(w.bits(divisor), _EXPONENT[divisor.dtype])
        self.scale = w.bitcast(w.max(w.sub(2 * one - lowest, exponent), lowest), divisor.dtype)
        self.reciprocal = w.div(1.0, w.mul(divisor, self.scale))
        if sign is not None:
            self.reciprocal = w.copysign(self.reciprocal, sign)

    @classmethod
    def of_parts(cls, w: FunctionWriter, scale: Reg, reciprocal: Reg) -> Quotients:
        """Quotients by the divisor whose `scale` and `reciprocal` another one computed."""
        quotients = cls.__new__(cls)
        quotients.w, quotients.scale, quotients.reciprocal = w, scale, reciprocal
        return quotients

    def of(self, x: Reg) -> Reg:
        """`x` divided by it."""
        return self.w.mul(self.w.mul(x, self.scale), self.reciprocal)


def cholesky(a: Matrix) -> Reg:
    """Lower Cholesky factor in place of `a`, of which the lower triangle is read, and zeros above it. Returns
    the mask of the lanes in which it is not positive definite."""
    w, size = a.w, a.rows

    def column(k: Index, carried: list[Reg]) -> list[Reg]:
        diagonal = a[k, k]
        failed = w.or_(carried[0], w.le(diagonal, 0.0))  # NaN is no failure, as in NumPy
        root = w.sqrt(diagonal)
        a[k, k] = root
        reciprocal = w.div(1.0, root)  # roots are far from the ends of the range
        after = moved(w, k, 1)

        def scale(i: Index) -> None:
            a[i, k] = w.mul(a[i, k], reciprocal)

        a.each(after, size, scale)
        a.subtract_products(after, lambda i: a[i, k], lambda j: a[j, k], lower=True)
        return [failed]

    def clear(i: Index, j: Index) -> None:
        a[i, j] = constant(0.0, a.dtype, a.lanes)

    failed = a.fold(0, size, [constant(False, "bool", a.lanes)], column)[0]
    a.each(0, size, lambda i: a.each(moved(w, i, 1), size, lambda j: clear(i, j)))
    return failed


def lu(a: Matrix, pivots: Matrix, order: Matrix) -> None:
    """LU factors with partial pivoting in place of `a`, the lower one without its diagonal of ones. `pivots`
    (a column of integers) becomes the row that each row was swapped with, `order` (a column) the rows of `a`
    as they stand in the product of the factors."""
    w, size = a.w, min(a.rows, a.columns)

    def step(k: Index, rest: list[Index]) -> None:
        """Find the pivot of column k, and eliminate it from the `rest` of a panel."""
        after = moved(w, k, 1)

        def search(i: Index, carried: list[Reg]) -> list[Reg]:
            best, row = carried
            # as integers: comparing them is no link of the chain, and a NaN is larger than all numbers
            value = w.bits(w.abs(a[i, k]))
            return [w.max(best, value), w.select(w.gt(value, best), number_of(a, i), row)]

        best, row = a.fold(after, a.rows, [w.bits(w.abs(a[k, k])), number_of(a, k)], search)
        pivots[k, 0] = row
        a.swap_rows(k, row)
        order.swap_rows(k, row)
        # where a pivot is zero, so is all below it, and stays
        divide = Quotients(w, _nonzero(w, w.bitcast(best, a.dtype)), a[k, k])
        beside = [a[k, j] for j in rest]

        def eliminate(i: Index) -> None:
            a[i, k] = factor = divide.of(a[i, k])
            for j, value in zip(rest, beside, strict=True):
                a[i, j] = w.fma(w.neg(factor), value, a[i, j])

        a.each(after, a.rows, eliminate)

    def panel(first: Index, width: int) -> None:
        columns = [moved(w, first, number) for number in range(width)]
        for number, k in enumerate(columns):
            step(k, columns[number + 1 :])
        a.subtract_panel(first, width)

    a.each_panel(size, panel)


def cofactors(a: Matrix, x: Matrix) -> None:
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


def adjugate_of_regular(factors: Matrix, order: Matrix, x: Matrix) -> Reg:
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


def _is_odd(order: Matrix) -> Reg:
    """Mask of the lanes whose permutation is odd, which means an odd number of pairs in the wrong order."""
    w, size = order.w, order.rows

    def row(i: Index, carried: list[Reg]) -> list[Reg]:
        number = order[i, 0]

        def pair(j: Index, odd: list[Reg]) -> list[Reg]:
            return [w.xor(odd[0], w.gt(number, order[j, 0]))]

        return order.fold(moved(w, i, 1), size, carried, pair)

    return order.fold(0, size, [constant(False, "bool", order.lanes)], row)[0]


def _permuted_unit(order: Matrix, x: Matrix) -> None:
    """The unit matrix with its rows in `order`, into `x`."""
    w, size = x.w, x.rows

    def element(i: Index, j: Index) -> None:
        x[i, j] = w.select(w.eq(order[i, 0], number_of(x, j)), constant(1.0, x.dtype, x.lanes), 0.0)

    x.each(0, size, lambda i: x.each(0, size, lambda j: element(i, j)))


def adjugate(a: Matrix, rows: Matrix, columns: Matrix, x: Matrix) -> Matrix:
    """The adjugate of any matrix `a`, which it overwrites, with the numbers of `rows` and of `columns`; `x`
    is room.

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
    return x.reordered(columns, inverse=True)


def _factor_completely(a: Matrix, rows: Matrix, columns: Matrix) -> Reg:
    """LU factors with complete pivoting in place of `a`, whose row ``rows[i]`` and column ``columns[i]`` is
    the i-th one there. Returns the product of all pivots but the last, with the sign of the permutations. A
    pivot of zero becomes 1."""
    w, size = a.w, a.rows

    def step(k: Index, carried: list[Reg]) -> list[Reg]:
        (product,), after = carried, moved(w, k, 1)

        def search(i: Index, state: list[Reg]) -> list[Reg]:
            def along(j: Index, state: list[Reg]) -> list[Reg]:
                best, row, column = state
                value = w.abs(a[i, j])
                larger = w.gt(value, best)
                places = [
                    w.select(larger, number_of(a, place), old) for place, old in ((i, row), (j, column))
                ]
                return [w.select(larger, value, best), *places]

            return a.fold(k, size, state, along)

        own = number_of(a, k)
        _, row, column = a.fold(k, size, [w.abs(a[k, k]), own, own], search)
        a.swap_rows(k, row)
        rows.swap_rows(k, row)
        a.swap_columns(k, column)
        columns.swap_rows(k, column)
        odd = w.xor(w.ne(row, own), w.ne(column, own))
        pivot = a[k, k]
        divide = Quotients(w, _nonzero(w, pivot))

        def factor(i: Index) -> Reg:
            a[i, k] = divide.of(a[i, k])
            return a[i, k]

        a.subtract_products(after, factor, lambda j: a[k, j])
        a[k, k] = _nonzero(w, pivot)
        signed = w.select(odd, w.neg(pivot), pivot)
        return [w.mul(product, signed)]

    return a.fold(0, size - 1, [constant(1.0, a.dtype, a.lanes)], step)[0]


def _nonzero(w: FunctionWriter, pivot: Reg) -> Reg:
    """1 in place of a zero: all that is divided by it is zero."""
    return w.select(w.eq(pivot, 0.0), 1.0, pivot)


def number_of(a: Matrix, index: Index) -> Reg:
    """`index` in every lane, as an integer as wide as the elements of `a`."""
    dtype = INT_OF[a.dtype]
    if isinstance(index, int):
        return constant(index, dtype, a.lanes)
    return a.w.splat(a.w.cast(index, dtype), a.lanes)


def solve_triangular(a: Matrix, b: Matrix, *, lower: bool, transposed: bool, unit: bool) -> None:
    """The solution x of ``a @ x = b``, or with `transposed` of ``a.T @ x = b``, in place of `b`. Of `a` the
    `lower` or the upper triangle is read, with `unit` without its diagonal, which counts as ones."""
    w, size, forward = a.w, a.rows, lower != transposed

    def diagonal(k: Index) -> Sequence[Reg]:
        divide = Quotients(w, a[k, k])
        return divide.scale, divide.reciprocal

    kept = None if unit else a.kept(2, diagonal)

    def block(columns: list[Index]) -> None:
        """Solve for some columns, row by row: sums of products are in registers."""

        def row(number: Index) -> None:
            i = number if forward else _from_the_end(w, size, number)

            def subtract(number: Index, sums: list[Reg]) -> list[Reg]:
                k = number if forward else _from_the_end(w, size, number)
                factor = w.neg(a[k, i] if transposed else a[i, k])
                return [w.fma(factor, b[k, j], value) for j, value in zip(columns, sums, strict=True)]

            sums = b.fold(0, number, [w.splat(b[i, j], b.lanes) for j in columns], subtract)
            divide = None if kept is None else Quotients.of_parts(w, *kept(i))
            for j, value in zip(columns, sums, strict=True):
                b[i, j] = value if divide is None else divide.of(value)

        b.each(0, size, row)

    b.each_block(block)


def _from_the_end(w: FunctionWriter, size: int, number: Index) -> Index:
    return size - 1 - number if isinstance(number, int) else w.sub(size - 1, number)


def zero_on_diagonal(a: Matrix) -> Reg:
    """Mask of the lanes in which an element on the diagonal is zero."""

    def step(k: Index, state: list[Reg]) -> list[Reg]:
        return [a.w.or_(state[0], a.w.eq(a[k, k], 0.0))]

    return a.fold(0, a.rows, [constant(False, "bool", a.lanes)], step)[0]
