"""QR factors by reflections, column after column.

A reflection is ``1 - tau v v^H`` with v[0] = 1, in LAPACK's convention. Source: Golub and Van Loan, Matrix
Computations, 4th edition, 5.1 and 5.2; LAPACK's larfg.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..kernels.lapack.elements import Parts
from ..llvm.emitter import BITS, Reg, constant
from .routine import Routine


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
