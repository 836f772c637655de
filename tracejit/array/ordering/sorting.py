"""Sorting, and what is read off sorted elements: places and distinct values. Medians and quantiles are in
``aggregates.quantiles``.

NaN counts as larger than everything else, as in NumPy.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from ...base.errors import ArgumentError, DTypeError, ShapeError
from ...ir.types import normalize_axis
from ...provided import MASKED_SELECTION, SIZED
from ...tensors.tensor import Tensor, wrap
from ..copying import in_order
from ..indexing.taking import take_along_axis
from ..manipulation import moveaxis, ravel
from ..memory_order import made_like
from ..operands import as_tensor, given_as_scalar, promoted_arrays, run, with_an_axis
from ..rearranging import flip

#: NumPy's kinds of sorting and of partitioning; here there is one of each.
_KINDS: Final = (None, "quicksort", "heapsort", "mergesort", "stable")
_PARTITION_KINDS: Final = ("introselect",)


def _line(name: str, x: Any, axis: int | None) -> tuple[Tensor, int]:
    """`x` and the axis to sort along; raveled if that is None."""
    x = as_tensor(x)
    if axis is None:
        return ravel(x), 0
    return x, normalize_axis(name, axis, x.ndim)


def check_options(name: str, kind: Any, order: Any, kinds: tuple[str | None, ...] = _KINDS) -> None:
    """Raise for a `kind` of sorting that NumPy does not have, and for `order`, the names of fields."""
    if not (kind is None or isinstance(kind, str)) or kind not in kinds:
        names = ", ".join(repr(name) for name in kinds if name)
        raise DTypeError(f"{name}: kind must be one of {names}, got {kind!r}")
    if order is not None:
        raise ArgumentError(f"{name}: order must be None: tensors have no fields, got {order!r}")


def _along(x: Tensor, axis: int, function: Callable[[Tensor], Tensor]) -> Tensor:
    """``function(x)``, which works along the last axis, along `axis`."""
    if axis == x.ndim - 1:
        return function(x)
    return made_like(x, moveaxis(function(moveaxis(x, axis, -1)), -1, axis))


def sort(
    x: Any,
    axis: int | None = -1,
    kind: str | None = None,
    order: None = None,
    *,
    descending: bool = False,
    stable: bool | None = None,
) -> Tensor:
    """The elements of `x` in ascending order along `axis`, or all of them if that is None; NaN last.

    `descending` (the Array API's) gives the reverse of that order. `kind` and `stable` are taken for NumPy's
    sake: equal elements cannot be told apart, but for 0.0 and -0.0, in no order that is told. The gradient
    goes back to where each element came from.

    Example:
        >>> import tracejit as tj
        >>> tj.sort([[3, 1, 2], [9, 8, 7]])
        tensor([[1, 2, 3],
                [7, 8, 9]])

    Raises AxisError. Semantics: ``numpy.sort``, and the Array API's for `descending`.
    """
    check_options("sort", kind, order)
    x, place = _line("sort", x, axis)
    result = _along(x, place, lambda tensor: run("sort", tensor))
    return flip(result, place) if descending else result


def argsort(
    x: Any,
    axis: int | None = -1,
    kind: str | None = None,
    order: None = None,
    *,
    descending: bool = False,
    stable: bool | None = None,
) -> Tensor:
    """The indices that sort `x` along `axis`, in int64; of the raveled array if `axis` is None.

    Equal elements, and NaNs, keep their order, whatever `kind` and `stable` say, also if `descending`.

    Example:
        >>> import tracejit as tj
        >>> tj.argsort([30, 10, 20, 10])
        tensor([1, 3, 2, 0])
        >>> tj.argsort([30, 10, 20, 10], descending=True)
        tensor([0, 2, 1, 3])

    Raises AxisError. Semantics: ``numpy.argsort`` with ``stable=True``, and the Array API's.
    """
    check_options("argsort", kind, order)
    x, place = _line("argsort", with_an_axis(as_tensor(x), axis), axis)
    if not descending:
        return in_order(_along(x, place, lambda tensor: run("argsort", tensor)))
    # sorted from the other end, equal elements are the other way round, and then again
    reversed_indices = flip(_along(flip(x, place), place, lambda tensor: run("argsort", tensor)), place)
    return run("sub", x.shape[place] - 1, reversed_indices)


def lexsort(keys: Any, axis: int = -1) -> Tensor:
    """The indices that sort by several keys at once, of which the last is the first to look at.

    `keys` is a sequence of arrays of one shape, or an array whose rows are the keys.

    Example:
        >>> import tracejit as tj
        >>> tj.lexsort(([3, 1, 2, 1], [0, 1, 1, 0]))  # by the second, then by the first
        tensor([3, 0, 1, 2])

    Raises AxisError, and ShapeError without keys or for keys of several shapes. Semantics:
    ``numpy.lexsort``.
    """
    parts = [as_tensor(key) for key in keys]
    if not parts or any(part.shape != parts[0].shape for part in parts):
        raise ShapeError(f"lexsort: expected keys of one shape, got {[part.shape for part in parts]}")
    if parts[0].ndim == 0:
        order = argsort(parts[0], axis=normalize_axis("lexsort", axis, 1))
        return given_as_scalar(order.reshape(()))
    place = normalize_axis("lexsort", axis, parts[0].ndim)
    order = argsort(parts[0], place)
    for key in parts[1:]:  # stable sorts, from the least significant key on
        order = take_along_axis(order, argsort(take_along_axis(key, order, place), place), place)
    return order


def partition(
    x: Any, kth: Any, axis: int | None = -1, kind: str = "introselect", order: None = None
) -> Tensor:
    """`x` rearranged along `axis` so that element `kth` is where sorting puts it, smaller ones before it.

    It is sorted all the way, which is one of the orders that NumPy may give.

    Example:
        >>> import tracejit as tj
        >>> tj.partition([7, 1, 5, 3], 1)
        tensor([1, 3, 5, 7])

    Raises AxisError, and ShapeError for `kth` outside. Semantics: ``numpy.partition``.
    """
    check_options("partition", kind, order, _PARTITION_KINDS)
    x, place = _partitioned("partition", x, kth, axis)
    return sort(x, place)


def argpartition(
    x: Any, kth: Any, axis: int | None = -1, kind: str = "introselect", order: None = None
) -> Tensor:
    """The indices that partition `x`: those of `argsort`.

    Example:
        >>> import tracejit as tj
        >>> tj.argpartition([7, 1, 5, 3], 1)
        tensor([1, 3, 2, 0])

    Raises AxisError, and ShapeError for `kth` outside. Semantics: ``numpy.argpartition``.
    """
    check_options("argpartition", kind, order, _PARTITION_KINDS)
    x, place = _partitioned("argpartition", with_an_axis(as_tensor(x), axis), kth, axis)
    return argsort(x, place)


def _partitioned(name: str, x: Any, kth: Any, axis: int | None) -> tuple[Tensor, int]:
    """The tensor to sort and the axis to sort along. Raises ShapeError for `kth` out of bounds."""
    x, place = _line(name, x, axis)
    extent = x.shape[place]
    for place_of_kth in np.atleast_1d(kth).tolist() if x.size else ():
        if not -extent <= operator.index(place_of_kth) < extent:
            raise ShapeError(f"{name}: kth={place_of_kth} is outside of an axis of {extent} elements")
    return x, place


def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Tensor:
    """The index in the ascending line `a` at which each element of `v` is inserted in order, in int64.

    An element goes before its equals with `side` ``left``, behind them with ``right``. `sorter` are the
    indices that sort `a`, where it is not sorted itself.

    Example:
        >>> import tracejit as tj
        >>> tj.searchsorted([1.0, 2.0, 3.0], [2.0, 2.5])
        tensor([1, 2])

    Raises ShapeError unless `a` has rank 1, and DTypeError for another `side`. Semantics:
    ``numpy.searchsorted``.
    """
    line, values = promoted_arrays(a, v)
    if line.ndim != 1:
        raise ShapeError(f"searchsorted: expected a line of rank 1, got shape {line.shape}")
    if sorter is not None:
        line = take_along_axis(line, as_tensor(sorter), 0)
    return run("searchsorted", line, values, side=side)


def unique(
    x: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """The distinct elements of `x` in ascending order, or its distinct slices along `axis`.

    With the others, a tuple: also the index of each one's first occurrence, the indices that make `x` of them
    again, and how often each occurs. Their number depends on values. With `size` it is that: the smallest
    ones, and behind them `fill_value`, by default the first of them, which occur 0 times. Without, what a
    trace does with them is that with ``x[mask]``. Gradients go to the first occurrences. NumPy's `sorted`
    makes no difference.

    Example:
        >>> import tracejit as tj
        >>> tj.unique([3, 1, 3, 2])
        tensor([1, 2, 3])
        >>> tj.jit(lambda x: tj.unique(x, size=4, fill_value=0))(tj.tensor([3, 1, 3, 2]))
        tensor([1, 2, 3, 0])

    Semantics: ``numpy.unique``; `size` as in ``jax.numpy.unique``.
    """
    x = as_tensor(x)
    if axis is not None:
        axis = normalize_axis("unique", axis, x.ndim)
    flags = (True, return_index, return_inverse, return_counts)
    if size is None and x.is_traced:
        return _asked_for(MASKED_SELECTION().distinct(x, axis, equal_nan), flags)
    if size is None:
        data = x._concrete("unique(x)", "unique(x, size=n), which gives n elements")
        distinct: Any = np.unique
        result = distinct(data, *flags[1:], axis=axis, equal_nan=equal_nan)
        if not x.requires_grad:
            return tuple(map(wrap, result)) if isinstance(result, tuple) else wrap(result)
        size = (result[0] if isinstance(result, tuple) else result).shape[axis or 0]
    sized = SIZED()
    return _asked_for(sized.unique("unique", x, axis, size, fill_value, equal_nan=equal_nan), flags)


def _asked_for(parts: Sequence[Any], flags: Sequence[bool]) -> Any:
    """The `parts` for which `flags` hold; one by itself."""
    chosen = tuple(part for part, flag in zip(parts, flags, strict=True) if flag)
    return chosen if len(chosen) > 1 else chosen[0]
