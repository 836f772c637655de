"""Indices of triangles and diagonals, diagonals written, and indices of raveled arrays."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ...base.errors import DomainError, DTypeError, IndexValueError, ShapeError
from ...ir.dtypes import INT64
from ...tensors.tensor import Tensor
from ..diagonals import diag
from ..indexing.access import setitem
from ..manipulation import ravel
from ..operands import as_tensor, cast, constant_of, run


def _lines(arrays: Any) -> tuple[Tensor, ...]:
    return tuple(constant_of(np.asarray(array, np.int64)) for array in arrays)


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Tensor, Tensor]:
    """The rows and columns of the elements on and below the `k`-th diagonal of an n x m matrix.

    Example:
        >>> import tracejit as tj
        >>> tj.tril_indices(2)
        (tensor([0, 1, 1]), tensor([0, 0, 1]))

    Semantics: ``numpy.tril_indices``.
    """
    return _lines(np.tril_indices(operator.index(n), k, m))  # type: ignore[return-value]


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Tensor, Tensor]:
    """The rows and columns of the elements on and above the `k`-th diagonal of an n x m matrix.

    Example:
        >>> import tracejit as tj
        >>> tj.triu_indices(2)
        (tensor([0, 0, 1]), tensor([0, 1, 1]))

    Semantics: ``numpy.triu_indices``.
    """
    return _lines(np.triu_indices(operator.index(n), k, m))  # type: ignore[return-value]


def _matrix(name: str, x: Any) -> tuple[int, int]:
    shape = as_tensor(x).shape
    if len(shape) != 2:
        raise ShapeError(f"{name}: expected a matrix, got shape {shape}")
    return shape


def tril_indices_from(x: Any, k: int = 0) -> tuple[Tensor, Tensor]:
    """``tril_indices`` of the shape of the matrix `x`.

    Example:
        >>> import tracejit as tj
        >>> tj.tril_indices_from(tj.ones((2, 2)))
        (tensor([0, 1, 1]), tensor([0, 0, 1]))

    Raises ShapeError. Semantics: ``numpy.tril_indices_from``.
    """
    rows, columns = _matrix("tril_indices_from", x)
    return tril_indices(rows, k, columns)


def triu_indices_from(x: Any, k: int = 0) -> tuple[Tensor, Tensor]:
    """``triu_indices`` of the shape of the matrix `x`.

    Example:
        >>> import tracejit as tj
        >>> tj.triu_indices_from(tj.ones((2, 2)))
        (tensor([0, 0, 1]), tensor([0, 1, 1]))

    Raises ShapeError. Semantics: ``numpy.triu_indices_from``.
    """
    rows, columns = _matrix("triu_indices_from", x)
    return triu_indices(rows, k, columns)


def mask_indices(n: int, mask_func: Callable[..., Any], k: Any = 0) -> tuple[Tensor, ...]:
    """The indices where ``mask_func(ones((n, n)), k)`` is not zero.

    Example:
        >>> import tracejit as tj
        >>> tj.mask_indices(2, tj.triu)
        (tensor([0, 0, 1]), tensor([0, 1, 1]))

    Semantics: ``numpy.mask_indices``.
    """
    size = operator.index(n)
    mask = mask_func(np.ones((size, size), int), k)
    if isinstance(mask, Tensor):
        mask = mask._concrete("mask_indices", "a function of NumPy's, as its mask decides a shape")
    return _lines(np.nonzero(mask))


def diag_indices(n: int, ndim: int = 2) -> tuple[Tensor, ...]:
    """The indices of the main diagonal of an array of `ndim` axes of size `n`.

    Example:
        >>> import tracejit as tj
        >>> tj.diag_indices(2)
        (tensor([0, 1]), tensor([0, 1]))

    Semantics: ``numpy.diag_indices``.
    """
    return _lines([np.arange(operator.index(n))]) * operator.index(ndim)


def diag_indices_from(x: Any) -> tuple[Tensor, ...]:
    """``diag_indices`` of an array of equal sides.

    Example:
        >>> import tracejit as tj
        >>> tj.diag_indices_from(tj.ones((2, 2)))
        (tensor([0, 1]), tensor([0, 1]))

    Raises ShapeError for other arrays. Semantics: ``numpy.diag_indices_from``.
    """
    shape = as_tensor(x).shape
    if len(shape) < 2 or len(set(shape)) != 1:
        raise ShapeError(f"diag_indices_from: expected two or more axes of one size, got shape {shape}")
    return diag_indices(shape[0], len(shape))


def diagflat(v: Any, k: int = 0) -> Tensor:
    """The matrix with the raveled `v` as its `k`-th diagonal.

    Example:
        >>> import tracejit as tj
        >>> tj.diagflat([[1, 2]])
        tensor([[1, 0],
                [0, 2]])

    Semantics: ``numpy.diagflat``.
    """
    return diag(ravel(as_tensor(v)), k)


def fill_diagonal(x: Tensor, val: Any, wrap: bool = False) -> None:
    """Write `val` to the main diagonal of `x`, again and again where it is shorter.

    With `wrap`, the diagonal of a tall matrix goes on below its first columns.

    Example:
        >>> import tracejit as tj
        >>> x = tj.zeros((2, 2))
        >>> tj.fill_diagonal(x, 5.0)
        >>> x
        tensor([[5., 0.],
                [0., 5.]])

    Raises ShapeError for other arrays than matrices whose sides differ. Semantics: ``numpy.fill_diagonal``.
    """
    if isinstance(x, np.ndarray):
        np.fill_diagonal(x, as_tensor(val).numpy(), wrap)
        return
    if not isinstance(x, Tensor):
        raise DTypeError(f"fill_diagonal: x must be a tensor, got {type(x).__name__}")
    shape = x.shape
    if len(shape) < 2:
        raise ShapeError(f"fill_diagonal: expected rank 2 or more, got shape {shape}")
    if len(shape) == 2:
        step = shape[1] + 1
        end = x.size if wrap else min(shape[1] * shape[1], x.size)
    else:
        if len(set(shape)) != 1:
            raise ShapeError(f"fill_diagonal: all sizes must be equal, got shape {shape}")
        step = 1 + sum(math.prod(shape[axis + 1 :]) for axis in range(len(shape) - 1))
        end = x.size
    flat = np.arange(0, end, step)
    value = as_tensor(val)
    if value.ndim:
        line = ravel(value)
        value = line[np.arange(flat.size) % max(line.size, 1)]
    setitem(x, tuple(np.unravel_index(flat, shape)), value)


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
