"""pow, cbrt, hypot, rsqrt and reciprocal.

pow is exp2(y log2 |x|). For f32 the logarithm is computed in f64; for f64 it is a double word, good to about
2^-63.
"""

from __future__ import annotations

from typing import Final

from ...ir.special import powers as powers_of
from ..llvm.emitter import INT_OF, Emitter, Reg
from . import logarithm
from .exponential import clamp, exp2_reduced, scale
from .logarithm import split_any
from .support import (
    BIAS,
    INFINITY,
    MAGIC,
    NAN,
    STORED,
    declared,
    muladd,
    polynomial,
    rarely,
    two_product,
    two_sum,
)
from .tables import elementary, powers
from .wide import lookup, power

#: 2 / ln 2 and 2 / (3 ln 2), as double words (mpmath).
TWO_OVER_LN2: Final = (float.fromhex("0x1.71547652b82fep+1"), float.fromhex("0x1.777d0ffda0d24p-55"))
TWO_THIRDS_OVER_LN2: Final = (float.fromhex("0x1.ec709dc3a03fdp-1"), float.fromhex("0x1.d27f05548af0cp-55"))


def _pow_f32(b: Emitter, size: Reg, y: Reg, y_low: Reg | None) -> Reg:
    # Only the logarithm and its product with y need f64; what is left of them after rounding is again f32.
    e, m = split_any(b, size)
    f = b.cast(b.exact("fsub", m, 1.0), "f64")
    log2 = muladd(b, f, polynomial(b, f, elementary.LOG2_IN_F64["f64"]), b.cast(e, "f64"))
    y = b.cast(clamp(b, y, -1e30, 1e30), "f64")
    if y_low is not None:
        y = b.add(y, b.cast(b.select(b.isnan(y_low), 0.0, y_low), "f64"))  # NaN of an infinite y
    t = clamp(b, b.mul(y, log2), -200.0, 200.0)
    k = b.exact("fsub", b.exact("fadd", t, MAGIC["f64"]), MAGIC["f64"])
    r = b.cast(b.exact("fsub", t, k), "f32")
    biased = b.exact("fadd", b.cast(k, "f32"), MAGIC["f32"] + 2 * BIAS["f32"])
    return scale(b, exp2_reduced(b, r), biased)


def _log2_wide(b: Emitter, size: Reg) -> tuple[Reg, Reg]:
    """log2(size) as a double word: log2 m = s (c0 + c1 z + z^2 P(z)), s = (m - 1) / (m + 1), z = s^2."""
    e, m = split_any(b, size)
    above, below = b.exact("fsub", m, 1.0), b.exact("fadd", m, 1.0)
    below_low = b.exact("fsub", m, b.exact("fsub", below, 1.0))
    inverse = b.div(1.0, below)
    s = b.mul(above, inverse)
    minus = b.neg(s)
    s_low = b.mul(b.fma(minus, below_low, b.fma(minus, below, above)), inverse)
    z, z_low = two_product(b, s, s)
    z_low = muladd(b, b.add(s, s), s_low, z_low)
    linear, linear_low = two_product(b, z, TWO_THIRDS_OVER_LN2[0])
    rest = muladd(b, b.mul(z, z), polynomial(b, z, elementary.LOG2_WIDE["f64"]), TWO_OVER_LN2[1])
    rest = b.add(
        rest, muladd(b, z_low, TWO_THIRDS_OVER_LN2[0], muladd(b, z, TWO_THIRDS_OVER_LN2[1], linear_low))
    )
    factor, factor_low = two_sum(b, b.const(TWO_OVER_LN2[0], z), linear)
    factor_low = b.add(factor_low, rest)
    main, main_low = two_product(b, s, factor)
    main_low = b.add(main_low, muladd(b, s, factor_low, b.mul(s_low, factor)))
    high, low = two_sum(b, e, main)
    return two_sum(b, high, b.add(low, main_low))


def _pow_f64(b: Emitter, size: Reg, y: Reg, y_low: Reg | None) -> Reg:
    high, low = _log2_wide(b, size)
    y = clamp(b, y, -1e300, 1e300)
    product, product_low = two_product(b, high, y)
    product_low = muladd(b, low, y, product_low)
    if y_low is not None:
        product_low = muladd(b, high, y_low, product_low)
    t = clamp(b, product, -1100.0, 1100.0)
    t_low = b.select(b.eq(t, product), product_low, 0.0)
    offset = MAGIC["f64"] + 2 * BIAS["f64"]
    biased = b.exact("fadd", t, offset)
    r = b.add(b.exact("fsub", t, b.exact("fsub", biased, offset)), t_low)
    return scale(b, exp2_reduced(b, r), biased)


def pow(b: Emitter, x: Reg, y: Reg) -> Reg:
    """x^y, within 1.2 ulp in f32, 1.8 in f64; special values as C99, annex F.10.4.4."""
    return power.pow(b, x, y) if lookup.usable(b, x) else _pow(b, x, y, None)


