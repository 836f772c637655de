"""Complex arithmetic, comparison and choice, on planes. Semantics: NumPy's loops of the same ops.

Rules are written against "every op is a method", as gradient rules are: on a `Builder` they append real
instructions, on ndarrays they compute.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from .planes import Planes, both, choose, is_single, larger_part, pick


def add(b: Any, x: Planes, y: Planes) -> Planes:
    """x + y"""
    return both(b, b.add, x, y)


def sub(b: Any, x: Planes, y: Planes) -> Planes:
    """x - y"""
    return both(b, b.sub, x, y)


def neg(b: Any, x: Planes) -> Planes:
    """-x"""
    return both(b, b.neg, x)


def conj(b: Any, x: Planes) -> Planes:
    """The conjugate."""
    return Planes(x.re, b.neg(x.im))


def mul(b: Any, x: Planes, y: Planes) -> Planes:
    """Multiply by the four products of parts, as NumPy does, without C99's recovery of infinities (annex
    G)."""
    re = b.sub(b.mul(x.re, y.re), b.mul(x.im, y.im))
    return Planes(re, b.add(b.mul(x.re, y.im), b.mul(x.im, y.re)))


def fma(b: Any, x: Planes, y: Planes, z: Planes) -> Planes:
    """x y + z"""
    return add(b, mul(b, x, y), z)


def square(b: Any, x: Planes) -> Planes:
    """x x"""
    product = b.mul(x.re, x.im)
    return Planes(b.sub(b.mul(x.re, x.re), b.mul(x.im, x.im)), b.add(product, product))


def div(b: Any, x: Planes, y: Planes) -> Planes:
    """Divide by Smith's method (1962): scaled by the larger part of the divisor, so that nothing overflows.

    With c + i d = y and |c| >= |d|: r = d / c and x / y = (x.re + x.im r, x.im - x.re r) / (c + d r).
    """
    swaps = b.lt(b.abs(y.re), b.abs(y.im))
    is_zero = b.logical_and(b.eq(y.re, 0.0), b.eq(y.im, 0.0))
    large, small = b.where(swaps, y.im, y.re), b.where(swaps, y.re, y.im)
    ratio = b.div(small, large)
    scale = b.div(1.0, b.where(is_zero, b.abs(large), b.add(large, b.mul(small, ratio))))
    first, second = b.where(swaps, x.im, x.re), b.where(swaps, x.re, x.im)
    re = b.add(first, b.where(is_zero, 0.0, b.mul(second, ratio)))
    product = b.where(is_zero, 0.0, b.mul(first, ratio))
    im = b.sub(b.where(swaps, product, second), b.where(swaps, second, product))
    return Planes(b.mul(re, scale), b.mul(im, scale))


def div_by_real(b: Any, x: Planes, y: Planes) -> Planes:
    """Divide as `div` does where ``y.im`` is a zero. So r is a zero, with the sign of d / c. Where c is 0, r
    is not used; where c is NaN, so is the quotient."""
    is_zero, ratio = b.eq(y.re, 0.0), b.mul(b.copysign(1.0, y.re), y.im)
    scale = b.div(1.0, b.where(is_zero, b.abs(y.re), y.re))
    re = b.add(x.re, b.where(is_zero, 0.0, b.mul(x.im, ratio)))
    im = b.sub(x.im, b.where(is_zero, 0.0, b.mul(x.re, ratio)))
    return Planes(b.mul(re, scale), b.mul(im, scale))


def _with_zeros(b: Any, result: Planes, zero: Any) -> Planes:
    """`result`, and 0 where it is NaN and `zero` holds."""
    undefined = b.logical_and(isnan(b, result), zero)
    return Planes(b.where(undefined, 0.0, result.re), b.where(undefined, 0.0, result.im))


def strong_mul(b: Any, x: Planes, y: Planes) -> Planes:
    """x y, and 0 where either is 0"""
    return _with_zeros(b, mul(b, x, y), b.logical_not(b.logical_and(truth(b, x), truth(b, y))))


def strong_div(b: Any, x: Planes, y: Planes) -> Planes:
    """x / y, and 0 where x is 0"""
    return _with_zeros(b, div(b, x, y), b.logical_not(truth(b, x)))


def reciprocal(b: Any, x: Planes) -> Planes:
    """1 / x, by the larger part."""
    swaps = b.lt(b.abs(x.re), b.abs(x.im))
    large, small = b.where(swaps, x.im, x.re), b.where(swaps, x.re, x.im)
    ratio = b.div(small, large)
    divisor = b.add(large, b.mul(small, ratio))
    re, im = b.where(swaps, ratio, 1.0), b.where(swaps, -1.0, b.neg(ratio))
    return Planes(b.div(re, divisor), b.div(im, divisor))


def absolute(b: Any, x: Planes) -> Any:
    """|x|, without overflow."""
    return b.hypot(x.re, x.im)


def sign(b: Any, x: Planes) -> Planes:
    """x / |x|; of an infinity its direction along an axis, NaN where both parts are infinite."""
    huge = b.gt(larger_part(b, x), 2.0**126 if is_single(x) else 2.0**1022)
    scale = pick(b, huge, 0.25, 1.0, x.re)
    x = Planes(b.mul(x.re, scale), b.mul(x.im, scale))
    radius = b.hypot(x.re, x.im)
    endless = b.isinf(radius)
    endless_re, endless_im = b.isinf(x.re), b.isinf(x.im)
    # of an infinite part its sign, of another one 0
    re = b.where(endless, b.where(endless_re, b.sign(x.re), 0.0), x.re)
    im = b.where(endless, b.where(endless_im, b.sign(x.im), 0.0), x.im)
    divisor = b.where(b.logical_or(b.eq(radius, 0.0), endless), 1.0, radius)
    lost = b.logical_or(b.isnan(radius), b.logical_and(endless_re, endless_im))
    zero = b.eq(radius, 0.0)
    quotient = Planes(b.where(zero, 0.0, b.div(re, divisor)), b.where(zero, 0.0, b.div(im, divisor)))
    nan = float("nan")
    return Planes(b.where(lost, nan, quotient.re), b.where(lost, nan, quotient.im))


# -- comparison: by the real parts, where those are equal by the imaginary ones ---------------------------


def eq(b: Any, x: Planes, y: Planes) -> Any:
    """x == y"""
    return b.logical_and(b.eq(x.re, y.re), b.eq(x.im, y.im))


def ne(b: Any, x: Planes, y: Planes) -> Any:
    """x != y"""
    return b.logical_or(b.ne(x.re, y.re), b.ne(x.im, y.im))


def _ordered(strict: str, last: str) -> Callable[[Any, Planes, Planes], Any]:
    def compare(b: Any, x: Planes, y: Planes) -> Any:
        numbers = b.logical_not(b.logical_or(b.isnan(x.im), b.isnan(y.im)))
        first = b.logical_and(getattr(b, strict)(x.re, y.re), numbers)
        return b.logical_or(first, b.logical_and(b.eq(x.re, y.re), getattr(b, last)(x.im, y.im)))

    return compare


lt, le, gt, ge = (_ordered(*names) for names in (("lt", "lt"), ("lt", "le"), ("gt", "gt"), ("gt", "ge")))


def isnan(b: Any, x: Planes) -> Any:
    """Whether a part is NaN."""
    return b.logical_or(b.isnan(x.re), b.isnan(x.im))


def isinf(b: Any, x: Planes) -> Any:
    """Whether a part is infinite."""
    return b.logical_or(b.isinf(x.re), b.isinf(x.im))


def isfinite(b: Any, x: Planes) -> Any:
    """Whether both parts are finite."""
    return b.logical_and(b.isfinite(x.re), b.isfinite(x.im))


def truth(b: Any, x: Planes) -> Any:
    """Whether x is not zero; a NaN is not."""
    return b.logical_or(b.ne(x.re, 0.0), b.ne(x.im, 0.0))


def _logical(name: str) -> Callable[..., Any]:
    return lambda b, *operands: getattr(b, name)(*[truth(b, x) for x in operands])


# -- choice ------------------------------------------------------------------------------------------------


def where(b: Any, condition: Any, x: Planes, y: Planes) -> Planes:
    """x where `condition`, else y."""
    return choose(b, condition, x, y)


def maximum(b: Any, x: Planes, y: Planes) -> Planes:
    """The larger one, or a NaN."""
    return choose(b, b.logical_or(ge(b, x, y), isnan(b, x)), x, y)


def minimum(b: Any, x: Planes, y: Planes) -> Planes:
    """The smaller one, or a NaN."""
    return choose(b, b.logical_or(le(b, x, y), isnan(b, x)), x, y)


def fmax(b: Any, x: Planes, y: Planes) -> Planes:
    """The larger one, or what is no NaN."""
    return choose(b, b.logical_or(ge(b, x, y), isnan(b, y)), x, y)


def fmin(b: Any, x: Planes, y: Planes) -> Planes:
    """The smaller one, or what is no NaN."""
    return choose(b, b.logical_or(le(b, x, y), isnan(b, y)), x, y)


def clip(b: Any, x: Planes, low: Planes, high: Planes) -> Planes:
    """x limited to [low, high]."""
    return _limited(b, _limited(b, x, low, gt), high, lt)


def _limited(b: Any, x: Planes, limit: Planes, keeps: Callable[..., Any]) -> Planes:
    return choose(b, b.logical_or(isnan(b, x), keeps(b, x, limit)), x, limit)


#: Rules by the names of ops, ``rule(b, *operands)``.
ARITHMETIC: Final[dict[str, Callable[..., Any]]] = {
    "abs": absolute, "add": add, "clip": clip, "conj": conj, "div": div, "eq": eq, "fma": fma, "fmax": fmax,
    "fmin": fmin, "ge": ge, "gt": gt, "isfinite": isfinite, "isinf": isinf, "isnan": isnan, "le": le,
    "logical_and": _logical("logical_and"), "logical_not": _logical("logical_not"),
    "logical_or": _logical("logical_or"), "logical_xor": _logical("logical_xor"), "lt": lt,
    "maximum": maximum, "minimum": minimum, "mul": mul, "ne": ne, "neg": neg, "reciprocal": reciprocal,
    "rint": lambda b, x: both(b, b.rint, x), "sign": sign, "square": square, "strong_div": strong_div,
    "strong_mul": strong_mul, "sub": sub, "where": where,
}  # fmt: skip
