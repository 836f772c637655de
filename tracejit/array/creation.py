"""Creation of tensors: filled, from Python data, and by the position of an element.

Under a trace these emit ``full``, ``iota`` and ``constant`` ops instead of capturing arrays. Floating
results have ``default_dtype()`` where NumPy has float64; integers have NumPy's dtype, int64.
"""

from __future__ import annotations

import operator
from typing import Any, Final

import numpy as np

from ..base.errors import DTypeError, ShapeError
from ..ir.dtypes import BOOL, INT64, DType, as_dtype, complex_dtype, default_dtype
from ..ir.types import as_shape
from ..tensors.python_values import warn_of_lost_gradient
from ..tensors.tensor import Tensor, as_array
from .memory_order import axes_in_memory, filled_in_memory, in_memory_order, made_like, noted_order
from .operands import (
    SCALARS,
    as_tensor,
    assigned,
    broadcast,
    cast,
    converted,
    filled,
    given_as_array,
    holds_tensors,
    is_tracing,
    reshaped,
    strong,
)
from .operands import array_of_traced as array_of_traced
from .operands import constant_of as constant_of


def tensor(data: Any, dtype: Any = None, *, requires_grad: bool = False) -> Tensor:
    """A new tensor with a copy of `data` (numbers, nested lists, an ndarray or a Tensor).

    Gradients flow through the copy to a Tensor, and to those in lists, unless `requires_grad` asks for a
    leaf: a tensor whose own gradient is to be computed. A constant is ``x.detach()``.

    Example:
        >>> import tracejit as tj
        >>> tj.tensor([[1, 2], [3, 4]])
        tensor([[1, 2],
                [3, 4]])
        >>> tj.tensor(1.5, dtype=tj.float32)
        tensor(1.5, dtype=float32)

    Raises DTypeError for what is not numbers, ShapeError for ragged nesting. Semantics: ``torch.tensor``,
    with NumPy's dtypes and with the gradient of ``jax.numpy.array``.
    """
    if isinstance(data, Tensor):
        copied = given_as_array(converted(data, data.dtype if dtype is None else as_dtype(dtype), copy=True))
        return _leaf(copied) if requires_grad else copied
    if isinstance(data, (list, tuple)) and holds_tensors(data):
        stacked = array_of_traced(data, dtype)
        return _leaf(stacked) if requires_grad else stacked
    if isinstance(data, np.ndarray) and is_tracing():  # read afresh at each call
        captured = as_tensor(data)
        result = given_as_array(captured.astype(captured.dtype if dtype is None else dtype))
        return _leaf(result) if requires_grad else result
    array = _copied(as_array(data), None if dtype is None else as_dtype(dtype))
    result = given_as_array(constant_of(array))
    return result.requires_grad_() if requires_grad else result


#: Copies of so many bytes begin a line of the caches.
_LARGE: Final = 1 << 15
_LINE: Final = 64


def _copied(source: np.ndarray[Any, Any], dtype: DType | None) -> np.ndarray[Any, Any]:
    """A copy of `source`. NumPy's memory begins 16 bytes behind a line: each vector of 64 bytes would lie in
    two. softmax of 100,000 f64, which reads them twice, takes 0.94 of the time where it begins one."""
    if source.nbytes < _LARGE or not source.flags.c_contiguous:
        return np.array(source, dtype=dtype)
    target = source.dtype if dtype is None else dtype
    nbytes = source.size * target.itemsize
    memory = np.empty(nbytes + _LINE, np.uint8)
    start = -memory.__array_interface__["data"][0] % _LINE
    copy = memory[start : start + nbytes].view(target).reshape(source.shape)
    copy[...] = source
    return copy


def _leaf(x: Tensor) -> Tensor:
    """`x` outside the graph that computed it, requiring gradients."""
    warn_of_lost_gradient(x, "tensor(x, requires_grad=True)", "a new leaf")
    return x.detach().requires_grad_()


#: NumPy's limit of the rank.
_MAX_AXES: Final = 64
_AS_IT_LIES: Final = "K"
#: Types that `tensor` copies in that order: NumPy does so, and lists have no order.
_COPIED_AS_IT_LIES: Final = (np.ndarray, list, tuple)


