"""Integer and floating division that rounds: fmod, remainder, floor_divide, with NumPy's meaning for every
operand.

Floating semantics are those of NumPy's npy_math (fmod is C's, exact; remainder takes the divisor's sign).
Integer division by zero gives 0 and the most negative integer over -1 gives itself, as in NumPy, and
nothing traps.
"""

from __future__ import annotations

import re
from typing import Final

from ..llvm.emitter import BITS, Emitter, Reg
from .support import INFINITY, bit_pattern, per_lane_function, rarely

#: Quotients from here on do not fit a significand.
WHOLE: Final = {"f32": 2.0**24, "f64": 2.0**53}
LARGEST: Final = {"f32": float.fromhex("0x1.fffffep127"), "f64": float.fromhex("0x1.fffffffffffffp1023")}


def _step(b: Emitter, x: Reg, y: Reg, quotient: Reg) -> Reg:
    # x - trunc(x / y) y fits a float, so one FMA makes it exactly; the rounded quotient may be one too large.
    left = b.fma(b.neg(b.trunc(quotient)), y, x)
    return b.select(b.lt(left, 0.0), b.add(left, y), left)


def _far_remainder(b: Emitter, x: Reg, y: Reg) -> Reg:
    """x mod y for scalars x / y >= 2^p: a loop that takes about p bits off the quotient at a time."""
    dtype, exponent_mask = x.dtype, bit_pattern(INFINITY, x.dtype)
    region = b.begin_while([x])
    (rest,) = region.carried
    quotient = b.div(rest, y)
    b.break_unless(region, b.ge(quotient, WHOLE[dtype]))
    scaled = y
    for _ in range(3):  # the quotient may overflow twice
        held = b.min(b.div(rest, scaled), LARGEST[dtype])
        power = b.bitcast(b.and_(b.bits(held), exponent_mask), dtype)
        scaled = b.mul(scaled, b.max(b.mul(power, 8 / WHOLE[dtype]), 1.0))
    b.end_while(region, [_step(b, rest, scaled, b.div(rest, scaled))])
    return _step(b, rest, y, quotient)


def _fmod_float(b: Emitter, x: Reg, y: Reg) -> Reg:
    across, by = b.abs(x), b.abs(y)

    def needed(inner: Emitter, args: list[Reg]) -> Reg:
        _, p, q = args
        far = inner.ge(inner.div(p, q), WHOLE[p.dtype])
        return inner.and_(far, inner.and_(inner.lt(p, INFINITY), inner.gt(q, 0.0)))

    def work(inner: Emitter, args: list[Reg]) -> Reg:
        return _far_remainder(inner, args[1], args[2])

    quotient = b.div(across, by)
    common = b.select(b.eq(by, INFINITY), across, _step(b, across, by, quotient))
    # Infinity modulo anything is NaN, and so is the step above for it, unless the divisor is infinite.
    common = b.select(b.lt(across, INFINITY), common, float("nan"))
    function = per_lane_function(b, "tracejit.far_fmod", (common, across, by), needed, work)
    far = b.and_(b.ge(quotient, WHOLE[x.dtype]), b.and_(b.lt(across, INFINITY), b.gt(by, 0.0)))
    return b.copysign(rarely(b, far, function, common, across, by), x)


def _quotient(b: Emitter, x: Reg, y: Reg) -> Reg:
    """x / y truncated, for safe y: not 0, and not -1 for signed types."""
    signed, bits = x.is_signed, BITS[x.dtype]
    if x.lanes == 1 or bits == 64:
        return b.compute("sdiv" if signed else "udiv", x.dtype, x.lanes, x, y)
    # No vector unit divides integers; a float with twice the bits (or 24 for 16) has the quotient's integer
    # part right.
    wide = "f64" if bits == 32 else "f32"
    ratio = b.div(b.cast(x, wide), b.cast(y, wide))
    return b.convert("fptosi" if signed else "fptoui", ratio, x.dtype)


def _divide_integers(b: Emitter, x: Reg, y: Reg) -> tuple[Reg, Reg]:
    """Quotient and remainder truncated towards zero; both 0 where y is 0."""
    zero = b.eq(y, 0)
    if not x.is_signed:
        quotient = b.select(zero, b.const(0, x), _quotient(b, x, b.select(zero, b.const(1, y), y)))
        return quotient, b.select(zero, b.const(0, x), b.sub(x, b.mul(quotient, y)))
    opposite = b.eq(y, -1)
    quotient = _quotient(b, x, b.select(b.or_(zero, opposite), b.const(1, y), y))
    quotient = b.select(opposite, b.neg(x), quotient)
    quotient = b.select(zero, b.const(0, x), quotient)
    return quotient, b.select(zero, b.const(0, x), b.sub(x, b.mul(quotient, y)))


def _crosses(b: Emitter, rest: Reg, y: Reg) -> Reg:
    """Whether rest is not zero and its sign is not y's."""
    return b.and_(b.ne(rest, 0), b.xor(b.lt(rest, 0), b.lt(y, 0)))


def fmod(b: Emitter, x: Reg, y: Reg) -> Reg:
    """C's fmod, exact, with the sign of x; for integers the truncated remainder."""
    return _fmod_float(b, x, y) if x.is_float else _divide_integers(b, x, y)[1]


#: A positive constant, in all lanes.
_CONSTANT: Final = r"(?:splat \(i\d+ )?(\d+)\)?"


def _power_of_two(y: Reg) -> int | None:
    """The logarithm of an integer constant that is a power of two; None of other values."""
    match = re.fullmatch(_CONSTANT, y.text)
    number = int(match[1]) if match else 0
    return number.bit_length() - 1 if number > 0 and number & (number - 1) == 0 else None


def remainder(b: Emitter, x: Reg, y: Reg) -> Reg:
    """NumPy's and Python's %: the remainder with the sign of y."""
    if not x.is_float and (shift := _power_of_two(y)) is not None:
        return b.and_(x, (1 << shift) - 1)
    rest = fmod(b, x, y)
    if not x.is_float:
        return b.select(_crosses(b, rest, y), b.add(rest, y), rest) if x.is_signed else rest
    moved = b.select(_crosses(b, rest, y), b.add(rest, y), rest)
    return b.select(b.eq(rest, 0.0), b.copysign(0.0, y), moved)


def floor_divide(b: Emitter, x: Reg, y: Reg) -> Reg:
    """NumPy's //: for floats npy_floor_divide step by step, x / y where y is zero."""
    if not x.is_float:
        if (shift := _power_of_two(y)) is not None:
            return b.integer("ashr" if x.is_signed else "lshr", x, shift)
        quotient, rest = _divide_integers(b, x, y)
        return b.select(_crosses(b, rest, y), b.sub(quotient, 1), quotient) if x.is_signed else quotient
    rest = fmod(b, x, y)
    plain = b.div(x, y)
    ratio = b.div(b.exact("fsub", x, rest), y)
    ratio = b.select(_crosses(b, rest, y), b.sub(ratio, 1.0), ratio)
    below = b.floor(ratio)
    whole = b.select(b.gt(b.sub(ratio, below), 0.5), b.add(below, 1.0), below)
    whole = b.select(b.eq(ratio, 0.0), b.copysign(0.0, plain), whole)
    return b.select(b.eq(y, 0.0), plain, whole)
