"""Arrays as sets of elements: membership, unions, intersections and differences.

The sizes of these sets depend on values. With `size` they are known; without, a trace makes them with room
for the largest set and selects; see ``sized`` and ``masked_selection``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...ir.dtypes import BOOL
from ...tensors.tensor import Array, Tensor, wrap
from ..indexing.access import getitem
from ..indexing.taking import take
from ..manipulation import ravel
from ..operands import as_tensor, filled, given_as_array, promoted_arrays, reshaped, run
from ..ordering.sorting import check_options
from . import sized
from .masked_selection import Selection, distinct


def isin(
    element: Any,
    test_elements: Any,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: str | None = None,
) -> Tensor:
    """Whether each element of `element` is among those of `test_elements`, or with `invert` is not.

    Example:
        >>> import tracejit as tj
        >>> tj.isin([[0, 2], [4, 6]], [1, 2, 4, 8])
        tensor([[False,  True],
                [ True, False]])

    Semantics: ``numpy.isin``; `assume_unique` and `kind`, the algorithm, make no difference.
    """
    check_options("isin", kind, None, (None, "sort", "table"))
    values, others = promoted_arrays(element, test_elements)
    line = ravel(others)
    if line.size == 0:
        return given_as_array(filled(bool(invert), values.shape, BOOL))
    ordered = run("sort", line)
    place = run("clip", run("searchsorted", ordered, values, side="left"), 0, line.size - 1)
    nearest = reshaped(getitem(ordered, place), values.shape)
    return given_as_array(run("ne" if invert else "eq", nearest, values))


def _arrays(name: str, *operands: Tensor) -> tuple[Array, ...]:
    """The arrays of `operands`, which decide the shape of the result."""
    instead = f"{name}(..., size=n), which gives n elements"
    return tuple(x.detach()._concrete(f"{name}, whose shape depends on values,", instead) for x in operands)


def _is_open(size: Any, *operands: Tensor) -> bool:
    """Whether the size of the result follows from values that are traced."""
    return size is None and any(x.is_traced for x in operands)


def _selected(there: Tensor, x: Tensor) -> Any:
    """The elements of the line `x` that are `there`, as many as values of a trace decide."""
    return Selection(there, 0, x).padded()


def _requires_grad(*operands: Tensor) -> bool:
    return any(x.requires_grad for x in operands)


def union1d(x: Any, y: Any, *, size: int | None = None, fill_value: Any = None) -> Tensor:
    """The elements of `x` and `y`, each once and in ascending order.

    With `size` there are that many: the smallest, and behind them `fill_value`, by default the first of them.

    Example:
        >>> import tracejit as tj
        >>> tj.union1d([-1, 0, 1], [-2, 0, 2])
        tensor([-2, -1,  0,  1,  2])

    Without `size`, what a trace does with it is that with ``x[mask]``.

    Semantics: ``numpy.union1d``; `size` as in ``jax.numpy.union1d``.
    """
    x, y = as_tensor(x), as_tensor(y)
    is_open = _is_open(size, x, y)
    if size is None and not is_open:
        result = np.union1d(*_arrays("union1d", x, y))
        if not _requires_grad(x, y):
            return wrap(result)
        size = result.size
    line = run("concat", *map(ravel, promoted_arrays(x, y)), axis=0)
    if is_open:
        return distinct(line, None, equal_nan=True)[0]  # type: ignore[no-any-return]
    return sized.unique("union1d", line, None, size, fill_value).values


def intersect1d(
    x: Any,
    y: Any,
    assume_unique: bool = False,
    return_indices: bool = False,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """The elements that are in both `x` and `y`, in ascending order.

    With `return_indices` also the indices of their first occurrences in both. `size` and `fill_value` as in
    ``union1d``; the indices are then filled with the sizes of `x` and `y`.

    Example:
        >>> import tracejit as tj
        >>> tj.intersect1d([1, 3, 4, 3], [3, 1, 2, 1])
        tensor([1, 3])

    Without `size`, what a trace does with it is that with ``x[mask]``.

    Semantics: ``numpy.intersect1d``; `size` as in ``jax.numpy.intersect1d``.
    """
    x, y = as_tensor(x), as_tensor(y)
    if is_open := _is_open(size, x, y):
        size = x.size
    if size is None:
        intersect: Any = np.intersect1d
        result = intersect(*_arrays("intersect1d", x, y), assume_unique, return_indices)
        if not _requires_grad(x, y):
            return tuple(map(wrap, result)) if return_indices else wrap(result)
        size = (result[0] if return_indices else result).size
    first, second = (ravel(line) for line in promoted_arrays(x, y))
    order, firsts = sized.order_and_firsts(first)
    chosen = run("logical_and", firsts, isin(take(first, order), second))
    places = sized.places_of(chosen, sized.checked_size("intersect1d", size))
    indices = sized.taken(order, places, 0, as_tensor(first.size))
    values = _filled(
        "intersect1d",
        sized.taken(first, indices, 0, filled(0, (), first.dtype)),
        indices,
        first.size,
        fill_value,
    )
    inside = run("lt", indices, first.size)
    parts = [values]
    if return_indices:
        others, _ = sized.order_and_firsts(second)
        at = run("searchsorted", run("sort", second.detach()), values.detach(), side="left")
        at = sized.taken(others, run("where", inside, at, second.size), 0, as_tensor(second.size))
        parts += [indices, at]
    if is_open:
        parts = [_selected(inside, part) for part in parts]
    return tuple(parts) if return_indices else parts[0]


def _filled(name: str, values: Tensor, places: Tensor, extent: int, fill_value: Any) -> Tensor:
    """`values`, with `fill_value` for `places` that are not below `extent`; by default the first value."""
    if values.size == 0:
        return values
    fill = values[0] if fill_value is None else sized.fill_of(name, fill_value, values.dtype)
    return run("where", run("lt", places, extent), values, fill)


def setdiff1d(
    x: Any, y: Any, assume_unique: bool = False, *, size: int | None = None, fill_value: Any = 0
) -> Tensor:
    """The elements of `x` that are not in `y`, each once and in ascending order; with `assume_unique` all of
    them in their order.

    With `size` there are that many: the first ones, and behind them `fill_value`.

    Example:
        >>> import tracejit as tj
        >>> tj.setdiff1d([1, 2, 3, 2, 4], [3, 4, 5])
        tensor([1, 2])

    Without `size`, what a trace does with it is that with ``x[mask]``.

    Semantics: ``numpy.setdiff1d``; `size` as in ``jax.numpy.setdiff1d``.
    """
    x, y = as_tensor(x), as_tensor(y)
    is_open = _is_open(size, x, y)
    if size is None and not is_open:
        first, second = _arrays("setdiff1d", x, y)
        result = np.setdiff1d(first, second, assume_unique)
        if not _requires_grad(x):
            return wrap(result)
        size = result.size
    line = ravel(x)
    alone = isin(line, y, invert=True)
    if not assume_unique:
        order, firsts = sized.order_and_firsts(line)
        line, alone = take(line, order), run("logical_and", firsts, take(alone, order))
    if is_open:
        return _selected(alone, line)  # type: ignore[no-any-return]
    return sized.kept("setdiff1d", line, alone, 0, size, fill_value)


def setxor1d(
    x: Any, y: Any, assume_unique: bool = False, *, size: int | None = None, fill_value: Any = None
) -> Tensor:
    """The elements that are in one of `x` and `y` alone, in ascending order.

    `size` and `fill_value` as in ``union1d``.

    Example:
        >>> import tracejit as tj
        >>> tj.setxor1d([1, 2, 3], [2, 3, 5])
        tensor([1, 5])

    Without `size`, what a trace does with it is that with ``x[mask]``.

    Semantics: ``numpy.setxor1d``; `size` as in ``jax.numpy.setxor1d``.
    """
    x, y = as_tensor(x), as_tensor(y)
    is_open = _is_open(size, x, y)
    if size is None and not is_open:
        arrays = _arrays("setxor1d", x, y)
        result = np.setxor1d(arrays[0], arrays[1], assume_unique)
        if not _requires_grad(x, y):
            return wrap(result)
        size = result.size
    first, second = (ravel(line) for line in promoted_arrays(x, y))
    lines, masks = [], []
    for line, other in ((first, second), (second, first)):
        order, firsts = sized.order_and_firsts(line)
        lines.append(take(line, order))
        masks.append(run("logical_and", firsts, isin(lines[-1], other, invert=True)))
    line, mask = run("concat", *lines, axis=0), run("concat", *masks, axis=0)
    order, _ = sized.order_and_firsts(line)
    line, mask = take(line, order), take(mask, order)
    if is_open:
        return _selected(mask, line)  # type: ignore[no-any-return]
    places = sized.places_of(mask, sized.checked_size("setxor1d", size))
    values = sized.taken(line, places, 0, filled(0, (), line.dtype))
    return _filled("setxor1d", values, places, line.size, fill_value)


class UniqueAllResult(NamedTuple):
    """The result of ``unique_all``."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCountsResult(NamedTuple):
    """The result of ``unique_counts``."""

    values: Tensor
    counts: Tensor


