"""erf and erfc.

erf: an odd series up to 1, beyond it 1 - exp(-x P(x)). erfc: exp(-x^2) P(q) / (x + K) with q = (x - K) / (x
+ K) for all x >= 0 (Shepherd and Laframboise 1981), x^2 as a double word, and 2 - erfc(-x) below. With
tables in registers, erf and exp(x^2) erfc x are polynomials on ranges (`wide.lookup`).
"""

from __future__ import annotations

from typing import Final

from ..llvm.emitter import Emitter, Reg
from .exponential import exp_product, expm1_reduced, reduce, scale
from .support import BIAS, muladd, polynomial, power_of_two, two_product
from .tables import elementary, piecewise
from .wide import lookup
from .wide.lookup import scaled_erfc

#: erf is 1, and erfc is 0, from here on.
ERF_TOP: Final = {"f32": 4.0, "f64": 6.0}
#: Argument from which erf is 1 in f64 by its tables in registers.
BELOW_TOP: Final = 5.97
ERFC_TOP: Final = {"f32": 10.5, "f64": 27.5}


def erf(b: Emitter, x: Reg) -> Reg:
    """The error function, within 1.6 ulp in f32, 2 in f64."""
    dtype = x.dtype
    size = b.abs(x)
    if lookup.usable(b, x):
        if dtype == "f32":
            return lookup.odd_by_eighths(b, x, piecewise.ERF_EIGHTHS)
        value = lookup.around_centres(b, b.min(BELOW_TOP, size), piecewise.ERF_CELLS, piecewise.ERF_STEP)
        return b.copysign(value, x)
    near = muladd(b, size, polynomial(b, b.mul(x, x), elementary.ERF_SMALL[dtype]), size)
    held = b.min(ERF_TOP[dtype], size)
    exponent = b.mul(
        b.neg(held), polynomial(b, b.sub(held, elementary.ERF_MIDDLE[dtype]), elementary.ERF_TAIL[dtype])
    )
    biased, r = reduce(b, exponent, BIAS[dtype])
    power = power_of_two(b, b.bits(biased), dtype)
    far = b.sub(1.0, muladd(b, power, expm1_reduced(b, r), power))
    return b.copysign(b.select(b.gt(size, 1.0), far, near), x)


def _sum_of_product(b: Emitter, constant: float, x: Reg, y: Reg) -> tuple[Reg, Reg]:
    """constant + x y as a double word, where the constant is the larger part."""
    high = b.fma(x, y, b.const(constant, x))
    return high, b.fma(x, y, b.exact("fsub", constant, high))


def erfc(b: Emitter, x: Reg) -> Reg:
    """1 - erf x without cancellation, within 3.1 ulp in f32, 3.5 in f64, denormal results too."""
    dtype = x.dtype
    size = b.min(ERFC_TOP[dtype], b.abs(x))
    tail = _upper_wide(b, size) if lookup.usable(b, x) else _upper(b, size)
    return b.select(b.lt(x, 0.0), b.sub(2.0, tail), tail)


def _upper_wide(b: Emitter, size: Reg) -> Reg:
    """erfc at 0 <= size <= ERFC_TOP where `wide` can be used."""
    scaled, rest = scaled_erfc(b, size)
    high, low = two_product(b, size, size)
    return exp_product(b, b.neg(high), b.neg(low), scaled, rest)


def _upper(b: Emitter, size: Reg) -> Reg:
    """erfc at 0 <= size <= ERFC_TOP."""
    dtype = size.dtype
    centre = elementary.ERFC_CENTRE[dtype]
    inverse = b.div(1.0, b.add(size, centre))
    q = b.mul(b.sub(size, centre), inverse)
    # q (x + K) = x - K, whatever the roundings above: x - K (q + 1) - q x is what is missing.
    missing = b.fma(b.neg(q), size, b.fma(b.exact("fadd", q, 1.0), b.const(-centre, size), size))
    q = muladd(b, missing, inverse, q)
    first, *others = elementary.ERFC[dtype]
    slope = polynomial(b, q, others)
    sum_, sum_low = _sum_of_product(b, first, q, slope)
    factor, factor_low = two_product(b, sum_, inverse)
    factor_low = muladd(b, sum_low, inverse, factor_low)
    high, low = two_product(b, size, size)
    biased, r = reduce(b, b.neg(high), 2 * BIAS[dtype])
    excess = expm1_reduced(b, r)
    # 1 - (x + K) inverse, what the rounded reciprocal lacks.
    minus = b.neg(inverse)
    lacking = b.fma(minus, size, b.fma(minus, b.const(centre, size), b.const(1.0, size)))
    small = b.sub(lacking, low)
    small = muladd(b, small, excess, small)
    tail = b.exact("fadd", factor, muladd(b, factor, b.add(excess, small), factor_low))
    return scale(b, tail, biased)
