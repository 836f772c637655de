"""Triangular systems by code of our own, in place: in tiles of registers, and of one vector.

Lanes lie along the right sides, which are contiguous. A tile has some rows of them: products with the rows
that are solved already are taken from it, then it is solved in registers. BLAS's ``trsm`` copies both
operands first. Its time over this one's, as many right sides as rows, one thread of a Zen 4, factors lower,
upper and transposed: f64 2.9 to 3.6 at 48 rows, 2.0 to 2.7 at 200, 1.4 to 1.7 at 512, 1.0 to 1.4 at 1,000.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...llvm.emitter import Reg, constant
from ...lowering.kernel import PRODUCT_SLOWDOWN
from ..linalg.algorithms import solve_triangular
from ..linalg.columns import Columns
from .problem import Problem

#: Bytes of a factor up to which this pays: every strip of right sides reads it again.
MAX_BYTES: Final = 1 << 21


def fits_tiles(p: Problem, size: int, columns: int) -> bool:
    """Whether a triangular system of `p` is solved in tiles."""
    fits = p.parts == 1 and p.lanes > 1 and columns >= p.lanes and size * size * p.bytes <= MAX_BYTES
    return fits or (columns > 1 and not p.caller.has("trsm"))


def solve_in_tiles(
    p: Problem, factor: str, right: str, size: int, columns: int,
    *, lower: bool, transposed: bool, unit: bool,
) -> None:  # fmt: skip
    """Solve ``op(factor) x = right`` in place of `right`; op transposes as said. Of `factor` the `lower` or
    the upper triangle is read, with `unit` without its diagonal, which counts as ones."""
    p.slowdown = PRODUCT_SLOWDOWN
    a, x = p.matrix(factor, size, size), p.matrix(right, size, columns)
    solve_triangular(a, x, lower=lower, transposed=transposed, unit=unit)


def solve_vector(
    p: Problem, factor: str, x: str, size: int, *, lower: bool, transposed: bool, unit: bool
) -> None:  # fmt: skip
    """Solve for one vector. Lanes lie along rows of `factor`: what is solved for is a sum over one, or is
    taken from all that remain by one."""
    w, columns = p.w, Columns(p.w, p.lanes, p.dtype, p.parts)
    forward, no_conjugate = lower != transposed, constant(-1.0, p.dtype)

    def row(number: Reg, _: list[Reg]) -> Sequence[Reg]:
        k = number if forward else w.sub(constant(size - 1, "i64"), number)
        below = w.add(k, 1)
        start, count = (constant(0, "i64"), k) if lower else (below, w.sub(constant(size, "i64"), below))
        line = columns.at(factor, w.add(w.mul(k, size), start))
        value = columns.load(x, k)
        if not transposed:
            value = columns.sub(value, columns.dot(line, columns.at(x, start), count, no_conjugate))
        if not unit:
            value = columns.quotient(value, columns.load(factor, w.mul(k, size + 1)))
        columns.store(value, x, k)
        if transposed:
            columns.subtract(columns.at(x, start), [(value, line)], count)
        return ()

    w.loop(0, size, 1, row)
