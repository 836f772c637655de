"""Exponentials, logarithms, trigonometric and hyperbolic functions, and the error function.

Semantics: the NumPy ufunc of the same or the noted name; erf and erfc are C99's.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..dtypes import accumulated_in, is_complex
from ..special.error_function import erf, erfc, exp_of_minus_square
from .define import elementwise, floating_function

_LN2 = math.log(2.0)
_LOG2_E = 1.0 / math.log(2.0)
_LOG10_E = 1.0 / math.log(10.0)
_TWO_OVER_SQRT_PI = 2.0 / math.sqrt(math.pi)


def _unary(name: str, ufunc: Any, doc: str, rule: Any, cost: float = 20.0) -> Any:
    """A unary floating op whose scalar code is the emitter's function of the same name."""
    return elementwise(
        name, "x", ufunc, doc=doc, floating=True, cost=cost,
        vjp={"x": rule}, emit=lambda b, x: getattr(b, name)(x),
    )  # fmt: skip


def _shifted(b: Any, x: Any, number: float) -> Any:
    """``x + number``, where an imaginary part of 0 keeps its sign: on cuts it says which side x is on."""
    if not is_complex(x.dtype):
        return b.add(x, number)
    return b.complex(b.add(b.real(x), number), b.imag(x))


def _one_minus_square(b: Any, x: Any) -> Any:
    square = b.square(x)
    return _shifted(b, b.neg(square), 1.0) if is_complex(x.dtype) else b.sub(1.0, square)


EXP = _unary("exp", np.exp, "e^x", lambda b, ct, out: b.mul(ct, out), 12.0)
EXP2 = _unary("exp2", np.exp2, "2^x", lambda b, ct, out: b.mul(ct, b.mul(out, _LN2)), 12.0)
# e^x, and not the result plus 1, of which nothing is left where e^x is small
EXPM1 = _unary("expm1", np.expm1, "e^x - 1", lambda b, ct, x: b.mul(ct, b.exp(x)))
LOG = _unary("log", np.log, "the natural logarithm", lambda b, ct, x: b.div(ct, x), 14.0)
# not (ct c) / x, which forward mode turns into (t / x) c: 1 / x may be infinite where c / x is not
LOG2 = _unary("log2", np.log2, "log base 2", lambda b, ct, x: b.mul(ct, b.div(_LOG2_E, x)), 14.0)
LOG10 = _unary("log10", np.log10, "log base 10", lambda b, ct, x: b.mul(ct, b.div(_LOG10_E, x)), 14.0)
LOG1P = _unary("log1p", np.log1p, "log(1 + x)", lambda b, ct, x: b.div(ct, b.add(x, 1.0)))

SIN = _unary("sin", np.sin, "the sine of radians", lambda b, ct, x: b.mul(ct, b.cos(x)))
COS = _unary("cos", np.cos, "the cosine of radians", lambda b, ct, x: b.neg(b.mul(ct, b.sin(x))))
TAN = _unary("tan", np.tan, "the tangent of radians", lambda b, ct, out: b.mul(ct, b.add(b.square(out), 1.0)))
ASIN = _unary("asin", np.arcsin, "arcsin", lambda b, ct, x: b.div(ct, b.sqrt(_one_minus_square(b, x))))
ACOS = _unary("acos", np.arccos, "arccos", lambda b, ct, x: b.neg(b.div(ct, b.sqrt(_one_minus_square(b, x)))))


def _lorentzian(x: Any) -> Any:
    wide = np.asarray(x, accumulated_in(x.dtype))
    return np.reciprocal(wide * wide + wide.dtype.type(1.0)).astype(x.dtype, copy=False)


LORENTZIAN = elementwise(
    "lorentzian", "x", np.cbrt, doc="1 / (1 + x^2): the derivative of arctan", floating=True,
    eval=_lorentzian,
    # its own derivative by factors that are nearly 1 / x: of 1 / (1 + x^2)^2 nothing may be left
    vjp={"x": lambda b, ct, x, out: b.mul(ct, b.mul(b.mul(b.mul(out, x), out), -2.0))},
    emit=lambda b, x: b.div(b.const(1.0, x), b.add(b.mul(x, x), b.const(1.0, x))), cost=6.0,
)  # fmt: skip


def _atan_rule(b: Any, ct: Any, x: Any) -> Any:
    if is_complex(x.dtype):
        return b.div(ct, b.add(b.square(x), 1.0))
    return b.mul(ct, b.lorentzian(x))


ATAN = _unary("atan", np.arctan, "arctan", _atan_rule)
SINH = _unary("sinh", np.sinh, "sinh", lambda b, ct, x: b.mul(ct, b.cosh(x)))
COSH = _unary("cosh", np.cosh, "cosh", lambda b, ct, x: b.mul(ct, b.sinh(x)))


def _sech_squared(x: Any, dtype: Any) -> Any:
    small = np.asarray(np.abs(np.asarray(x, accumulated_in(dtype))))
    small *= -2.0
    np.exp(small, out=small)
    total = small + 1.0
    total *= total
    small *= 4.0
    small /= total
    return small.astype(dtype, copy=False)