def array(
    data: Any,
    dtype: Any = None,
    *,
    copy: bool | None = True,
    order: str = _AS_IT_LIES,
    ndmin: int = 0,
    requires_grad: bool = False,
) -> Tensor:
    """``tensor``, with NumPy's other arguments.

    With ``copy=None`` memory is shared where it can be, as ``asarray`` does; ``copy=False`` raises where it
    cannot. `order` is that of the elements in memory, which traced tensors do not have; axes of size 1 come
    in front up to rank `ndmin`.

    Example:
        >>> import tracejit as tj
        >>> tj.array([1, 2], ndmin=2)
        tensor([[1, 2]])

    Raises what ``tensor`` raises. Semantics: ``numpy.array``.
    """
    if copy is True and order is _AS_IT_LIES and ndmin == 0 and type(data) in _COPIED_AS_IT_LIES:
        return tensor(data, dtype, requires_grad=requires_grad)
    result = tensor(data, dtype) if copy else asarray(data, dtype, copy=copy)
    if operator.index(ndmin) > _MAX_AXES:
        raise ShapeError(f"array: ndmin must be at most {_MAX_AXES}, got {ndmin}")
    if result.ndim < ndmin:
        result = reshaped(result, (*[1] * (ndmin - result.ndim), *result.shape))
    if type(order) is not str or order != "K" or isinstance(data, (Tensor, np.ndarray)):
        axes = axes_in_memory("array", order, result.ndim, data)
        result = in_memory_order(result, axes) if order != "K" or axes is not None else result
    return _leaf(result) if requires_grad else result


def asarray(data: Any, dtype: Any = None, order: str | None = None, *, copy: bool | None = None) -> Tensor:
    """`data` (numbers, nested lists, an ndarray or a Tensor) as a tensor, copied only where needed.

    An ndarray of a supported dtype shares its memory with the result. ``copy=True`` always copies,
    ``copy=False`` raises DTypeError where a copy would be needed. `order` is that of the elements in memory:
    ``C``, ``F``, or as they lie (``K``, and ``A`` unless that is neither of them); traced tensors have none.

    Example:
        >>> import tracejit as tj
        >>> tj.asarray([1, 2, 3])
        tensor([1, 2, 3])

    Semantics: the Array API's ``asarray``, and ``numpy.asarray``.
    """
    result_dtype = None if dtype is None else as_dtype(dtype)
    if not isinstance(data, Tensor) and isinstance(data, (list, tuple)) and holds_tensors(data):
        return array_of_traced(data, result_dtype)
    if not isinstance(data, (Tensor, np.ndarray)) and result_dtype is not None:
        result = constant_of(np.asarray(as_array(data), result_dtype))
    else:
        result = strong(data)
    if result_dtype is not None and result.dtype is not result_dtype:
        if copy is False:
            raise DTypeError(
                f"asarray: a copy is needed to convert {result.dtype.name} to {result_dtype.name}"
            )
        result = converted(result, result_dtype)
    elif copy:
        result = cast(result, result.dtype, copy=True)
    elif order == "A":  # any order is right where nothing is copied
        order = None
    result = given_as_array(result, data)
    return result if order is None else _ordered("asarray", result, order, copy)


def _ordered(name: str, result: Tensor, order: str, copy: bool | None) -> Tensor:
    """`result` in memory as `order` says. Raises DTypeError for a copy that `copy` forbids."""
    axes = axes_in_memory(name, order, result.ndim, result)
    if order == "K":
        return result
    ordered = in_memory_order(result, axes)
    if copy is False and ordered is not result:
        raise DTypeError(f"{name}: a copy is needed for order={order!r}")
    return ordered


def tracked(result: Tensor, requires_grad: bool) -> Tensor:
    """`result`, a new array, requiring gradients where asked."""
    result = given_as_array(result)
    return result.requires_grad_() if requires_grad else result


def full(
    shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", *, requires_grad: bool = False
) -> Tensor:
    """`fill_value` (a number, or anything that broadcasts to `shape`) everywhere.

    The dtype is that of `fill_value` unless given; `order` as in ``zeros``. Raises ShapeError for negative
    sizes.

    Example:
        >>> import tracejit as tj
        >>> tj.full((2, 2), 7)
        tensor([[7, 7],
                [7, 7]])

    Semantics: ``numpy.full``.
    """
    result = _filled("full", shape, fill_value, None if dtype is None else as_dtype(dtype))
    if type(order) is not str or order != "C":
        result = in_memory_order(result, axes_in_memory("full", order, result.ndim))
    return tracked(result, requires_grad)


def _filled(name: str, shape: Any, value: Any, dtype: DType | None) -> Tensor:
    sizes = as_shape(name, shape)
    if type(value) in SCALARS:
        return filled(value, sizes, dtype or _dtype_of_number(value))
    source = as_tensor(value)
    if dtype is not None and source.dtype is not dtype:
        source = assigned(source, dtype)
    return cast(broadcast(source, sizes), source.dtype, copy=True)


def _dtype_of_number(value: Any) -> DType:
    own = default_dtype()
    return {bool: BOOL, float: own, complex: complex_dtype(own)}.get(type(value), INT64)


def zeros(shape: Any, dtype: Any = None, order: str = "C", *, requires_grad: bool = False) -> Tensor:
    """Zeros of `shape` (an int or a tuple), in the default dtype unless given.

    `order` is that of the elements in memory, ``C`` or ``F``; traced tensors have none.

    Example:
        >>> import tracejit as tj
        >>> tj.zeros((2, 3))
        tensor([[0., 0., 0.],
                [0., 0., 0.]])

    Semantics: ``numpy.zeros``.
    """
    return tracked(_number("zeros", shape, 0, dtype, order), requires_grad)


