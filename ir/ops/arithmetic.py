"""Elementwise arithmetic, powers and roots, rounding, and the choice of one operand or another.

Semantics: the NumPy ufunc of the same or the noted name. Gradient conventions at kinks: a tie of
maximum or minimum shares the cotangent equally; abs and sign have slope 0 at 0.
"""

from __future__ import annotations

import contextvars
import functools
import importlib
import math
import threading
from typing import Any, Final

import numpy as np

from ...base.errors import DTypeError
from ..dtypes import (
    BOOL,
    NUMBERS,
    SHORT_NAME,
    accumulated_in,
    is_complex,
    is_differentiable,
    result_type,
)
from ..registry import Builtin, Kind
from ..special import powers
from ..transforms.batching import batch_pointwise
from .define import define, elementwise, floating_function, in_float32, same_shape

ADD = elementwise(
    "add", "x y", np.add, doc="x + y; logical or of bools", commutative=True, linear=("x y",),
    finite_gradient=True,
    vjp={"x": lambda b, ct: ct, "y": lambda b, ct: ct},
    emit=lambda b, x, y: b.or_(x, y) if x.dtype == "bool" else b.rounded_add(x, y),
)  # fmt: skip
SUB = elementwise(
    "sub", "x y", np.subtract, doc="x - y", linear=("x y",), finite_gradient=True,
    vjp={"x": lambda b, ct: ct, "y": lambda b, ct: b.neg(ct)},
    emit=lambda b, x, y: b.rounded_sub(x, y),
)  # fmt: skip
MUL = elementwise(
    "mul", "x y", np.multiply, doc="x y; logical and of bools", commutative=True, linear=("x", "y"),
    vjp={"x": lambda b, ct, y: b.mul(ct, y), "y": lambda b, ct, x: b.mul(ct, x)},
    emit=lambda b, x, y: b.mul(x, y),
)  # fmt: skip
DIV = elementwise(
    "div", "x y", np.true_divide, doc="x / y in floating point", floating=True, cost=4.0,
    quotient=True, linear=("x",),
    vjp={
        "x": lambda b, ct, y: b.div(ct, y),
        # (ct out) / y: the cotangent of log |y|. It is in range where the loss is, however large y is, and
        # 1 / y^2, which need not be, is in no derivative of it
        "y": lambda b, ct, y, out: b.neg(b.div(b.mul(ct, out), y)),
    },
    emit=lambda b, x, y: b.div(x, y),
)  # fmt: skip
FLOOR_DIVIDE = elementwise(
    "floor_divide", "x y", np.floor_divide, doc="floor(x / y)", cost=8.0,
    vjp={"x": lambda b, ct: b.mul(ct, 0.0), "y": lambda b, ct: b.mul(ct, 0.0)},
    emit=lambda b, x, y: b.floor_divide(x, y),
)  # fmt: skip


def _whole(b: Any, ct: Any, quotient: Any) -> Any:
    """The cotangent of a divisor: the whole `quotient` has slope 0, however steep x / y is."""
    return b.neg(b.mul(ct, b.stop_gradient(quotient)))


REMAINDER = elementwise(
    "remainder", "x y", np.remainder, doc="x - floor(x / y) y, with the sign of y", cost=8.0,
    vjp={"x": lambda b, ct: ct, "y": lambda b, ct, x, y: _whole(b, ct, b.floor_divide(x, y))},
    emit=lambda b, x, y: b.remainder(x, y),
)  # fmt: skip
FMOD = elementwise(
    "fmod", "x y", np.fmod, doc="x - trunc(x / y) y, with the sign of x", cost=8.0,
    vjp={"x": lambda b, ct: ct, "y": lambda b, ct, x, y: _whole(b, ct, b.trunc(b.div(x, y)))},
    emit=lambda b, x, y: b.fmod(x, y),
)  # fmt: skip
NEG = elementwise(
    "neg", "x", np.negative, doc="-x", vjp={"x": lambda b, ct: b.neg(ct)}, emit=lambda b, x: b.neg(x),
    finite_gradient=True, linear=("x",),
)  # fmt: skip


