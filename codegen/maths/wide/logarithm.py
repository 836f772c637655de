"""Logarithms with tables in AVX-512's registers.

x = 2^e m with 3/4 <= m < 3/2; the leading bits of m choose c near 1/m, and log_b x = (e log_b 2 - log_b c) +
log_b(1 + f) with f = m c - 1, at most 1/16 in size. The first sum is exact, since c was chosen so that
log_b c is nearly a multiple of a small power of two; near x = 1 it is 0, and f exact (Gal's accurate
tables; Tang 1990). 0, infinity and NaN go through by themselves as exponents.
"""

from __future__ import annotations

from typing import Final

from ...llvm.emitter import Emitter, Reg
from ..bases import NATURAL, Base
from ..exponential import LN2
from ..support import INFINITY, STORED, bit_pattern, muladd, polynomial, two_sum
from ..tables import logarithms
from . import lookup

#: Bits of a significand that choose a cell.
CELL_BITS: Final = {"f32": 5, "f64": 4}
#: `wide.significand`'s selection: 3/4 <= m < 3/2, and NaN for negative numbers.
POSITIVE_IN_THE_MIDDLE: Final = 3 + 8
#: Largest odds x / (1 - x) of all x below 1 but the last one; floats hold all integers up to it.
LARGEST_ODDS: Final = {"f32": 2.0**24 - 1, "f64": 2.0**53 - 1}
#: `lookup.fixed_up`'s responses: -infinity for 0, infinity for itself, NaN for NaN and what is negative.
OF_ODDS: Final = 0x0353_0422


def split(b: Emitter, x: Reg) -> tuple[Reg, Reg]:
    """(e, m) with x = 2^e m, 3/4 <= m < 3/2, denormals too. NaN as m for x < 0."""
    m = lookup.significand(b, x, POSITIVE_IN_THE_MIDDLE)
    return b.exact("fsub", lookup.exponent(b, x), lookup.exponent(b, m)), m


def cell(b: Emitter, m: Reg) -> Reg:
    """The index of m's cell; higher bits are not cleared."""
    return b.lshr(b.bits(m), STORED[m.dtype] - CELL_BITS[m.dtype])


def combine(
    b: Emitter, e: Reg, m: Reg, low: Reg | None, base: Base, careful: bool, rest: Reg | None = None
) -> Reg:
    """log_b(2^e (m + low)), or log_b(2^e m) + rest; with `careful`, for which the base must be e, one
    rounding less."""
    dtype = m.dtype
    index = cell(b, m)
    c = lookup.lookup(b, base.table("INVERSES")[dtype], index, dtype)
    f = b.fma(m, c, b.const(-1.0, m))
    shift = lookup.lookup(b, base.table("LOGS")[dtype], index, dtype)
    two_high, two_low, scale = base.two_high[dtype], base.two_low[dtype], base.e_high[dtype]
    main = b.exact("fadd", e, shift) if two_high == 1.0 else muladd(b, e, two_high, shift)
    bend = polynomial(b, f, base.table("SERIES")[dtype])
    if low is None and rest is None and scale == 1.0 and not careful:
        return b.exact("fadd", main, muladd(b, b.mul(f, f), bend, muladd(b, e, two_low, f)))
    if low is not None:  # log(1 + f + l) = log(1 + f) + l (1 - f + f^2 ...)
        left = b.mul(low, c)
        left = muladd(b, b.neg(left), f, left)
        rest = left if scale == 1.0 else b.mul(left, scale)
    if two_low:
        rest = b.mul(e, two_low) if rest is None else muladd(b, e, two_low, rest)
    by = b.mul(f, f) if scale == 1.0 else f
    rest = b.mul(by, bend) if rest is None else muladd(b, by, bend, rest)
    if careful:
        return _sum(b, main, f, rest)
    return b.exact("fadd", main, b.fma(f, b.const(scale, f), rest))


def _sum(b: Emitter, main: Reg, f: Reg, rest: Reg) -> Reg:
    """main + f + rest for |main| > |f| or main = 0; main where it is infinite.

    Near 1 + 1/16 the sum is half of `main`, and f + rest nearly as large: the rounding of that would be a
    quarter ulp.
    """
    high, low = two_sum(b, main, f)
    return b.select(b.isnan(low), high, b.exact("fadd", high, b.exact("fadd", low, rest)))


