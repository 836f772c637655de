"""Slices of a fixed size whose start is computed. JAX's names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...base.errors import DTypeError, ShapeError
from ...ir.dtypes import INT64
from ...ir.types import as_shape
from ...tensors.tensor import Tensor
from ..operands import as_tensor, reshaped, run
from .access import getitem, written_at
from .keys import as_int64


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
