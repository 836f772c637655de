"""sin, cos and tan.

Up to a limit x is reduced by multiples of pi (sin, cos: one polynomial on [-pi/2, pi/2]) or pi/2 (tan) with
the constant in three parts (Cody and Waite), where FMA makes the first step exact. Beyond it a separate
function reduces exactly, see `huge_angle`; it is called only where some lane needs it.
"""

from __future__ import annotations

from typing import Final

from ..llvm.emitter import Emitter, Reg
from .huge_angle import RESULT, declare
from .support import (
    MAGIC,
    flip_sign,
    muladd,
    per_lane_function,
    polynomial,
    rarely,
    two_product,
)
from .tables import elementary

PI: Final = {
    "f32": tuple(map(float.fromhex, ("0x1.921fb6p+1", "-0x1.777a5cp-24", "-0x1.ee59dap-49"))),
    "f64": tuple(
        map(float.fromhex, ("0x1.921fb54442d18p+1", "0x1.1a62633145c07p-53", "-0x1.f1976b7ed8fbcp-109"))
    ),
}
ONE_OVER_PI: Final = float.fromhex("0x1.45f306dc9c883p-2")
#: Largest argument for which the three parts suffice: the nearest multiple is k <= 2^15 in f32, 2^30 in f64,
#: and the quotient's rounding leaves the polynomial's interval by at most k ulps.
LIMIT: Final = {"f32": 1e5, "f64": 1e9}
#: Largest argument of tangents: in f32 a few beyond it have errors of 2 ulps.
TAN_LIMIT: Final = {"f32": 3e4, "f64": 1e9}


def _huge(b: Emitter, name: str, x: Reg, common: Reg) -> Reg:
    limit = (TAN_LIMIT if name == "tan" else LIMIT)[x.dtype]
    angle = declare(b)

    def needed(inner: Emitter, args: list[Reg]) -> Reg:
        return inner.gt(inner.abs(args[1]), limit)

    def work(inner: Emitter, args: list[Reg]) -> Reg:
        wide = inner.cast(args[1], "f64")
        values = inner.result_of(angle, RESULT, 1, wide)
        sine, cosine, sine_low, cosine_low = (
            inner.arrange("extractvalue", "f64", 1, values, tail=f", {i}") for i in range(4)
        )
        value = {"sin": sine, "cos": cosine}.get(name)
        return inner.cast(value or _ratio(inner, sine, sine_low, cosine, cosine_low), x.dtype)

    function = per_lane_function(b, f"tracejit.huge_{name}", (common, x), needed, work)
    return rarely(b, needed(b, [common, x]), function, common, x)


def _sine_of_half_turn(b: Emitter, r: Reg) -> Reg:
    # z times the first coefficient is rounded only once, together with the rest, so that no result exceeds 1.
    first, *others = elementary.SIN[r.dtype]
    z = b.mul(r, r)
    square = b.mul(z, z)
    bend = b.fma(z, b.const(first, z), b.mul(square, polynomial(b, z, others, square)))
    return b.fma(r, bend, r)


def sin(b: Emitter, x: Reg) -> Reg:
    """sin x, within 1.6 ulp for all x."""
    first, second, third = PI[x.dtype]
    shifted = muladd(b, x, ONE_OVER_PI, MAGIC[x.dtype])
    k = b.exact("fsub", shifted, MAGIC[x.dtype])
    r = b.fma(k, b.const(-third, x), b.fma(k, b.const(-second, x), b.fma(k, b.const(-first, x), x)))
    value = flip_sign(b, _sine_of_half_turn(b, r), b.bits(shifted))
    value = b.select(b.eq(x, 0.0), x, value)  # the sign of zero
    return _huge(b, "sin", x, value)


def cos(b: Emitter, x: Reg) -> Reg:
    """cos x, within 1.6 ulp for all x."""
    first, second, third = PI[x.dtype]
    minus = b.neg(b.abs(x))
    shifted = b.exact("fadd", muladd(b, minus, -ONE_OVER_PI, -0.5), MAGIC[x.dtype])
    k = b.exact("fadd", b.exact("fsub", shifted, MAGIC[x.dtype]), 0.5)
    # r = k pi - |x| with k = n + 1/2, and cos x = (-1)^n sin r
    r = b.fma(k, b.const(third, x), b.fma(k, b.const(second, x), b.fma(k, b.const(first, x), minus)))
    value = flip_sign(b, _sine_of_half_turn(b, r), b.bits(shifted))
    return _huge(b, "cos", x, value)


def _ratio(b: Emitter, above: Reg, above_low: Reg, below: Reg, below_low: Reg) -> Reg:
    """The quotient of two double words, nearly rounded correctly."""
    inverse = b.div(1.0, below)
    ratio = b.mul(above, inverse)
    minus = b.neg(ratio)
    missing = b.add(b.fma(minus, below, above), muladd(b, minus, below_low, above_low))
    return muladd(b, missing, inverse, ratio)


def tan(b: Emitter, x: Reg) -> Reg:
    """tan x, within 1.9 ulp in f32, 1.8 in f64 for all x."""
    first, second, third = (part / 2 for part in PI[x.dtype])
    shifted = muladd(b, x, 2 * ONE_OVER_PI, MAGIC[x.dtype])
    k = b.exact("fsub", shifted, MAGIC[x.dtype])
    near = b.fma(k, b.const(-first, x), x)
    step, step_low = two_product(b, k, second)
    r = b.exact("fsub", near, step)
    low = b.exact("fsub", b.exact("fsub", b.exact("fsub", near, r), step), step_low)
    low = b.fma(k, b.const(-third, x), low)
    z = b.mul(r, r)
    # tan(r + low) = tan r + low (1 + tan^2 r), of which 1 + r^2 is enough
    bend = muladd(b, b.mul(r, z), polynomial(b, z, elementary.TAN[x.dtype]), muladd(b, z, low, low))
    tangent = b.exact("fadd", r, bend)
    odd = b.ne(b.and_(b.bits(shifted), 1), 0)
    # -1 / tan where the quadrant is odd
    value = b.div(b.select(odd, b.const(-1.0, x), tangent), b.select(odd, tangent, 1.0))
    value = b.select(b.eq(x, 0.0), x, value)
    return _huge(b, "tan", x, value)
