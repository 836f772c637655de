"""Comparison, logic, bits, and predicates and parts of floating numbers.

Semantics: the NumPy ufunc of the same or the noted name.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..registry import NONDIFF
from .define import comparison, elementwise

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
