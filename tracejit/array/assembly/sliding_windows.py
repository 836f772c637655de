"""Sliding windows: ``numpy.lib.stride_tricks.sliding_window_view`` of tensors."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ...base.errors import ArgumentError, ShapeError
from ...ir.types import normalize_axis
from ...tape.views import IndexedStep, share
from ...tensors.tensor import Tensor
from ..indexing.taking import take
from ..manipulation import moveaxis
from ..operands import as_tensor

__all__ = ["sliding_window_view"]


def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Tensor:
    """The windows of `window_shape` that lie inside `x`, along new axes behind those of `x`. A copy; of a
    traced `x` a view, which cannot be written.

    Example:
        >>> import numpy as np
        >>> import tracejit as tj
        >>> np.lib.stride_tricks.sliding_window_view(tj.tensor([1.0, 2.0, 4.0, 8.0]), 2).sum(axis=-1)
        tensor([ 3.,  6., 12.])

    Raises ShapeError for windows larger than `x`, ArgumentError for `writeable` ones: windows share their
    elements. Semantics: ``numpy.lib.stride_tricks.sliding_window_view``.
    """
    windows = as_tensor(x)
    if writeable:
        _put()
    sizes = tuple(
        map(operator.index, window_shape if isinstance(window_shape, (tuple, list)) else (window_shape,))
    )
    axes = range(windows.ndim) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    if len(sizes) != len(axes):
        raise ShapeError(
            f"sliding_window_view: expected a window size for each axis of {tuple(axes)}, got {sizes}"
        )
    for size, number in zip(sizes, axes, strict=True):
        along = normalize_axis("sliding_window_view", number, windows.ndim)
        count = windows.shape[along] - size + 1
        if size < 0 or count < 1:
            raise ShapeError(
                f"sliding_window_view: windows of {size} do not fit axis {along} of shape {windows.shape}"
            )
        windows = moveaxis(
            _windows(windows, np.arange(count)[:, None] + np.arange(size), along), along + 1, -1
        )
    return windows


def _windows(x: Tensor, places: Any, axis: int) -> Tensor:
    """The elements of `x` at `places` along `axis`, which are those of `x` later on, too: as a view."""
    windows = take(x, places, axis)
    if x.is_traced:
        key = (*[slice(None)] * axis, places)
        share(
            x,
            windows,
            IndexedStep(key, x._data, windows.shape, lambda base, _: take(base, places, axis), _put),
        )
    return windows


def _put(*_: Any) -> Any:
    raise ArgumentError("sliding_window_view: windows share elements of x, and cannot be written")
