"""Elements picked by their indices along an axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.errors import DomainError, DTypeError, ShapeError
from ...ir.dtypes import BOOL, INT64
from ...ir.types import broadcast_shapes, normalize_axis
from ...tensors.tensor import Tensor, as_array
from ..copying import in_order
from ..manipulation import ravel
from ..memory_order import as_in_memory
from ..operands import (
    as_tensor,
    broadcast,
    cast,
    constant_of,
    copied_from,
    holds_tensors,
    run,
    with_an_axis,
    write_out,
)
from .access import getitem


def take(x: Any, indices: Any, axis: int | None = None, out: Any = None, mode: str = "raise") -> Tensor:
    """The slices of `x` at `indices` along `axis`, or elements of the raveled array if that is None.

    The shape of `indices` takes the place of the axis. `mode` for indices outside: ``raise``
    (OutOfBoundsError, eagerly), ``wrap`` around or ``clip`` to the ends.

    Example:
        >>> import tracejit as tj
        >>> tj.take([10, 20, 30], [2, 0])
        tensor([30, 10])

    Raises AxisError and OutOfBoundsError. Semantics: ``numpy.take``.
    """
    x = as_tensor(x)
    if axis is None:
        x, axis = ravel(x), 0
    x = with_an_axis(x, axis)
    place = normalize_axis("take", axis, x.ndim)
    indices = _places(indices)
    if mode != "raise":
        if mode not in ("wrap", "clip"):
            raise DomainError(f"take: mode must be 'raise', 'wrap' or 'clip', got {mode!r}")
        positions, extent = as_tensor(indices), x.shape[place]
        bounded = (
            run("remainder", positions, extent) if mode == "wrap" else run("clip", positions, 0, extent - 1)
        )
        indices = bounded
    result = in_order(copied_from(x, getitem(x, (slice(None),) * place + (indices,))))
    return result if out is None else write_out("take", out, result)


def _places(indices: Any) -> Any:
    """`indices` of ``take``: bools are the places 0 and 1, not a mask, and an empty list has no dtype."""
    if isinstance(indices, Tensor):
        return cast(indices, INT64) if indices.dtype is BOOL else indices
    if type(indices) is int or holds_tensors(indices):
        return list(indices) if isinstance(indices, tuple) else indices
    array = as_array(indices)
    is_empty_list = array.size == 0 and isinstance(indices, (list, tuple))
    return array.astype(INT64) if array.dtype is BOOL or is_empty_list else array


def take_along_axis(x: Any, indices: Any, axis: int | None = -1) -> Tensor:
    """The element of `x` at each place of `indices`, with the index there in place of that along `axis`.

    Fits what ``argmax`` with keepdims gives. `x` and `indices` have one rank and broadcast beside `axis`.

    Example:
        >>> import tracejit as tj
        >>> tj.take_along_axis([[10, 30, 20]], [[1, 0]], axis=1)
        tensor([[30, 10]])

    Raises AxisError, ShapeError and OutOfBoundsError. Semantics: ``numpy.take_along_axis``.
    """
    x, places = as_tensor(x), as_tensor(indices)
    if places.dtype.kind not in "iu":
        raise DTypeError(f"take_along_axis: indices must be integers, got {places.dtype.name}")
    if axis is None:
        x, axis = ravel(x), 0
    if x.ndim != places.ndim:
        raise ShapeError(f"take_along_axis: {x.shape} and indices {places.shape} must have one rank")
    along = normalize_axis("take_along_axis", axis, x.ndim)
    shape = broadcast_shapes(
        "take_along_axis",
        (*x.shape[:along], 1, *x.shape[along + 1 :]),
        (*places.shape[:along], 1, *places.shape[along + 1 :]),
    )
    shape = (*shape[:along], places.shape[along], *shape[along + 1 :])
    key: list[Any] = []
    for dimension, size in enumerate(shape):
        if dimension == along:
            key.append(broadcast(places, shape))
        elif x.shape[dimension] == 1:
            key.append(0)
        else:
            key.append(
                run("iota", shape=shape, axis=dimension, dtype=INT64)
                if size
                else constant_of(np.zeros(shape, int))
            )
    return as_in_memory("take_along_axis", getitem(x, tuple(key)), "K", places)
