"""Indices of raveled arrays, and the indices along the axes that they stand for."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from ...base.errors import DomainError, DTypeError, IndexValueError, ShapeError
from ...ir.dtypes import INT64
from ...tensors.tensor import Tensor
from ..operands import as_tensor, cast, run


def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> Tensor:
    """The places in the raveled array of shape `dims` of the elements at `multi_index`, an array per axis.

    `mode` for indices outside: ``raise`` (eagerly), ``wrap`` around or ``clip`` to the ends; a tuple has
    one for each axis.

    Example:
        >>> import tracejit as tj
        >>> tj.ravel_multi_index(([3, 6], [4, 5]), (7, 6))
        tensor([22, 41])

    Raises OutOfBoundsError. Semantics: ``numpy.ravel_multi_index``.
    """
    shape = tuple(dims) if isinstance(dims, (tuple, list)) else (operator.index(dims),)
    parts = [as_tensor(part) for part in multi_index]
    if len(parts) != len(shape):
        raise ShapeError(f"ravel_multi_index: expected {len(shape)} arrays of indices, got {len(parts)}")
    modes = mode if isinstance(mode, tuple) else (mode,) * len(shape)
    strides = [math.prod(shape[axis + 1 :] if order == "C" else shape[:axis]) for axis in range(len(shape))]
    if order not in ("C", "F"):
        raise DomainError(f"ravel_multi_index: order must be 'C' or 'F', got {order!r}")
    flat: Any = None
    for part, size, stride, how in zip(parts, shape, strides, modes, strict=True):
        if part.dtype.kind not in "iu":
            raise DTypeError(f"ravel_multi_index: indices must be integers, got {part.dtype.name}")
        part = cast(part, INT64)
        if how == "wrap":
            part = run("remainder", part, size)
        elif how == "clip":
            part = run("clip", part, 0, size - 1)
        elif how != "raise":
            raise DomainError(f"ravel_multi_index: mode must be 'raise', 'wrap' or 'clip', got {how!r}")
        elif not part.is_traced and np.any((part._data < 0) | (part._data >= size)):
            raise IndexValueError(f"ravel_multi_index: an index is outside of an axis of size {size}")
        term = run("mul", part, stride)
        flat = term if flat is None else run("add", flat, term)
    return flat  # type: ignore[no-any-return]


def unravel_index(indices: Any, shape: Any, order: str = "C") -> tuple[Tensor, ...]:
    """The indices, an array per axis, of the elements at the places `indices` of the raveled `shape`.

    Example:
        >>> import tracejit as tj
        >>> tj.unravel_index([22, 41], (7, 6))
        (tensor([3, 6]), tensor([4, 5]))

    Raises OutOfBoundsError, eagerly. Semantics: ``numpy.unravel_index``.
    """
    sizes = tuple(shape) if isinstance(shape, (tuple, list)) else (operator.index(shape),)
    flat = as_tensor(indices)
    if flat.dtype.kind not in "iu" and flat.size:
        raise DTypeError(f"unravel_index: indices must be integers, got {flat.dtype.name}")
    flat = cast(flat, INT64)
    total = math.prod(sizes)
    if not flat.is_traced and np.any((flat._data < 0) | (flat._data >= total)):
        raise IndexValueError(f"unravel_index: an index is outside of an array of {total} elements")
    if order not in ("C", "F"):
        raise DomainError(f"unravel_index: order must be 'C' or 'F', got {order!r}")
    result = []
    for size in sizes[::-1] if order == "C" else sizes:
        result.append(run("remainder", flat, size))
        flat = run("floor_divide", flat, size)
    return tuple(result[::-1] if order == "C" else result)
