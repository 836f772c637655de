"""Main diagonals of arrays: their indices, and writes of them."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from ...base.errors import DTypeError, ShapeError
from ...tensors.tensor import Tensor
from ..indexing.access import setitem
from ..manipulation import ravel
from ..operands import as_tensor, constant_of


def diag_indices(n: int, ndim: int = 2) -> tuple[Tensor, ...]:
    """The indices of the main diagonal of an array of `ndim` axes of size `n`.

    Example:
        >>> import tracejit as tj
        >>> tj.diag_indices(2)
        (tensor([0, 1]), tensor([0, 1]))

    Semantics: ``numpy.diag_indices``.
    """
    return (constant_of(np.arange(operator.index(n), dtype=np.int64)),) * operator.index(ndim)


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
