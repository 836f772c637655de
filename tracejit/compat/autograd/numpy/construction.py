"""Arrays of numbers among which there are tensors: what NumPy converts before it looks for tensors."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ....array.creation import full as _full
from ....array.creation import full_like as _full_like
from ....array.creation import tensor as _tensor
from ....array.elementwise.floats import where as _where
from ....array.joining import concatenate
from ....array.selection.choosing import select as _select
from ....pytree import flatten
from ....tensors.tensor import Tensor


def array(A: Any, *args: Any, **kwargs: Any) -> Any:
    """NumPy's ``array``, of numbers and arrays among which there may be tensors."""
    if not _holds(A):
        return np.array(A, *args, **kwargs)
    result = _of_nested(A)
    return result if not args and not kwargs else _converted(result, *args, **kwargs)


def asarray(a: Any, *args: Any, **kwargs: Any) -> Any:
    """NumPy's ``asarray``, of numbers and arrays among which there may be tensors."""
    if not _holds(a):
        return np.asarray(a, *args, **kwargs)
    result = a if isinstance(a, Tensor) else _of_nested(a)
    return result if not args and not kwargs else _converted(result, *args, **kwargs)


def full(shape: Any, fill_value: Any, *args: Any, **kwargs: Any) -> Any:
    """NumPy's ``full``, with a value that may be a tensor."""
    make = _full if isinstance(fill_value, Tensor) else np.full
    return make(shape, fill_value, *args, **kwargs)


def full_like(a: Any, fill_value: Any, *args: Any, **kwargs: Any) -> Any:
    """NumPy's ``full_like``, with a value that may be a tensor."""
    make = _full_like if isinstance(fill_value, Tensor) or isinstance(a, Tensor) else np.full_like
    return make(a, fill_value, *args, **kwargs)


def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    """NumPy's ``append``, of numbers and arrays among which there may be tensors."""
    return np.append(asarray(arr), asarray(values), axis)


def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """NumPy's ``select``, of arrays among which there may be tensors."""
    choose = _select if _holds([condlist, choicelist, default]) else np.select
    return choose(list(condlist), list(choicelist), default)


def where(condition: Any, *args: Any, **kwargs: Any) -> Any:
    """NumPy's ``where``, of arrays among which there may be tensors."""
    if any(isinstance(argument, Tensor) for argument in (condition, *args)):
        return _where(condition, *args, **kwargs)
    return np.where(condition, *args, **kwargs)


def make_diagonal(D: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The array whose diagonal is `D`, with the two axes of each diagonal at `axis1` and `axis2`."""
    size = D.shape[-1] + abs(offset)
    rows = np.arange(D.shape[-1]) + max(-offset, 0)
    mask = np.zeros((D.shape[-1], size, size))
    mask[np.arange(D.shape[-1]), rows, rows + offset] = 1.0
    spread = np.tensordot(D, mask, axes=1)
    return np.moveaxis(spread, (-2, -1), (axis1, axis2))


class _Joined:
    """``np.r_`` and ``np.c_``: what stands between brackets, joined."""

    def __init__(self, of_arrays: Any, of_tensors: Callable[[list[Any]], Any]) -> None:
        self._of_arrays, self._of_tensors = of_arrays, of_tensors

    def __getitem__(self, key: Any) -> Any:
        parts = key if isinstance(key, tuple) else (key,)
        if not _holds(parts):
            return self._of_arrays[key]
        arrays = [self._of_arrays[part] if isinstance(part, slice) else asarray(part) for part in parts]
        return self._of_tensors(arrays)


def _row(arrays: list[Any]) -> Any:
    return concatenate([part.reshape(1) if part.ndim == 0 else part for part in arrays], axis=0)


def _columns(arrays: list[Any]) -> Any:
    parts = [part.reshape(-1, 1) if part.ndim < 2 else part for part in arrays]
    return concatenate(parts, axis=-1)


r_ = _Joined(np.r_, _row)
c_ = _Joined(np.c_, _columns)


def _holds(value: Any) -> bool:
    kind = type(value)
    if kind is np.ndarray:
        return False
    if kind is Tensor:
        return True
    return kind in (list, tuple) and any(isinstance(leaf, Tensor) for leaf in flatten(value)[0])


def _of_nested(value: Any) -> Tensor:
    """A new tensor of the numbers and arrays in lists and tuples."""
    return _tensor(value)


def _converted(
    result: Tensor, dtype: Any = None, *, copy: Any = None, ndmin: int = 0, order: Any = None
) -> Any:
    """`result` with what else ``np.array`` was asked for; `copy` and `order` are about memory."""
    if dtype is not None:
        result = result.astype(dtype)
    return result.reshape((1,) * max(ndmin - result.ndim, 0) + result.shape)


def _of_lists(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(a: Any, *args: Any, **kwargs: Any) -> Any:
        if type(a) in (list, tuple):
            a = asarray(a)
        return function(a, *args, **kwargs)

    return call


amax = _of_lists(np.amax)
amin = _of_lists(np.amin)
max = _of_lists(np.max)
mean = _of_lists(np.mean)
median = _of_lists(np.median)
min = _of_lists(np.min)
prod = _of_lists(np.prod)
std = _of_lists(np.std)
sum = _of_lists(np.sum)
var = _of_lists(np.var)
