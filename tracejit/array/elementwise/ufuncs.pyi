# Written by `python -m tracejit.surface` from the tables of that package. Do not edit.
# ruff: noqa
# fmt: off
from __future__ import annotations

from typing import Any

from ...tensors.tensor import Tensor

from collections.abc import Callable

METHODS: dict[str, Callable[..., Tensor]]
IN_PLACE: dict[int, dict[str, Callable[..., Tensor]]]

def add(x: Any, y: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """x + y; logical or of bools."""

def subtract(x: Any, y: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """x - y. Bools have no difference: DTypeError."""

def multiply(x: Any, y: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """x times y; logical and of bools."""

def divide(x: Any, y: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """x / y, in floating point for integers too."""
true_divide = divide

def floor_divide(x: Any, y: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """The floor of x / y; of integers, an integer."""

def remainder(x: Any, y: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """x - floor(x / y) y, with the sign of y."""
mod = remainder

def fmod(x: Any, y: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """x - trunc(x / y) y, with the sign of x."""

def hypot(x: Any, y: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """sqrt(x^2 + y^2) without overflow. Slope 0 at the origin."""

def maximum(x: Any, y: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """The larger, NaN if either is NaN. A tie shares the gradient equally."""

def minimum(x: Any, y: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """The smaller, NaN if either is NaN. A tie shares the gradient equally."""

def fmax(x: Any, y: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """The larger, or the other where one is NaN."""

def fmin(x: Any, y: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """The smaller, or the other where one is NaN."""

def copysign(x: Any, y: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """The magnitude of x with the sign of y."""

def heaviside(x: Any, y: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """0 where x < 0, y where x = 0, 1 where x > 0."""

def negative(x: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """-x. Bools have no negative: DTypeError."""

def absolute(x: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """The absolute value. Slope 0 at 0."""
abs = absolute

def sign(x: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """-1, 0 or 1 by the sign of x, NaN of NaN. Slope 0."""

def reciprocal(x: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """1 / x; of integers, truncated."""

def square(x: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """x times x."""

def sqrt(x: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """The square root, NaN of negative numbers."""

def rsqrt(x: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """1 / sqrt(x), infinite at 0, NaN of negative numbers."""

def cbrt(x: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """The cube root, of negative numbers too."""

def floor(x: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """The largest integer not above x, in x's dtype. Slope 0."""

def ceil(x: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """The smallest integer not below x, in x's dtype. Slope 0."""

def trunc(x: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """x without its fraction, in x's dtype. Slope 0."""

def rint(x: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """The nearest integer, ties to even. Slope 0."""

def arctan2(x: Any, y: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """The angle of the point (y, x) in (-pi, pi]; y is the first argument. Slope 0 at the origin."""
atan2 = arctan2

def logaddexp(x: Any, y: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """log(e^x + e^y) without overflow."""

def logaddexp2(x: Any, y: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """log2(2^x + 2^y) without overflow."""

def exp(x: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """e to the power x."""

def exp2(x: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """2 to the power x."""

def expm1(x: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """e to the power x, minus 1, exact for small x."""

def log(x: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """The natural logarithm, NaN of negative numbers."""

def log2(x: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """The logarithm to base 2."""

def log10(x: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """The logarithm to base 10."""

def log1p(x: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """The natural logarithm of 1 + x, exact for small x."""

def sin(x: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """The sine of x in radians."""

def cos(x: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """The cosine of x in radians."""

def tan(x: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """The tangent of x in radians."""

def arcsin(x: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """The angle in [-pi/2, pi/2] whose sine is x."""
asin = arcsin

def arccos(x: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """The angle in [0, pi] whose cosine is x."""
acos = arccos

def arctan(x: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """The angle in [-pi/2, pi/2] whose tangent is x."""
atan = arctan

def sinh(x: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """The hyperbolic sine."""

def cosh(x: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """The hyperbolic cosine."""

def tanh(x: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """The hyperbolic tangent."""

def arcsinh(x: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """The inverse of sinh."""
asinh = arcsinh

def arccosh(x: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """The inverse of cosh, for x >= 1."""
acosh = arccosh

def arctanh(x: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """The inverse of tanh, for -1 < x < 1."""
atanh = arctanh

def erf(x: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """The error function, 2/sqrt(pi) times the integral of exp(-t^2) from 0 to x."""

def erfc(x: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """1 - erf(x), without cancellation for large x."""

def equal(x: Any, y: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """Whether x and y are equal."""

def not_equal(x: Any, y: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """Whether x and y differ; NaN differs from itself."""

def less(x: Any, y: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """Whether x < y."""

def less_equal(x: Any, y: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """Whether x <= y."""

def greater(x: Any, y: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """Whether x > y."""

def greater_equal(x: Any, y: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """Whether x >= y."""

def logical_and(x: Any, y: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """Whether both are true; numbers are true unless zero."""

def logical_or(x: Any, y: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """Whether either is true; numbers are true unless zero."""

def logical_xor(x: Any, y: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """Whether exactly one is true; numbers are true unless zero."""

def bitwise_and(x: Any, y: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """x & y, bit by bit. Integers and bools."""

def bitwise_or(x: Any, y: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """x OR y, bit by bit. Integers and bools."""

def bitwise_xor(x: Any, y: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """x ^ y, bit by bit. Integers and bools."""

def left_shift(x: Any, y: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """x times 2 to the power y. Integers."""
bitwise_left_shift = left_shift

def right_shift(x: Any, y: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """x divided by 2 to the power y, rounded down. Integers."""
bitwise_right_shift = right_shift

def gcd(x: Any, y: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """The greatest common divisor. Integers."""

def lcm(x: Any, y: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """The least common multiple. Integers."""

def nextafter(x: Any, y: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """The next float after x towards y. No gradient."""

def logical_not(x: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """Whether x is false; numbers are true unless zero."""

def bitwise_not(x: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """~x, bit by bit. Integers and bools."""
bitwise_invert = bitwise_not
invert = bitwise_not

def bitwise_count(x: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """The number of set bits of the absolute value, as uint8. Integers."""

def isnan(x: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """Whether x is NaN."""

def isinf(x: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """Whether x is infinite."""

def isfinite(x: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """Whether x is neither infinite nor NaN."""

def signbit(x: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """Whether the sign bit of x is set; that of -0.0 is."""

def spacing(x: Any, /, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = None, order: Any = 'K', subok: Any = True) -> Tensor:
    """The distance from x to the next float away from zero. No gradient."""
