"""Elements inserted, deleted and trimmed."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ...base.errors import OutOfBoundsError, ShapeError
from ...ir.dtypes import BOOL
from ...ir.types import normalize_axis
from ...tensors.tensor import Tensor, as_array
from ..indexing.access import index_update
from ..indexing.taking import take
from ..manipulation import moveaxis, ravel
from ..memory_order import as_in_memory
from ..operands import as_tensor, cast, filled, sliced


def _known(name: str, obj: Any, extent: int) -> Any:
    """The indices that `obj` stands for, which decide the shape of the result."""
    if isinstance(obj, slice):
        return np.arange(extent)[obj]
    value = as_tensor(obj) if isinstance(obj, Tensor) else obj
    if isinstance(value, Tensor):
        return value._concrete(f"{name} at a tensor", "indices that do not depend on arguments")
    return as_array(value) if np.size(value) else np.zeros(np.shape(value), np.int64)


def delete(x: Any, obj: Any, axis: int | None = None) -> Tensor:
    """`x` without the slices along `axis` at `obj`: an index, several, a slice or a mask.

    The raveled array where `axis` is None.

    Example:
        >>> import tracejit as tj
        >>> tj.delete([1, 2, 3, 4], [0, 2])
        tensor([2, 4])

    Raises AxisError and OutOfBoundsError. Semantics: ``numpy.delete``.
    """
    x = as_tensor(x)
    if axis is None:
        x, axis = ravel(x), 0
    place = normalize_axis("delete", axis, x.ndim)
    extent = x.shape[place]
    if isinstance(obj, Tensor) and obj.is_traced and not obj.shape and obj.dtype.kind in "iu" and extent:
        rest = as_tensor(np.arange(extent - 1))
        first = as_tensor(np.arange(extent))[obj]  # an error where there is no such slice
        return as_in_memory("delete", take(x, rest + cast(rest >= first, rest.dtype), place), "A", x)
    indices = _known("delete", obj, extent)
    keep = np.ones(extent, bool)
    if indices.dtype == BOOL:
        if indices.shape != (extent,):
            raise ShapeError(f"delete: a mask must have shape ({extent},), got {indices.shape}")
        keep[indices] = False
    else:
        _check("delete", indices, extent, extent - 1)
        keep[indices.astype(np.int64)] = False
    return as_in_memory("delete", take(x, np.flatnonzero(keep), place), "A", x)


def _check(name: str, indices: Any, extent: int, last: int) -> None:
    if indices.dtype.kind not in "iu":
        raise OutOfBoundsError(f"{name}: obj must be integers, a mask or a slice, got dtype {indices.dtype}")
    if indices.size and (indices.min() < -extent or indices.max() > last):
        raise OutOfBoundsError(f"{name}: obj {indices.tolist()} is outside of an axis of size {extent}")


def insert(x: Any, obj: Any, values: Any, axis: int | None = None) -> Tensor:
    """`x` with `values` put in along `axis` before the places `obj`: an index, several, a slice or a mask.

    Example:
        >>> import tracejit as tj
        >>> tj.insert([1.0, 2.0, 3.0], [1, 3], [8.0, 9.0])
        tensor([1., 8., 2., 3., 9.])

    Raises AxisError, ShapeError and OutOfBoundsError. Semantics: ``numpy.insert``.
    """
    x = as_tensor(x)
    if axis is None:
        x, axis = ravel(x), 0
    place = normalize_axis("insert", axis, x.ndim)
    extent = x.shape[place]
    is_number = (
        not isinstance(obj, slice)
        and np.ndim(obj if not isinstance(obj, Tensor) else obj.detach()._data) == 0
    )
    indices = _known("insert", obj, extent)
    if indices.dtype == BOOL:
        indices = np.flatnonzero(indices)
    _check("insert", indices, extent, extent)
    indices = np.where(indices < 0, indices + extent, indices).astype(np.int64)
    new = cast(as_tensor(values), x.dtype)
    if indices.size == 1:  # one place takes all the slices of the values
        if new.ndim < x.ndim:
            new = new.reshape((1,) * (x.ndim - new.ndim) + new.shape)
        if is_number:
            new = moveaxis(new, 0, place)
        count = new.shape[place]
        targets = np.arange(count) + int(indices.item())
    else:
        indices = indices.ravel()
        count = indices.size
        order = np.argsort(indices, kind="stable")
        targets = indices.copy()
        targets[order] += np.arange(count)
    rest = np.ones(extent + count, bool)
    rest[targets] = False
    shape = (*x.shape[:place], extent + count, *x.shape[place + 1 :])
    before = (slice(None),) * place
    whole = index_update(filled(0, shape, x.dtype), (*before, np.flatnonzero(rest)), x)
    return as_in_memory("insert", index_update(whole, (*before, targets), new), "A", x)


def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Tensor:
    """The part of `filt` without the zeros at its ends; only in front with `trim` ``f``, behind with ``b``.

    How many there are depends on values, so this is eager only.

    Example:
        >>> import tracejit as tj
        >>> tj.trim_zeros([0, 0, 1, 0, 2, 0])
        tensor([1, 0, 2])

    Raises ConcretizationError under a trace. Semantics: ``numpy.trim_zeros``.
    """
    x = as_tensor(filt)
    data = x.detach()._concrete("trim_zeros", "tj.where(x != 0, x, 0), whose shape is known")
    axes = (
        range(x.ndim)
        if axis is None
        else [operator.index(axis)]
        if not isinstance(axis, (tuple, list))
        else axis
    )
    places = np.nonzero(data)
    for number in axes:
        along = normalize_axis("trim_zeros", number, x.ndim)
        extent, used = x.shape[along], places[along]
        if used.size:
            first, last = int(used.min()), int(used.max())
        else:
            first, last = (extent, extent - 1) if "f" in trim.lower() else (0, -1)
        start = first if "f" in trim.lower() else 0
        stop = last + 1 if "b" in trim.lower() else extent
        x = sliced(x, along, start, max(stop - start, 0))
    return x