class UniqueInverseResult(NamedTuple):
    """The result of ``unique_inverse``."""

    values: Tensor
    inverse_indices: Tensor


def _unique(name: str, x: Any, size: Any, fill_value: Any) -> sized.Distinct:
    """Distinct elements, indices, inverse and counts; NaNs are distinct."""
    x = as_tensor(x)
    if _is_open(size, x):
        return sized.Distinct(*distinct(x, None, equal_nan=False))
    if size is None:
        (data,) = _arrays(name, x)
        result = np.unique(data, return_index=True, return_inverse=True, return_counts=True, equal_nan=False)
        if not x.requires_grad:
            return sized.Distinct(*map(wrap, result))
        size = result[0].size
    return sized.unique(name, x, None, size, fill_value, equal_nan=False)


def unique_all(x: Any, *, size: int | None = None, fill_value: Any = None) -> UniqueAllResult:
    """The distinct elements of `x`, the index of each one's first occurrence, the indices that make `x`
    of them again, and how often each occurs. NaNs are distinct. `size` and `fill_value` as in ``unique``.

    Example:
        >>> import tracejit as tj
        >>> tj.unique_all([1, 1, 2]).counts
        tensor([2, 1])

    Without `size`, what a trace does with it is that with ``x[mask]``.

    Semantics: ``numpy.unique_all``, the Array API.
    """
    return UniqueAllResult(*_unique("unique_all", x, size, fill_value))


