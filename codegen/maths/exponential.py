"""exp, exp2 and expm1.

x = k ln 2 + r with |r| <= ln(2)/2 (Cody and Waite), then a polynomial in r, scaled by 2^k. The integer k is
made by adding a large constant, so that it stands in the low bits of the sum; the scaling is by two factors
2^(k/2), so that results in the denormal range are rounded once and overflow to infinity by themselves.
"""

from __future__ import annotations

from typing import Final

from ..llvm.emitter import Emitter, Reg
from .support import BIAS, MAGIC, horner, muladd, polynomial, power_of_two, two_sum
from .tables import elementary, powers
from .wide import lookup

LOG2_E: Final = float.fromhex("0x1.71547652b82fep+0")
LN2: Final = float.fromhex("0x1.62e42fefa39efp-1")
#: ln 2 in two parts, the first with 15 (f32) or 41 (f64) bits, so that its products with k are exact.
LN2_HIGH: Final = {"f32": float.fromhex("0x1.62e4p-1"), "f64": float.fromhex("0x1.62e42fefa3000p-1")}
LN2_LOW: Final = {"f32": float.fromhex("0x1.7f7d1cp-20"), "f64": float.fromhex("0x1.3de6af278ece6p-42")}
#: Arguments beyond which exp gives 0 or infinity.
EXP_RANGE: Final = {"f32": (-104.0, 89.0), "f64": (-746.0, 710.0)}
EXP2_RANGE: Final = {"f32": (-151.0, 129.0), "f64": (-1076.0, 1025.0)}
#: More than ln(2)/32.
LARGEST_REST: Final = 0.03
#: Numbers that are added to round to sixteenths.
WIDE_MAGIC: Final = {"f32": MAGIC["f32"] / 16, "f64": MAGIC["f64"] / 16}
#: Limits of expm1: below the first it is -1; where x^2 is below the second it is x, and half of x might not
#: be a float.
EXPM1_LOW: Final = {"f32": -20.0, "f64": -40.0}
EXPM1_TINY: Final = {"f32": 2.0**-120, "f64": 2.0**-1000}


def clamp(b: Emitter, x: Reg, low: float, high: float) -> Reg:
    """x held within the range; NaN stays NaN."""
    return b.min(high, b.max(low, x))


def scale(b: Emitter, value: Reg, biased: Reg) -> Reg:
    """value * 2^k with one rounding, where `biased` is the float MAGIC + 2 bias + k."""
    bits = b.bits(biased)
    half = b.lshr(bits, 1)
    other = b.sub(bits, half)
    first = power_of_two(b, half, value.dtype)
    return b.exact("fmul", b.exact("fmul", value, first), power_of_two(b, other, value.dtype))


def reduce(b: Emitter, x: Reg, offset: float) -> tuple[Reg, Reg]:
    """(MAGIC + offset + k, r) with x = k ln 2 + r."""
    dtype = x.dtype
    biased = muladd(b, x, LOG2_E, MAGIC[dtype] + offset)
    k = b.exact("fsub", biased, MAGIC[dtype] + offset)
    return biased, muladd(b, k, -LN2_LOW[dtype], muladd(b, k, -LN2_HIGH[dtype], x))


def expm1_reduced(b: Emitter, r: Reg) -> Reg:
    """e^r - 1 for |r| <= ln(2)/2."""
    square = b.mul(r, r)
    return muladd(b, square, polynomial(b, r, elementary.EXP[r.dtype], square), r)


def exp2_reduced(b: Emitter, r: Reg) -> Reg:
    """2^r for |r| <= 1/2."""
    first, *rest = elementary.EXP2[r.dtype]
    return muladd(b, r, muladd(b, r, polynomial(b, r, rest), first), 1.0)


def _sixteenth(b: Emitter, shifted: Reg) -> Reg:
    """c 2^(j/16), j in the low bits of `shifted`."""
    return lookup.lookup(b, powers.NEAR_POWERS[shifted.dtype], b.bits(shifted), shifted.dtype)


def _scaled(b: Emitter, power: Reg, excess: Reg, k: Reg) -> Reg:
    return lookup.scale(b, muladd(b, power, excess, power), k)


def _reduce_wide(b: Emitter, x: Reg) -> tuple[Reg, Reg, Reg]:
    """(shifted, k, r): x = k ln 2 + r, k in sixteenths, which end `shifted`."""
    magic = WIDE_MAGIC[x.dtype]
    shifted = muladd(b, x, LOG2_E, magic)
    k = b.exact("fsub", shifted, magic)
    r = muladd(b, k, -LN2_LOW[x.dtype], muladd(b, k, -LN2_HIGH[x.dtype], x))
    return shifted, k, r


