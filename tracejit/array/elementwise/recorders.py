"""What native forms of eager functions (`native_ops.NativeCall`) tell the graph: a function each, called with
the arguments and the result where an operand requires a gradient; and the steps of the views that they
make."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

from ...eager.tensor import Tensor, wrap
from ...eager.views import UNRECORDED, KeyStep, ViewStep
from ...ir.registry import OPS
from ...ir.types import Shape, normalize_axes, resolve_reshape
from ...state import STATE
from ...tape.joining import record_concat, record_stack
from ...tape.keys import record_key
from ...tape.nodes import KeptNode
from ...tape.recording import binary_recorder, recording_is_observed, several_recorder, unary_recorder

_RESHAPE: Final = OPS["reshape"]
_TRANSPOSE: Final = OPS["transpose"]
_reshaped = unary_recorder(_RESHAPE)
_transposed = unary_recorder(_TRANSPOSE)
_cast = unary_recorder(OPS["cast"])
_copied = unary_recorder(OPS["copy"])
_chosen = several_recorder(OPS["where"])
_gathered = several_recorder(OPS["gather"])
_matmul = binary_recorder(OPS["matmul"])

#: Axes by what the user calls them, and the rank.
_AXES: dict[tuple[Any, int], Shape] = {}


def _axes(name: str, axis: Any, rank: int) -> Shape:
    found = _AXES.get((axis, rank))
    if found is None:
        found = _AXES[axis, rank] = normalize_axes(name, axis, rank)
    return found


def of_reduction(name: str) -> Callable[..., None]:
    """Of a reduction with the arguments of ``numpy.ufunc.reduce``, of which dtype and out are None."""
    op = OPS[name]
    put, put_kept = unary_recorder(op), unary_recorder(op, KeptNode)

    def remember(x: Tensor, axis: Any, _dtype: None, _out: None, keepdims: bool, result: Tensor) -> None:
        data = x._data
        axes = _axes(name, axis, data.ndim)
        if not keepdims:
            put(x, result, {"axes": axes})
            return
        if not recording_is_observed():
            put_kept(x, result, {"axes": axes})
            return
        # the op removes the axes; its result and that with the axes are one memory
        array = result._data
        removed = wrap(array.reshape([size for i, size in enumerate(data.shape) if i not in axes]))
        removed._version = result._version = [0]
        put(x, removed, {"axes": axes})
        _reshaped(removed, result, {"shape": array.shape})

    return remember


def _unrecorded(view: Tensor) -> None:
    """Mark a view that was made while nothing was recorded, of a tensor that requires grad."""
    if type(view._aliases) is tuple:
        view._aliases = (*view._aliases, UNRECORDED)


def of_reshape(x: Tensor, shape: Any, result: Tensor) -> None:
    """Of ``ndarray.reshape``."""
    if not _reshaped(x, result, {"shape": result._data.shape}):
        _unrecorded(result)


def reshaping(shape: Any, before: Shape) -> ViewStep:
    """The step of a view that ``ndarray.reshape`` made of an array of the shape `before`."""
    return ViewStep(_RESHAPE, {"shape": resolve_reshape("reshape", before, shape)})


def of_transpose(x: Tensor, perm: Any, result: Tensor) -> None:
    """Of ``ndarray.transpose``, whose axes are a tuple, or None."""
    if not _transposed(x, result, {"perm": _perm(perm, x._data.ndim)}):
        _unrecorded(result)


def transposing(perm: Any, before: Shape) -> ViewStep:
    """The step of a view that ``ndarray.transpose`` made of an array of the shape `before`."""
    return ViewStep(_TRANSPOSE, {"perm": _perm(perm, len(before))})


def _perm(axes: Any, rank: int) -> Shape:
    """The axes of a transpose, counted from the front."""
    found = _PERMS.get((axes, rank))
    if found is None:
        found = tuple(range(rank))[::-1] if axes is None else tuple([axis % rank for axis in axes])
        _PERMS[axes, rank] = found
    return found


#: Orders of axes by what the user gave, and the rank.
_PERMS: dict[tuple[Any, int], Shape] = {}


def of_key(x: Tensor, key: Any, result: Tensor) -> None:
    """Of ``x[key]`` without arrays."""
    if STATE.recording:
        record_key(x, key, result)
    else:
        _unrecorded(result)


def reading(key: Any, before: Shape) -> KeyStep:
    """The step of a view that ``x[key]`` made."""
    return KeyStep((key,))


def of_cast(x: Tensor, dtype: Any, result: Tensor) -> None:
    """Of a conversion to `dtype`."""
    _cast(x, result, {"dtype": dtype})


def of_copy(x: Tensor, result: Tensor) -> None:
    """Of a copy."""
    _copied(x, result)


def of_matmul(x: Tensor, y: Tensor, result: Tensor) -> None:
    """Of a product of two matrices."""
    _matmul(x, y, result)


def of_where(condition: Any, x: Any, y: Any, result: Tensor) -> None:
    """Of a choice."""
    _chosen((condition, x, y), result)


def of_gather(x: Tensor, index: Tensor, result: Tensor) -> None:
    """Of ``x[index]`` for an array of integers."""
    _gathered((x, index), result)


def of_concat(axis: int, *tensors: Tensor) -> None:
    """Of tensors joined along `axis`; the last one is the result."""
    *parts, result = tensors
    record_concat(axis % result._data.ndim, result, *parts)


def of_stack(axis: int, *tensors: Tensor) -> None:
    """Of tensors joined along the new `axis`; the last one is the result."""
    *parts, result = tensors
    record_stack(axis % result._data.ndim, result, *parts)


@functools.cache
def new_axis(axis: int) -> tuple[Any, ...]:
    """The index that makes a new axis at the place `axis`."""
    return (*[slice(None)] * axis, None, Ellipsis)
