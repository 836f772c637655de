"""sinh, cosh, tanh and their inverses.

x = k ln 2 + r. With S = sinh r and C = cosh r - 1 from short series, sinh x = sinh(k ln 2) (1 + C) + cosh(k
ln 2) S, and cosh x likewise: no division, and no cancellation that matters. The inverses are `log1p_wide`
of an argument that keeps its low part.
"""

from __future__ import annotations

from typing import Final

from ..llvm.emitter import Emitter, Reg
from .bases import NATURAL
from .exponential import LN2, exp, expm1_of_positive, expm1_reduced, reduce
from .logarithm import log1p_wide
from .support import (
    BIAS,
    INFINITY,
    MAGIC,
    NAN,
    bit_pattern,
    integer_like,
    muladd,
    polynomial,
    power_of_two,
    two_sum,
)
from .tables import elementary, piecewise
from .wide import logarithm, lookup

#: sinh and cosh are infinite from here on, and k is 129 or 1025.
HYPERBOLIC_TOP: Final = {"f32": 89.6, "f64": 710.6}
SINH_TINY: Final = {"f32": 2.0**-13, "f64": 2.0**-27}
#: tanh rounds to 1 from here on.
TANH_TOP: Final = {"f32": 10.0, "f64": 20.0}
#: Argument from which x^2 + 1 is x^2, and asinh and acosh are log(2 x).
BIG: Final = {"f32": 2.0**14, "f64": 2.0**30}
#: asinh x is x to less than a tenth of an ulp below, in f64.
ASINH_TINY: Final = 2.0**-27


def _parts(b: Emitter, x: Reg) -> tuple[Reg, Reg, Reg, Reg]:
    """(2^(k-2), 2^(-k-2), S, C) for x >= 0."""
    dtype = x.dtype
    top = HYPERBOLIC_TOP[dtype]
    biased, r = reduce(b, b.min(top, x), BIAS[dtype] - 2)
    bits = b.bits(biased)
    up = power_of_two(b, bits, dtype)
    # Below 2^-k has no part in the sum; a field of 0 or less must not wrap round to the sign.
    both = bit_pattern(MAGIC[dtype], dtype) + 2 * (BIAS[dtype] - 2)
    opposite = b.sub(integer_like(b, both, x), bits)
    down = power_of_two(b, b.select(b.lt(opposite, 0), b.const(0, opposite), opposite), dtype)
    z = b.mul(r, r)
    s = muladd(b, b.mul(r, z), polynomial(b, z, elementary.SINH[dtype]), r)
    return up, down, s, b.mul(z, polynomial(b, z, elementary.COSH[dtype]))


def sinh(b: Emitter, x: Reg) -> Reg:
    """sinh x, within 1.7 ulp in f32, 1.8 in f64."""
    size = b.abs(x)
    up, down, s, c = _parts(b, size)
    odd, even = b.sub(up, down), b.add(up, down)
    half = b.exact("fadd", odd, muladd(b, even, s, b.mul(odd, c)))
    result = b.copysign(b.mul(half, 2.0), x)
    return b.select(b.lt(size, SINH_TINY[x.dtype]), x, result)


def cosh(b: Emitter, x: Reg) -> Reg:
    """cosh x, within 1.6 ulp."""
    up, down, s, c = _parts(b, b.abs(x))
    odd, even = b.sub(up, down), b.add(up, down)
    # `down` is added apart: up + down may lose it by half an ulp.
    rest = muladd(b, odd, s, muladd(b, even, c, down))
    return b.mul(b.exact("fadd", up, rest), 2.0)


def tanh(b: Emitter, x: Reg) -> Reg:
    """tanh x, within 1.7 ulp in f32, 2 in f64.

    E / (E + 2) with E = e^(2 |x|) - 1 = 2^k (e^r - 1) + (2^k - 1).
    """
    dtype = x.dtype
    size = b.min(TANH_TOP[dtype], b.abs(x))
    if dtype == "f32" and lookup.usable(b, x):
        return b.copysign(lookup.quarters(b, size, piecewise.TANH_QUARTERS, -4), x)
    double = b.add(size, size)
    if lookup.usable(b, x):
        excess = expm1_of_positive(b, double)
    else:
        biased, r = reduce(b, double, BIAS[dtype])
        up = power_of_two(b, b.bits(biased), dtype)
        excess = muladd(b, up, expm1_reduced(b, r), b.sub(up, 1.0))
    below = b.exact("fadd", excess, 2.0)
    below_low = b.exact("fsub", excess, b.exact("fsub", below, 2.0))
    inverse = b.div(1.0, below)
    ratio = b.mul(excess, inverse)
    minus = b.neg(ratio)
    missing = b.fma(minus, below_low, b.fma(minus, below, excess))
    ratio = muladd(b, missing, inverse, ratio)
    return b.copysign(ratio, x)


