"""Counting: how often each small integer occurs."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....base.errors import DTypeError, IndexValueError, OutOfBoundsError, ShapeError
from ...dtypes import FLOAT64, INT64, accumulated_in, is_real_floating
from ...registry import Attrs, Kind
from ...transforms.batching import all_mapped
from ...types import TensorType
from ..define import define


def _infer(types: tuple[TensorType, ...], attrs: Attrs) -> tuple[TensorType, ...]:
    x, *weights = types
    if x.ndim != 1 or x.dtype is not INT64:
        raise ShapeError(f"bincount: expected a line of int64, got {x}")
    if len(weights) > 1 or any(
        weight.shape != x.shape or not is_real_floating(weight.dtype) for weight in weights
    ):
        raise DTypeError(f"bincount: expected a floating weight for each element of {x}, got {weights}")
    if attrs["length"] < 0:
        raise ShapeError(f"bincount: length must not be negative, got {attrs['length']}")
    return (TensorType(weights[0].dtype if weights else INT64, (attrs["length"],)),)


def _eval(x: Any, *weights: Any, length: int, strict: bool = False) -> Any:
    if x.size and x.min() < 0:
        raise IndexValueError(f"bincount: {x.min()} is negative")
    inside = x < length
    if not inside.all():
        if strict:
            raise OutOfBoundsError(f"bincount: {x.max()} is past the last of the {length} counts")
        x, weights = x[inside], tuple(weight[inside] for weight in weights)
    if not weights or weights[0].dtype == FLOAT64:
        counts = np.bincount(x, weights[0] if weights else None, length)
        return counts.astype(FLOAT64 if weights else INT64, copy=False)  # of nothing it gives integers
    sums = np.zeros(length, accumulated_in(weights[0].dtype))  # not in float64, as it would
    np.add.at(sums, x, weights[0])
    return sums.astype(weights[0].dtype, copy=False)


def _weights_rule(b: Any, ct: Any, x: Any, length: int, strict: bool = False) -> Any:
    """Each weight gets the cotangent of the sum that it is a term of; those past the end get none."""
    if length == 0:
        return b.full(value=0.0, shape=x.shape, dtype=ct.dtype)
    return b.where(b.lt(x, length), b.gather(ct, b.minimum(x, length - 1)), 0.0)


def _batch(b: Any, instruction: Any, operands: Any, mapped: Any, size: int) -> Any:
    """Count for all examples in one line of counts. Negative numbers stay negative, and numbers past the end
    go past the end of the line."""
    x, *weights = all_mapped(b, operands, mapped, size)
    length = instruction.attrs["length"]
    first = b.mul(b.iota(shape=x.shape, axis=0, dtype=INT64), length)
    places = b.where(b.lt(x, length), b.add(x, first), size * length)
    places = b.where(b.lt(x, 0), x, places)
    line = [b.reshape(value, shape=(size * x.shape[1],)) for value in (places, *weights)]
    attrs = {**instruction.attrs, "length": size * length}
    (counts,) = b.append(instruction.op, tuple(line), attrs)
    return [b.reshape(counts, shape=(size, length))]


BINCOUNT = define(
    "bincount", Kind.HISTOGRAM, "x *weights",
    doc="how often each of 0, ..., `length` - 1 occurs in the line x, or the sums of the weights there; "
    "larger elements are an error if `strict`, else left out",
    attrs={"length": (int,), "strict": (bool,)}, defaults={"strict": False}, infer=_infer, eval=_eval,
    vjp={"*weights": _weights_rule}, batch=_batch,
)  # fmt: skip
