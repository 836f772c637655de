"""Picking elements by index along an axis, finding the elements that are not zero, and differences."""

from __future__ import annotations

import operator
from typing import Any, Final

import numpy as np

from ...base.errors import DomainError, DTypeError, ShapeError
from ...ir.dtypes import BOOL, INT64
from ...ir.graph import Value
from ...ir.types import broadcast_shapes, normalize_axis
from ...provided import MASKED_SELECTION, SIZED
from ...state import STATE
from ...tensors.tensor import Tensor, as_array, wrap
from ..copying import in_order
from ..joining import concatenate
from ..manipulation import broadcast_to, ravel
from ..memory_order import as_in_memory
from ..operands import (
    as_tensor,
    broadcast,
    cast,
    constant_of,
    copied_from,
    holds_tensors,
    reshaped,
    run,
    sliced,
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


def nonzero(x: Any, *, size: int | None = None, fill_value: Any = 0) -> tuple[Tensor, ...]:
    """The indices of the elements that are not zero, one array per axis.

    Their number depends on values. With `size` it is that: the first ones, and behind them `fill_value`, a
    number or a tuple of one per axis. Without, what a trace does with them is that with ``x[mask]``.

    Example:
        >>> import tracejit as tj
        >>> tj.nonzero([0, 7, 0, 8])
        (tensor([1, 3]),)
        >>> tj.jit(lambda x: tj.nonzero(x, size=3, fill_value=-1))(tj.tensor([0, 7, 0, 8]))
        (tensor([ 1,  3, -1]),)

    Raises ShapeError at rank 0. Semantics: ``numpy.nonzero``; `size` as in ``jax.numpy.nonzero``.
    """
    return indices_of_nonzero("nonzero", as_tensor(x), size, fill_value)


def indices_of_nonzero(name: str, x: Tensor, size: Any, fill_value: Any) -> tuple[Tensor, ...]:
    """``nonzero`` on behalf of the function `name`."""
    if x.ndim == 0:
        raise ShapeError(f"{name}: expected rank 1 or more; use atleast_1d")
    if size is not None:
        return _sized().nonzero(name, x, size, fill_value)  # type: ignore[no-any-return]
    data = x._data
    if isinstance(data, Value) and STATE.tracer is not None:
        selection = MASKED_SELECTION()
        return selection.places(x)
    if STATE.tracer is not None or type(data) is not np.ndarray:
        data = x._concrete(f"{name}(x)", _WITH_SIZE.format(name))
    return tuple(wrap(array) for array in np.nonzero(data))


_WITH_SIZE: Final = "{}(x, size=n), which gives n indices, or tj.where(condition, a, b)"


def _sized() -> Any:
    return SIZED()


def argwhere(x: Any, *, size: int | None = None, fill_value: Any = 0) -> Tensor:
    """The indices of the elements that are not zero, one row each; see ``nonzero`` for `size`.

    Example:
        >>> import tracejit as tj
        >>> tj.argwhere([0, 7, 0, 8])
        tensor([[1],
                [3]])

    Raises ConcretizationError under a trace without `size`. Semantics: ``numpy.argwhere``; `size` as in
    ``jax.numpy.argwhere``.
    """
    x = as_tensor(x)
    if size is None:
        return wrap(np.argwhere(x._concrete("argwhere(x)", _WITH_SIZE.format("argwhere"))))
    columns = _sized().nonzero("argwhere", x if x.ndim else reshaped(x, (1,)), size, fill_value)
    rows = run("concat", *[reshaped(column, (column.size, 1)) for column in columns], axis=1)
    return sliced(rows, 1, 0, x.ndim)


def diff(x: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Tensor:
    """The `n`-th differences of neighbours along `axis`; of bools, whether they differ.

    `prepend` and `append` (numbers or arrays) extend `x` first.

    Example:
        >>> import tracejit as tj
        >>> tj.diff([1, 4, 9, 16])
        tensor([3, 5, 7])

    Raises AxisError, and ShapeError for negative `n`. Semantics: ``numpy.diff``.
    """
    result = as_tensor(x)
    order = operator.index(n)
    if order < 0:
        raise ShapeError(f"diff: n must not be negative, got {n}")
    if order == 0:
        return result
    place = normalize_axis("diff", axis, result.ndim)
    parts = [_extension(result, value, place) for value in (prepend, append)]
    whole = [tensor for tensor in (parts[0], result, parts[1]) if tensor is not None]
    if len(whole) > 1:
        result = concatenate(whole, place)
    for _ in range(min(order, result.shape[place])):  # then there is nothing left
        count = max(result.shape[place] - 1, 0)
        low, high = sliced(result, place, 0, count), sliced(result, place, min(1, result.shape[place]), count)
        result = run("ne" if result.dtype is BOOL else "sub", high, low)
    return result


def _extension(x: Tensor, value: Any, axis: int) -> Tensor | None:
    if value is None:
        return None
    extension = as_tensor(value)
    if extension.ndim == 0:
        return broadcast_to(extension, (*x.shape[:axis], 1, *x.shape[axis + 1 :]))
    return extension
