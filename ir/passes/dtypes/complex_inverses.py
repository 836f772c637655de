"""Inverse trigonometric and hyperbolic functions of complex values, on planes.

Branch cuts, special values and algorithms: see `complex_functions`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from .complex_functions import LN2, sqrt
from .planes import Planes, choose, larger_part, limit_of, turned, turned_back


def _far(b: Any, x: Planes) -> tuple[Any, Any]:
    """Whether x is so large that 1 is nothing beside its square, and log 2|x|."""
    far = b.gt(larger_part(b, x), limit_of(x, 2.0**60, 2.0**500))
    far = b.logical_or(far, b.logical_or(b.isinf(x.re), b.isinf(x.im)))
    half = b.hypot(b.mul(b.where(far, x.re, 2.0), 0.5), b.mul(b.where(far, x.im, 0.0), 0.5))
    return far, b.add(b.log(half), 2 * LN2)


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
    """Whether x lies on the imaginary axis, nobody knows where."""
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
    far = b.gt(b.maximum(a, c), limit_of(x, 2.0**50, 2.0**500))
    far = b.logical_or(far, b.logical_or(b.isinf(a), b.isinf(c)))
    inner_a, inner_c = b.where(far, 0.5, a), b.where(far, 0.5, c)
    rest = b.sub(1.0, inner_a)
    tip = b.logical_and(b.eq(a, 1.0), b.lt(c, limit_of(x, 2.0**-60, 2.0**-500)))
    squares = b.add(b.mul(rest, rest), b.mul(inner_c, inner_c))
    quotient = b.div(b.mul(inner_a, 4.0), b.where(tip, 1.0, squares))
    re = b.mul(b.log1p(quotient), 0.25)
    # at 1 + i c: -log(sqrt(c) / sqrt(2)) for small c
    re = b.where(tip, b.mul(b.sub(LN2, b.log(b.where(tip, c, 1.0))), 0.5), re)
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
