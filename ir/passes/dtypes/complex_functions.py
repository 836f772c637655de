"""Complex roots, exponentials, logarithms, powers, trigonometric and hyperbolic functions, on planes.

Branch cuts and special values are NumPy's, which are those of C99's annex G. Algorithms: W. Kahan, "Branch
Cuts for Complex Elementary Functions, or Much Ado About Nothing's Sign Bit", in The State of the Art in
Numerical Analysis (1987). Errors are a few units in the last place of the absolute value of the result.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from .complex_arithmetic import (
    Planes,
    choose,
    is_single,
    larger_part,
    mul,
    pick,
    reciprocal,
    turned,
    turned_back,
)

_LN2: Final = math.log(2.0)


def _limits(x: Planes, single: float, double: float) -> float:
    return single if is_single(x) else double


# -- roots, exponentials and logarithms ----------------------------------------------------------------------


def sqrt(b: Any, x: Planes) -> Planes:
    """The square root. With t = sqrt((|x.re| + |x|) / 2) it is (t, x.im / 2t) right of the imaginary axis,
    else its mirror image.

    Scaled by powers of 4, so that neither |x| overflows nor its bits are lost to subnormal numbers.
    """
    size = larger_part(b, x)
    huge, tiny = b.gt(size, _limits(x, 2.0**120, 2.0**1000)), b.lt(size, _limits(x, 2.0**-80, 2.0**-900))
    up = _limits(x, 2.0**60, 2.0**120)
    scale = b.where(huge, 0.0625, pick(b, tiny, up, 1.0, x.re))
    back = b.where(huge, 4.0, pick(b, tiny, up**-0.5, 1.0, x.re))
    re, im = b.mul(x.re, scale), b.mul(x.im, scale)
    t = b.sqrt(b.mul(b.add(b.abs(re), b.hypot(re, im)), 0.5))
    half = b.mul(b.div(im, b.add(t, t)), back)
    t = b.mul(t, back)
    right = b.logical_not(b.signbit(x.re))
    root = Planes(b.where(right, t, b.abs(half)), b.where(right, half, b.copysign(t, x.im)))
    root = choose(b, b.eq(size, 0.0), Planes(b.abs(x.re), x.im), root)
    return choose(b, b.isinf(x.im), Planes(b.abs(x.im), x.im), root)


def _scaled_exp(b: Any, x: Any) -> tuple[Any, Any]:
    """Two factors of e^x, whose product may overflow though that with a third, smaller one does not."""
    shift = 80.0 if x.dtype.itemsize == 4 else 700.0
    large = b.gt(x, shift)
    return b.exp(b.where(large, b.sub(x, shift), x)), pick(b, large, math.exp(shift), 1.0, x)


def exp(b: Any, x: Planes) -> Planes:
    """(e^x.re cos x.im, e^x.re sin x.im), without overflow on the way."""
    factor, scale = _scaled_exp(b, x.re)
    re, im = (b.mul(b.mul(factor, part), scale) for part in (b.cos(x.im), b.sin(x.im)))
    im = b.where(b.eq(x.im, 0.0), x.im, im)
    # of infinities with no angle
    lost = b.logical_and(b.isinf(x.re), b.logical_not(b.isfinite(x.im)))
    below = b.lt(x.re, 0.0)
    return Planes(
        b.where(lost, b.where(below, 0.0, x.re), re),
        b.where(b.logical_and(lost, below), b.copysign(0.0, x.im), im),
    )


def exp2(b: Any, x: Planes) -> Planes:
    """2^x"""
    return exp(b, Planes(b.mul(x.re, _LN2), b.mul(x.im, _LN2)))


def expm1(b: Any, x: Planes) -> Planes:
    """e^x.re cos x.im - 1 = expm1(x.re) cos x.im - 2 sin^2(x.im / 2)"""
    half = b.sin(b.mul(x.im, 0.5))
    re = b.sub(b.mul(b.expm1(x.re), b.cos(x.im)), b.mul(b.mul(half, half), 2.0))
    return Planes(re, b.mul(b.exp(x.re), b.sin(x.im)))


def log(b: Any, x: Planes) -> Planes:
    """(log |x|, angle x); near the unit circle by |x|^2 - 1, which is (|x.re| - 1) (|x.re| + 1) + x.im^2."""
    a, c = b.abs(x.re), b.abs(x.im)
    large, small = b.maximum(a, c), b.minimum(a, c)
    near = b.logical_and(b.gt(large, 0.5), b.lt(large, 2.0))
    excess = b.add(b.mul(b.sub(large, 1.0), b.add(large, 1.0)), b.mul(small, small))
    close = b.mul(b.log1p(b.where(near, excess, 0.0)), 0.5)
    close_enough = b.logical_and(near, b.lt(b.abs(excess), 0.5))
    size = b.hypot(x.re, x.im)
    return Planes(b.where(close_enough, close, _log_of_size(b, x, size)), b.atan2(x.im, x.re))


def _log_of_size(b: Any, x: Planes, size: Any) -> Any:
    """log |x|, also where |x| overflows or loses bits."""
    part = larger_part(b, x)
    huge = b.logical_and(b.gt(part, _limits(x, 1e38, 1e308)), b.isfinite(part))
    tiny = b.logical_and(b.lt(part, _limits(x, 1e-30, 1e-290)), b.gt(part, 0.0))
    odd = b.logical_or(huge, tiny)
    power = _limits(x, 60, 200)
    scale = pick(b, huge, 0.25, 2.0**power, part)
    again = b.log(b.where(odd, b.hypot(b.mul(x.re, scale), b.mul(x.im, scale)), 1.0))
    return b.where(odd, b.add(again, pick(b, huge, 2 * _LN2, -power * _LN2, part)), b.log(size))


def _log_to(base: float) -> Callable[[Any, Planes], Planes]:
    factor = 1.0 / math.log(base)

    def logarithm(b: Any, x: Planes) -> Planes:
        result = log(b, x)
        return Planes(b.mul(result.re, factor), b.mul(result.im, factor))

    return logarithm


def log1p(b: Any, x: Planes) -> Planes:
    """log(1 + x), also for small x."""
    shifted = b.add(x.re, 1.0)
    # |1 + x|^2 - 1 = x.re (2 + x.re) + x.im^2
    excess = b.add(b.mul(x.re, b.add(x.re, 2.0)), b.mul(x.im, x.im))
    near = b.lt(b.abs(excess), 0.5)
    close = b.mul(b.log1p(b.where(near, excess, 0.0)), 0.5)
    re = b.where(near, close, b.log(b.hypot(shifted, x.im)))
    return Planes(re, b.atan2(x.im, shifted))


def power(b: Any, x: Planes, y: Planes) -> Planes:
    """e^(y log x); 1 for y = 0, and 0 of 0 for positive y."""
    result = exp(b, mul(b, y, log(b, x)))
    origin = b.logical_and(b.eq(x.re, 0.0), b.eq(x.im, 0.0))
    positive = b.logical_and(b.gt(y.re, 0.0), b.eq(y.im, 0.0))
    nan = pick(b, positive, 0.0, math.nan, x.re)
    result = Planes(b.where(origin, nan, result.re), b.where(origin, nan, result.im))
    no_power = b.logical_and(b.eq(y.re, 0.0), b.eq(y.im, 0.0))
    return Planes(b.where(no_power, 1.0, result.re), b.where(no_power, 0.0, result.im))


def whole_power(b: Any, x: Planes, exponent: int) -> Planes:
    """x to a whole power that is not 0, by squaring, as NumPy does up to 100."""
    result: Planes | None = None
    factor, left = x, abs(exponent)
    while True:
        if left & 1:
            result = factor if result is None else mul(b, result, factor)
        left >>= 1
        if not left:
            break
        factor = mul(b, factor, factor)
    assert result is not None
    return reciprocal(b, result) if exponent < 0 else result


# -- hyperbolic and trigonometric ----------------------------------------------------------------------------


def sinh(b: Any, x: Planes) -> Planes:
    """(sinh x.re cos x.im, cosh x.re sin x.im)"""
    half, scale = _half_exp(b, x)
    wide = b.gt(b.abs(x.re), _limits(x, 20.0, 40.0))
    no_angle = b.eq(x.im, 0.0)
    cosine, sine = b.cos(x.im), b.sin(x.im)
    re = b.where(wide, b.copysign(half, x.re), b.sinh(b.where(wide, 1.0, x.re)))
    im = b.where(wide, half, b.cosh(b.where(wide, 1.0, x.re)))
    re = b.where(no_angle, b.sinh(x.re), b.mul(b.mul(re, cosine), scale))
    im = b.where(no_angle, x.im, b.mul(b.mul(im, sine), scale))
    endless = b.logical_not(b.isfinite(x.im))
    re = b.where(b.logical_and(b.eq(x.re, 0.0), endless), x.re, re)
    return Planes(b.where(b.logical_and(b.isinf(x.re), endless), b.abs(x.re), re), im)


def _half_exp(b: Any, x: Planes) -> tuple[Any, Any]:
    """Two factors of e^|x.re| / 2; the second is 1 unless that is large."""
    factor, scale = _scaled_exp(b, b.abs(x.re))
    return b.mul(factor, 0.5), scale


def cosh(b: Any, x: Planes) -> Planes:
    """(cosh x.re cos x.im, sinh x.re sin x.im)"""
    half, scale = _half_exp(b, x)
    wide = b.gt(b.abs(x.re), _limits(x, 20.0, 40.0))
    cosine, sine = b.cos(x.im), b.sin(x.im)
    re = b.where(wide, half, b.cosh(b.where(wide, 1.0, x.re)))
    im = b.where(wide, b.copysign(half, x.re), b.sinh(b.where(wide, 1.0, x.re)))
    re = b.where(b.eq(x.im, 0.0), b.cosh(x.re), b.mul(b.mul(re, cosine), scale))
    im = b.mul(b.mul(im, sine), scale)
    zero = b.where(b.isnan(x.re), x.im, b.mul(b.copysign(1.0, x.re), x.im))
    im = b.where(b.eq(x.im, 0.0), zero, im)
    endless = b.logical_not(b.isfinite(x.im))
    im = b.where(b.logical_and(b.eq(x.re, 0.0), endless), 0.0, im)
    return Planes(b.where(b.logical_and(b.isinf(x.re), endless), b.abs(x.re), re), im)


def tanh(b: Any, x: Planes) -> Planes:
    """The hyperbolic tangent. With t = tan x.im and s = sinh x.re it is (s sqrt(1 + s^2) (1 + t^2), t) / (1 +
    (1 + t^2) s^2)."""
    wide = b.gt(b.abs(x.re), _limits(x, 9.0, 20.0))
    t, s = b.tan(x.im), b.sinh(b.where(wide, 1.0, x.re))
    growth = b.add(b.mul(t, t), 1.0)
    squared = b.mul(s, s)
    divisor = b.add(b.mul(growth, squared), 1.0)
    re = b.div(b.mul(b.mul(growth, b.sqrt(b.add(squared, 1.0))), s), divisor)
    im = b.div(t, divisor)
    faded = b.exp(b.mul(b.abs(x.re), -2.0))
    far = b.mul(b.mul(b.mul(b.sin(x.im), b.cos(x.im)), 4.0), faded)
    infinite, angle = b.isinf(x.re), b.isfinite(x.im)
    far = b.where(b.logical_and(infinite, b.logical_not(angle)), b.copysign(0.0, x.im), far)
    direction = b.where(b.logical_or(infinite, angle), b.copysign(1.0, x.re), math.nan)
    re, im = b.where(wide, direction, re), b.where(wide, far, im)
    no_angle = b.eq(x.im, 0.0)
    re = b.where(b.eq(x.re, 0.0), x.re, b.where(no_angle, b.tanh(x.re), re))
    return Planes(re, b.where(no_angle, x.im, im))


def sin(b: Any, x: Planes) -> Planes:
    """-i sinh(i x)"""
    return turned_back(b, sinh(b, turned(b, x)))


def cos(b: Any, x: Planes) -> Planes:
    """cosh(i x)"""
    return cosh(b, turned(b, x))


def tan(b: Any, x: Planes) -> Planes:
    """-i tanh(i x)"""
    return turned_back(b, tanh(b, turned(b, x)))


FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "cos": cos, "cosh": cosh, "exp": exp, "exp2": exp2, "expm1": expm1, "log": log, "log10": _log_to(10.0),
    "log1p": log1p, "log2": _log_to(2.0), "pow": power, "sin": sin, "sinh": sinh, "sqrt": sqrt, "tan": tan,
    "tanh": tanh,
}  # fmt: skip


def _far(b: Any, x: Planes) -> tuple[Any, Any]:
    """Whether x is so large that 1 is nothing beside its square, and log 2|x|."""
    far = b.gt(larger_part(b, x), _limits(x, 2.0**60, 2.0**500))
    far = b.logical_or(far, b.logical_or(b.isinf(x.re), b.isinf(x.im)))
    half = b.hypot(b.mul(b.where(far, x.re, 2.0), 0.5), b.mul(b.where(far, x.im, 0.0), 0.5))
    return far, b.add(b.log(half), 2 * _LN2)


def asinh(b: Any, x: Planes) -> Planes:
    """The inverse hyperbolic sine, by sqrt(1 + i x) and sqrt(1 - i x)."""
    far, growth = _far(b, x)
    near = choose(b, far, Planes(b.mul(x.re, 0.0), b.mul(x.im, 0.0)), x)
    first = sqrt(b, Planes(b.add(near.im, 1.0), b.neg(near.re)))
    second = sqrt(b, Planes(b.sub(1.0, near.im), near.re))
    re = b.asinh(b.sub(b.mul(first.re, second.im), b.mul(second.re, first.im)))
    im = b.atan2(near.im, b.sub(b.mul(first.re, second.re), b.mul(first.im, second.im)))
    distant = Planes(b.copysign(growth, x.re), b.atan2(x.im, b.abs(x.re)))
    return _real_on_the_axis(b, choose(b, far, distant, Planes(re, im)), x)


def _real_on_the_axis(b: Any, result: Planes, x: Planes) -> Planes:
    """An odd function's result, with the imaginary zero of x where that is real and not a number."""
    lost = b.logical_and(b.isnan(x.re), b.eq(x.im, 0.0))
    return Planes(result.re, b.where(lost, x.im, result.im))