def log(b: Emitter, x: Reg, base: Base) -> Reg:
    """log_b x; C99's values for x not positive and finite come of themselves."""
    e, m = split(b, x)
    # In f32 an exhaustive search found less than 1 ulp without care.
    return combine(b, e, m, None, base, base.e_high[x.dtype] == 1.0 and x.dtype == "f64")


def of_quotient(b: Emitter, x: Reg, y: Reg) -> Reg:
    """ln(x / y) for positive normal numbers with a normal quotient, also where they are near each other."""
    quotient = b.div(x, y)
    e, m = split(b, quotient)
    # x / y = q + r / y with an exact r, and so ln(x / y) = ln q + r / (q y), where q y is x as far as it
    # matters. Beside q = 1 the second term is as large as the first one.
    missing = b.fma(b.neg(quotient), y, x)
    guess = lookup.reciprocal_guess(b, x)
    lacking = b.fma(b.neg(x), guess, b.const(1.0, x))
    rest = b.mul(missing, guess)
    rest = muladd(b, rest, lacking, rest)
    if x.dtype == "f64":
        rest = muladd(b, rest, b.mul(lacking, lacking), rest)
    return combine(b, e, m, None, NATURAL, x.dtype == "f64", rest)


def log1p(
    b: Emitter, x: Reg, x_low: Reg | None, base: Base, more: Reg | None = None, careful: bool = False
) -> Reg:
    """log_b(2^more (1 + x + x_low)); -infinity, infinity and NaN where 1 + x is 0, infinite or negative."""
    u = b.exact("fadd", x, 1.0)
    # Where u is so large that u - 1 is rounded, what is lost does not matter.
    low = b.exact("fsub", x, b.exact("fsub", u, 1.0))
    if x_low is not None:
        low = b.add(low, x_low)
    e, m = split(b, u)
    low = lookup.scale(b, low, b.neg(e))
    value = combine(b, e if more is None else b.add(e, more), m, low, base, careful)
    # NaN may have come of the low part
    return value if careful else b.select(b.lt(b.abs(e), INFINITY), value, e)


def of_double_word(b: Emitter, x: Reg, x_low: Reg, base: Base, more: Reg) -> Reg:
    """log_b(2^more (x + x_low)) for x > 0, infinity and NaN for themselves."""
    e, m = split(b, x)
    low = lookup.scale(b, x_low, b.neg(e))
    return combine(b, b.add(e, more), m, low, base, False)


def log_odds(b: Emitter, x: Reg) -> Reg:
    """ln(x / (1 - x)), within 3 ulp; -infinity for 0, infinity for 1, NaN outside."""
    dtype = x.dtype
    # The bits of infinity less those of w, as a float, are from 2 / w to 9/4 / w; infinity for w = 0, and not
    # 0 for large x, since w is finite.
    w = lookup.fma_toward_zero(b, x, b.const(-1.5, x), b.const(1.5, x))
    quotient = b.mul(x, b.bitcast(b.sub(bit_pattern(INFINITY, dtype), b.bits(w)), dtype))
    # 2^e is within a factor of 3/2 of x / (1 - x), but for the last x below 1; so 1 + 2^e is exact where
    # x is not small
    e = lookup.exponent(b, b.min(quotient, LARGEST_ODDS[dtype]))
    power = lookup.scale(b, b.const(1.0, x), e)
    # x / (1 - x) / 2^e = (1 + s) / (1 - s), where s = (x - 2^e (1 - x)) / (x + 2^e (1 - x))
    difference = b.fma(x, b.add(power, 1.0), b.neg(power))
    s = b.div(difference, b.fma(x, b.const(2.0, x), b.neg(difference)))
    square = b.mul(s, s)
    bend = polynomial(b, square, logarithms.LOG_ODDS_SERIES[dtype])
    value = muladd(b, b.mul(square, s), bend, muladd(b, s, 2.0, b.mul(e, LN2)))
    return lookup.fixed_up(b, value, quotient, OF_ODDS)
