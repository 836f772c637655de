"""asin, acos, atan and atan2.

asin: the odd series for |x| <= 1/2, else asin x = pi/2 - 2 asin sqrt((1 - x) / 2), as in Cephes and fdlibm.
atan: the odd series on [0, 1], reached by one division of the smaller by the larger.
"""

from __future__ import annotations

from typing import Final

from ..llvm.emitter import INT_OF, Emitter, Reg
from .support import INFINITY, NAN, muladd, polynomial
from .tables import elementary

PI_HALF: Final = {
    "f32": (float.fromhex("0x1.921fb6p+0"), float.fromhex("-0x1.777a5cp-25")),
    "f64": (float.fromhex("0x1.921fb54442d18p+0"), float.fromhex("0x1.1a62633145c07p-54")),
}


def _asin_parts(b: Emitter, x: Reg) -> tuple[Reg, Reg, Reg, Reg]:
    """(|x| > 1/2, |x|, t, excess): asin t = t + excess, t = |x| or sqrt((1 - |x|) / 2)."""
    size = b.abs(x)
    large = b.gt(size, 0.5)
    z = b.select(large, muladd(b, size, -0.5, 0.5), b.mul(x, x))
    t = b.select(large, b.sqrt(z), size)
    return large, size, t, b.mul(b.mul(t, z), polynomial(b, z, elementary.ASIN[x.dtype]))


def asin(b: Emitter, x: Reg) -> Reg:
    """asin x, within 1.2 ulp in f32, 1.3 in f64; NaN outside [-1, 1]."""
    high, low = PI_HALF[x.dtype]
    large, _, t, excess = _asin_parts(b, x)
    double = b.add(t, t)
    turned = b.exact("fsub", high, double)
    lost = b.exact("fsub", b.exact("fsub", high, turned), double)
    turned = b.exact("fadd", turned, b.add(lost, muladd(b, excess, -2.0, low)))
    return b.copysign(b.select(large, turned, b.add(t, excess)), x)


def acos(b: Emitter, x: Reg) -> Reg:
    """acos x, within 1.2 ulp in f32, 1.3 in f64; NaN outside [-1, 1]."""
    high, low = PI_HALF[x.dtype]
    large, _, t, excess = _asin_parts(b, x)
    negative = b.lt(x, 0.0)
    # |x| > 1/2: 2 asin t, or pi - 2 asin t. Else pi/2 - asin x.
    signed, signed_excess = b.copysign(t, x), b.copysign(excess, x)
    double, double_excess = b.mul(signed, 2.0), b.mul(signed_excess, 2.0)
    base = b.select(negative, b.const(2 * high, x), 0.0)
    base_low = b.select(negative, b.const(2 * low, x), 0.0)
    far = b.exact("fadd", b.exact("fadd", base, double), b.add(double_excess, base_low))
    near = b.exact("fsub", high, b.exact("fsub", signed, b.exact("fsub", low, signed_excess)))
    return b.select(large, far, near)


def _is_steep(b: Emitter, up: Reg, across: Reg) -> Reg:
    # At 45 degrees either way will do; these are the ones that round pi/4 correctly.
    return b.gt(up, across) if up.dtype == "f32" else b.ge(up, across)


def _atan_bend(b: Emitter, t: Reg) -> Reg:
    """atan t / t - 1 for |t| <= 1."""
    z = b.mul(t, t)
    # The series alternates: the last steps one by one, since even and odd powers apart would cancel.
    *nearest, last = elementary.ATAN[t.dtype][:5]
    total = muladd(b, z, polynomial(b, z, elementary.ATAN[t.dtype][5:]), last)
    for number in reversed(nearest):
        total = muladd(b, z, total, number)
    return b.mul(z, total)


def _atan_of_ratio(b: Emitter, t: Reg, steep: Reg) -> Reg:
    """atan t, or pi/2 - atan t where `steep`, for t in [0, 1]."""
    high, low = PI_HALF[t.dtype]
    bend = _atan_bend(b, t)
    turned = b.exact("fadd", b.exact("fsub", high, t), muladd(b, b.neg(t), bend, low))
    return b.select(steep, turned, muladd(b, t, bend, t))


def atan(b: Emitter, x: Reg) -> Reg:
    """atan x, within 1.5 ulp in f32, 1.6 in f64."""
    size = b.abs(x)
    steep = _is_steep(b, size, b.const(1.0, x))
    t = b.div(b.select(steep, b.const(1.0, x), size), b.select(steep, size, 1.0))
    return b.copysign(_atan_of_ratio(b, t, steep), x)


def atan2(b: Emitter, y: Reg, x: Reg) -> Reg:
    """The angle of the point (x, y), within 1.8 ulp; special values as C99.

    a = atan(smaller / larger), then a or pi - a, or where |y| is larger pi/2 - a or pi/2 + a.
    """
    high, low = PI_HALF[x.dtype]
    across, up = b.abs(x), b.abs(y)
    steep = _is_steep(b, up, across)
    small, large = b.select(steep, across, up), b.select(steep, up, across)
    steep = b.and_(steep, b.gt(up, 0.0))
    t = b.div(small, large)
    # inf/inf means 45 degrees, 0/0 the angle 0.
    t = b.select(b.eq(small, INFINITY), b.const(1.0, x), t)
    t = b.select(b.eq(large, 0.0), b.const(0.0, x), t)
    backward = b.lt(b.bits(x), b.const(0, Reg("", INT_OF[x.dtype], x.lanes)))
    base = b.select(steep, b.const(high, x), b.select(backward, b.const(2 * high, x), 0.0))
    t = b.select(b.xor(steep, backward), b.neg(t), t)
    rest = muladd(b, t, _atan_bend(b, t), b.mul(base, low / high))
    angle = b.exact("fadd", b.exact("fadd", base, t), rest)
    unordered = b.unordered(x, y)
    return b.select(unordered, b.const(NAN, x), b.copysign(angle, y))
