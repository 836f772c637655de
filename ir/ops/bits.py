"""Bits of floating numbers, halves of products of words, and functions of the C library: programs that must
give the same bits as C code does are written with them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ...base.errors import DTypeError
from ..dtypes import BY_NAME, FLOAT64, DType, Operand, describe
from ..registry import NONDIFF, Attrs, Kind
from ..types import TensorType
from .define import define, same_shape

_UINT64: Final = BY_NAME["u64"]
_LOW: Final = np.uint64(0xFFFFFFFF)
_HALF: Final = np.uint64(32)


def _of(dtype: DType, result: DType, name: str) -> dict[str, Any]:
    """The type rules of the op `name`, whose operands have `dtype` and are not converted."""

    def promote(operands: tuple[Operand, ...]) -> tuple[DType, ...]:
        if any(operand is not dtype for operand in operands):
            described = ", ".join(map(describe, operands))
            raise DTypeError(f"{name}: expected operands of dtype {dtype.name}, got ({described})")
        return (dtype,) * len(operands)

    def infer(types: tuple[TensorType, ...], attrs: Attrs) -> tuple[TensorType, ...]:
        promote(tuple(type_.dtype for type_ in types))
        return (TensorType(result, same_shape(name, types)),)

    return {"promote": promote, "infer": infer}


def _checked(name: str, dtype: DType, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """`kernel`, which raises DTypeError for operands of other dtypes than `dtype`."""

    def checked(*operands: Any, **attrs: Any) -> Any:
        for operand in operands:
            if getattr(operand, "dtype", None) != dtype:
                raise DTypeError(
                    f"{name}: expected operands of dtype {dtype.name}, got {np.asarray(operand).dtype.name}"
                )
        return kernel(*operands, **attrs)

    return checked


def _mul_high_eval(x: Any, y: Any) -> Any:
    # products of halves: the middle ones carry into the high word
    low_x, high_x, low_y, high_y = x & _LOW, x >> _HALF, y & _LOW, y >> _HALF
    first = high_x * low_y + (low_x * low_y >> _HALF)
    second = low_x * high_y + (first & _LOW)
    return high_x * high_y + (first >> _HALF) + (second >> _HALF)


MUL_HIGH = define(
    "mul_high", Kind.ELEMENTWISE, "x y", doc="the high 64 bits of x y, the product of two words of 64 bits",
    eval=_checked("mul_high", _UINT64, _mul_high_eval), vjp=NONDIFF,
    emit=lambda b, x, y: b.mul_high(x, y), commutative=True, cost=4.0,
    **_of(_UINT64, _UINT64, "mul_high"),
)  # fmt: skip
FLOAT_BITS = define(
    "float_bits", Kind.ELEMENTWISE, "x", doc="the bits of a float64 as a word",
    eval=_checked("float_bits", FLOAT64, lambda x: np.asarray(x).view(_UINT64)), vjp=NONDIFF,
    emit=lambda b, x: b.bitcast(x, "u64"), **_of(FLOAT64, _UINT64, "float_bits"),
)  # fmt: skip
BITS_FLOAT = define(
    "bits_float", Kind.ELEMENTWISE, "x", doc="the float64 whose bits are those of a word",
    eval=_checked("bits_float", _UINT64, lambda x: np.asarray(x).view(FLOAT64)), vjp=NONDIFF,
    emit=lambda b, x: b.bitcast(x, "f64"), **_of(_UINT64, FLOAT64, "bits_float"),
)  # fmt: skip

#: The functions of the C library that `libm` calls, with what they are at the end of their domain.
_OF_C: Final[dict[str, tuple[Callable[[float], float], float]]] = {
    "log": (math.log, 0.0), "log1p": (math.log1p, -1.0),
}  # fmt: skip


def _libm_of_number(function: str, x: float) -> float:
    compute, end = _OF_C[function]
    if x <= end:
        return -math.inf if x == end else math.nan
    return compute(x)  # Python's math calls the C library there


def _libm_eval(x: Any, function: str) -> Any:
    x = np.asarray(x)
    numbers = [_libm_of_number(function, number) for number in x.ravel().tolist()]
    return np.array(numbers, FLOAT64).reshape(x.shape)


LIBM = define(
    "libm", Kind.ELEMENTWISE, "x", doc="`function` of x, log or log1p, by the C library of the process",
    attrs={"function": (str,)}, eval=_checked("libm", FLOAT64, _libm_eval), vjp=NONDIFF,
    emit=lambda b, x, function: b.call_by_lanes(function, "f64", x), cost=40.0,
    **_of(FLOAT64, FLOAT64, "libm"),
)  # fmt: skip