def _abs_rule(b: Any, ct: Any, x: Any) -> Any:
    # d|x| = Re(conj(sign x) dx)
    if not is_complex(x.dtype):
        return b.mul(ct, b.sign(x))
    rest = b.without_factor(ct, b.abs(x)) if b.has_graph else None
    return b.mul(ct, b.conj(b.direction(x))) if rest is None else b.mul(rest, b.conj(x))


def _turning(b: Any, ct: Any, x: Any, sign: Any, at_zero: float) -> Any:
    """The derivative of the sign of complex x = r s: ds = (dx - s Re(conj(s) dx)) / r, and `at_zero` times
    dx at the origin."""
    radius = b.abs(x)
    is_zero = b.eq(radius, 0.0)
    tangential = b.sub(ct, b.mul(b.conj(sign), b.real(b.mul(ct, sign))))
    factor = b.where(is_zero, at_zero, 1.0)
    return b.mul(b.div(tangential, b.where(is_zero, 1.0, radius)), factor)


def _sign_rule(b: Any, ct: Any, x: Any, out: Any) -> Any:
    return _turning(b, ct, x, out, 0.0) if is_complex(x.dtype) else b.mul(ct, 0.0)


ABS = elementwise(
    "abs", "x", np.absolute, doc="|x|", finite_gradient=True,
    vjp={"x": _abs_rule},
    emit=lambda b, x: b.abs(x),
)  # fmt: skip
SIGN = elementwise(
    "sign", "x", np.sign, doc="-1, 0 or 1; NaN of NaN; x / |x| of complex x",
    vjp={"x": _sign_rule},
    emit=lambda b, x: b.sign(x),
)  # fmt: skip
DIRECTION = define(
    "direction", Kind.COMPOSITE, "x", infer=lambda types, attrs: types, eval=np.sign,
    doc="the sign of complex x, with a derivative that is NaN at 0: the derivative of abs has none there",
    vjp={"x": lambda b, ct, x, out: _turning(b, ct, x, out, math.nan)}, decompose=lambda b, x: b.sign(x),
    batch=batch_pointwise,
)  # fmt: skip
SQUARE = elementwise(
    "square", "x", np.square, doc="x x",
    vjp={"x": lambda b, ct, x: b.mul(ct, b.mul(x, 2.0))},
    emit=lambda b, x: b.mul(x, x),
)  # fmt: skip
RECIPROCAL = elementwise(
    "reciprocal", "x", np.reciprocal, doc="1 / x; truncated for integers", cost=4.0,
    vjp={"x": lambda b, ct, out: b.neg(b.mul(ct, b.square(out)))},
    emit=lambda b, x: b.div(b.const(1.0, x), x), emit_kinds="f",
)  # fmt: skip


def _sqrt_rule(b: Any, ct: Any, out: Any) -> Any:
    rest = b.without_factor(ct, out)
    return b.div(b.mul(ct, 0.5), out) if rest is None else b.mul(rest, 0.5)


SQRT = elementwise(
    "sqrt", "x", np.sqrt, doc="the square root", floating=True, cost=5.0,
    vjp={"x": _sqrt_rule},
    emit=lambda b, x: b.sqrt(x),
)  # fmt: skip
RSQRT = floating_function(
    "rsqrt",
    lambda x, dtype: (1.0 / np.sqrt(x, dtype=accumulated_in(dtype))).astype(dtype, copy=False),
    doc="1 / sqrt(x)",
    # -1/2 x^(-3/2), of which the double may overflow
    rule=lambda b, ct, x, out: b.mul(ct, b.div(b.mul(out, -0.5), x)),
    cost=8.0,
)
CBRT = elementwise(
    "cbrt", "x", np.cbrt, doc="the cube root, of negative numbers too", floating=True, cost=15.0,
    vjp={"x": lambda b, ct, out: b.div(ct, b.mul(b.square(out), 3.0))},
    emit=lambda b, x: b.cbrt(x),
)  # fmt: skip


