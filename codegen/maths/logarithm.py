"""log, log2, log10, log1p, and the double-word kernel that the inverse hyperbolic functions use.

x = 2^e m with sqrt(1/2) <= m < sqrt(2), f = m - 1, and log(1 + f) = f + q(f): a polynomial in f32, in f64
the series in s = f / (2 + f) as fdlibm arranges it. The sum e log_b(2) + f log_b(e) is kept as a double
word, so that the rounding of q is all that is left beside the last one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ..llvm.emitter import Emitter, Reg
from .bases import BINARY, DECIMAL, NATURAL, Base
from .exponential import LN2, exp, exp2
from .support import (
    BIAS,
    INFINITY,
    MAGIC,
    NAN,
    SMALLEST_NORMAL,
    STORED,
    bit_pattern,
    integer_like,
    muladd,
    polynomial,
    power_of_two,
    two_product,
    two_sum,
)
from .tables import elementary
from .wide import logarithm, lookup

SQRT_HALF: Final = 0.5**0.5


def split(b: Emitter, x: Reg) -> tuple[Reg, Reg]:
    """(exponent as an integer, m) with x = 2^exponent m, for positive normal x."""
    bits = b.bits(x)
    exponent = b.shr(b.sub(bits, bit_pattern(SQRT_HALF, x.dtype)), STORED[x.dtype])
    return exponent, b.bitcast(b.sub(bits, b.shl(exponent, STORED[x.dtype])), x.dtype)


def exponent_as_float(b: Emitter, exponent: Reg, dtype: str, offset: Reg | None = None) -> Reg:
    """The small integer `exponent` as a float, less `offset`.

    For f64 through the low bits of a large constant: few machines convert vectors of i64.
    """
    if dtype == "f32":
        value = b.cast(exponent, "f32")
        return value if offset is None else b.sub(value, offset)
    shifted = b.bitcast(b.add(exponent, bit_pattern(MAGIC[dtype], dtype)), dtype)
    if offset is None:
        return b.exact("fsub", shifted, MAGIC[dtype])
    return b.exact("fsub", shifted, offset)


def split_any(b: Emitter, x: Reg) -> tuple[Reg, Reg]:
    """(exponent as a float, m) for positive x, denormals too."""
    dtype = x.dtype
    lift = STORED[dtype] + 1
    denormal = b.lt(x, SMALLEST_NORMAL[dtype])
    exponent, m = split(b, b.select(denormal, b.mul(x, 2.0**lift), x))
    base = MAGIC[dtype] if dtype == "f64" else 0.0
    offset = b.select(denormal, b.const(base + lift, x), base)
    return exponent_as_float(b, exponent, dtype, offset), m


def log1p_excess(b: Emitter, f: Reg) -> Reg:
    """log(1 + f) - f for sqrt(1/2) <= 1 + f <= sqrt(2)."""
    if f.dtype == "f32":
        square = b.mul(f, f)
        tail = b.mul(b.mul(square, f), polynomial(b, f, elementary.LOG["f32"], square))
        return muladd(b, b.mul(f, -0.5), f, tail)
    # log(1 + f) = f - f^2/2 + s (f^2/2 + z L(z)): fdlibm, e_log.c
    s = b.div(f, b.add(f, 2.0))
    z = b.mul(s, s)
    minus_half_square = b.mul(b.mul(f, -0.5), f)
    inner = muladd(b, z, polynomial(b, z, elementary.LOG["f64"]), b.neg(minus_half_square))
    return muladd(b, s, inner, minus_half_square)


def _scaled_excess(b: Emitter, f: Reg, scale: float, more: Reg) -> Reg:
    """scale (log(1 + f) - f) + more; in f32 with the square as a double word, as its rounding counts."""
    if f.dtype == "f64":
        return muladd(b, log1p_excess(b, f), scale, more)
    square, square_low = two_product(b, f, f)
    tail = b.mul(b.mul(square, f), polynomial(b, f, elementary.LOG["f32"], square))
    rest = muladd(b, square_low, -0.5 * scale, muladd(b, tail, scale, more))
    return muladd(b, square, -0.5 * scale, rest)


def combine(b: Emitter, e: Reg, f: Reg, f_low: Reg | None, base: Base) -> Reg:
    """log_b(2^e (1 + f + f_low))."""
    dtype = f.dtype
    if base.e_high[dtype] == 1.0:
        main, rest = f, log1p_excess(b, f)
    else:
        scale = base.e_high[dtype]
        main = b.exact("fmul", f, scale)
        error = b.fma(f, b.const(scale, f), b.neg(main))
        rest = _scaled_excess(b, f, scale, muladd(b, f, base.e_low[dtype], error))
    if f_low is not None:
        rest = b.add(rest, f_low)
    shift = e if base.two_high[dtype] == 1.0 else b.exact("fmul", e, base.two_high[dtype])
    high, low = two_sum(b, shift, main)
    if base.two_low[dtype]:
        rest = muladd(b, e, base.two_low[dtype], rest)
    return b.exact("fadd", high, b.add(low, rest))


def patch(b: Emitter, x: Reg, y: Reg) -> Reg:
    """y, but C99's values of a logarithm for x not positive and finite."""
    y = b.select(b.lt(x, INFINITY), y, x)
    pole = b.select(b.eq(x, 0.0), b.const(-INFINITY, x), NAN)
    return b.select(b.le(x, 0.0), pole, y)