def sech_squared(b: Emitter, x: Reg) -> Reg:
    """1 / cosh(x)^2, within 3.5 ulp: 4 e / (1 + e)^2 with e = exp(-2 |x|)."""
    small = exp(b, b.mul(b.abs(x), -2.0))
    total = b.add(small, 1.0)
    return b.div(b.mul(small, 4.0), b.mul(total, total))


def _log1p_or_log2x(b: Emitter, big: Reg, x: Reg, total: Reg, low: Reg) -> Reg:
    """ln(1 + total + low), or ln(2 x) where `big`; infinity for infinite x."""
    less = b.exact("fsub", x, 1.0)
    total, low = b.select(big, less, total), b.select(big, b.const(0.0, x), low)
    if lookup.usable(b, x):  # ln 2 as one more in the exponent
        return logarithm.log1p(b, total, low, NATURAL, b.select(big, b.const(1.0, x), 0.0))
    value = b.add(log1p_wide(b, total, low), b.select(big, b.const(LN2, x), 0.0))
    return b.select(b.lt(x, INFINITY), value, x)


def _asinh_wide(b: Emitter, x: Reg) -> Reg:
    """ln(x + sqrt(x^2 + 1)) with the square root as a double word."""
    size, limit = b.abs(x), BIG[x.dtype]
    held = b.min(limit, size)
    square = b.fma(held, held, b.const(1.0, x))
    square_low = b.fma(held, held, b.exact("fsub", 1.0, square))
    root, root_low = lookup.sqrt_with_rest(b, square, lookup.rsqrt_guess(b, square), square_low)
    total, lost = two_sum(b, root, held)
    big = b.gt(size, limit)
    # ln(2 x) for large ones, of which the low part at the limit is too small a part to matter
    total, more = b.select(big, size, total), b.select(big, b.const(1.0, x), 0.0)
    value = logarithm.of_double_word(b, total, b.add(lost, root_low), NATURAL, more)
    if x.dtype == "f64":  # in f32 the root of 1 is 1, and the low part of the sum is x
        value = b.select(b.lt(size, ASINH_TINY), size, value)
    return b.copysign(value, x)


def asinh(b: Emitter, x: Reg) -> Reg:
    """asinh x, within 1.2 ulp: log1p(|x| + x^2 / (1 + sqrt(1 + x^2)))."""
    if lookup.usable(b, x):
        return _asinh_wide(b, x)
    size = b.abs(x)
    big = b.gt(size, BIG[x.dtype])
    held = b.select(big, b.const(1.0, x), size)
    root = b.sqrt(muladd(b, held, held, 1.0))
    rest = b.div(b.mul(held, held), b.add(root, 1.0))
    total = b.exact("fadd", size, rest)
    lost = b.exact("fsub", rest, b.exact("fsub", total, size))
    return b.copysign(_log1p_or_log2x(b, big, size, total, lost), x)


def acosh(b: Emitter, x: Reg) -> Reg:
    """acosh x, within 1.9 ulp: log1p(t + sqrt(t (t + 2))), t = x - 1; NaN below 1."""
    big = b.gt(x, BIG[x.dtype])
    t = b.select(big, b.const(1.0, x), b.exact("fsub", x, 1.0))
    root = b.sqrt(muladd(b, t, t, b.add(t, t)))
    # sqrt(t (t + 2)) >= t
    total, lost = two_sum(b, root, t)
    value = _log1p_or_log2x(b, big, x, total, lost)
    return b.select(b.lt(x, 1.0), b.const(NAN, x), value)


def atanh(b: Emitter, x: Reg) -> Reg:
    """atanh x, within 1.1 ulp: log1p(2 x / (1 - x)) / 2; NaN outside [-1, 1]."""
    size = b.abs(x)
    below = b.exact("fsub", 1.0, size)
    below_low = b.exact("fsub", b.exact("fsub", 1.0, below), size)
    inverse = b.div(1.0, below)
    double = b.add(size, size)
    q = b.mul(double, inverse)
    left = b.fma(b.neg(q), below, double)
    q_low = b.mul(muladd(b, b.neg(q), below_low, left), inverse)
    value = b.mul(log1p_wide(b, q, q_low), 0.5)
    if lookup.usable(b, x):  # 1 + q is infinite at 1, and negative or NaN beyond
        return b.copysign(value, x)
    value = b.select(b.eq(size, 1.0), b.const(INFINITY, x), value)
    value = b.select(b.le(size, 1.0), value, b.const(NAN, x))
    return b.copysign(b.select(b.lt(size, SINH_TINY[x.dtype]), size, value), x)
