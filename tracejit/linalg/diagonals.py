"""Diagonals of stacks of matrices, and their sums."""

from __future__ import annotations

from typing import Any

from ..array import diagonals
from ..tensors.tensor import Tensor


def diagonal(x: Any, /, *, offset: int = 0) -> Tensor:
    """The diagonals of the matrices on the last two axes.

    Example:
        >>> import tracejit as tj
        >>> tj.linalg.diagonal([[1, 2], [3, 4]])
        tensor([1, 4])

    Raises ShapeError for rank 0 and 1. Semantics: ``numpy.linalg.diagonal``.
    """
    return diagonals.diagonal(x, offset, -2, -1)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Tensor:
    """The sums of the diagonals of the matrices on the last two axes.

    Example:
        >>> import tracejit as tj
        >>> tj.linalg.trace([[1, 2], [3, 4]])
        tensor(5)

    Raises ShapeError for rank 0 and 1. Semantics: ``numpy.linalg.trace``.
    """
    return diagonals.trace(x, offset, -2, -1, dtype)