def _logarithm(b: Emitter, x: Reg, base: Base) -> Reg:
    if lookup.usable(b, x):
        return logarithm.log(b, x, base)
    e, m = split_any(b, x)
    return patch(b, x, combine(b, e, b.exact("fsub", m, 1.0), None, base))


def log(b: Emitter, x: Reg) -> Reg:
    """ln x, within 1 ulp."""
    return _logarithm(b, x, NATURAL)


def log2(b: Emitter, x: Reg) -> Reg:
    """log2 x, within 1 ulp; exact for powers of two."""
    return _logarithm(b, x, BINARY)


def log10(b: Emitter, x: Reg) -> Reg:
    """log10 x, within 1 ulp."""
    return _logarithm(b, x, DECIMAL)


def log1p_wide(b: Emitter, x: Reg, x_low: Reg | None = None, base: Base = NATURAL) -> Reg:
    """log_b(1 + x + x_low) for x > -1; the sign of zero and the special values are the caller's."""
    if lookup.usable(b, x):
        return logarithm.log1p(b, x, x_low, base)
    dtype = x.dtype
    larger, smaller = b.max(x, 1.0), b.min(x, 1.0)
    u, low = two_sum(b, larger, smaller)
    if x_low is not None:
        low = b.add(low, x_low)
    exponent, m = split(b, u)
    shrink = power_of_two(b, b.sub(integer_like(b, BIAS[dtype], x), exponent), dtype)
    # Where u is large its low part does not matter, and 2^-exponent would not be a number.
    low = b.select(b.lt(u, 2.0**100), b.mul(low, shrink), 0.0)
    f, f_low = two_sum(b, b.exact("fsub", m, 1.0), low)
    return combine(b, exponent_as_float(b, exponent, dtype), f, f_low, base)


def log1p(b: Emitter, x: Reg) -> Reg:
    """ln(1 + x), within 1 ulp."""
    if lookup.usable(b, x):
        return b.copysign(logarithm.log1p(b, x, None, NATURAL, careful=True), x)
    return b.copysign(patch(b, b.add(x, 1.0), log1p_wide(b, x)), x)


def _log_of_two(
    b: Emitter, x: Reg, y: Reg, power: Callable[[Emitter, Reg], Reg], base: Base, number: float
) -> Reg:
    # NumPy's npy_logaddexp: equal operands (infinities among them) apart, else larger + log1p(power(-|x -
    # y|)).
    difference = b.sub(x, y)
    larger = b.select(b.gt(x, y), x, y)
    ratio = power(b, b.neg(b.abs(difference)))
    result = b.add(larger, log1p_wide(b, ratio, None, base))
    result = b.select(b.isnan(difference), difference, result)
    return b.select(b.eq(x, y), b.add(x, number), result)


def logaddexp(b: Emitter, x: Reg, y: Reg) -> Reg:
    """ln(e^x + e^y), within 3.2 ulp of the larger of |result| and |max(x, y)|."""
    return _log_of_two(b, x, y, exp, NATURAL, LN2)


def logaddexp2(b: Emitter, x: Reg, y: Reg) -> Reg:
    """log2(2^x + 2^y), within 2.8 ulp of the larger of |result| and |max(x, y)|."""
    return _log_of_two(b, x, y, exp2, BINARY, 1.0)
