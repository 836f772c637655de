"""Indices of the triangles of matrices."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ...base.errors import ShapeError
from ...tensors.tensor import Tensor
from ..operands import as_tensor, constant_of


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
