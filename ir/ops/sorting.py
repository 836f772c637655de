"""Sorting along the last axis, binary search in sorted values, and counting.

NaN counts as larger than everything else, as in NumPy. `argsort` keeps equal elements in their order; of
`sort` the order of equal elements (of 0.0 and -0.0, say) is not told.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..dtypes import BOOL, FLOAT64, INT64, accumulated_in, is_real_floating
from ..errors import DTypeError, IndexValueError, OutOfBoundsError, ShapeError
from ..registry import NONDIFF, Attrs, Kind
from ..transforms.batching import all_mapped, batch_each, batch_pointwise
from ..types import TensorType
from .define import define


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


def _compaction_infer(types: tuple[TensorType, ...], attrs: Attrs) -> tuple[TensorType, ...]:
    (x,) = types
    if x.ndim == 0 or attrs["size"] < 0:
        raise ShapeError(f"true_positions: expected rank 1 or more and size >= 0, got {x}, {attrs['size']}")
    if x.dtype is not BOOL:
        raise DTypeError(f"true_positions: expected bools, got {x}")
    return (TensorType(INT64, (*x.shape[:-1], attrs["size"])),)


def _compaction_eval(x: Any, size: int) -> Any:
    result = np.full((*x.shape[:-1], size), x.shape[-1], INT64)
    for row in np.ndindex(x.shape[:-1]):
        positions = np.flatnonzero(x[row])[:size]
        result[row][: positions.size] = positions
    return result


TRUE_POSITIONS = define(
    "true_positions", Kind.COMPACTION, "x",
    doc="the positions of the first `size` true elements along the last axis, behind them its length",
    attrs={"size": (int,)}, infer=_compaction_infer, eval=_compaction_eval, vjp=NONDIFF,
    batch=batch_pointwise,
)  # fmt: skip


def _along_last(name: str, operand: TensorType) -> None:
    if operand.ndim == 0:
        raise ShapeError(f"{name}: expected rank 1 or more, got {operand}")


def _sort_infer(types: tuple[TensorType, ...], attrs: Attrs) -> tuple[TensorType, ...]:
    _along_last("sort", types[0])
    return (types[0],)


def _argsort_infer(types: tuple[TensorType, ...], attrs: Attrs) -> tuple[TensorType, ...]:
    _along_last("argsort", types[0])
    return (TensorType(INT64, types[0].shape),)


def _sort_rule(b: Any, ct: Any, x: Any) -> Any:
    """Each element's cotangent goes back to where it came from."""
    shape = x.shape
    count = math.prod(shape[:-1])
    rows, order = b.reshape(ct, shape=(count, shape[-1])), b.argsort(x)
    places = (b.iota(shape=rows.shape, axis=0, dtype=INT64), b.reshape(order, shape=rows.shape))
    zeros = b.full(value=0.0, shape=rows.shape, dtype=ct.dtype)
    return b.reshape(b.scatter(zeros, rows, *places, mode="add"), shape=shape)


SORT = define(
    "sort", Kind.SORT, "x", doc="the elements in ascending order along the last axis, NaN last",
    infer=_sort_infer, eval=lambda x: np.sort(x, axis=-1), vjp={"x": _sort_rule}, batch=batch_pointwise,
)  # fmt: skip
ARGSORT = define(
    "argsort", Kind.ARG_SORT, "x",
    doc="the positions of the elements in ascending order along the last axis, NaN last, ties by position",
    infer=_argsort_infer, vjp=NONDIFF, batch=batch_pointwise,
    eval=lambda x: np.argsort(x, axis=-1, kind="stable").astype(INT64, copy=False),
)  # fmt: skip


def _search_infer(types: tuple[TensorType, ...], attrs: Attrs) -> tuple[TensorType, ...]:
    line, values = types
    if line.ndim != 1 or line.dtype is not values.dtype:
        raise ShapeError(f"searchsorted: expected a line and values of its dtype, got {line} and {values}")
    if attrs["side"] not in ("left", "right"):
        raise DTypeError(f"searchsorted: side must be 'left' or 'right', got {attrs['side']!r}")
    return (TensorType(INT64, values.shape),)


def _search_eval(a: Any, v: Any, side: Any) -> Any:
    return np.asarray(np.searchsorted(a, v, side=side), INT64)


def _search_batch(b: Any, instruction: Any, operands: Any, mapped: Any, size: int) -> Any:
    """One line for all examples: all their values at once."""
    if mapped[0]:
        return batch_each(b, instruction, operands, mapped, size)
    values = all_mapped(b, operands[1:], mapped[1:], size)
    return b.append(instruction.op, (operands[0], *values), instruction.attrs)


SEARCHSORTED = define(
    "searchsorted", Kind.SEARCH, "a v",
    doc="where v's elements go in the ascending line a: before their equals (`left`) or behind (`right`)",
    attrs={"side": (str,)}, infer=_search_infer, eval=_search_eval, vjp=NONDIFF, batch=_search_batch,
)  # fmt: skip
