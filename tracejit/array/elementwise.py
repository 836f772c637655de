"""Elementwise arithmetic, exponentials, logarithms and trigonometry under NumPy's names.

Each function is the callable that ``dispatch`` makes of its op, so calling it costs one Python frame. Dtypes
follow NumPy 2 (NEP 50: Python numbers adopt the dtype of what they meet), except that float16 is float32.
The tables below give each function its meaning and example.
"""

from __future__ import annotations

from typing import Any

from ..dispatch import binary, unary
from ..ir.dtypes import is_float
from ..state import STATE
from ..tensor import Tensor
from .documented import documented_binary as _binary
from .documented import documented_unary as _unary

__all__ = [
    "abs",
    "absolute",
    "acos",
    "acosh",
    "add",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "ceil",
    "copysign",
    "cos",
    "cosh",
    "divide",
    "erf",
    "erfc",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "heaviside",
    "hypot",
    "log",
    "log10",
    "log1p",
    "log2",
    "logaddexp",
    "logaddexp2",
    "maximum",
    "minimum",
    "mod",
    "multiply",
    "negative",
    "pow",
    "power",
    "reciprocal",
    "remainder",
    "rint",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "subtract",
    "tan",
    "tanh",
    "true_divide",
    "trunc",
]

add = _binary(
    "add",
    "add",
    "x + y; logical or of bools.",
    "tj.add([1.0, 2.0], 10)",
    "@@",
)
subtract = _binary(
    "sub",
    "subtract",
    "x - y. Bools have no difference: DTypeError.",
    "tj.subtract([1.0, 2.0], 10)",
    "@@",
)
multiply = _binary(
    "mul",
    "multiply",
    "x times y; logical and of bools.",
    "tj.multiply([1.0, 2.0], 10)",
    "@@",
)
divide = _binary(
    "div",
    "divide",
    "x / y, in floating point for integers too.",
    "tj.divide([1, 2], 4)",
    "@@",
)
floor_divide = _binary(
    "floor_divide",
    "floor_divide",
    "The floor of x / y; of integers, an integer.",
    "tj.floor_divide([7, -7], 2)",
    "@@",
)
remainder = _binary(
    "remainder",
    "remainder",
    "x - floor(x / y) y, with the sign of y.",
    "tj.remainder([7, -7], 3)",
    "@@",
)
fmod = _binary(
    "fmod",
    "fmod",
    "x - trunc(x / y) y, with the sign of x.",
    "tj.fmod([7, -7], 3)",
    "@@",
)
hypot = _binary(
    "hypot",
    "hypot",
    "sqrt(x^2 + y^2) without overflow. Slope 0 at the origin.",
    "tj.hypot([3.0, 5.0], [4.0, 12.0])",
    "@@",
)
maximum = _binary(
    "maximum",
    "maximum",
    "The larger, NaN if either is NaN. A tie shares the gradient equally.",
    "tj.maximum([1.0, 5.0], 3)",
    "@@",
)
minimum = _binary(
    "minimum",
    "minimum",
    "The smaller, NaN if either is NaN. A tie shares the gradient equally.",
    "tj.minimum([1.0, 5.0], 3)",
    "@@",
)
fmax = _binary(
    "fmax",
    "fmax",
    "The larger, or the other where one is NaN.",
    "tj.fmax([1.0, float('nan')], 0.5)",
    "@@",
)
fmin = _binary(
    "fmin",
    "fmin",
    "The smaller, or the other where one is NaN.",
    "tj.fmin([1.0, float('nan')], 0.5)",
    "@@",
)
arctan2 = _binary(
    "atan2",
    "arctan2",
    "The angle of the point (y, x) in (-pi, pi]; y is the first argument. Slope 0 at the origin.",
    "tj.arctan2([1.0, -1.0], 1.0)",
    "@@",
)
logaddexp = _binary(
    "logaddexp",
    "logaddexp",
    "log(e^x + e^y) without overflow.",
    "tj.logaddexp([1000.0, 0.0], [1000.0, 1.0])",
    "@@",
)
logaddexp2 = _binary(
    "logaddexp2",
    "logaddexp2",
    "log2(2^x + 2^y) without overflow.",
    "tj.logaddexp2([2000.0, 0.0], [2000.0, 1.0])",
    "@@",
)
copysign = _binary(
    "copysign",
    "copysign",
    "The magnitude of x with the sign of y.",
    "tj.copysign([1.0, 2.0], [-0.0, 3.0])",
    "@@",
)
heaviside = _binary(
    "heaviside",
    "heaviside",
    "0 where x < 0, y where x = 0, 1 where x > 0.",
    "tj.heaviside([-1.0, 0.0, 2.0], 0.5)",
    "@@",
)
negative = _unary(
    "neg",
    "negative",
    "-x. Bools have no negative: DTypeError.",
    "tj.negative([1.0, -2.0])",
    "@@",
)
absolute = _unary(
    "abs",
    "absolute",
    "The absolute value. Slope 0 at 0.",
    "tj.absolute([1.0, -2.0])",
    "@@",
)
sign = _unary(
    "sign",
    "sign",
    "-1, 0 or 1 by the sign of x, NaN of NaN. Slope 0.",
    "tj.sign([-2.0, 0.0, 3.0])",
    "@@",
)
reciprocal = _unary(
    "reciprocal",
    "reciprocal",
    "1 / x; of integers, truncated.",
    "tj.reciprocal([2.0, 4.0])",
    "@@",
)
square = _unary(
    "square",
    "square",
    "x times x.",
    "tj.square([2.0, -3.0])",
    "@@",
)
sqrt = _unary(
    "sqrt",
    "sqrt",
    "The square root, NaN of negative numbers.",
    "tj.sqrt([4.0, 9.0])",
    "@@",
)
cbrt = _unary(
    "cbrt",
    "cbrt",
    "The cube root, of negative numbers too.",
    "tj.cbrt([8.0, -27.0])",
    "@@",
)
floor = _unary(
    "floor",
    "floor",
    "The largest integer not above x, in x's dtype. Slope 0.",
    "tj.floor([1.7, -1.2])",
    "@@",
)
ceil = _unary(
    "ceil",
    "ceil",
    "The smallest integer not below x, in x's dtype. Slope 0.",
    "tj.ceil([1.2, -1.7])",
    "@@",
)
trunc = _unary(
    "trunc",
    "trunc",
    "x without its fraction, in x's dtype. Slope 0.",
    "tj.trunc([1.7, -1.7])",
    "@@",
)
rint = _unary(
    "rint",
    "rint",
    "The nearest integer, ties to even. Slope 0.",
    "tj.rint([0.5, 1.5, 2.4])",
    "@@",
)
exp = _unary(
    "exp",
    "exp",
    "e to the power x.",
    "tj.exp([0.0, 1.0])",
    "@@",
)
exp2 = _unary(
    "exp2",
    "exp2",
    "2 to the power x.",
    "tj.exp2([0.0, 3.0])",
    "@@",
)
expm1 = _unary(
    "expm1",
    "expm1",
    "e to the power x, minus 1, exact for small x.",
    "tj.expm1([0.0, 1e-10])",
    "@@",
)
log = _unary(
    "log",
    "log",
    "The natural logarithm, NaN of negative numbers.",
    "tj.log([1.0, 10.0])",
    "@@",
)
log2 = _unary(
    "log2",
    "log2",
    "The logarithm to base 2.",
    "tj.log2([1.0, 8.0])",
    "@@",
)
log10 = _unary(
    "log10",
    "log10",
    "The logarithm to base 10.",
    "tj.log10([1.0, 100.0])",
    "@@",
)
log1p = _unary(
    "log1p",
    "log1p",
    "The natural logarithm of 1 + x, exact for small x.",
    "tj.log1p([0.0, 1e-10])",
    "@@",
)
sin = _unary(
    "sin",
    "sin",
    "The sine of x in radians.",
    "tj.sin([0.0, 1.0])",
    "@@",
)
cos = _unary(
    "cos",
    "cos",
    "The cosine of x in radians.",
    "tj.cos([0.0, 1.0])",
    "@@",
)
tan = _unary(
    "tan",
    "tan",
    "The tangent of x in radians.",
    "tj.tan([0.0, 1.0])",
    "@@",
)
arcsin = _unary(
    "asin",
    "arcsin",
    "The angle in [-pi/2, pi/2] whose sine is x.",
    "tj.arcsin([0.0, 1.0])",
    "@@",
)
arccos = _unary(
    "acos",
    "arccos",
    "The angle in [0, pi] whose cosine is x.",
    "tj.arccos([0.0, 1.0])",
    "@@",
)
arctan = _unary(
    "atan",
    "arctan",
    "The angle in [-pi/2, pi/2] whose tangent is x.",
    "tj.arctan([0.0, 1.0])",
    "@@",
)
sinh = _unary(
    "sinh",
    "sinh",
    "The hyperbolic sine.",
    "tj.sinh([0.0, 1.0])",
    "@@",
)
cosh = _unary(
    "cosh",
    "cosh",
    "The hyperbolic cosine.",
    "tj.cosh([0.0, 1.0])",
    "@@",
)
tanh = _unary(
    "tanh",
    "tanh",
    "The hyperbolic tangent.",
    "tj.tanh([0.0, 1.0])",
    "@@",
)
arcsinh = _unary(
    "asinh",
    "arcsinh",
    "The inverse of sinh.",
    "tj.arcsinh([0.0, 1.0])",
    "@@",
)
arccosh = _unary(
    "acosh",
    "arccosh",
    "The inverse of cosh, for x >= 1.",
    "tj.arccosh([1.0, 2.0])",
    "@@",
)
arctanh = _unary(
    "atanh",
    "arctanh",
    "The inverse of tanh, for -1 < x < 1.",
    "tj.arctanh([0.0, 0.5])",
    "@@",
)
erf = _unary(
    "erf",
    "erf",
    "The error function, 2/sqrt(pi) times the integral of exp(-t^2) from 0 to x.",
    "tj.erf([0.0, 1.0])",
    "@@",
)
erfc = _unary(
    "erfc",
    "erfc",
    "1 - erf(x), without cancellation for large x.",
    "tj.erfc([0.0, 10.0])",
    "@@",
)

_pow = binary("pow")
_square = unary("square")


def power(x: Any, y: Any, /) -> Tensor:
    """x to the power y. Integers to negative integer powers raise TracejitError.

    The slope in x at y = 0 is 0; the slope in y at x = 0 is 0 for y >= 0.

    Example:
        >>> import tracejit as tj
        >>> tj.power([1.0, 2.0, 3.0], 2)

    Semantics: ``numpy.power``.
    """
    # NumPy's fast path: the same number, several times faster than the general function
    if type(y) is int and y == 2 and STATE.tracer is None and type(x) is Tensor and is_float(x.dtype):
        return _square(x)
    return _pow(x, y)


# Names of the Array API standard, and NumPy's second names.
pow = power
true_divide = divide
mod = remainder
abs = absolute
asin = arcsin
acos = arccos
atan = arctan
asinh = arcsinh
acosh = arccosh
atanh = arctanh
atan2 = arctan2
