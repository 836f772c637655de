"""Products of several matrices, and powers of a matrix."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..array.contraction import dot, matmul
from ..array.operands import as_tensor, given_as_scalar, reshaped
from ..base.errors import ArgumentError, LinAlgError, ShapeError
from ..tensors.tensor import Tensor
from .operands import identity
from .solutions import inv


def matrix_power(a: Any, n: int) -> Tensor:
    """The product of `n` times `a`, of its inverse for negative `n`; unit matrices for 0.

    Example:
        >>> import tracejit as tj
        >>> tj.linalg.matrix_power([[1, 1], [0, 1]], 5)
        tensor([[1, 5],
                [0, 1]])

    Raises LinAlgError unless matrices are square, and for negative powers of singular ones. Semantics:
    ``numpy.linalg.matrix_power``.
    """
    name = "linalg.matrix_power"
    x = as_tensor(a)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise LinAlgError(f"{name}: the last two axes of argument a must be of one size, got shape {x.shape}")
    try:
        power = operator.index(n)
    except TypeError as error:
        raise ArgumentError(f"{name}: n must be an integer, got {n!r}") from error
    if power == 0:
        return identity(x, x.shape[-1])
    if power < 0:
        x, power = inv(x), -power
    result = None
    while True:
        if power & 1:
            result = x if result is None else matmul(result, x)
        power >>= 1
        if not power:
            assert result is not None
            return result
        x = matmul(x, x)


def multi_dot(arrays: Any, *, out: Any = None) -> Tensor:
    """The product of `arrays`, in the order of the fewest multiplications.

    The first may be a row and the last a column, as vectors; all others are matrices.

    Example:
        >>> import tracejit as tj
        >>> tj.linalg.multi_dot([tj.ones(2), tj.ones((2, 3)), tj.ones(3)])
        tensor(6.)

    Raises ShapeError for less than two arrays, LinAlgError for other ranks. Semantics:
    ``numpy.linalg.multi_dot``.
    """
    name = "linalg.multi_dot"
    if out is not None:
        raise ArgumentError(f"{name}: argument out is not supported")
    tensors = [as_tensor(array) for array in arrays]
    if len(tensors) < 2:
        raise ShapeError(f"{name}: expected two or more arrays, got {len(tensors)}")
    if len(tensors) == 2:
        return dot(*tensors)
    first, last = tensors[0], tensors[-1]
    for place, array in enumerate(tensors):
        if array.ndim != 2 and not (array.ndim == 1 and place in (0, len(tensors) - 1)):
            raise LinAlgError(f"{name}: array {place} must be a matrix, got shape {array.shape}")
    if first.ndim == 1:
        tensors[0] = reshaped(first, (1, *first.shape))
    if last.ndim == 1:
        tensors[-1] = reshaped(last, (*last.shape, 1))
    result = _in_order(tensors, _splits([array.shape for array in tensors]), 0, len(tensors) - 1)
    shape = (result.shape[:1] if first.ndim == 2 else ()) + (result.shape[1:] if last.ndim == 2 else ())
    return given_as_scalar(reshaped(result, shape))


def _splits(shapes: Sequence[tuple[int, ...]]) -> Any:
    """The best split of each subchain of a matrix-chain product. Source: Cormen et al., Introduction to
    Algorithms, section 14.2."""
    count = len(shapes)
    sizes = [shape[0] for shape in shapes] + [shapes[-1][1]]
    costs, split = np.zeros((count, count)), np.zeros((count, count), np.int64)
    for length in range(1, count):
        for start in range(count - length):
            stop = start + length
            candidates = [
                costs[start, middle]
                + costs[middle + 1, stop]
                + sizes[start] * sizes[middle + 1] * sizes[stop + 1]
                for middle in range(start, stop)
            ]
            split[start, stop] = start + int(np.argmin(candidates))
            costs[start, stop] = min(candidates)
    return split


def _in_order(tensors: Sequence[Tensor], split: Any, start: int, stop: int) -> Tensor:
    if start == stop:
        return tensors[start]
    middle = int(split[start, stop])
    return matmul(_in_order(tensors, split, start, middle), _in_order(tensors, split, middle + 1, stop))