def _pow_x(b: Any, ct: Any, x: Any, y: Any) -> Any:
    # y x^(y-1), and 0 for y = 0 even at 0 and infinity; of a Python number y stays one, so that x keeps its
    # dtype
    if not is_complex(ct.dtype):
        number = b.known_number(y)
        y = y if number is None else number
    if type(y) in NUMBERS:
        if y == 2:
            return b.mul(ct, b.mul(y, x))
        return b.mul(ct, b.mul(y, b.pow(b.add(x, 0.0) if y and y - 1 == -1 else x, y - 1 if y else 0)))
    if is_complex(ct.dtype):
        # of x^(y-1) (1 + y log x), the derivative of that in y, the 1 is nothing beside the logarithm as x
        # goes to 0; where that is taken as 0, at y = 1 and y = 0, so is all of it, as in the other order
        factor = b.where(b.eq(x, 0.0), b.stop_gradient(y), y)
        return b.strong_mul(ct, b.strong_mul(factor, b.pow(x, b.sub(y, 1.0))))
    return b.strong_mul(ct, b.pow_derivative(x, y, by_x=1, by_y=0))


def _pow_y(b: Any, ct: Any, x: Any, y: Any, out: Any) -> Any:
    # x^y log x, and 0 at x = 0 where y >= 0 (the limit for y > 0)
    if is_complex(out.dtype):
        exponent = b.real(y) if is_complex(y.dtype) else y
        # its derivative in x is -infinity at x = 0 where y < 1, and 0 beyond: there any negative number will
        # do for the logarithm in the product with x^(y-1), and is nothing beside x^y = 0
        steep = b.logical_and(b.gt(exponent, 0.0), b.lt(exponent, 1.0))
        at_zero = b.logical_and(b.eq(x, 0.0), b.ge(exponent, 0.0))
        logarithm = b.log(b.where(at_zero, b.where(steep, 0.5, 1.0), x))
        return b.strong_mul(ct, b.strong_mul(out, logarithm))
    return b.strong_mul(ct, b.pow_log(x, y, out))


POW = elementwise(
    "pow", "x y", np.power, doc="x to the power y; integers to negative powers are an error", cost=40.0,
    vjp={"x": _pow_x, "y": _pow_y},
    emit=lambda b, x, y: b.pow(x, y), emit_kinds="f",
)  # fmt: skip


def _over_radius(b: Any, x: Any, r: Any) -> Any:
    """x / r, and 0 at the origin."""
    return b.div(x, b.where(b.eq(r, 0.0), 1.0, r))


def _cosine_x(b: Any, ct: Any, x: Any, y: Any, r: Any) -> Any:
    # y^2 / r^3, of factors that do not over- or underflow before it does; NaN at the origin
    root = b.div(b.cosine(y, x, r), b.sqrt(r))
    return b.mul(ct, b.mul(root, root))


def _cosine_y(b: Any, ct: Any, x: Any, y: Any, r: Any, out: Any) -> Any:
    # -x y / r^3, where one cosine at least is large; NaN at the origin
    return b.neg(b.mul(ct, b.div(b.mul(out, b.cosine(y, x, r)), r)))


def _one_dtype(name: str) -> Any:
    """The type rule of the op `name` of operands of one floating dtype."""

    def infer(types: Any, attrs: Any) -> Any:
        if len({type_.dtype for type_ in types}) != 1 or types[0].dtype.kind != "f":
            listed = ", ".join(map(str, types))
            raise DTypeError(f"{name}: operands must have one floating dtype, got ({listed})")
        same_shape(name, types)
        return (types[0],)

    return infer


