"""Cholesky and LU factorisations and triangular solves, in place, over `Matrix`.

They are stated once: for matrices in registers, for many in lanes of scratch memory, and for one by vectors
of its rows. All are substitutions, in which a row loses its multiples of those that are finished. Rounding is
the same in all of them: each step is one multiply-add, in one order.

Sources: Golub and Van Loan, Matrix Computations, 4th edition: 3.4.1 (outer-product LU with partial pivoting),
4.2 (outer-product Cholesky), 3.1 (triangular systems).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from ...llvm.emitter import Reg, constant
from ...llvm.loops import FunctionWriter
from .matrices import Index, Matrix, Span, Strip, moved

# -- substitution -----------------------------------------------------------------------------------


#: Last step of a row, given its place among the rows of a tile, its number and its vectors.
_Finish: TypeAlias = Callable[[int, Index, list[Reg]], list[Reg]]


def _substitute(
    x: Matrix, strip: Strip, tile: Span, factors: Callable[[Span, Index], Sequence[Reg]], finish: _Finish,
    *, forward: bool = True, apart: bool = False,
) -> None:  # fmt: skip
    """Solve for the rows of a `tile` of a strip of `x`: each loses its multiples of all rows solved before,
    and is finished. ``factors(rows, k)`` are those of row k. Rows are solved downward, or upward, in which
    order tiles come, too. Sums of products are `apart` from what they are taken from, or begin with it.
    """
    w, size = x.w, x.rows
    above = tile.first if forward else _from_the_end(w, size, moved(w, tile.first, tile.count - 1))

    def reduce(number: Index, sums: list[Reg]) -> list[Reg]:
        k = number if forward else _from_the_end(w, size, number)
        return x.numbers.reduced(sums, factors(tile, k), strip.row(k))

    values = strip.rows(w, tile)
    if apart:
        sums = x.fold(0, above, [w.const(0.0, value) for value in values], reduce)
        sums = [w.add(value, total) for value, total in zip(values, sums, strict=True)]
    else:
        sums = x.fold(0, above, values, reduce)
    rows = [sums[start : start + strip.count] for start in range(0, len(sums), strip.count)]
    for done in range(tile.count):
        place = done if forward else tile.count - 1 - done
        k = moved(w, tile.first, place)
        solved = finish(place, k, rows[place])
        strip.set_row(k, solved)
        rest = range(place + 1, tile.count) if forward else range(place)
        if rest:
            span = Span(moved(w, tile.first, rest.start), len(rest))
            for other, factor in zip(rest, factors(span, k), strict=True):
                rows[other] = x.numbers.reduced(rows[other], [factor], solved)


def solve_triangular(a: Matrix, x: Matrix, *, lower: bool, transposed: bool, unit: bool) -> None:
    """The solution of ``a @ x = b``, or with `transposed` of ``a.T @ x = b``, in place of b. Of `a` the
    `lower` or the upper triangle is read, with `unit` without its diagonal, which counts as ones."""
    forward = lower != transposed
    quotients = None if unit else a.quotients()

    def factors(rows: Span, k: Index) -> Sequence[Reg]:
        return a.line(rows, k, transposed=transposed)

    def divide(place: int, i: Index, values: list[Reg]) -> list[Reg]:
        if quotients is None:
            return values
        quotient = quotients(i)
        return [quotient.of(value) for value in values]

    def columns(strip: Strip) -> None:
        def tile(rows: Span, _: list[Reg]) -> Sequence[Reg]:
            span = rows if forward else _mirrored(x, rows)
            _substitute(x, strip, span, factors, divide, forward=forward)
            return ()

        x.fold_spans(0, x.rows, x.tile_rows, (), tile)

    x.strips(0, columns)


def zero_on_diagonal(a: Matrix) -> Reg:
    """Mask of the lanes in which an element on the diagonal is zero."""

    def step(k: Index, state: list[Reg]) -> list[Reg]:
        return [a.w.or_(state[0], a.w.eq(a[k, k], 0.0))]

    return a.fold(0, a.rows, [constant(False, "bool", a.lanes)], step)[0]


def _mirrored(x: Matrix, rows: Span) -> Span:
    """The rows as far from the last one of `x` as `rows` are from the first."""
    return Span(_from_the_end(x.w, x.rows, moved(x.w, rows.first, rows.count - 1)), rows.count)


def _from_the_end(w: FunctionWriter, size: Index, number: Index) -> Index:
    if isinstance(number, int) and isinstance(size, int):
        return size - 1 - number
    return w.sub(w.sub(size, 1) if isinstance(size, Reg) else size - 1, number)


# -- Cholesky factors -------------------------------------------------------------------------------


def cholesky(u: Matrix) -> Reg:
    """Upper Cholesky factor in place of `u`, of which the upper triangle is read; what is below it may
    change. Returns the mask of the lanes in which it is not positive definite.

    ``u^H u`` is a system with the matrix u^H, whose solution is u itself.
    """
    w, numbers = u.w, u.numbers

    def factors(rows: Span, k: Index) -> Sequence[Reg]:
        return numbers.conjugates(u.line(rows, k, transposed=True))

    def rows(block: Span, carried: list[Reg]) -> Sequence[Reg]:
        failed, divisors = carried[0], list[Reg]()

        def root(place: int, i: Index, values: list[Reg]) -> list[Reg]:
            nonlocal failed
            diagonal = numbers.real(values[place])
            failed = w.or_(failed, w.le(diagonal, 0.0))  # NaN is no failure, as in NumPy
            root = w.sqrt(diagonal)
            # roots are far from the ends of the range
            divisors.append(root if u.careful else w.div(1.0, root))
            return [*values[:place], numbers.of_real(root), *scale(place, i, values[place + 1 :])]

        def scale(place: int, i: Index, values: list[Reg]) -> list[Reg]:
            divide = w.div if u.careful else w.mul
            return [divide(value, divisors[place]) for value in values]

        def columns(strip: Strip, finish: _Finish = scale) -> None:
            _substitute(u, strip, block, factors, finish, apart=u.careful)

        columns(u.square(block), root)
        u.strips(moved(w, block.first, block.count), columns, block.count)
        return [failed]

    none = constant(False, "bool", u.lanes // numbers.parts)
    return u.fold_spans(0, u.rows, u.panel, [none], rows)[0]


# -- LU factors -------------------------------------------------------------------------------------


def number_of(a: Matrix, index: Index) -> Reg:
    """`index` in every lane, as an element of the integers `a`."""
    if isinstance(index, int):
        return constant(index, a.dtype, a.lanes)
    return a.w.splat(a.w.cast(index, a.dtype), a.lanes)


def lu(a: Matrix, pivots: Matrix, order: Matrix) -> None:
    """LU factors with partial pivoting in place of `a`, the lower one without its diagonal of ones. `pivots`
    (a column of integers) becomes the row that each row was swapped with, `order` (a column) the rows of `a`
    as they stand in the product of the factors."""
    w, numbers = a.w, a.numbers

    def step(k: Index, rest: Span) -> None:
        """Find the pivot of column k, and eliminate it from the `rest` of a panel."""
        after = moved(w, k, 1)

        def search(i: Index, carried: list[Reg]) -> list[Reg]:
            best, row = carried
            # as integers: comparing them is no link of the chain, and a NaN is larger than all numbers
            value = w.bits(numbers.size(a[i, k]))
            return [w.max(best, value), w.select(w.gt(value, best), number_of(pivots, i), row)]

        start = [w.bits(numbers.size(a[k, k])), number_of(pivots, k)]
        best, row = a.fold(after, a.rows, start, search)
        pivots[k, 0] = row
        a.swap_rows(k, row)
        order.swap_rows(k, row)
        divide = numbers.pivot_quotients(a[k, k], w.bitcast(best, a.dtype))
        right = a.square(rest)
        beside = right.row(k)

        def eliminate(i: Index) -> None:
            a[i, k] = factor = divide.of(a[i, k])
            right.set_row(i, numbers.reduced(right.row(i), [factor], beside))

        a.each(after, a.rows, eliminate)

    def panel(columns: Span, _: list[Reg]) -> Sequence[Reg]:
        for number in range(columns.count):
            rest = Span(moved(w, columns.first, number + 1), columns.count - number - 1)
            step(moved(w, columns.first, number), rest)
        a.subtract_panel(columns)
        return ()

    rows, columns = a.rows, a.columns
    least = min(rows, columns) if isinstance(rows, int) and isinstance(columns, int) else w.min(rows, columns)
    a.fold_spans(0, least, a.panel, (), panel)
