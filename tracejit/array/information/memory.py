"""Whether arrays share memory, and arrays with requirements on it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ir.dtypes import as_dtype
from ...tensors.tensor import Tensor
from ..creation import asarray
from ..joining import atleast_1d
from ..manipulation import copy
from ..memory_order import axes_in_memory, in_memory_order
from ..operands import as_tensor, cast, given_as_array


def asanyarray(data: Any, dtype: Any = None, order: str | None = None, *, copy: bool | None = None) -> Tensor:
    """Convert `data` to a tensor, as ``asarray`` does: there are no subclasses to keep.

    Example:
        >>> import tracejit as tj
        >>> tj.asanyarray([1, 2])
        tensor([1, 2])

    Semantics: ``numpy.asanyarray``.
    """
    return asarray(data, dtype, order, copy=copy)


def asarray_chkfinite(data: Any, dtype: Any = None, order: str | None = None) -> Tensor:
    """Convert `data` to a tensor, and raise ValueError for NaN and infinities. Eager only.

    Example:
        >>> import tracejit as tj
        >>> tj.asarray_chkfinite([1, 2])
        tensor([1, 2])

    Semantics: ``numpy.asarray_chkfinite``.
    """
    result = asarray(data, dtype, order)
    np.asarray_chkfinite(result._concrete("asarray_chkfinite", "tj.isfinite(x)"))
    return result


def ascontiguousarray(data: Any, dtype: Any = None) -> Tensor:
    """`data` in C order, with at least one dimension; copied where it is not.

    Example:
        >>> import tracejit as tj
        >>> tj.ascontiguousarray(3.0)
        tensor([3.])

    Semantics: ``numpy.ascontiguousarray``.
    """
    x = atleast_1d(asarray(data, dtype))
    assert isinstance(x, Tensor)
    return in_memory_order(x, None)


def asfortranarray(data: Any, dtype: Any = None) -> Tensor:
    """`data` with the elements of its first dimension beside each other in memory, where it is not traced.

    Example:
        >>> import tracejit as tj
        >>> tj.asfortranarray([[1, 2], [3, 4]])
        tensor([[1, 2],
                [3, 4]])

    Semantics: ``numpy.asfortranarray``.
    """
    x = asarray(data, dtype)
    return in_memory_order(x, axes_in_memory("asfortranarray", "F", x.ndim))


def require(data: Any, dtype: Any = None, requirements: Any = None) -> Tensor:
    """`data` with `dtype` and the layout that `requirements` names: ``"C"``, ``"F"``, ``"O"``, ``"W"``.

    Example:
        >>> import tracejit as tj
        >>> tj.require([1, 2], "float32", ["C"])
        tensor([1., 2.], dtype=float32)

    Semantics: ``numpy.require``.
    """
    x = as_tensor(data)
    x = given_as_array(x if dtype is None else cast(x, as_dtype(dtype)), data)
    names = {name[:1].upper() for name in requirements or ()}
    if "F" in names:
        return asfortranarray(x)
    if "C" in names:
        x = in_memory_order(x, None)
    writes = bool(names & {"O", "W"})
    return copy(x) if writes and not x.is_traced and not x._data.flags.owndata else x


def shares_memory(x: Any, y: Any, /, max_work: int = -1) -> bool:
    """Whether an element of `x` and one of `y` are the same memory. Of traced tensors: whether they are one.

    `max_work` bounds the search for it, as NumPy's does.

    Example:
        >>> import tracejit as tj
        >>> x = tj.ones(3)
        >>> tj.shares_memory(x, x[1:]), tj.shares_memory(x, x + 1)
        (True, False)

    Semantics: ``numpy.shares_memory``.
    """
    first, second = as_tensor(x), as_tensor(y)
    if first.is_traced or second.is_traced:
        return first._data is second._data
    compare: Any = np.shares_memory
    return bool(compare(first._data, second._data, max_work))


def may_share_memory(x: Any, y: Any, /, max_work: int = 0) -> bool:
    """Whether `x` and `y` may share memory, by the bounds of their memory alone unless `max_work` asks for
    more.

    Example:
        >>> import tracejit as tj
        >>> x = tj.ones(3)
        >>> tj.may_share_memory(x, x[1:])
        True

    Semantics: ``numpy.may_share_memory``.
    """
    first, second = as_tensor(x), as_tensor(y)
    if first.is_traced or second.is_traced:
        return first._data is second._data
    compare: Any = np.may_share_memory
    return bool(compare(first._data, second._data, max_work))