def _in_one_dtype(kernel: Any) -> Any:
    """`kernel`, of operands that eager code has not promoted."""
    widened = in_float32(kernel)

    def promoted(*operands: Any, **attrs: Any) -> Any:
        dtype = np.result_type(*operands)
        return widened(*[np.asarray(operand, dtype) for operand in operands], **attrs)

    return promoted


POW_DERIVATIVE = define(
    "pow_derivative", Kind.ELEMENTWISE, "x y", cost=45.0, infer=_one_dtype("pow_derivative"),
    doc="the derivative of x to the power y, `by_x` times by x and `by_y` times by y",
    promote=lambda operands: (result_type(*operands),) * 2, attrs={"by_x": (int,), "by_y": (int,)},
    eval=_in_one_dtype(powers.derivative),
    vjp={
        "x": lambda b, ct, x, y, by_x, by_y: b.strong_mul(
            ct, b.pow_derivative(x, y, by_x=by_x + 1, by_y=by_y)
        ),
        "y": lambda b, ct, x, y, by_x, by_y: b.strong_mul(
            ct, b.pow_derivative(x, y, by_x=by_x, by_y=by_y + 1)
        ),
    },
    emit=lambda b, x, y, by_x, by_y: b.pow_derivative(x, y, by_x, by_y),
)  # fmt: skip


def _logarithm(x: Any, y: Any, out: Any) -> Any:
    at_zero = np.equal(x, 0.0) & np.greater_equal(y, 0.0)
    product = np.multiply(out, np.log(np.where(at_zero, np.ones_like(x), x)))
    return np.where(np.isnan(product) & np.equal(out, 0.0), np.zeros_like(product), product)


#: *Requires*: out is x^y. Its derivatives are those of x^y log x: the slope by x may overflow where they do
#: not.
POW_LOG = define(
    "pow_log", Kind.ELEMENTWISE, "x y out", cost=20.0, infer=_one_dtype("pow_log"),
    doc="out log x where out = x^y, the derivative of that in y, and 0 for x = 0 where y >= 0",
    promote=lambda operands: (result_type(*operands),) * 3, eval=_in_one_dtype(_logarithm),
    vjp={
        "x": lambda b, ct, x, y: b.strong_mul(ct, b.pow_derivative(x, y, by_x=1, by_y=1)),
        "y": lambda b, ct, x, y: b.strong_mul(ct, b.pow_derivative(x, y, by_x=0, by_y=2)),
        "out": lambda b, ct: None,
    },
    emit=lambda b, x, y, out: b.pow_log(x, y, out),
)  # fmt: skip


#: *Requires*: r is hypot(x, y). Its derivatives by x and y are those of x / hypot(x, y): products, where
#: those of the quotient by r would be differences.
COSINE = define(
    "cosine", Kind.ELEMENTWISE, "x y r", doc="x / r where r = hypot(x, y), the derivative of that in x; or 0",
    cost=4.0, infer=_one_dtype("cosine"), promote=lambda operands: (result_type(*operands),) * 3,
    eval=lambda x, y, r: np.divide(x, np.where(np.equal(r, 0.0), np.ones_like(r), r)),
    vjp={"x": _cosine_x, "y": _cosine_y, "r": lambda b, ct: None},
    emit=lambda b, x, y, r: b.div(x, b.select(b.eq(r, 0.0), b.const(1.0, r), r)),
)  # fmt: skip


def _inversion_x(b: Any, ct: Any, x: Any, y: Any, r: Any) -> Any:
    # (y - x) (y + x) / r^4, whose factors differ exactly where they cancel; halves, as their sum may overflow
    def over_radius(write: Any) -> Any:
        return _over_radius(b, write(b.mul(y, 0.5), b.mul(x, 0.5)), r)

    quotient = b.mul(over_radius(b.sub), over_radius(b.add))
    return b.mul(ct, _over_radius(b, _over_radius(b, b.mul(quotient, 4.0), r), r))