def _pow(b: Emitter, x: Reg, y: Reg, y_low: Reg | None) -> Reg:
    """x^(y + y_low)."""
    size = b.abs(x)
    value = (_pow_f32 if x.dtype == "f32" else _pow_f64)(b, size, y, y_low)
    x = x if y_low is None else power.unsigned_zero(b, x, y, y_low)
    integer = b.eq(b.trunc(y), y)
    half = b.mul(y, 0.5)
    odd = b.and_(integer, b.ne(b.trunc(half), half))
    value = b.select(b.or_(integer, b.ge(x, 0.0)), value, NAN)
    zero = b.eq(size, 0.0)
    limit = b.select(b.xor(zero, b.lt(y, 0.0)), b.const(0.0, x), INFINITY)
    value = b.select(b.or_(zero, b.eq(size, INFINITY)), limit, value)
    negative = b.lt(b.bits(x), 0)
    value = b.select(b.and_(negative, odd), b.neg(value), value)
    unordered = b.unordered(x, y)
    value = b.select(unordered, b.const(NAN, x), value)
    return b.select(b.or_(b.eq(y, 0.0), b.eq(x, 1.0)), b.const(1.0, x), value)


def _lower(b: Emitter, y: Reg, by: int) -> tuple[Reg, Reg | None]:
    """y - by, and what rounding took off it (Dekker's fast two-sum), or where |y| > by less than a rounding
    of y."""
    if not by:
        return y, None
    exponent = b.exact("fsub", y, float(by))
    return exponent, b.exact("fsub", y, b.exact("fadd", exponent, float(by)))


def _factor(b: Emitter, x: Reg, y: Reg, by_x: int, by_y: int) -> Reg:
    log = logarithm.log(b, x) if by_y else None
    return powers_of.factor(y, log, by_x, by_y, b.mul, b.add)  # type: ignore[no-any-return]


def pow_derivative(b: Emitter, x: Reg, y: Reg, by_x: int, by_y: int) -> Reg:
    """The derivative of x^y that `ir.special.powers` describes, of order 1 or more."""

    def limit(b: Emitter, product: Reg, x: Reg, y: Reg) -> Reg:
        """The derivative where a factor may be 0 or infinite, or x is negative."""
        exponent, low = _lower(b, y, by_x)
        factor = _factor(b, x, y, by_x, by_y)
        if lookup.usable(b, x):
            value, t = power.unchecked(b, x, exponent, low)
            value = power.special(b, value, x, exponent, t, low)
        else:
            value = _pow(b, x, exponent, low)
        if by_y:
            sign = b.const((-1.0) ** by_y, x)
            leading = b.mul(_factor(b, x, y, by_x, 0), sign) if by_x else sign
            whole = b.and_(b.ge(y, 0.0), b.eq(b.trunc(y), y))
            factor = b.select(b.eq(x, 0.0), b.select(whole, b.const(0.0, x), leading), factor)
        product = b.mul(value, factor)
        undefined = b.and_(b.isnan(product), b.or_(b.eq(value, 0.0), b.eq(factor, 0.0)))
        return b.select(undefined, b.const(0.0, x), product)

    exponent, low = _lower(b, y, by_x)
    factor = _factor(b, x, y, by_x, by_y)
    if lookup.usable(b, x):
        value, t = power.unchecked(b, x, exponent, low)
        usual = b.and_(b.lt(b.abs(t), float(BIAS[x.dtype])), b.ge(x, 0.0))
        product = b.mul(value, factor)
    else:
        product = b.mul(_pow(b, x, exponent, low), factor)
        usual = b.lt(b.abs(product), INFINITY)
    args = (product, x, y)
    return rarely(b, b.not_(usual), declared(b, f"tracejit.pow_limit.{by_x}.{by_y}", limit, *args), *args)


def pow_log(b: Emitter, x: Reg, y: Reg, out: Reg) -> Reg:
    """The product out log x, and 0 where x is 0 and y is not negative, or out is 0."""
    product = b.mul(out, logarithm.log(b, x))
    zero = b.and_(b.eq(x, 0.0), b.ge(y, 0.0))
    zero = b.or_(zero, b.and_(b.isnan(product), b.eq(out, 0.0)))
    return b.select(zero, b.const(0.0, x), product)


#: A float's bits over three, taken from this, are the bits of about x^(-1/3): 4/3 bias less a constant that
#: balances the error at 3% (the integer trick of Kahan's cbrt; Moroz et al. 2021 for the reciprocal), in
#: units of 2^-23.
RECIPROCAL_CBRT: Final = {"f32": (127 * 4 / 3 - 0.0668) * 2.0**23, "f64": (1023 * 4 / 3 - 0.0668) * 2.0**23}
#: Scaling of denormal numbers: below the first, x is multiplied by the second, and the result by the third.
CBRT_LIFT: Final = {"f32": (2.0**-60, 2.0**72, 2.0**-24), "f64": (2.0**-800, 2.0**300, 2.0**-100)}


