"""Sine and cosine of huge angles: exact reduction after Payne and Hanek (1983), one angle at a time.

x = m 2^e with a 53-bit m. Of the bits of 2/pi only a window of 192 matters: those above it contribute
multiples of four quadrants, those below too little. m times the window, modulo 2^192, has two bits of
quadrant and 190 of fraction, of which the upper 126 are kept; the closest any double comes to a multiple of
pi/2 costs 61 of them (Muller, Elementary Functions, 11.3).
"""

from __future__ import annotations

import itertools
from typing import Final

from ..llvm.emitter import Emitter, Reg, constant
from ..llvm.operations import Load, Offset
from .support import flip_sign, muladd, polynomial, two_sum
from .tables import elementary

#: 64 zero bits, then the first 1,216 bits of 2/pi after the binary point (mpmath).
TWO_OVER_PI: Final = (
    0x0, 0xA2F9836E4E441529, 0xFC2757D1F534DDC0, 0xDB6295993C439041, 0xFE5163ABDEBBC561,
    0xB7246E3A424DD2E0, 0x06492EEA09D1921C, 0xFE1DEB1CB129A73E, 0xE88235F52EBB4484, 0xE99C7026B45F7E41,
    0x3991D639835339F4, 0x9C845F8BBDF9283B, 0x1FF897FFDE05980F, 0xEF2F118B5A0A6D1F, 0x6D367ECF27CB09B7,
    0x4F463F669E5FEA2D, 0x7527BAC7EBE5F17B, 0x3D0739F78A5292EA, 0x6BFB5FB11F8D5D08, 0x56033046FC7B6BAB,
)  # fmt: skip
PI_HALF_HIGH: Final = float.fromhex("0x1.921fb54442d18p+0")
PI_HALF_LOW: Final = float.fromhex("0x1.1a62633145c07p-54")

TABLE: Final = "tracejit.two_over_pi"
FUNCTION: Final = "tracejit.huge_sincos"
RESULT: Final = "[4 x double]"
_BITS_42: Final = (1 << 42) - 1


def _reduced(b: Emitter, x: Reg) -> tuple[Reg, list[Reg]]:
    """The quadrant of |x|, and the fraction of a quadrant, at most 1/2 in size, as the exact sum of three
    parts with 42 bits each."""

    def word(at: Reg) -> Reg:
        place = Offset(b.fresh("at"), "i64", f"@{TABLE}", at)
        value = Load(b.fresh(), "i64", 1, place.text)
        b.operations += [place, value]
        return value

    bits = b.bitcast(x, "i64")
    exponent = b.and_(b.lshr(bits, 52), 2047)
    significand = b.convert("zext", b.or_(b.and_(bits, (1 << 52) - 1), 1 << 52), "i128")
    first = b.sub(exponent, 1013)
    place, shift = b.lshr(first, 6), b.and_(first, 63)
    words = [word(b.add(place, number)) for number in range(4)]
    high, middle, low = [
        b.mul(significand, b.convert("zext", b.call("llvm.fshl.i64", "i64", 1, *pair, shift), "i128"))
        for pair in itertools.pairwise(words)
    ]
    turns = b.add(b.add(middle, b.lshr(low, 64)), b.shl(high, 64))
    quadrant = b.lshr(b.add(turns, 1 << 125), 126)
    fraction = b.sub(turns, b.shl(quadrant, 126))
    parts = [
        b.convert("trunc", b.integer("ashr", fraction, 84), "i64"),
        b.and_(b.convert("trunc", b.lshr(fraction, 42), "i64"), _BITS_42),
        b.and_(b.convert("trunc", fraction, "i64"), _BITS_42),
    ]
    scales = 2.0**-42, 2.0**-84, 2.0**-126
    floats = [b.exact("fmul", b.cast(part, "f64"), scale) for part, scale in zip(parts, scales, strict=True)]
    return b.convert("trunc", quadrant, "i64"), floats


def sin_quarter(b: Emitter, r: Reg, low: Reg) -> tuple[Reg, Reg]:
    """sin(r + low) for |r| <= pi/4, as a double word."""
    z = b.mul(r, r)
    cube = b.mul(z, polynomial(b, z, elementary.SIN_QUARTER[r.dtype]))
    return two_sum(b, r, muladd(b, r, cube, low))


def cos_quarter(b: Emitter, r: Reg, low: Reg) -> tuple[Reg, Reg]:
    """cos(r + low) for |r| <= pi/4, as a double word."""
    z = b.mul(r, r)
    tail = muladd(b, b.mul(z, z), polynomial(b, z, elementary.COS_QUARTER[r.dtype]), b.neg(b.mul(r, low)))
    half = b.mul(z, 0.5)
    near = b.exact("fsub", 1.0, half)
    lost = b.exact("fsub", b.exact("fsub", 1.0, near), half)
    return two_sum(b, near, b.add(lost, tail))


def declare(b: Emitter) -> str:
    """Register the function double -> (sin, cos, low parts of both) for |x| >= 2^16; return its name."""
    if FUNCTION in b.declarations:
        return FUNCTION
    items = ", ".join(f"i64 {word - (1 << 64) if word >> 63 else word}" for word in TWO_OVER_PI)
    kind = f"[{len(TWO_OVER_PI)} x i64]"
    b.declarations[TABLE] = f"@{TABLE} = private unnamed_addr constant {kind} [{items}]"
    inner, x = Emitter(b.declarations), Reg("%x", "f64")
    quadrant, (first, second, third) = _reduced(inner, x)
    high, low = two_sum(inner, first, second)
    high, low = two_sum(inner, high, inner.add(low, third))
    half = constant(PI_HALF_HIGH, "f64")
    r = inner.exact("fmul", high, half)
    error = inner.fma(high, half, inner.neg(r))
    error = inner.add(error, muladd(inner, high, PI_HALF_LOW, inner.mul(low, half)))
    # Infinity minus itself is the NaN that infinity must give.
    r = inner.add(r, inner.exact("fsub", x, x))
    (sine, sine_low), (cosine, cosine_low) = sin_quarter(inner, r, error), cos_quarter(inner, r, error)
    odd = inner.ne(inner.and_(quadrant, 1), 0)
    half_turns = inner.lshr(quadrant, 1)
    # x < 0 has the cosine of |x| and the opposite sine.
    cosine_flips = inner.xor(half_turns, inner.and_(quadrant, 1))
    sine_flips = inner.xor(half_turns, inner.lshr(inner.bits(x), 63))
    values = (
        flip_sign(inner, inner.select(odd, cosine, sine), sine_flips),
        flip_sign(inner, inner.select(odd, sine, cosine), cosine_flips),
        flip_sign(inner, inner.select(odd, cosine_low, sine_low), sine_flips),
        flip_sign(inner, inner.select(odd, sine_low, cosine_low), cosine_flips),
    )
    whole = Reg("poison", RESULT)
    for position, value in enumerate(values):
        whole = inner.arrange("insertvalue", RESULT, 1, whole, value, tail=f", {position}")
    inner.ret(whole)
    signature = f"internal {RESULT} @{FUNCTION}(double %x)"
    b.declarations[FUNCTION] = inner.function(signature, "cold noinline nounwind")
    return FUNCTION