def _inversion_y(b: Any, ct: Any, x: Any, y: Any, r: Any, out: Any) -> Any:
    # -2 x y / r^4; the double last: that of x / r^2 alone may be infinite where y is 0
    return b.mul(ct, b.mul(b.mul(out, b.inversion(y, x, r)), -2.0))


def _inversion_eval(x: Any, y: Any, r: Any) -> Any:
    r = np.where(np.equal(r, 0.0), np.ones_like(r), r)
    return np.divide(np.divide(x, r), r)


def _inversion_emit(b: Any, x: Any, y: Any, r: Any) -> Any:
    r = b.select(b.eq(r, 0.0), b.const(1.0, r), r)
    return b.div(b.div(x, r), r)


#: *Requires*: r is hypot(x, y). Its derivatives are those of x / (x^2 + y^2): products, as those of `COSINE`.
INVERSION = define(
    "inversion", Kind.ELEMENTWISE, "x y r", cost=8.0, infer=_one_dtype("inversion"),
    doc="x / r^2 where r = hypot(x, y), a coordinate of the inverse of (x, y) in the unit circle; or 0",
    promote=lambda operands: (result_type(*operands),) * 3, eval=_inversion_eval,
    vjp={"x": _inversion_x, "y": _inversion_y, "r": lambda b, ct: None}, emit=_inversion_emit,
)  # fmt: skip


def _hypot_rule(b: Any, ct: Any, x: Any, y: Any, out: Any) -> Any:
    rest = b.without_factor(ct, out)
    return b.mul(ct, b.cosine(x, y, out)) if rest is None else b.mul(rest, x)


HYPOT = elementwise(
    "hypot", "x y", np.hypot, doc="sqrt(x^2 + y^2) without overflow", floating=True, cost=12.0,
    commutative=True,
    vjp={
        "x": lambda b, ct, x, y, out: _hypot_rule(b, ct, x, y, out),
        "y": lambda b, ct, x, y, out: _hypot_rule(b, ct, y, x, out),
    },
    emit=lambda b, x, y: b.hypot(x, y),
)  # fmt: skip

# Rounding: piecewise constant, slope 0.
FLOOR = elementwise(
    "floor", "x", np.floor, doc="the largest integer not above x",
    vjp={"x": lambda b, ct: b.mul(ct, 0.0)}, emit=lambda b, x: b.floor(x),
)  # fmt: skip
CEIL = elementwise(
    "ceil", "x", np.ceil, doc="the smallest integer not below x",
    vjp={"x": lambda b, ct: b.mul(ct, 0.0)}, emit=lambda b, x: b.ceil(x),
)  # fmt: skip
TRUNC = elementwise(
    "trunc", "x", np.trunc, doc="x without its fraction",
    vjp={"x": lambda b, ct: b.mul(ct, 0.0)}, emit=lambda b, x: b.trunc(x),
)  # fmt: skip
RINT = elementwise(
    "rint", "x", np.rint, doc="the nearest integer, ties to even", floating=True,
    vjp={"x": lambda b, ct: b.mul(ct, 0.0)}, emit=lambda b, x: b.rint(x),
)  # fmt: skip


def _share(b: Any, ct: Any, mine: Any, other: Any, wins: Any) -> Any:
    """The part of `ct` for `mine`: all where it wins, half at a tie, none otherwise."""
    return b.where(wins(mine, other), ct, b.where(b.eq(mine, other), b.mul(ct, 0.5), 0.0))


MAXIMUM = elementwise(
    "maximum", "x y", np.maximum, doc="the larger; NaN if either is NaN", commutative=True,
    finite_gradient=True,
    vjp={
        "x": lambda b, ct, x, y: _share(b, ct, x, y, b.gt),
        "y": lambda b, ct, x, y: _share(b, ct, y, x, b.gt),
    },
    emit=lambda b, x, y: b.maximum(x, y),
)  # fmt: skip
MINIMUM = elementwise(
    "minimum", "x y", np.minimum, doc="the smaller; NaN if either is NaN", commutative=True,
    finite_gradient=True,
    vjp={
        "x": lambda b, ct, x, y: _share(b, ct, x, y, b.lt),
        "y": lambda b, ct, x, y: _share(b, ct, y, x, b.lt),
    },
    emit=lambda b, x, y: b.minimum(x, y),
)  # fmt: skip


