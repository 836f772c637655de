"""Complex roots, exponentials, logarithms, powers, trigonometric and hyperbolic functions, on planes.

Branch cuts and special values are NumPy's, which are those of C99's annex G. Algorithms: W. Kahan, "Branch
Cuts for Complex Elementary Functions, or Much Ado About Nothing's Sign Bit", in The State of the Art in
Numerical Analysis (1987). Errors are a few units in the last place of the absolute value of the result.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from .complex_arithmetic import mul, reciprocal
from .planes import Planes, choose, larger_part, limit_of, pick, turned, turned_back

LN2: Final = math.log(2.0)


# -- roots, exponentials and logarithms ----------------------------------------------------------------------


def sqrt(b: Any, x: Planes) -> Planes:
    """The square root. With t = sqrt((|x.re| + |x|) / 2) it is (t, x.im / 2t) right of the imaginary axis,
    else its mirror image.

    Scaled by powers of 4, so that neither |x| overflows nor its bits are lost to subnormal numbers.
    """
    size = larger_part(b, x)
    huge, tiny = b.gt(size, limit_of(x, 2.0**120, 2.0**1000)), b.lt(size, limit_of(x, 2.0**-80, 2.0**-900))
    up = limit_of(x, 2.0**60, 2.0**120)
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
    return exp(b, Planes(b.mul(x.re, LN2), b.mul(x.im, LN2)))


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
    huge = b.logical_and(b.gt(part, limit_of(x, 1e38, 1e308)), b.isfinite(part))
    tiny = b.logical_and(b.lt(part, limit_of(x, 1e-30, 1e-290)), b.gt(part, 0.0))
    odd = b.logical_or(huge, tiny)
    power = limit_of(x, 60, 200)
    scale = pick(b, huge, 0.25, 2.0**power, part)
    again = b.log(b.where(odd, b.hypot(b.mul(x.re, scale), b.mul(x.im, scale)), 1.0))
    return b.where(odd, b.add(again, pick(b, huge, 2 * LN2, -power * LN2, part)), b.log(size))


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
    """e^(y log x); 1 for y = 0, and 0 of 0 where the real part of y is positive."""
    result = exp(b, mul(b, y, log(b, x)))
    origin = b.logical_and(b.eq(x.re, 0.0), b.eq(x.im, 0.0))
    nan = pick(b, b.gt(y.re, 0.0), 0.0, math.nan, x.re)
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
    wide = b.gt(b.abs(x.re), limit_of(x, 20.0, 40.0))
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
    wide = b.gt(b.abs(x.re), limit_of(x, 20.0, 40.0))
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
    wide = b.gt(b.abs(x.re), limit_of(x, 9.0, 20.0))
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
