"""Sign, minimum and maximum, tests of floats, and steps between floats; floats, integers and bools alike."""

from __future__ import annotations

from typing import Final

from ..llvm.emitter import INT_OF, Emitter, Reg, constant
from .support import BIAS, INFINITY, NAN, power_of_two


def sign(b: Emitter, x: Reg) -> Reg:
    """-1, 0 or 1; NaN for NaN."""
    positive = b.select(b.gt(x, 0), b.const(1, x), 0)
    if not x.is_signed and not x.is_float:
        return positive
    value = b.select(b.lt(x, 0), b.const(-1, x), positive)
    return b.select(b.isnan(x), x, value) if x.is_float else value


def maximum(b: Emitter, x: Reg, y: Reg) -> Reg:
    """The larger; NaN where either is."""
    if x.dtype == "bool":
        return b.or_(x, y)
    larger = b.max(x, y)
    return b.select(b.isnan(x), x, larger) if x.is_float else larger


def minimum(b: Emitter, x: Reg, y: Reg) -> Reg:
    """The smaller; NaN where either is."""
    if x.dtype == "bool":
        return b.and_(x, y)
    smaller = b.min(x, y)
    return b.select(b.isnan(x), x, smaller) if x.is_float else smaller


def fold_maximum(b: Emitter, total: Reg, x: Reg) -> Reg:
    """`maximum` for folds: faster, but of zeros that differ in sign either may be the result.

    Where one is NaN, `Emitter.max` gives its second operand: the two orders give both. So the bits of either
    are those of the larger number, and together those of a NaN. (A comparison of NaNs takes several cycles,
    and the next step of the fold waits for it.)
    """
    if not x.is_float:
        return maximum(b, total, x)
    return _either(b, b.max(total, x), b.max(x, total))


def fold_minimum(b: Emitter, total: Reg, x: Reg) -> Reg:
    """`minimum` for folds; see `fold_maximum`."""
    if not x.is_float:
        return minimum(b, total, x)
    return _either(b, b.min(total, x), b.min(x, total))


def _either(b: Emitter, x: Reg, y: Reg) -> Reg:
    return b.bitcast(b.or_(b.bits(x), b.bits(y)), x.dtype)


def fmax(b: Emitter, x: Reg, y: Reg) -> Reg:
    """The larger; the other where one is NaN."""
    return b.select(b.isnan(y), x, b.max(x, y)) if x.is_float else maximum(b, x, y)


def fmin(b: Emitter, x: Reg, y: Reg) -> Reg:
    """The smaller; the other where one is NaN."""
    return b.select(b.isnan(y), x, b.min(x, y)) if x.is_float else minimum(b, x, y)


def isinf(b: Emitter, x: Reg) -> Reg:
    """Whether x is infinite; never for integers."""
    if not x.is_float:
        return constant(False, "bool", x.lanes)
    return b.eq(b.abs(x), INFINITY)


def isfinite(b: Emitter, x: Reg) -> Reg:
    """Whether x is neither infinite nor NaN; always for integers."""
    if not x.is_float:
        return constant(True, "bool", x.lanes)
    return b.lt(b.abs(x), INFINITY)


def signbit(b: Emitter, x: Reg) -> Reg:
    """Whether the sign bit is set: that of -0 and of NaNs too."""
    if x.is_float:
        return b.lt(b.bits(x), 0)
    return b.lt(x, 0) if x.is_signed else constant(False, "bool", x.lanes)


def square(b: Emitter, x: Reg) -> Reg:
    """x x; logical and for bools."""
    return b.and_(x, x) if x.dtype == "bool" else b.mul(x, x)


def heaviside(b: Emitter, x: Reg, at_zero: Reg) -> Reg:
    """0 below zero, 1 above, `at_zero` at it; NaN for NaN."""
    step = b.select(b.gt(x, 0.0), b.const(1.0, x), 0.0)
    return b.select(b.isnan(x), x, b.select(b.eq(x, 0.0), at_zero, step))


def nextafter(b: Emitter, x: Reg, y: Reg) -> Reg:
    """The next float after x towards y; y where they are equal."""
    bits, half = b.bits(x), x.dtype == "f16"
    u, v = (b.cast(x, "f32"), b.cast(y, "f32")) if half else (x, y)
    away = b.not_(b.xor(b.lt(u, v), b.gt(u, 0.0)))
    moved = b.bitcast(b.add(bits, b.select(away, b.const(1, bits), -1)), x.dtype)
    if half:
        step = b.cast(b.copysign(2.0**-24, v), "f16")
    else:
        step = b.copysign(2.0**-149 if x.dtype == "f32" else 2.0**-1074, y)
    moved = b.select(b.eq(u, 0.0), step, moved)
    moved = b.select(b.eq(u, v), x if half else y, moved)  # of zeros with two signs NumPy's half is the first
    unordered = b.unordered(u, v)
    return b.select(unordered, b.const(NAN, x), moved)


def spacing(b: Emitter, x: Reg) -> Reg:
    """The distance to the next float away from 0, negative for negative x; NaN of infinities."""
    if x.dtype == "f16":
        return _spacing_of_half(b, x)
    away = b.select(b.lt(x, 0.0), b.const(-INFINITY, x), INFINITY)
    return b.sub(nextafter(b, x, away), x)


def _spacing_of_half(b: Emitter, x: Reg) -> Reg:
    """The distance to the next float16 above x, as NumPy has it: never negative, of the largest infinity."""
    bits = b.bits(x)
    exponent = b.and_(bits, 0x7C00)
    # below the magnitude of a negative power of 2 floats are twice as dense
    power = b.and_(b.lt(bits, 0), b.eq(b.and_(bits, 0x3FF), 0))
    down = b.select(power, b.const(11, bits), 10)
    normal = b.sub(exponent, b.shl(down, 10))
    places = b.max(b.sub(b.sub(b.lshr(exponent, 10), 1), b.sub(down, 10)), 0)
    subnormal = b.shl(b.const(1, bits), b.min(places, 10))
    result = b.select(b.gt(normal, 0), normal, subnormal)
    result = b.select(b.eq(bits, 0x7BFF), b.const(0x7C00, bits), result)
    return b.bitcast(b.select(b.eq(exponent, 0x7C00), b.const(0x7E00, bits), result), "f16")


#: Exponents below the first go down by the second (a step that cannot lose bits that the result keeps),
#: those above the third go up by it; beyond the last every result is 0 or infinite.
LDEXP: Final = {"f32": (-126, -102, 127, 300), "f64": (-1022, -969, 1023, 2200)}


def ldexp(b: Emitter, x: Reg, n: Reg) -> Reg:
    """x 2^n with one rounding, for n of dtype i32 or i64."""
    low, down, up, end = LDEXP[x.dtype]
    n = b.cast(b.min(b.max(n, -end), end), INT_OF[x.dtype])
    for _ in range(2):
        under, over = b.lt(n, low), b.gt(n, up)
        factor = b.select(over, b.const(2.0**up, x), 1.0)
        x = b.exact("fmul", x, b.select(under, b.const(2.0**down, x), factor))
        n = b.sub(n, b.select(under, b.const(down, n), b.select(over, b.const(up, n), 0)))
    return b.exact("fmul", x, power_of_two(b, b.add(n, BIAS[x.dtype]), x.dtype))