def _reciprocal_cbrt_guess(b: Emitter, x: Reg) -> Reg:
    third, base = -1.0 / 3.0, RECIPROCAL_CBRT[x.dtype]
    integer = INT_OF[x.dtype]
    if x.dtype == "f32":
        guess = muladd(b, b.cast(b.bits(x), "f32"), third, base)
        whole = b.convert("fptosi", guess, integer)
        return b.bitcast(whole, "f32")
    # The upper 35 bits through a double's significand: few machines convert vectors of i64.
    upper = b.or_(b.lshr(b.bits(x), 29), 0x4330000000000000)
    top = b.exact("fsub", b.bitcast(upper, "f64"), 2.0**52)
    return b.bitcast(b.shl(b.bits(muladd(b, top, third, MAGIC["f64"] + base)), 29), "f64")


def _cbrt_wide(b: Emitter, x: Reg) -> Reg:
    """Cube root 2^k c^(-1/3) (1 + f)^(1/3), f = m c - 1, of |x| = 2^(3k) m; 1/2 <= m < 4 and c near 1/m."""
    dtype = x.dtype
    exponent = lookup.exponent(b, x)
    k = b.exact("fsub", muladd(b, exponent, 1 / 3, MAGIC[dtype]), MAGIC[dtype])
    m = lookup.scale(b, b.abs(x), b.mul(k, -3.0))
    index = b.lshr(b.bits(m), STORED[dtype] - 3)
    f = b.fma(m, lookup.lookup(b, powers.CUBE_INVERSES[dtype], index, dtype), b.const(-1.0, m))
    root = lookup.lookup(b, powers.CUBE_ROOTS[dtype], index, dtype)
    bend = b.mul(f, polynomial(b, f, powers.CUBE_SERIES[dtype]))
    value = b.copysign(lookup.scale(b, muladd(b, root, bend, root), k), x)
    return b.select(b.lt(b.abs(exponent), INFINITY), value, x)


def cbrt(b: Emitter, x: Reg) -> Reg:
    """The cube root, within 0.6 ulp in f32, 0.7 in f64.

    y = x^(-1/3) by iterations in h = 1 - x y^3, then c = x y^2 with one correction from its exact residual.
    """
    if lookup.usable(b, x):
        return _cbrt_wide(b, x)
    limit, lift, drop = CBRT_LIFT[x.dtype]
    size = b.abs(x)
    small = b.lt(size, limit)
    a = b.select(small, b.mul(size, lift), size)
    y = _reciprocal_cbrt_guess(b, a)
    for series in (
        ((1 / 3, 2 / 9, 14 / 81),) if x.dtype == "f32" else ((1 / 3, 2 / 9, 14 / 81), (1 / 3, 2 / 9))
    ):
        h = muladd(b, b.neg(b.mul(a, y)), b.mul(y, y), 1.0)
        y = muladd(b, b.mul(y, h), polynomial(b, h, series), y)
    square = b.mul(y, y)
    c = b.mul(a, square) if x.dtype == "f32" else b.mul(b.mul(a, y), y)
    c2, c2_low = two_product(b, c, c)
    minus = b.neg(c)
    residual = b.fma(c2_low, minus, b.fma(c2, minus, a))
    c = muladd(b, residual, b.mul(square, 1 / 3), c)
    c = b.select(small, b.mul(c, drop), c)
    usual = b.and_(b.lt(size, INFINITY), b.gt(size, 0.0))
    return b.copysign(b.select(usual, c, size), x)


#: Scaling of operands: above the first they are multiplied by the second, below the third by the fourth.
HYPOT_SCALE: Final = {
    "f32": (2.0**60, 2.0**-70, 2.0**-50, 2.0**100),
    "f64": (2.0**500, 2.0**-600, 2.0**-450, 2.0**700),
}


def hypot(b: Emitter, x: Reg, y: Reg) -> Reg:
    """sqrt(x^2 + y^2) without overflow, within 1.2 ulp; infinite if either is."""
    high, shrink, low, lift = HYPOT_SCALE[x.dtype]
    across, up = b.abs(x), b.abs(y)
    larger = b.max(across, up)
    big, tiny = b.gt(larger, high), b.lt(larger, low)
    factor = b.select(big, b.const(shrink, x), b.select(tiny, b.const(lift, x), 1.0))
    inverse = b.select(big, b.const(1 / shrink, x), b.select(tiny, b.const(1 / lift, x), 1.0))
    p, q = b.mul(across, factor), b.mul(up, factor)
    root = b.mul(b.sqrt(muladd(b, p, p, b.mul(q, q))), inverse)
    infinite = b.or_(b.eq(across, INFINITY), b.eq(up, INFINITY))
    return b.select(infinite, b.const(INFINITY, x), root)


def rsqrt(b: Emitter, x: Reg) -> Reg:
    """1 / sqrt(x), within 1 ulp."""
    if lookup.usable(b, x):
        return lookup.rsqrt(b, x)
    guess = b.div(1.0, b.sqrt(x))
    return lookup.rsqrt_step(b, x, guess)


def reciprocal(b: Emitter, x: Reg) -> Reg:
    """1 / x, rounded correctly."""
    return b.div(1.0, x)
