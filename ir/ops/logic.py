"""Comparison, logic, bits, predicates and parts of floating numbers, and complex numbers and their parts.

Semantics: the NumPy ufunc of the same or the noted name. Gradient rules are without conjugation, JAX's
convention: the cotangent of the operand of a linear map L is the c with Re(ct L(dx)) = Re(c dx) for all dx.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import (
    FLOAT16,
    FLOAT32,
    FLOAT64,
    DType,
    Operand,
    complex_dtype,
    default_dtype,
    is_complex,
    real_dtype,
    result_type,
)
from ..errors import DTypeError
from ..registry import NONDIFF, Attrs, Kind
from ..transforms.batching import batch_pointwise
from ..types import TensorType
from .define import comparison, define, elementwise, same_shape

EQ = comparison("eq", np.equal, lambda b, x, y: b.eq(x, y), "x == y", commutative=True)
NE = comparison("ne", np.not_equal, lambda b, x, y: b.ne(x, y), "x != y", commutative=True)
LT = comparison("lt", np.less, lambda b, x, y: b.lt(x, y), "x < y")
LE = comparison("le", np.less_equal, lambda b, x, y: b.le(x, y), "x <= y")
GT = comparison("gt", np.greater, lambda b, x, y: b.gt(x, y), "x > y")
GE = comparison("ge", np.greater_equal, lambda b, x, y: b.ge(x, y), "x >= y")


def _truth(combine: Any) -> Any:
    return lambda b, *xs: combine(b, *(b.cast(x, "bool") for x in xs))


LOGICAL_AND = comparison(
    "logical_and", np.logical_and, _truth(lambda b, x, y: b.and_(x, y)), "x and y", commutative=True
)
LOGICAL_OR = comparison(
    "logical_or", np.logical_or, _truth(lambda b, x, y: b.or_(x, y)), "x or y", commutative=True
)
LOGICAL_XOR = comparison(
    "logical_xor",
    np.logical_xor,
    _truth(lambda b, x, y: b.xor(x, y)),
    "exactly one of x, y",
    commutative=True,
)
LOGICAL_NOT = elementwise(
    "logical_not", "x", np.logical_not, doc="not x", vjp=NONDIFF, emit=_truth(lambda b, x: b.not_(x))
)


def _bits(name: str, ufunc: Any, emit: Any, doc: str, **more: Any) -> Any:
    return elementwise(name, "x y", ufunc, doc=doc, vjp=NONDIFF, emit=emit, **more)


BITWISE_AND = _bits(
    "bitwise_and", np.bitwise_and, lambda b, x, y: b.and_(x, y), "x & y, bit by bit", commutative=True
)
BITWISE_OR = _bits(
    "bitwise_or", np.bitwise_or, lambda b, x, y: b.or_(x, y), "x | y, bit by bit", commutative=True
)
BITWISE_XOR = _bits(
    "bitwise_xor", np.bitwise_xor, lambda b, x, y: b.xor(x, y), "x ^ y, bit by bit", commutative=True
)
BITWISE_NOT = elementwise(
    "bitwise_not", "x", np.invert, doc="~x, bit by bit", vjp=NONDIFF, emit=lambda b, x: b.not_(x)
)
BITWISE_COUNT = elementwise(
    "bitwise_count", "x", np.bitwise_count, doc="the number of set bits of |x|, as uint8", vjp=NONDIFF,
    emit=lambda b, x: b.bitwise_count(x),
)  # fmt: skip
SHIFT_LEFT = _bits("shift_left", np.left_shift, lambda b, x, y: b.shift_left(x, y), "x << y")
SHIFT_RIGHT = _bits("shift_right", np.right_shift, lambda b, x, y: b.shift_right(x, y), "x >> y")
GCD = _bits("gcd", np.gcd, None, "the greatest common divisor", commutative=True, cost=100.0)
LCM = _bits("lcm", np.lcm, None, "the least common multiple", commutative=True, cost=100.0)


def _predicate(name: str, ufunc: Any, doc: str) -> Any:
    return elementwise(
        name, "x", ufunc, doc=doc, vjp=NONDIFF, floating=name == "signbit",
        emit=lambda b, x: getattr(b, name)(x),
    )  # fmt: skip


ISNAN = _predicate("isnan", np.isnan, "x is NaN")
ISINF = _predicate("isinf", np.isinf, "x is infinite")
ISFINITE = _predicate("isfinite", np.isfinite, "x is neither infinite nor NaN")
SIGNBIT = _predicate("signbit", np.signbit, "the sign bit is set")

COPYSIGN = elementwise(
    "copysign", "x y", np.copysign, doc="|x| with the sign of y", floating=True,
    vjp={
        "x": lambda b, ct, x, y: b.mul(ct, b.mul(b.sign(x), b.copysign(1.0, y))),
        "y": lambda b, ct: b.mul(ct, 0.0),
    },
    emit=lambda b, x, y: b.copysign(x, y),
)  # fmt: skip
NEXTAFTER = elementwise(
    "nextafter", "x y", np.nextafter, doc="the float after x towards y", floating=True, vjp=NONDIFF,
    emit=lambda b, x, y: b.nextafter(x, y), takes_float16=True,
)  # fmt: skip
SPACING = elementwise(
    "spacing", "x", np.spacing, doc="the distance to the next float", floating=True, vjp=NONDIFF,
    emit=lambda b, x: b.spacing(x), takes_float16=True,
)  # fmt: skip
HEAVISIDE = elementwise(
    "heaviside", "x y", np.heaviside, doc="0 below zero, y at zero, 1 above", floating=True,
    vjp={
        "x": lambda b, ct: b.mul(ct, 0.0),
        "y": lambda b, ct, x: b.where(b.eq(x, 0.0), ct, 0.0),
    },
    emit=lambda b, x, y: b.heaviside(x, y),
)  # fmt: skip

# -- complex numbers ---------------------------------------------------------------------------------

Types = tuple[TensorType, ...]


def _part_infer(name: str) -> Any:
    def infer(types: Types, attrs: Attrs) -> Types:
        if not is_complex(types[0].dtype):
            raise DTypeError(f"{name}: expected a complex operand, got {types[0]}")
        return (types[0].with_dtype(real_dtype(types[0].dtype)),)

    return infer


REAL = define(
    "real", Kind.VIEW, "x", doc="the real part of complex x", infer=_part_infer("real"), eval=np.real,
    # ct Re(dx) = Re(ct dx)
    vjp={"x": lambda b, ct: b.complex(ct, 0.0)},
    put=lambda b, x, new: b.complex(new, b.imag(x)), batch=batch_pointwise,
)  # fmt: skip
IMAG = define(
    "imag", Kind.VIEW, "x", doc="the imaginary part of complex x", infer=_part_infer("imag"), eval=np.imag,
    # ct Im(dx) = Re(-i ct dx)
    vjp={"x": lambda b, ct: b.complex(0.0, b.neg(ct))},
    put=lambda b, x, new: b.complex(b.real(x), new), batch=batch_pointwise,
)  # fmt: skip
CONJ = elementwise(
    "conj", "x", np.conjugate, doc="the conjugate; x where that is real",
    vjp={"x": lambda b, ct: b.conj(ct)}, emit=lambda b, x: x,
)  # fmt: skip


def _complex_promote(operands: tuple[Operand, ...]) -> tuple[DType, ...]:
    dtype = result_type(*operands)
    if is_complex(dtype):
        raise DTypeError(f"complex: expected real parts, got {dtype.name}")
    if dtype not in (FLOAT32, FLOAT64):
        dtype = FLOAT32 if dtype is FLOAT16 else default_dtype()
    return dtype, dtype


def _complex_infer(types: Types, attrs: Attrs) -> Types:
    dtype = types[0].dtype
    if dtype is not types[1].dtype or dtype not in (FLOAT32, FLOAT64):
        raise DTypeError(
            f"complex: expected two operands of one floating dtype, got {types[0]} and {types[1]}"
        )
    return (TensorType(complex_dtype(dtype), same_shape("complex", types)),)


def _complex_eval(re: Any, im: Any) -> Any:
    dtype = _complex_promote(tuple([x if isinstance(x, np.dtype) else _kind(x) for x in (re, im)]))[0]
    shape = np.broadcast_shapes(np.shape(re), np.shape(im))
    result = np.empty(shape, complex_dtype(dtype))
    result.real, result.imag = re, im
    return result


def _kind(x: Any) -> Operand:
    return type(x) if type(x) in (int, float) else np.asarray(x).dtype


COMPLEX = define(
    "complex", Kind.ELEMENTWISE, "re im", doc="re + i im", infer=_complex_infer, eval=_complex_eval,
    promote=_complex_promote,
    # Re(ct i dim) = Re(-Im(ct) dim)
    vjp={"re": lambda b, ct: b.real(ct), "im": lambda b, ct: b.neg(b.imag(ct))},
)  # fmt: skip