def acosh(b: Any, x: Planes) -> Planes:
    """The inverse hyperbolic cosine, by sqrt(x - 1) and sqrt(x + 1)."""
    far, growth = _far(b, x)
    near = choose(b, far, Planes(b.mul(x.re, 0.0), b.mul(x.im, 0.0)), x)
    first = sqrt(b, Planes(b.sub(near.re, 1.0), near.im))
    second = sqrt(b, Planes(b.add(near.re, 1.0), near.im))
    re = b.asinh(b.add(b.mul(first.re, second.re), b.mul(first.im, second.im)))
    im = b.mul(b.atan2(first.im, second.re), 2.0)
    im = b.where(_is_lost(b, x), math.pi / 2, im)
    return choose(b, far, Planes(growth, b.atan2(x.im, x.re)), Planes(re, im))


def _is_lost(b: Any, x: Planes) -> Any:
    """Whether x lies on the imaginary axis, at an unknown place."""
    return b.logical_and(b.eq(x.re, 0.0), b.isnan(x.im))


def acos(b: Any, x: Planes) -> Planes:
    """The inverse cosine, by sqrt(1 - x) and sqrt(1 + x)."""
    far, growth = _far(b, x)
    near = choose(b, far, Planes(b.mul(x.re, 0.0), b.mul(x.im, 0.0)), x)
    first = sqrt(b, Planes(b.sub(1.0, near.re), b.neg(near.im)))
    second = sqrt(b, Planes(b.add(near.re, 1.0), near.im))
    re = b.mul(b.atan2(first.re, second.re), 2.0)
    re = b.where(_is_lost(b, x), math.pi / 2, re)
    im = b.asinh(b.sub(b.mul(second.re, first.im), b.mul(second.im, first.re)))
    distant = Planes(b.atan2(b.abs(x.im), x.re), b.copysign(growth, b.neg(x.im)))
    return choose(b, far, distant, Planes(re, im))


