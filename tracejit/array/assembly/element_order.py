"""Reshapes that take the elements in another order than row by row."""

from __future__ import annotations

import reprlib
from typing import Any

import numpy as np

from ...arguments.errors import named
from ...base.errors import ArgumentError, DomainError
from ...ir.types import resolve_reshape
from ...tensors.python_values import is_of_call, runs_as_python, users_frame
from ...tensors.tensor import Tensor
from ..manipulation import reshape, transpose
from ..operands import as_tensor, run

__all__ = ["reshape_in_order"]


def _is_column_major(x: Tensor, order: Any) -> bool:
    """Whether `order` asks for the elements of `x` in column-major order."""
    if order in ("A", "K"):
        data = x._data
        return isinstance(data, np.ndarray) and data.flags.f_contiguous and not data.flags.c_contiguous
    if order not in ("C", "F"):
        raise DomainError(f"reshape: order must be 'C', 'F', 'A' or 'K', got {order!r}")
    return bool(order == "F")


@named("reshape")
def reshape_in_order(x: Any, shape: Any, order: Any, copy: bool | None) -> Tensor:
    """`x` in `shape`, the first axis the fastest one with `order` ``F``; see ``reshape`` for `copy`."""
    x = as_tensor(x)
    if not isinstance(order, str):
        raise ArgumentError(f"reshape: order must be 'C', 'F', 'A' or 'K', got {reprlib.repr(order)}")
    if order in ("A", "K") and x.is_traced and x.ndim > 1 and is_of_call():
        raise runs_as_python(f"order={order!r}", users_frame()[1])
    if order == "K" and isinstance(x._data, np.ndarray):
        strides = x._data.strides
        nearest_last = sorted(range(x.ndim), key=lambda axis: -abs(strides[axis]))
        return reshape(transpose(x, tuple(nearest_last)), shape)
    if _is_column_major(x, order):
        sizes = resolve_reshape("reshape", x.shape, shape)
        result = transpose(reshape(transpose(x), sizes[::-1]))
    else:
        result = reshape(x, shape)
    if copy is False and not x.is_traced and result.size and not np.shares_memory(result._data, x._data):
        raise DomainError(f"reshape: copy=False, but {x.shape} cannot become {shape} without a copy")
    return run("copy", result) if copy else result
