"""Matrices of a structure: block diagonal, Toeplitz, Hankel and circulant ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...array.indexing.taking import take
from ...array.joining import concatenate
from ...array.operands import constant_of, filled, promoted_arrays, reshaped, run, tensor_argument
from ...array.rearranging import flip
from ...base.errors import ShapeError
from ...tensors.tensor import Tensor


def block_diag(*arrs: Any) -> Tensor:
    """The matrix with `arrs` along its diagonal, and zeros elsewhere. Vectors are rows.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.linalg.block_diag([[1.0]], [[2.0, 3.0]])
        tensor([[1., 0., 0.],
                [0., 2., 3.]])

    Raises ShapeError for rank 3 and more. Semantics: ``scipy.linalg.block_diag``.
    """
    name = "scipy.linalg.block_diag"
    blocks = promoted_arrays(*[tensor_argument(name, array, "arrs") for array in arrs]) if arrs else []
    if not blocks:
        return filled(0.0, (1, 0), np.dtype(np.float64))
    rows = []
    parts = []
    for place, block in enumerate(blocks):
        if block.ndim > 2:
            raise ShapeError(f"{name}: expected matrices, got shape {block.shape} at {place}")
        parts.append(block if block.ndim == 2 else reshaped(block, (1, block.size)))
    width, before = sum(part.shape[1] for part in parts), 0
    for part in parts:
        height, own = part.shape
        left = filled(0, (height, before), part.dtype)
        right = filled(0, (height, width - before - own), part.dtype)
        rows.append(concatenate([left, part, right], axis=1))
        before += own
    return concatenate(rows, axis=0)


def _vector(name: str, value: Any, parameter: str) -> Tensor:
    x = tensor_argument(name, value, parameter)
    if x.ndim != 1:
        raise ShapeError(f"{name}: argument {parameter} must be a vector, got shape {x.shape}")
    return x


def toeplitz(c: Any, r: Any = None) -> Tensor:
    """The matrix with first column `c` and first row `r` that is constant along its diagonals.

    `r` is `c` unless given (conjugated where it is complex); its first element is not read.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.linalg.toeplitz([1, 2, 3], [1, 4])
        tensor([[1, 4],
                [2, 1],
                [3, 2]])

    Raises ShapeError unless both are vectors. Semantics: ``scipy.linalg.toeplitz``.
    """
    name = "scipy.linalg.toeplitz"
    column = _vector(name, c, "c")
    row = column if r is None else _vector(name, r, "r")
    if r is None and column.dtype.kind == "c":
        row = run("conj", column)
    column, row = promoted_arrays(column, row)
    rows, columns = column.shape[0], row.shape[0]
    line = concatenate([flip(column), row[1:]])
    places = rows - 1 - np.arange(rows)[:, None] + np.arange(columns)
    return take(line, constant_of(places))


def hankel(c: Any, r: Any = None) -> Tensor:
    """The matrix with first column `c` and last row `r` that is constant along its antidiagonals.

    `r` is zeros unless given; its first element is not read.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.linalg.hankel([1, 2], [2, 5])
        tensor([[1, 2],
                [2, 5]])

    Raises ShapeError unless both are vectors. Semantics: ``scipy.linalg.hankel``.
    """
    name = "scipy.linalg.hankel"
    column = _vector(name, c, "c")
    row = filled(0, column.shape, column.dtype) if r is None else _vector(name, r, "r")
    column, row = promoted_arrays(column, row)
    line = concatenate([column, row[1:]])
    places = np.arange(column.shape[0])[:, None] + np.arange(row.shape[0])
    return take(line, constant_of(places))


def circulant(c: Any) -> Tensor:
    """The square matrix with first column `c` whose further columns are turned by one element each.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.linalg.circulant([1, 2])
        tensor([[1, 2],
                [2, 1]])

    Raises ShapeError unless it is a vector. Semantics: ``scipy.linalg.circulant``.
    """
    column = _vector("scipy.linalg.circulant", c, "c")
    count = np.arange(column.shape[0])
    return take(column, constant_of((count[:, None] - count) % max(len(count), 1)))
