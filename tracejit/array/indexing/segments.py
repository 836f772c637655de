"""Folds over segments. JAX's names."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ...base.errors import ArgumentError, DTypeError, ShapeError
from ...ir.dtypes import SHORT_NAME
from ...ir.graph import Value
from ...ir.ops.reductions import highest, lowest
from ...tensors.tensor import Tensor
from ..operands import as_tensor, filled, run, sliced
from .keys import as_int64

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
