"""Sorting, and what is read off sorted elements: order statistics, places, distinct values.

NaN counts as larger than everything else, as in NumPy.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ..ir.dtypes import INT64
from ..ir.errors import DTypeError, ShapeError
from ..ir.graph import Value
from ..ir.types import Shape, normalize_axes, normalize_axis
from ..tensor import Tensor, wrap
from .manipulation import moveaxis, ravel
from .operands import (
    as_tensor,
    broadcast,
    cast,
    filled,
    holds_tensors,
    permuted,
    promoted,
    reshaped,
    run,
    sliced,
)
from .rearranging import flip
from .reductions import averaged
from .searching import take_along_axis

__all__ = [
    "argpartition",
    "argsort",
    "lexsort",
    "median",
    "partition",
    "percentile",
    "quantile",
    "searchsorted",
    "sort",
    "unique",
]

_KINDS: Final = (None, "quicksort", "heapsort", "mergesort", "stable")


def _line(name: str, x: Any, axis: int | None) -> tuple[Tensor, int]:
    """`x` and the axis to sort along; raveled if that is None."""
    x = as_tensor(x)
    if axis is None:
        return ravel(x), 0
    return x, normalize_axis(name, axis, x.ndim)


def _check_kind(name: str, kind: Any) -> None:
    if kind not in _KINDS:
        raise DTypeError(
            f"{name}: kind must be 'quicksort', 'heapsort', 'mergesort' or 'stable', got {kind!r}"
        )


def _along(x: Tensor, axis: int, function: Callable[[Tensor], Tensor]) -> Tensor:
    """``function(x)``, which works along the last axis, along `axis`."""
    if axis == x.ndim - 1:
        return function(x)
    return moveaxis(function(moveaxis(x, axis, -1)), -1, axis)


def sort(
    x: Any,
    axis: int | None = -1,
    kind: str | None = None,
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
    _check_kind("sort", kind)
    x, place = _line("sort", x, axis)
    result = _along(x, place, lambda one: run("sort", one))
    return flip(result, place) if descending else result


def argsort(
    x: Any,
    axis: int | None = -1,
    kind: str | None = None,
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
    _check_kind("argsort", kind)
    x, place = _line("argsort", x, axis)
    if not descending:
        return _along(x, place, lambda one: run("argsort", one))
    # sorted from the other end, equal elements are the other way round, and then again
    order = flip(_along(flip(x, place), place, lambda one: run("argsort", one)), place)
    return run("sub", x.shape[place] - 1, order)


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
    parts = [as_tensor(one) for one in keys]
    if not parts or any(one.shape != parts[0].shape for one in parts):
        raise ShapeError(f"lexsort: expected keys of one shape, got {[one.shape for one in parts]}")
    place = normalize_axis("lexsort", axis, parts[0].ndim)
    order = argsort(parts[0], place)
    for key in parts[1:]:  # stable sorts, from the least significant key on
        order = take_along_axis(order, argsort(take_along_axis(key, order, place), place), place)
    return order


def partition(x: Any, kth: Any, axis: int | None = -1) -> Tensor:
    """`x` rearranged along `axis` so that element `kth` is where sorting puts it, smaller ones before it.

    It is sorted all the way, which is one of the orders that NumPy may give.

    Example:
        >>> import tracejit as tj
        >>> tj.partition([7, 1, 5, 3], 1)
        tensor([1, 3, 5, 7])

    Raises AxisError, and ShapeError for `kth` outside. Semantics: ``numpy.partition``.
    """
    x, place = _partitioned("partition", x, kth, axis)
    return sort(x, place)


def argpartition(x: Any, kth: Any, axis: int | None = -1) -> Tensor:
    """The indices that partition `x`: those of `argsort`.

    Example:
        >>> import tracejit as tj
        >>> tj.argpartition([7, 1, 5, 3], 1)
        tensor([1, 3, 2, 0])

    Raises AxisError, and ShapeError for `kth` outside. Semantics: ``numpy.argpartition``.
    """
    x, place = _partitioned("argpartition", x, kth, axis)
    return argsort(x, place)


def _partitioned(name: str, x: Any, kth: Any, axis: int | None) -> tuple[Tensor, int]:
    """What to sort along which axis. Raises ShapeError for `kth` outside."""
    x, place = _line(name, x, axis)
    extent = x.shape[place]
    for one in np.atleast_1d(kth).tolist():
        if not -extent <= operator.index(one) < extent:
            raise ShapeError(f"{name}: kth={one} is outside of an axis of {extent} elements")
    return x, place


# -- order statistics -----------------------------------------------------------------------------


def median(x: Any, axis: Any = None, *, keepdims: bool = False) -> Tensor:
    """The middle element along `axis`, or the mean of the two middle ones; NaN where any is NaN.

    Example:
        >>> import tracejit as tj
        >>> tj.median([3.0, 1.0, 4.0, 1.0])
        tensor(2.)

    Raises AxisError, and ShapeError for no elements. Semantics: ``numpy.median``.
    """
    lines, axes, shape = _lines("median", x, axis)
    extent = lines.shape[-1]
    ordered = run("sort", lines)
    low, high = [_picked(ordered, at) for at in ((extent - 1) // 2, extent // 2)]
    middle = low if extent % 2 else run("add", run("mul", low, 0.5), run("mul", high, 0.5))
    return _reduced(_with_nan(ordered, middle), shape, axes, keepdims)


def quantile(x: Any, q: Any, axis: Any = None, *, method: str = "linear", keepdims: bool = False) -> Tensor:
    """The value below which a part `q` (0 to 1) of the elements along `axis` lies; NaN where any is NaN.

    `q` may be an array, whose shape the result begins with. `method` says what to take where that falls
    between two elements: ``linear`` (between them, by how near), ``lower``, ``higher``, ``nearest`` (the even
    one at half) or ``midpoint``. Integers give floats with each. Gradients go to the
    two elements; by `q` there is one under ``linear``.

    Example:
        >>> import tracejit as tj
        >>> tj.quantile([1.0, 2.0, 3.0, 4.0], [0.0, 0.5])
        tensor([1.0000, 2.5000])

    Raises AxisError, and ShapeError for no elements or `q` outside of 0 to 1; where
    `q` is traced, that gives NaN. Semantics:
    ``numpy.quantile``.
    """
    if _known_outside(q, 1):
        raise ShapeError("quantile: expected q between 0 and 1 (percentile takes 0 to 100)")
    return _quantiles("quantile", x, as_tensor(q), axis, method, keepdims)


def percentile(x: Any, q: Any, axis: Any = None, *, method: str = "linear", keepdims: bool = False) -> Tensor:
    """``quantile`` with `q` from 0 to 100.

    Example:
        >>> import tracejit as tj
        >>> tj.percentile([1.0, 2.0, 3.0, 4.0], 50)
        tensor(2.5000)

    Raises AxisError, and ShapeError for no elements or `q` outside of 0 to 100; where
    `q` is traced, that gives NaN. Semantics:
    ``numpy.percentile``.
    """
    if _known_outside(q, 100):
        raise ShapeError("percentile: expected q between 0 and 100 (quantile takes 0 to 1)")
    share = run("div", averaged(as_tensor(q), None), 100.0)
    return _quantiles("percentile", x, share, axis, method, keepdims)


def _known_outside(q: Any, most: int) -> bool:
    """Whether some of `q` is not between 0 and `most`, as far as that is known before the function runs."""
    if isinstance(q, Tensor) or holds_tensors(q):
        q = as_tensor(q)._data
        if isinstance(q, Value):
            return False
    numbers = np.asarray(q)
    return not bool(((numbers >= 0) & (numbers <= most)).all())


def _quantiles(name: str, x: Any, q: Tensor, axis: Any, method: str, keepdims: bool) -> Tensor:
    lines, axes, shape = _lines(name, x, axis)
    extent, rank = lines.shape[-1], lines.ndim - 1
    ordered = run("sort", lines)
    at = run("mul", cast(q, lines.dtype), float(extent - 1))
    low, high, weight = _between(name, at, method, extent)
    # the shape of q in front, a line of elements for each of its own
    column = (*q.shape, *(1,) * rank)
    flat = reshaped(ordered, (*(1,) * q.ndim, *ordered.shape))
    found = [
        reshaped(
            take_along_axis(
                broadcast(flat, (*q.shape, *ordered.shape)),
                broadcast(reshaped(one, (*column, 1)), (*q.shape, *ordered.shape[:-1], 1)),
            ),
            (*q.shape, *ordered.shape[:-1]),
        )
        for one in (low, high)
    ]
    share = reshaped(weight, column)
    # nothing is between two equal elements, and infinite ones have no difference
    apart = run("ne", found[0], found[1])
    first, second = [run("where", apart, one, 0.0) for one in found]
    mixed = run("add", found[0], run("mul", run("sub", second, first), share))
    value = run("where", apart, mixed, found[0])
    nan = run("isnan", _picked(ordered, extent - 1))
    if isinstance(q._data, Value):
        outside = run("logical_not", run("logical_and", run("ge", q, 0.0), run("le", q, 1.0)))
        nan = run("logical_or", nan, reshaped(outside, column))
    return _reduced(run("where", nan, np.nan, value), shape, axes, keepdims, q.shape)


def _between(name: str, at: Tensor, method: str, extent: int) -> tuple[Tensor, Tensor, Tensor]:
    """The two neighbours of the places `at`, and the weight of the second one."""
    below, above = run("floor", at), run("ceil", at)
    if method == "nearest":
        below = above = run("rint", at)
    elif method == "lower":
        above = below
    elif method == "higher":
        below = above
    elif method not in ("linear", "midpoint"):
        raise DTypeError(
            f"{name}: method must be 'linear', 'lower', 'higher', 'nearest' or 'midpoint', got {method!r}"
        )
    weight = filled(0.5, at.shape, at.dtype) if method == "midpoint" else run("sub", at, below)
    last = extent - 1
    low, high = [run("clip", cast(one.detach(), INT64), 0, last) for one in (below, above)]
    return low, high, weight


def _lines(name: str, x: Any, axis: Any) -> tuple[Tensor, Shape, Shape]:
    """`x` in floating numbers with `axis` (one, several or all) as its last one; those axes and the shape."""
    x = averaged(x, None)
    axes = normalize_axes(name, axis, x.ndim)
    kept = [one for one in range(x.ndim) if one not in axes]
    shape = tuple(x.shape[one] for one in kept)
    moved = permuted(x, (*kept, *axes))
    lines = reshaped(moved, (*shape, int(np.prod([x.shape[one] for one in axes], dtype=int))))
    if lines.shape[-1] == 0:
        raise ShapeError(f"{name}: axis {axis} of {x.shape} has no elements")
    return lines, axes, x.shape


def _picked(ordered: Tensor, at: int) -> Tensor:
    """Element `at` of each line."""
    return reshaped(sliced(ordered, ordered.ndim - 1, at, 1), ordered.shape[:-1])


def _with_nan(ordered: Tensor, value: Tensor) -> Tensor:
    """`value`, NaN where the line holds one: it is the last."""
    return run("where", run("isnan", _picked(ordered, ordered.shape[-1] - 1)), np.nan, value)


def _reduced(value: Tensor, shape: Shape, axes: Shape, keepdims: bool, front: Shape = ()) -> Tensor:
    if not keepdims:
        return value
    return reshaped(value, (*front, *(1 if i in axes else size for i, size in enumerate(shape))))


# -- places and distinct values -------------------------------------------------------------------


def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Tensor:
    """Where each element of `v` goes in the ascending line `a` so that it stays ascending, in int64.

    Before its equals with `side` ``left``, behind them with ``right``. `sorter` are the indices that sort
    `a`, where it is not sorted itself.

    Example:
        >>> import tracejit as tj
        >>> tj.searchsorted([1.0, 2.0, 3.0], [2.0, 2.5])
        tensor([1, 2])

    Raises ShapeError unless `a` has rank 1, and DTypeError for another `side`. Semantics:
    ``numpy.searchsorted``.
    """
    line, values = promoted(as_tensor(a), v)
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
) -> Any:
    """The distinct elements of `x` in ascending order, or its distinct slices along `axis`.

    With the others, a tuple: also the index of each one's first occurrence, the indices that make `x` of them
    again, and how often each occurs. Their number depends on values, so this is eager only.

    Example:
        >>> import tracejit as tj
        >>> tj.unique([3, 1, 3, 2])
        tensor([1, 2, 3])

    Raises ConcretizationError under a trace. Semantics: ``numpy.unique``.
    """
    data = as_tensor(x)._concrete("unique(x)", "tj.sort(x), whose shape is known")
    wanted = {
        "return_index": return_index,
        "return_inverse": return_inverse,
        "return_counts": return_counts,
    }
    result: Any = np.unique(data, axis=axis, equal_nan=equal_nan, **wanted)  # type: ignore[call-overload]
    return tuple(wrap(one) for one in result) if isinstance(result, tuple) else wrap(result)
