"""The order of elements in memory, as NumPy's ``order=`` names it. Traced tensors have none, but what NumPy
copies for an order is a copy of theirs, too."""

from __future__ import annotations

import reprlib
from typing import Any

import numpy as np

from ..base.errors import DomainError
from ..ir.dtypes import DType
from ..ir.types import Shape
from ..state import STATE
from ..tape.views import lies_in_order, note_copy
from ..tensors.tensor import Tensor, wrap
from .operands import another, permuted, run, scalar_of

__all__ = ["as_in_memory", "axes_in_memory", "filled_in_memory", "in_memory_order"]


def axes_in_memory(name: str, order: Any, rank: int, like: Any = None) -> Shape | None:
    """The axes from the slowest to the fastest in memory by `order`; None for C order.

    ``A`` and ``K`` are the order of `like`, where that is an array in memory of the same rank: ``A`` of
    Fortran order alone.
    """
    if not isinstance(order, str) or order not in ("C", "F", "A", "K"):
        raise DomainError(f"{name}: order must be 'C', 'F', 'A' or 'K', got {reprlib.repr(order)}")
    if order == "F" and rank > 1:
        return tuple(reversed(range(rank)))
    data = like._data if isinstance(like, Tensor) else like
    if (
        order in ("C", "F")
        or not isinstance(data, np.ndarray)
        or data.ndim != rank
        or data.flags.c_contiguous
    ):
        return None
    if data.flags.f_contiguous:
        return tuple(reversed(range(rank)))
    if order == "A":
        return None
    strides = data.strides
    axes = tuple(sorted(range(rank), key=lambda axis: -abs(strides[axis])))
    return None if axes == tuple(range(rank)) else axes


def made_like(x: Tensor, result: Tensor) -> Tensor:
    """The new `result`, which lies in memory as `x` does, and to a trace is no view of what it is made of."""
    if not result.is_traced:
        return result
    own = another(result)
    STATE.tracer.orders[own._data] = x._data
    return own


def noted_order(result: Tensor, axes: Shape | None) -> Tensor:
    """The new `result`, which lies in memory with `axes` from slow to fast, as a trace notes."""
    if axes is not None and result.is_traced:
        STATE.tracer.orders[result._data] = None
    return result


def _inverse(axes: Shape) -> Shape:
    return tuple(axes.index(axis) for axis in range(len(axes)))


def filled_in_memory(shape: Shape, value: Any, dtype: DType, axes: Shape) -> Tensor:
    """The number `value` in `shape`, in memory with `axes` from the slowest to the fastest."""
    array = np.empty([shape[axis] for axis in axes], dtype).transpose(_inverse(axes))
    array[...] = scalar_of(value, dtype)
    return wrap(array)


def as_in_memory(name: str, result: Tensor, order: str, like: Tensor) -> Tensor:
    """`result` in the `order` of `like`; as it is where `like` lies in C order, as `result` then does."""
    data = like._data
    if isinstance(data, np.ndarray) and data.flags.c_contiguous:
        return result
    return in_memory_order(result, axes_in_memory(name, order, like.ndim, like))


def in_memory_order(x: Tensor, axes: Shape | None) -> Tensor:
    """`x`, copied where its elements do not lie as `axes` say: a traced one where NumPy would copy an array
    in C order, or a view of one."""
    turned = x if axes is None else permuted(x, axes)
    if lies_in_order(turned):
        return x
    if x.is_traced:
        return noted_order(note_copy(x, run("copy", x)), axes)
    turned = run("contiguous", turned)
    return turned if axes is None else permuted(turned, _inverse(axes))
