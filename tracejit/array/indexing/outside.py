"""Keys of ``x.at[key]`` whose indices may lie outside: what becomes of them, by JAX's modes.

``clip`` and ``wrap`` change the indices. With ``drop`` and ``fill``, which are one mode, the array is
extended by one place along each axis that is indexed, where all indices outside go: for writes it is cut off
again, for reads it holds the value that fills.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ...base.errors import ArgumentError
from ...ir.dtypes import BOOL, INT64, UINT64, is_inexact
from ...tensors.tensor import Tensor
from ..operands import as_tensor, cast, run
from .keys import as_int64, index_entries

#: The modes; None and ``promise_in_bounds`` are those in which an index outside is an error.
MODES: Final = ("clip", "drop", "fill", "promise_in_bounds", "wrap")


def within(name: str, x: Tensor, key: Any, mode: str | None, fill: Any = 0) -> tuple[Tensor, Any]:
    """The array and the key to read or write in the place of `x` and `key`: the array is `x`, or in the modes
    that drop and fill an extended one."""
    if mode is None or mode == "promise_in_bounds":
        return x, key
    if mode not in MODES:
        raise ArgumentError(f"{name}: mode must be one of {', '.join(map(repr, MODES))}, got {mode!r}")
    extends = mode in ("drop", "fill")
    changed: list[Any] = []
    axes: list[int] = []
    for axis, item in index_entries(name, x.ndim, key):
        if isinstance(item, bool) or not isinstance(item, (int, np.ndarray, Tensor)) or _is_mask(item):
            changed.append(item)
            continue
        changed.append(_placed(item, x.shape[axis], mode))
        axes.append(axis)
    if extends:
        for axis in axes:
            shape = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
            x = run("concat", x, run("full", value=fill, shape=shape, dtype=x.dtype), axis=axis)
    return x, tuple(changed)


def _is_mask(item: Any) -> bool:
    return not isinstance(item, int) and item.dtype == BOOL


def _placed(item: Any, extent: int, mode: str) -> Any:
    """The index or indices `item` of an axis of `extent` elements, where `mode` puts them."""
    if isinstance(item, int):
        counted = item + extent if item < 0 else item
        if mode == "wrap":
            return item % extent if extent else item
        if mode == "clip":
            return min(max(counted, 0), extent - 1) if extent else item
        return counted if 0 <= counted < extent else extent
    index = as_tensor(item)
    if mode == "wrap":
        index = index if index.dtype is UINT64 else cast(index, INT64)  # of which int64 holds the remainder
        return cast(run("remainder", index, extent), INT64)
    index = as_int64(index)
    index = run("where", run("lt", index, 0), run("add", index, extent), index)
    if mode == "clip":
        return run("clip", index, 0, extent - 1)
    inside = run("logical_and", run("ge", index, 0), run("lt", index, extent))
    return run("where", inside, index, extent)


def default_fill(x: Tensor) -> Any:
    """The value of elements outside in reads: NaN, the least or the largest integer, or True."""
    if is_inexact(x.dtype):
        return float("nan")
    if x.dtype is BOOL:
        return True
    limits = np.iinfo(x.dtype)
    return int(limits.min if x.dtype.kind == "i" else limits.max)
