"""Arrays as sets of elements: membership, unions, intersections and differences.

The sizes of these sets depend on values, so but for ``isin`` they are eager only.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...eager.tensor import Array, Tensor, wrap
from ...ir.dtypes import BOOL
from ..indexing.access import getitem
from ..manipulation import ravel
from ..operands import as_tensor, filled, promoted_arrays, reshaped, run

__all__ = [
    "intersect1d",
    "isin",
    "setdiff1d",
    "setxor1d",
    "union1d",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
]


def isin(element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False) -> Tensor:
    """Whether each element of `element` is among those of `test_elements`, or with `invert` is not.

    Example:
        >>> import tracejit as tj
        >>> tj.isin([[0, 2], [4, 6]], [1, 2, 4, 8])
        tensor([[False,  True],
                [ True, False]])

    Semantics: ``numpy.isin``; `assume_unique` makes no difference.
    """
    values, others = promoted_arrays(element, test_elements)
    line = ravel(others)
    if line.size == 0:
        return filled(bool(invert), values.shape, BOOL)
    ordered = run("sort", line)
    place = run("clip", run("searchsorted", ordered, values, side="left"), 0, line.size - 1)
    return run("ne" if invert else "eq", reshaped(getitem(ordered, place), values.shape), values)


def _values(name: str, x: Any) -> Array:
    return as_tensor(x).detach()._concrete(f"{name}, whose shape depends on values,", "tj.isin and tj.where")


def union1d(x: Any, y: Any) -> Tensor:
    """The elements of `x` and `y`, each once and in ascending order.

    Example:
        >>> import tracejit as tj
        >>> tj.union1d([-1, 0, 1], [-2, 0, 2])
        tensor([-2, -1,  0,  1,  2])

    Raises ConcretizationError under a trace. Semantics: ``numpy.union1d``.
    """
    return wrap(np.union1d(_values("union1d", x), _values("union1d", y)))


def intersect1d(x: Any, y: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    """The elements that are in both `x` and `y`, in ascending order.

    With `return_indices` also the indices of their first occurrences in both.

    Example:
        >>> import tracejit as tj
        >>> tj.intersect1d([1, 3, 4, 3], [3, 1, 2, 1])
        tensor([1, 3])

    Raises ConcretizationError under a trace. Semantics: ``numpy.intersect1d``.
    """
    first, second = _values("intersect1d", x), _values("intersect1d", y)
    intersect: Any = np.intersect1d
    result = intersect(first, second, assume_unique, return_indices)
    return tuple(map(wrap, result)) if return_indices else wrap(result)


def setdiff1d(x: Any, y: Any, assume_unique: bool = False) -> Tensor:
    """The elements of `x` that are not in `y`, each once and in ascending order.

    Example:
        >>> import tracejit as tj
        >>> tj.setdiff1d([1, 2, 3, 2, 4], [3, 4, 5])
        tensor([1, 2])

    Raises ConcretizationError under a trace. Semantics: ``numpy.setdiff1d``.
    """
    return wrap(np.setdiff1d(_values("setdiff1d", x), _values("setdiff1d", y), assume_unique))


def setxor1d(x: Any, y: Any, assume_unique: bool = False) -> Tensor:
    """The elements that are in one of `x` and `y` alone, in ascending order.

    Example:
        >>> import tracejit as tj
        >>> tj.setxor1d([1, 2, 3], [2, 3, 5])
        tensor([1, 5])

    Raises ConcretizationError under a trace. Semantics: ``numpy.setxor1d``.
    """
    return wrap(np.setxor1d(_values("setxor1d", x), _values("setxor1d", y), assume_unique))


class UniqueAllResult(NamedTuple):
    """What ``unique_all`` gives."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCountsResult(NamedTuple):
    """What ``unique_counts`` gives."""

    values: Tensor
    counts: Tensor


class UniqueInverseResult(NamedTuple):
    """What ``unique_inverse`` gives."""

    values: Tensor
    inverse_indices: Tensor


def unique_all(x: Any) -> UniqueAllResult:
    """The distinct elements of `x`, the index of each one's first occurrence, the indices that make `x`
    of them again, and how often each occurs. NaNs are distinct.

    Example:
        >>> import tracejit as tj
        >>> tj.unique_all([1, 1, 2]).counts
        tensor([2, 1])

    Raises ConcretizationError under a trace. Semantics: ``numpy.unique_all``, the Array API.
    """
    return UniqueAllResult(*map(wrap, np.unique_all(_values("unique_all", x))))


def unique_counts(x: Any) -> UniqueCountsResult:
    """The distinct elements of `x`, and how often each occurs.

    Example:
        >>> import tracejit as tj
        >>> tj.unique_counts([1, 1, 2])
        UniqueCountsResult(values=tensor([1, 2]), counts=tensor([2, 1]))

    Raises ConcretizationError under a trace. Semantics: ``numpy.unique_counts``, the Array API.
    """
    return UniqueCountsResult(*map(wrap, np.unique_counts(_values("unique_counts", x))))


def unique_inverse(x: Any) -> UniqueInverseResult:
    """The distinct elements of `x`, and the indices that make `x` of them again.

    Example:
        >>> import tracejit as tj
        >>> tj.unique_inverse([1, 1, 2])
        UniqueInverseResult(values=tensor([1, 2]), inverse_indices=tensor([0, 0, 1]))

    Raises ConcretizationError under a trace. Semantics: ``numpy.unique_inverse``, the Array API.
    """
    return UniqueInverseResult(*map(wrap, np.unique_inverse(_values("unique_inverse", x))))


def unique_values(x: Any) -> Tensor:
    """The distinct elements of `x`; NaNs are distinct.

    Example:
        >>> import tracejit as tj
        >>> tj.unique_values([2, 1, 1])
        tensor([1, 2])

    Raises ConcretizationError under a trace. Semantics: ``numpy.unique_values``, the Array API.
    """
    return wrap(np.unique(_values("unique_values", x), equal_nan=False))