def _share_ignoring_nan(b: Any, ct: Any, mine: Any, other: Any, wins: Any) -> Any:
    return b.where(b.isnan(other), ct, _share(b, ct, mine, other, wins))


FMAX = elementwise(
    "fmax", "x y", np.fmax, doc="the larger; the other where one is NaN", commutative=True,
    vjp={
        "x": lambda b, ct, x, y: _share_ignoring_nan(b, ct, x, y, b.gt),
        "y": lambda b, ct, x, y: _share_ignoring_nan(b, ct, y, x, b.gt),
    },
    emit=lambda b, x, y: b.fmax(x, y),
)  # fmt: skip
FMIN = elementwise(
    "fmin", "x y", np.fmin, doc="the smaller; the other where one is NaN", commutative=True,
    vjp={
        "x": lambda b, ct, x, y: _share_ignoring_nan(b, ct, x, y, b.lt),
        "y": lambda b, ct, x, y: _share_ignoring_nan(b, ct, y, x, b.lt),
    },
    emit=lambda b, x, y: b.fmin(x, y),
)  # fmt: skip
CLIP = elementwise(
    "clip", "x low high", importlib.import_module("numpy._core.umath").clip,
    doc="x limited to [low, high]; slope 1 on the bounds",
    vjp={
        "x": lambda b, ct, x, low, high: b.where(b.logical_and(b.ge(x, low), b.le(x, high)), ct, 0.0),
        "low": lambda b, ct, x, low, high: b.where(b.logical_and(b.lt(x, low), b.le(low, high)), ct, 0.0),
        "high": lambda b, ct, x, low, high: b.where(
            b.logical_or(b.gt(x, high), b.gt(low, high)), ct, 0.0
        ),
    },
    emit=lambda b, x, low, high: b.minimum(b.maximum(x, low), high),
)  # fmt: skip


COPY = define(
    "copy", Kind.COMPOSITE, "x", linear=("x",), doc="x, in memory of its own where there is memory",
    infer=lambda types, attrs: types, eval=np.copy, vjp={"x": lambda b, ct: ct},
    decompose=lambda b, x: x, batch=batch_pointwise, builtin=Builtin(np.ndarray.__copy__),
)  # fmt: skip

CONTIGUOUS = define(
    "contiguous", Kind.COMPOSITE, "x", doc="x in C order, in memory of its own where there is memory",
    linear=("x",),
    infer=lambda types, attrs: types, eval=lambda x: np.array(x, order="C"), vjp={"x": lambda b, ct: ct},
    decompose=lambda b, x: x, batch=batch_pointwise,
)  # fmt: skip

STOP_GRADIENT = define(
    "stop_gradient", Kind.COMPOSITE, "x", doc="x, which no gradient passes",
    infer=lambda types, attrs: types, eval=lambda x: x, vjp={"x": lambda b, ct: None},
    decompose=lambda b, x: x, put=lambda b, x, new: b.rewritten(x, new), batch=batch_pointwise,
)  # fmt: skip


def _where_promote(operands: Any) -> Any:
    common = result_type(*operands[1:])
    return (BOOL, common, common)


def _where_infer(types: Any, attrs: Any) -> Any:
    if types[0].dtype is not BOOL or types[1].dtype is not types[2].dtype:
        raise DTypeError(f"where: expected (bool, T, T), got ({', '.join(map(str, types))})")
    same_shape("where", types)
    return (types[1],)


