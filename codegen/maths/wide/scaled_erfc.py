"""exp(x^2) erfc x with tables in AVX-512's registers.

(x + K) exp(x^2) erfc x is smooth from 0 to infinity as a function of 1 / (x + K), whose estimate to 14 bits
chooses a polynomial in d = (x - c) / (x + K), c a float in the middle of its range. So neither the estimate
nor the rounding of d counts.
"""

from __future__ import annotations

from typing import Final

from ...llvm.emitter import Emitter, Reg
from ..support import MAGIC, muladd
from ..tables import scaled_erfc as tables
from . import lookup

#: Where x is clamped by those who call: the function is 1 / (sqrt(pi) x) to all digits.
FARTHEST: Final = 1e15


def scaled_erfc(b: Emitter, x: Reg) -> tuple[Reg, Reg]:
    """(y, rest) with exp(x^2) erfc x = y (1 + rest), for 0 <= x <= FARTHEST; y within 1.5 ulp."""
    dtype = x.dtype
    centre = tables.CENTRE[dtype]
    above = b.exact("fadd", x, centre)
    guess = lookup.reciprocal_guess(b, above)
    index = b.bits(muladd(b, guess, tables.CELLS_PER_RECIPROCAL[dtype], MAGIC[dtype]))
    middle, *coefficients = tables.CELLS[dtype]
    minus = b.neg(above)
    error = b.fma(minus, guess, b.const(1.0, x))
    inverse = muladd(b, guess, error, guess)
    if dtype == "f64":
        inverse = muladd(b, inverse, b.mul(error, error), inverse)
    distance = b.mul(b.exact("fsub", x, lookup.lookup(b, middle, index, dtype)), inverse)
    value = lookup.in_two_chains(b, distance, coefficients, index)
    # 1 - (x + K) inverse, what the rounded reciprocal lacks
    lacking = b.fma(b.neg(inverse), x, b.fma(b.const(-centre, x), inverse, b.const(1.0, x)))
    return b.mul(value, inverse), lacking