def expm1_of_positive(b: Emitter, x: Reg) -> Reg:
    """e^x - 1 in f64 where `wide` can be used, for 0 <= x < 700; about 1 ulp."""
    shifted, k, r = _reduce_wide(b, x)
    near = muladd(b, k, -LN2_HIGH["f64"], x)
    r_low = b.fma(k, b.const(-LN2_LOW["f64"], x), b.exact("fsub", near, r))
    bend = muladd(b, b.mul(r, r), horner(b, r, powers.EXPM1_SHORT["f64"]), r_low)
    index = b.bits(shifted)
    excess = b.add(r, b.add(bend, lookup.lookup(b, powers.POWERS_LOW["f64"], index, "f64")))
    power = lookup.scale(b, lookup.lookup(b, powers.POWERS["f64"], index, "f64"), k)
    return muladd(b, power, excess, b.exact("fsub", power, 1.0))


def _exp_wide(b: Emitter, x: Reg) -> Reg:
    """e^x where `wide` can be used.

    For x so large that r is not small, or NaN, k says what the result is.
    """
    shifted, k, r = _reduce_wide(b, x)
    r = lookup.held_within(b, r, LARGEST_REST)
    return _scaled(b, _sixteenth(b, shifted), horner(b, r, powers.EXP_NEAR[x.dtype]), k)


def exp_product(b: Emitter, x: Reg, x_low: Reg, y: Reg, rest: Reg | None = None) -> Reg:
    """e^(x + x_low) y (1 + rest) where `wide` can be used, for x that is not too large and a small rest."""
    shifted, k, r = _reduce_wide(b, x)
    r = b.add(r, x_low)
    first, *others = powers.EXP_NEAR[x.dtype]
    excess = muladd(b, r, horner(b, r, others), first if rest is None else b.add(rest, first))
    return _scaled(b, b.mul(_sixteenth(b, shifted), y), excess, k)


def exp2_wide(b: Emitter, x: Reg, x_low: Reg | None) -> Reg:
    """2^(x + x_low) where `wide` can be used, for x that is not too large."""
    magic = WIDE_MAGIC[x.dtype]
    shifted = b.exact("fadd", x if x_low is None else b.exact("fadd", x, x_low), magic)
    k = b.exact("fsub", shifted, magic)
    r = b.exact("fsub", x, k)
    if x_low is not None:
        r = b.add(r, x_low)
    return _scaled(b, _sixteenth(b, shifted), horner(b, r, powers.EXP2_NEAR[x.dtype]), k)


def exp(b: Emitter, x: Reg) -> Reg:
    """e^x, within 1 ulp."""
    if lookup.usable(b, x):
        return _exp_wide(b, x)
    biased, r = reduce(b, clamp(b, x, *EXP_RANGE[x.dtype]), 2 * BIAS[x.dtype])
    slope = muladd(b, r, polynomial(b, r, elementary.EXP[x.dtype]), 1.0)
    return scale(b, muladd(b, r, slope, 1.0), biased)


def exp2(b: Emitter, x: Reg) -> Reg:
    """2^x, within 1 ulp; exact for integers."""
    x = clamp(b, x, *EXP2_RANGE[x.dtype])
    if lookup.usable(b, x):
        return exp2_wide(b, x, None)
    offset = MAGIC[x.dtype] + 2 * BIAS[x.dtype]
    biased = b.exact("fadd", x, offset)
    r = b.exact("fsub", x, b.exact("fsub", biased, offset))
    return scale(b, exp2_reduced(b, r), biased)


def expm1(b: Emitter, x: Reg) -> Reg:
    """e^x - 1, within 1 ulp.

    2^k (r + (e^r - 1 - r)) + (2^k - 1), with all halved so that 2^(k-1) stays finite. The first product is
    exact, its sum with the last term a double word, and what rounding took off r is added.
    """
    dtype = x.dtype
    offset = BIAS[dtype] - 1
    clamped = clamp(b, x, EXPM1_LOW[dtype], EXP_RANGE[dtype][1])
    biased = muladd(b, clamped, LOG2_E, MAGIC[dtype] + offset)
    k = b.exact("fsub", biased, MAGIC[dtype] + offset)
    near = b.fma(k, b.const(-LN2_HIGH[dtype], x), clamped)
    r = b.fma(k, b.const(-LN2_LOW[dtype], x), near)
    r_low = b.fma(k, b.const(-LN2_LOW[dtype], x), b.exact("fsub", near, r))
    square = b.mul(r, r)
    half = power_of_two(b, b.bits(biased), dtype)
    base = b.exact("fsub", half, 0.5)
    base_low = b.exact("fsub", b.exact("fsub", half, base), 0.5)
    high, low = two_sum(b, base, b.exact("fmul", half, r))
    # d e^r = e^r dr, of which 1 + r is enough
    low = muladd(b, half, muladd(b, r_low, r, r_low), b.exact("fadd", low, base_low))
    first, *others = elementary.EXP[dtype]
    slope = muladd(b, r, polynomial(b, r, others, square), first)
    bend = muladd(b, b.mul(half, square), slope, low)
    result = b.mul(b.exact("fadd", high, bend), 2.0)
    return b.select(b.lt(square, EXPM1_TINY[dtype]), x, result)