def ones(shape: Any, dtype: Any = None, order: str = "C", *, requires_grad: bool = False) -> Tensor:
    """Ones of `shape` (an int or a tuple), in the default dtype unless given.

    `order` is that of the elements in memory, ``C`` or ``F``; traced tensors have none.

    Example:
        >>> import tracejit as tj
        >>> tj.ones(3)
        tensor([1., 1., 1.])

    Semantics: ``numpy.ones``.
    """
    return tracked(_number("ones", shape, 1, dtype, order), requires_grad)


def empty(shape: Any, dtype: Any = None, order: str = "C", *, requires_grad: bool = False) -> Tensor:
    """A tensor to be overwritten. It holds zeros, so that results never depend on old memory. `order` as in
    ``zeros``.

    Example:
        >>> import tracejit as tj
        >>> tj.empty((2, 2)).shape
        (2, 2)

    Semantics: ``numpy.empty``, but defined.
    """
    return tracked(_number("empty", shape, 0, dtype, order), requires_grad)


def full_like(
    x: Any,
    fill_value: Any,
    dtype: Any = None,
    order: str = "K",
    *,
    shape: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """`fill_value` with the shape and dtype of `x`, unless others are given.

    `order` is that of the elements in memory: ``C``, ``F``, or that of `x`.

    Example:
        >>> import tracejit as tj
        >>> tj.full_like(tj.ones(2), 5)
        tensor([5., 5.])

    Semantics: ``numpy.full_like``.
    """
    return tracked(_like("full_like", x, fill_value, dtype, order, shape), requires_grad)


def _like(name: str, x: Any, value: Any, dtype: Any, order: str, shape: Any) -> Tensor:
    """`value` everywhere, in the shape, dtype and order of `x` where they are not given."""
    source = x if isinstance(x, Tensor) else as_array(x)
    sizes = source.shape if shape is None else as_shape("like", shape)
    like = as_dtype(source.dtype if dtype is None else dtype)
    if type(value) not in SCALARS:
        return _filled(name, sizes, value, like)
    data = source._data if isinstance(source, Tensor) else source
    in_rows = type(order) is str and order == "K" and isinstance(data, np.ndarray) and data.flags.c_contiguous
    axes = None if in_rows else axes_in_memory(name, order, len(sizes), data)
    if axes is None or is_tracing():
        result = noted_order(filled(value, sizes, like), axes)
        return made_like(source, result) if order == "K" and isinstance(source, Tensor) else result
    return filled_in_memory(sizes, value, like, axes)


def _number(name: str, shape: Any, value: int, dtype: Any, order: str) -> Tensor:
    """`value` in `shape`, in the default dtype where that is None."""
    sizes = as_shape(name, shape)
    result_dtype = default_dtype() if dtype is None else as_dtype(dtype)
    axes = axes_in_memory(name, order, len(sizes))
    if axes is None or is_tracing():
        return noted_order(filled(value, sizes, result_dtype), axes)
    return filled_in_memory(sizes, value, result_dtype, axes)


def zeros_like(
    x: Any, dtype: Any = None, order: str = "K", *, shape: Any = None, requires_grad: bool = False
) -> Tensor:
    """Zeros with the shape and dtype of `x`, unless others are given; `order` as in ``full_like``.

    Example:
        >>> import tracejit as tj
        >>> tj.zeros_like([[1, 2], [3, 4]])
        tensor([[0, 0],
                [0, 0]])

    Semantics: ``numpy.zeros_like``.
    """
    return tracked(_like("zeros_like", x, 0, dtype, order, shape), requires_grad)


def ones_like(
    x: Any, dtype: Any = None, order: str = "K", *, shape: Any = None, requires_grad: bool = False
) -> Tensor:
    """Ones with the shape and dtype of `x`, unless others are given; `order` as in ``full_like``.

    Example:
        >>> import tracejit as tj
        >>> tj.ones_like([1.5, 2.5])
        tensor([1., 1.])

    Semantics: ``numpy.ones_like``.
    """
    return tracked(_like("ones_like", x, 1, dtype, order, shape), requires_grad)


def empty_like(
    x: Any, dtype: Any = None, order: str = "K", *, shape: Any = None, requires_grad: bool = False
) -> Tensor:
    """A tensor like `x` to be overwritten; it holds zeros. `order` as in ``full_like``.

    Example:
        >>> import tracejit as tj
        >>> tj.empty_like(tj.ones((2, 3))).shape
        (2, 3)

    Semantics: ``numpy.empty_like``, but defined.
    """
    return tracked(_like("empty_like", x, 0, dtype, order, shape), requires_grad)