SECH_SQUARED = floating_function(
    "sech_squared", _sech_squared, doc="1 / cosh(x)^2: the derivative of tanh", cost=20.0,
    # its own derivative is a product: no terms that cancel at 0, and none that overflow
    rule=lambda b, ct, x, out: b.mul(ct, b.mul(b.mul(out, -2.0), b.tanh(x))),
)  # fmt: skip


def _tanh_rule(b: Any, ct: Any, x: Any) -> Any:
    # 1 - tanh(x)^2 has no digits left where tanh rounds to 1
    if is_complex(x.dtype):
        return b.mul(ct, b.sub(1.0, b.square(b.tanh(x))))
    return b.mul(ct, b.sech_squared(x))


def _asinh_rule(b: Any, ct: Any, x: Any) -> Any:
    if is_complex(x.dtype):
        return b.div(ct, b.sqrt(_shifted(b, b.square(x), 1.0)))
    # where 1 + x^2 rounds to x^2, which may overflow, its root is |x|
    size = b.abs(x)
    large = b.gt(size, 1e9)
    return b.div(ct, b.where(large, size, b.sqrt(b.add(b.square(b.where(large, 0.0, x)), 1.0))))


def _atanh_rule(b: Any, ct: Any, x: Any) -> Any:
    # (1 - x) (1 + x) is exact near 1, but its derivative is a difference, which is that of 1 - x^2 near 0
    product = b.mul(b.sub(1.0, x), b.add(x, 1.0))
    if is_complex(x.dtype):
        return b.div(ct, product)
    return b.div(ct, b.where(b.lt(b.abs(x), 0.5), b.sub(1.0, b.square(x)), product))


TANH = _unary("tanh", np.tanh, "tanh", _tanh_rule)
ASINH = _unary("asinh", np.arcsinh, "arcsinh", _asinh_rule)
# sqrt(x - 1) sqrt(x + 1), not sqrt(x^2 - 1): no cancellation near 1
ACOSH = _unary(
    "acosh", np.arccosh, "arccosh",
    lambda b, ct, x: b.div(ct, b.mul(b.sqrt(_shifted(b, x, -1.0)), b.sqrt(_shifted(b, x, 1.0)))),
)  # fmt: skip
ATANH = _unary("atanh", np.arctanh, "arctanh", _atanh_rule)


def _atan2_rule(b: Any, ct: Any, x: Any, y: Any) -> Any:
    # d atan2(x, y) / dx = y / (x^2 + y^2), and 0 at the origin; squares would under- and overflow
    return b.mul(ct, b.inversion(y, x, b.hypot(x, y)))


ATAN2 = elementwise(
    "atan2", "x y", np.arctan2, doc="the angle of the point (y, x), in (-pi, pi]", floating=True, cost=30.0,
    vjp={
        "x": _atan2_rule,
        "y": lambda b, ct, x, y: b.neg(_atan2_rule(b, ct, y, x)),
    },
    emit=lambda b, x, y: b.atan2(x, y),
)  # fmt: skip


def _logaddexp_weight(b: Any, x: Any, y: Any, out: Any, scale: float) -> Any:
    # x's share is 1 / (1 + e^(y - x)); where out is infinite the share is all or nothing
    infinite = b.isinf(out)
    difference = b.where(infinite, 0.0, b.sub(x, y))
    if scale != 1.0:
        difference = b.mul(difference, scale)
    share = b.special1(difference, function="expit", orders=(0,))
    return b.where(infinite, b.cast(b.eq(x, out), dtype=out.dtype), share)


LOGADDEXP = elementwise(
    "logaddexp", "x y", np.logaddexp, doc="log(e^x + e^y)", floating=True, cost=35.0, commutative=True,
    vjp={
        "x": lambda b, ct, x, y, out: b.mul(ct, _logaddexp_weight(b, x, y, out, 1.0)),
        "y": lambda b, ct, x, y, out: b.mul(ct, _logaddexp_weight(b, y, x, out, 1.0)),
    },
    emit=lambda b, x, y: b.logaddexp(x, y),
)  # fmt: skip
LOGADDEXP2 = elementwise(
    "logaddexp2", "x y", np.logaddexp2, doc="log2(2^x + 2^y)", floating=True, cost=35.0, commutative=True,
    vjp={
        "x": lambda b, ct, x, y, out: b.mul(ct, _logaddexp_weight(b, x, y, out, _LN2)),
        "y": lambda b, ct, x, y, out: b.mul(ct, _logaddexp_weight(b, y, x, out, _LN2)),
    },
    emit=lambda b, x, y: b.logaddexp2(x, y),
)  # fmt: skip


def _error_function(name: str, function: Any, doc: str, sign: float) -> Any:
    def rule(b: Any, ct: Any, x: Any) -> Any:
        return b.mul(ct, b.mul(exp_of_minus_square(b, x), sign * _TWO_OVER_SQRT_PI))

    return floating_function(name, function, doc=doc, rule=rule, cost=30.0)


ERF = _error_function("erf", erf, "the error function", 1.0)
ERFC = _error_function("erfc", erfc, "1 - erf(x), without cancellation", -1.0)
