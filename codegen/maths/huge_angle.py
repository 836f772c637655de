"""Sine and cosine of huge angles: exact reduction after Payne and Hanek (1983), one angle at a time.

x = m 2^e with a 53-bit m. Of the bits of 2/pi only a window of 192 matters: those above it contribute
multiples of four quadrants, those below too little. m times the window, modulo 2^192, has two bits of
quadrant and 190 of fraction, of which the upper 126 are kept; the closest any double comes to a multiple of
pi/2 costs 61 of them (Muller, Elementary Functions, 11.3).
"""

from __future__ import annotations

from typing import Final

from ..llvm.emitter import Emitter, Reg, constant
from ..llvm.operations import VerbatimValue
from .support import BlockEmitter, flip_sign, muladd, polynomial, two_sum
from .tables.coefficients import COS_QUARTER, SIN_QUARTER

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

#: From %x: the quadrant %q, and the fraction of a quadrant, at most 1/2 in size, as the exact sum %a + %b +
#: %c of three parts with 42 bits each.
REDUCTION: Final = """\
  %bits = bitcast double %x to i64
  %field0 = lshr i64 %bits, 52
  %field = and i64 %field0, 2047
  %m0 = and i64 %bits, 4503599627370495
  %m = or i64 %m0, 4503599627370496
  %at = sub i64 %field, 1013
  %word = lshr i64 %at, 6
  %shift = and i64 %at, 63
  %a0 = getelementptr i64, ptr @{table}, i64 %word
  %a1 = getelementptr i64, ptr %a0, i64 1
  %a2 = getelementptr i64, ptr %a0, i64 2
  %a3 = getelementptr i64, ptr %a0, i64 3
  %w0 = load i64, ptr %a0
  %w1 = load i64, ptr %a1
  %w2 = load i64, ptr %a2
  %w3 = load i64, ptr %a3
  %top = call i64 @llvm.fshl.i64(i64 %w0, i64 %w1, i64 %shift)
  %mid = call i64 @llvm.fshl.i64(i64 %w1, i64 %w2, i64 %shift)
  %bot = call i64 @llvm.fshl.i64(i64 %w2, i64 %w3, i64 %shift)
  %mw = zext i64 %m to i128
  %botw = zext i64 %bot to i128
  %midw = zext i64 %mid to i128
  %topw = zext i64 %top to i128
  %p0 = mul i128 %mw, %botw
  %p1 = mul i128 %mw, %midw
  %p2 = mul i128 %mw, %topw
  %carry = lshr i128 %p0, 64
  %s1 = add i128 %p1, %carry
  %s2 = shl i128 %p2, 64
  %turns = add i128 %s1, %s2
  %rounded = add i128 %turns, 42535295865117307932921825928971026432
  %q128 = lshr i128 %rounded, 126
  %q = trunc i128 %q128 to i64
  %whole = shl i128 %q128, 126
  %frac = sub i128 %turns, %whole
  %upper = ashr i128 %frac, 84
  %upper64 = trunc i128 %upper to i64
  %lower = lshr i128 %frac, 42
  %lower64 = trunc i128 %lower to i64
  %lower42 = and i64 %lower64, 4398046511103
  %last64 = trunc i128 %frac to i64
  %last42 = and i64 %last64, 4398046511103
  %upperf = sitofp i64 %upper64 to double
  %lowerf = sitofp i64 %lower42 to double
  %lastf = sitofp i64 %last42 to double
  %a = fmul double %upperf, 0x3D50000000000000
  %b = fmul double %lowerf, 0x3AB0000000000000
  %c = fmul double %lastf, 0x3810000000000000"""


def sin_quarter(b: Emitter, r: Reg, low: Reg) -> tuple[Reg, Reg]:
    """sin(r + low) for |r| <= pi/4, as a double word."""
    z = b.mul(r, r)
    cube = b.mul(z, polynomial(b, z, SIN_QUARTER[r.dtype]))
    return two_sum(b, r, muladd(b, r, cube, low))


def cos_quarter(b: Emitter, r: Reg, low: Reg) -> tuple[Reg, Reg]:
    """cos(r + low) for |r| <= pi/4, as a double word."""
    z = b.mul(r, r)
    tail = muladd(b, b.mul(z, z), polynomial(b, z, COS_QUARTER[r.dtype]), b.neg(b.mul(r, low)))
    half = b.mul(z, 0.5)
    near = b.exact("fsub", 1.0, half)
    lost = b.exact("fsub", b.exact("fsub", 1.0, near), half)
    return two_sum(b, near, b.add(lost, tail))


def declare(b: BlockEmitter) -> str:
    """Register the function double -> (sin, cos, low parts of both) for |x| >= 2^16; return its name."""
    if FUNCTION in b.declarations:
        return FUNCTION
    items = ", ".join(f"i64 {word - (1 << 64) if word >> 63 else word}" for word in TWO_OVER_PI)
    kind = f"[{len(TWO_OVER_PI)} x i64]"
    b.declarations[TABLE] = f"@{TABLE} = private unnamed_addr constant {kind} [{items}]"
    b.declare("llvm.fshl.i64", "i64 @llvm.fshl.i64(i64, i64, i64)")
    inner = Emitter(b.declarations)
    for line in REDUCTION.format(table=TABLE).split("\n"):
        name, _, text = line.strip().partition(" = ")
        inner.operations.append(VerbatimValue(name, "", 1, text))
    first, second, third, x = (Reg(name, "f64") for name in ("%a", "%b", "%c", "%x"))
    high, low = two_sum(inner, first, second)
    high, low = two_sum(inner, high, inner.add(low, third))
    quadrant = Reg("%q", "i64")
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