WHERE = define(
    "where", Kind.ELEMENTWISE, "condition x y", doc="x where condition, else y", finite_gradient=True,
    linear=("x y",),
    infer=_where_infer, eval=np.where, promote=_where_promote,
    vjp={
        "x": lambda b, ct, condition: b.where(condition, ct, 0.0),
        "y": lambda b, ct, condition: b.where(condition, 0.0, ct),
    },
    emit=lambda b, condition, x, y: b.select(condition, x, y), takes_float16=True, builtin=Builtin(np.where),
)  # fmt: skip


def _fma_infer(types: Any, attrs: Any) -> Any:
    if len({type_.dtype for type_ in types}) != 1:
        raise DTypeError(f"fma: operands must have one dtype, got ({', '.join(map(str, types))})")
    same_shape("fma", types)
    return (types[0],)


def _fma_emit(b: Any, x: Any, y: Any, z: Any) -> Any:
    return b.muladd(x, y, z) if x.is_float else ADD.emit(b, MUL.emit(b, x, y), z)  # type: ignore[misc]


FMA = define(
    "fma", Kind.ELEMENTWISE, "x y z", doc="x y + z; of floats rounded once, where the machine can",
    infer=_fma_infer, eval=in_float32(lambda x, y, z: x * y + z),
    promote=lambda operands: (result_type(*operands),) * 3,
    vjp={
        "x": lambda b, ct, y: b.mul(ct, y),
        "y": lambda b, ct, x: b.mul(ct, x),
        "z": lambda b, ct: ct,
    },
    emit=_fma_emit, flops=2,
)  # fmt: skip
ROUNDED = define(
    "rounded", Kind.ELEMENTWISE, "x", doc="x; where it is a product, no sum takes over its rounding",
    infer=lambda types, attrs: (types[0],), eval=np.copy, vjp={"x": lambda b, ct: ct},
    emit=lambda b, x: x, linear=("x",), finite_gradient=True, takes_float16=True, cost=0.0, flops=0,
)  # fmt: skip


def _cast_infer(types: Any, attrs: Any) -> Any:
    return (types[0].with_dtype(attrs["dtype"]),)


def _cast_vjp(b: Any, ct: Any, x_type: Any) -> Any:
    if not is_differentiable(x_type.dtype):
        return None
    if is_complex(ct.dtype) and not is_complex(x_type.dtype):
        ct = b.real(ct)  # of what was real
    return b.cast(ct, dtype=x_type.dtype)


class _Quiet(threading.local):
    """A context of each thread in which NumPy warns of nothing: entering it takes a thirtieth of the time of
    ``np.errstate``."""

    def __init__(self) -> None:
        self.context = contextvars.Context()
        self.context.run(np.seterr, all="ignore")


_QUIET: Final = _Quiet()


def _cast_eval(x: Any, dtype: Any) -> Any:
    x = np.asarray(x)
    if is_complex(x.dtype) and not is_complex(dtype) and dtype is not BOOL:
        x = x.real  # without the warning, which is the business of those that users call
    return _QUIET.context.run(np.ndarray.astype, x, dtype)


_is_lossless = functools.lru_cache(maxsize=4096)(np.can_cast)


def _converted(x: Any, dtype: Any) -> Any:
    # what loses nothing warns of nothing, so that no warning has to be held back
    return x.astype(dtype) if _is_lossless(x.dtype, dtype) else _cast_eval(x, dtype)


CAST = define(
    "cast", Kind.ELEMENTWISE, "x", linear=("x",),
    doc="x converted to `dtype`, as astype does; of complex numbers the real part, for a real `dtype`",
    infer=_cast_infer, eval=_cast_eval, vjp={"x": _cast_vjp}, attrs={"dtype": (np.dtype,)},
    emit=lambda b, x, dtype: b.cast(x, SHORT_NAME[dtype]), takes_float16=True, finite_gradient=True,
    builtin=Builtin(_converted, ("dtype",)),
)  # fmt: skip