def unique_counts(x: Any, *, size: int | None = None, fill_value: Any = None) -> UniqueCountsResult:
    """The distinct elements of `x`, and how often each occurs. `size` and `fill_value` as in ``unique``.

    Example:
        >>> import tracejit as tj
        >>> tj.unique_counts([1, 1, 2])
        UniqueCountsResult(values=tensor([1, 2]), counts=tensor([2, 1]))

    Without `size`, what a trace does with it is that with ``x[mask]``.

    Semantics: ``numpy.unique_counts``, the Array API.
    """
    result = _unique("unique_counts", x, size, fill_value)
    return UniqueCountsResult(result.values, result.counts)


def unique_inverse(x: Any, *, size: int | None = None, fill_value: Any = None) -> UniqueInverseResult:
    """The distinct elements of `x`, and the indices that make `x` of them again. `size` and `fill_value` as
    in ``unique``.

    Example:
        >>> import tracejit as tj
        >>> tj.unique_inverse([1, 1, 2])
        UniqueInverseResult(values=tensor([1, 2]), inverse_indices=tensor([0, 0, 1]))

    Without `size`, what a trace does with it is that with ``x[mask]``.

    Semantics: ``numpy.unique_inverse``, the Array API.
    """
    result = _unique("unique_inverse", x, size, fill_value)
    return UniqueInverseResult(result.values, result.inverse)


def unique_values(x: Any, *, size: int | None = None, fill_value: Any = None) -> Tensor:
    """The distinct elements of `x`; NaNs are distinct. `size` and `fill_value` as in ``unique``.

    Example:
        >>> import tracejit as tj
        >>> tj.unique_values([2, 1, 1])
        tensor([1, 2])

    Without `size`, what a trace does with it is that with ``x[mask]``.

    Semantics: ``numpy.unique_values``, the Array API.
    """
    return _unique("unique_values", x, size, fill_value).values
