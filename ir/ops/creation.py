"""Creation: constants, filled and unwritten arrays, and counts along an axis."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...base.errors import AxisError, DTypeError, ShapeError
from ..dtypes import SHORT_NAME, is_complex, is_inexact
from ..registry import NONDIFF, Attrs, Kind
from ..types import TensorType, Types, normalize_axis
from .define import define


def _full_infer(types: Types, attrs: Attrs) -> Types:
    shape, dtype = attrs["shape"], attrs["dtype"]
    if any(type(size) is not int or size < 0 for size in shape):
        raise ShapeError(f"a shape must be non-negative integers, got {shape}")
    if dtype not in SHORT_NAME:
        raise DTypeError(f"dtype {dtype} is not supported")
    value = attrs.get("value")
    if (isinstance(value, float) and not is_inexact(dtype)) or (
        isinstance(value, complex) and not is_complex(dtype)
    ):
        raise DTypeError(f"full: the value {value} does not fit {dtype.name}")
    return (TensorType(attrs["dtype"], attrs["shape"]),)


FULL = define(
    "full", Kind.CREATION, "", doc="`value` everywhere", infer=_full_infer, vjp=NONDIFF,
    attrs={"value": (bool, int, float, complex), "shape": (tuple,), "dtype": (np.dtype,)},
    eval=lambda value, shape, dtype: np.full(shape, value, dtype),
)  # fmt: skip


def _unwritten(shape: tuple[int, ...], dtype: Any) -> Any:
    """An array whose elements are NaN, or as large as integers may be: nothing should read them."""
    return np.full(shape, np.nan if is_inexact(dtype) else np.array(-1).astype(dtype), dtype)


EMPTY = define(
    "empty", Kind.ALLOCATION, "", doc="memory, in which everything is written before it is read",
    infer=_full_infer, vjp=NONDIFF, attrs={"shape": (tuple,), "dtype": (np.dtype,)}, eval=_unwritten,
)  # fmt: skip


def _iota_eval(shape: tuple[int, ...], axis: int, dtype: Any) -> Any:
    column = np.arange(shape[axis], dtype=dtype).reshape([-1] + [1] * (len(shape) - axis - 1))
    return np.ascontiguousarray(np.broadcast_to(column, shape))


def _iota_infer(types: Types, attrs: Attrs) -> Types:
    if normalize_axis("iota", attrs["axis"], len(attrs["shape"])) != attrs["axis"]:
        raise AxisError(f"iota: the axis must not be negative, got {attrs['axis']}")
    return _full_infer(types, attrs)


IOTA = define(
    "iota", Kind.CREATION, "", doc="0, 1, 2, ... along `axis`", infer=_iota_infer, eval=_iota_eval,
    attrs={"shape": (tuple,), "axis": (int,), "dtype": (np.dtype,)}, vjp=NONDIFF,
)  # fmt: skip


def _constant_infer(types: Types, attrs: Attrs) -> Types:
    if len(attrs["data"]) != math.prod(attrs["shape"]):
        raise ShapeError(f"constant: {len(attrs['data'])} elements for the shape {attrs['shape']}")
    return _full_infer(types, attrs)


CONSTANT = define(
    "constant", Kind.CREATION, "", doc="the elements `data`, in row-major order", infer=_constant_infer,
    attrs={"data": (tuple,), "shape": (tuple,), "dtype": (np.dtype,)}, vjp=NONDIFF,
    eval=lambda data, shape, dtype: np.array(data, dtype).reshape(shape),
)  # fmt: skip
