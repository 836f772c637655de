"""Folds over segments, and slices of a fixed size whose start is computed. JAX's names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ...eager.tensor import Tensor
from ...ir.dtypes import INT64, SHORT_NAME
from ...ir.errors import ArgumentError, DTypeError, ShapeError
from ...ir.graph import Value
from ...ir.ops.reductions import highest, lowest
from ...ir.types import as_shape
from ..operands import as_tensor, filled, reshaped, run, sliced
from .access import getitem, written_at
from .keys import as_int64

__all__ = [
    "dynamic_slice",
    "dynamic_update_slice",
    "segment_max",
    "segment_min",
    "segment_prod",
    "segment_sum",
]


def dynamic_slice(x: Any, start_indices: Any, slice_sizes: Sequence[int]) -> Tensor:
    """The elements of `x` from `start_indices` on, `slice_sizes` along each axis.

    Starts are a number for each axis, and may be traced; negative ones count from the end. A slice that would
    reach over an edge is moved to lie within `x`.

    Example:
        >>> import tracejit as tj
        >>> tj.dynamic_slice(tj.arange(6), [4], [3])
        tensor([3, 4, 5])

    Raises ShapeError and DTypeError. Semantics: ``jax.lax.dynamic_slice``.
    """
    x = as_tensor(x)
    sizes = as_shape("dynamic_slice", slice_sizes, "slice_sizes")
    return getitem(x, _key("dynamic_slice", x, start_indices, sizes))


def dynamic_update_slice(x: Any, update: Any, start_indices: Any) -> Tensor:
    """A new tensor: `x` with `update` from `start_indices` on.

    Starts are as of `dynamic_slice`; `update` has the rank of `x` and is at most as large.

    Example:
        >>> import tracejit as tj
        >>> tj.dynamic_update_slice(tj.zeros(4), [1.0, 2.0], [3])
        tensor([0., 0., 1., 2.])

    Raises ShapeError and DTypeError. Semantics: ``jax.lax.dynamic_update_slice``.
    """
    x, update = as_tensor(x), as_tensor(update)
    if update.ndim != x.ndim:
        raise ShapeError(
            f"dynamic_update_slice: update must have rank {x.ndim} as x, got shape {update.shape}"
        )
    key = _key("dynamic_update_slice", x, start_indices, update.shape)
    return written_at("dynamic_update_slice", x, key, update)


def _key(name: str, x: Tensor, start_indices: Any, sizes: Sequence[int]) -> tuple[Any, ...]:
    """The key of the slice: for each axis, the whole of it or a range of positions."""
    starts = list(start_indices) if isinstance(start_indices, (tuple, list)) else as_tensor(start_indices)
    if isinstance(starts, Tensor):
        if starts.ndim != 1:
            raise ShapeError(
                f"{name}: start_indices must be a number for each axis, got shape {starts.shape}"
            )
        starts = [starts[axis] for axis in range(starts.shape[0])]
    if not len(starts) == len(sizes) == x.ndim:
        raise ShapeError(
            f"{name}: start_indices and sizes must have a number for each axis of x, which has shape "
            f"{x.shape}; got {len(starts)} and {len(sizes)}"
        )
    key: list[Any] = []
    for axis, (start, size, extent) in enumerate(zip(starts, sizes, x.shape, strict=True)):
        if size > extent:
            raise ShapeError(f"{name}: {size} elements along axis {axis} of shape {x.shape}")
        begin = as_tensor(start)
        if begin.dtype.kind not in "iu" or begin.ndim:
            raise DTypeError(f"{name}: start_indices[{axis}] must be an integer, got {start!r}")
        if size == extent:
            key.append(slice(None))
            continue
        begin = as_int64(begin)
        begin = run("where", run("lt", begin, 0), run("add", begin, extent), begin)
        begin = run("clip", begin, 0, extent - size)
        key.append(run("add", run("iota", shape=(size,), axis=0, dtype=INT64), begin))
    ranges = [axis for axis, part in enumerate(key) if isinstance(part, Tensor)]
    if len(ranges) < 2:
        return tuple(key)
    # index arrays along axes of their own; whole axes between them are ranges, too, to stay in their places
    behind = ranges[-1] + 1
    for axis in range(behind):
        along = (sizes[axis], *(1,) * (behind - axis - 1))
        if axis in ranges:
            key[axis] = reshaped(key[axis], along)
        else:
            key[axis] = run("iota", shape=along, axis=0, dtype=INT64)
    return tuple(key)


_START: Final[dict[str, Any]] = {
    "add": lambda dtype: 0, "mul": lambda dtype: 1, "max": lowest, "min": highest,
}  # fmt: skip


def segment_sum(data: Any, segment_ids: Any, num_segments: int | None = None) -> Tensor:
    """The sums of the rows of `data` that have one segment number; 0 for a segment without rows.

    `segment_ids` has the length of the first axis of `data`; the result has `num_segments` rows (by default
    one more than the largest number, which must be known: not under jit). Rows whose number is negative, or
    too large, are left out.

    Example:
        >>> import tracejit as tj
        >>> tj.segment_sum([1.0, 2.0, 3.0, 4.0], [0, 0, 2, 2])
        tensor([3., 0., 7.])

    Raises ShapeError and DTypeError. Semantics: ``jax.ops.segment_sum``.
    """
    return _segments("segment_sum", data, segment_ids, num_segments, "add")


def segment_prod(data: Any, segment_ids: Any, num_segments: int | None = None) -> Tensor:
    """The products of the rows of `data` that have one segment number; 1 for a segment without rows.

    Arguments are as of `segment_sum`.

    Example:
        >>> import tracejit as tj
        >>> tj.segment_prod([1.0, 2.0, 3.0, 4.0], [0, 0, 2, 2])
        tensor([ 2.,  1., 12.])

    Raises ShapeError and DTypeError. Semantics: ``jax.ops.segment_prod``.
    """
    return _segments("segment_prod", data, segment_ids, num_segments, "mul")


def segment_max(data: Any, segment_ids: Any, num_segments: int | None = None) -> Tensor:
    """The largest of the rows of `data` that have one segment number; -inf, or the dtype's lowest number, for
    a segment without rows. Equal ones share the gradient.

    Arguments are as of `segment_sum`.

    Example:
        >>> import tracejit as tj
        >>> tj.segment_max([1.0, 2.0, 3.0, 4.0], [0, 0, 1, 1])
        tensor([2., 4.])

    Raises ShapeError and DTypeError. Semantics: ``jax.ops.segment_max``.
    """
    return _segments("segment_max", data, segment_ids, num_segments, "max")


def segment_min(data: Any, segment_ids: Any, num_segments: int | None = None) -> Tensor:
    """The smallest of the rows of `data` that have one segment number; inf, or the dtype's highest number,
    for a segment without rows. Equal ones share the gradient.

    Arguments are as of `segment_sum`.

    Example:
        >>> import tracejit as tj
        >>> tj.segment_min([1.0, 2.0, 3.0, 4.0], [0, 0, 1, 1])
        tensor([1., 3.])

    Raises ShapeError and DTypeError. Semantics: ``jax.ops.segment_min``.
    """
    return _segments("segment_min", data, segment_ids, num_segments, "min")


def _segments(name: str, data: Any, segment_ids: Any, num_segments: int | None, mode: str) -> Tensor:
    data, numbers = as_tensor(data), as_tensor(segment_ids)
    if numbers.dtype.kind not in "iu":
        raise DTypeError(f"{name}: segment_ids must be integers, got {numbers.dtype.name}")
    if numbers.ndim != 1 or data.shape[:1] != numbers.shape:
        raise ShapeError(
            f"{name}: segment_ids must be a number for each row of data, which has shape {data.shape}; "
            f"got shape {numbers.shape}"
        )
    numbers = as_int64(numbers)
    if num_segments is None:
        if isinstance(numbers._data, Value):
            raise ArgumentError(f"{name}: num_segments must be given where segment_ids is traced")
        count = int(numbers._data.max(initial=-1)) + 1
    elif isinstance(num_segments, (int, np.integer)) and num_segments >= 0:
        count = int(num_segments)
    else:
        raise ArgumentError(f"{name}: num_segments must be a number of rows, got {num_segments!r}")
    # rows of no segment go to one more, which is cut off
    outside = run("logical_or", run("lt", numbers, 0), run("ge", numbers, count))
    places = run("where", outside, count, numbers)
    start = filled(_START[mode](SHORT_NAME[data.dtype]), (count + 1, *data.shape[1:]), data.dtype)
    op = "scatter" if mode == "add" else "scatter_reduce"
    return sliced(run(op, start, data, places, mode=mode, axes=()), 0, 0, count)