def atanh(b: Any, x: Planes) -> Planes:
    """(log1p(4a / ((1 - a)^2 + c^2)) / 4, atan2(2c, (1 - a) (1 + a) - c^2) / 2), with a = |x.re|, c = x.im"""
    a, c = b.abs(x.re), b.abs(x.im)
    far = b.gt(b.maximum(a, c), _limits(x, 2.0**50, 2.0**500))
    far = b.logical_or(far, b.logical_or(b.isinf(a), b.isinf(c)))
    inner_a, inner_c = b.where(far, 0.5, a), b.where(far, 0.5, c)
    rest = b.sub(1.0, inner_a)
    tip = b.logical_and(b.eq(a, 1.0), b.lt(c, _limits(x, 2.0**-60, 2.0**-500)))
    squares = b.add(b.mul(rest, rest), b.mul(inner_c, inner_c))
    quotient = b.div(b.mul(inner_a, 4.0), b.where(tip, 1.0, squares))
    re = b.mul(b.log1p(quotient), 0.25)
    # at 1 + i c: -log(sqrt(c) / sqrt(2)) for small c
    re = b.where(tip, b.mul(b.sub(_LN2, b.log(b.where(tip, c, 1.0))), 0.5), re)
    im = b.mul(
        b.atan2(b.mul(inner_c, 2.0), b.sub(b.mul(rest, b.add(inner_a, 1.0)), b.mul(inner_c, inner_c))), 0.5
    )
    im = b.where(b.logical_and(tip, b.eq(c, 0.0)), c, im)
    half = b.hypot(b.mul(a, 0.5), b.mul(c, 0.5))
    faded = b.where(b.isinf(half), 0.0, b.div(b.div(b.mul(a, 0.25), half), half))
    re = b.where(far, faded, re)
    im = b.where(b.logical_and(far, b.logical_not(b.isnan(c))), math.pi / 2, im)
    im = b.where(b.isnan(c), c, im)
    result = Planes(b.copysign(re, x.re), b.copysign(im, x.im))
    lost = b.logical_and(b.isnan(x.re), b.isinf(x.im))
    return _real_zero(b, choose(b, lost, Planes(b.copysign(0.0, x.re), result.im), result), x)


def _real_zero(b: Any, result: Planes, x: Planes) -> Planes:
    """The result, with the zero of x where its real part is that."""
    return Planes(b.where(b.eq(x.re, 0.0), x.re, result.re), result.im)


def asin(b: Any, x: Planes) -> Planes:
    """-i asinh(i x)"""
    return turned_back(b, asinh(b, turned(b, x)))


def atan(b: Any, x: Planes) -> Planes:
    """-i atanh(i x)"""
    return turned_back(b, atanh(b, turned(b, x)))


INVERSES: Final[dict[str, Callable[[Any, Planes], Planes]]] = {
    "acos": acos, "acosh": acosh, "asin": asin, "asinh": asinh, "atan": atan, "atanh": atanh,
}  # fmt: skip
