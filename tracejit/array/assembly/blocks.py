"""Arrays from blocks, and stacks of rows, columns and layers."""

from __future__ import annotations

from typing import Any

from ...base.errors import ShapeError
from ...tensors.tensor import Tensor
from ..joining import atleast_1d, atleast_3d, concatenate, vstack
from ..manipulation import expand_dims, ravel, reshape
from ..operands import as_tensor, cast, given_as_array


def append(x: Any, values: Any, axis: int | None = None) -> Tensor:
    """`x` with `values` behind it along `axis`, or both raveled where that is None.

    Example:
        >>> import tracejit as tj
        >>> tj.append([1, 2], [[3], [4]])
        tensor([1, 2, 3, 4])

    Raises ShapeError and AxisError. Semantics: ``numpy.append``.
    """
    if axis is None:
        return concatenate([ravel(as_tensor(x)), ravel(as_tensor(values))])
    return concatenate([x, values], axis)


def column_stack(arrays: Any) -> Tensor:
    """`arrays` joined along the second axis; lines are columns.

    Example:
        >>> import tracejit as tj
        >>> tj.column_stack([[1, 2], [3, 4]])
        tensor([[1, 3],
                [2, 4]])

    Raises ShapeError. Semantics: ``numpy.column_stack``.
    """
    parts: list[Any] = [as_tensor(array) for array in arrays]
    return concatenate([expand_dims(atleast_1d(x), 1) if x.ndim < 2 else x for x in parts], 1)


def dstack(arrays: Any) -> Tensor:
    """`arrays` joined along the third axis, of rank 3 at least.

    Example:
        >>> import tracejit as tj
        >>> tj.dstack([[1, 2], [3, 4]])
        tensor([[[1, 3],
                 [2, 4]]])

    Raises ShapeError. Semantics: ``numpy.dstack``.
    """
    return concatenate([atleast_3d(array) for array in arrays], 2)


def block(arrays: Any) -> Tensor:
    """The array that nested lists of blocks are: the innermost lists are joined along the last axis, those
    that hold them along the one before, and so on.

    Example:
        >>> import tracejit as tj
        >>> tj.block([[tj.ones((2, 2)), tj.zeros((2, 1))], [tj.zeros((1, 2)), 5.0]])
        tensor([[1., 1., 0.],
                [1., 1., 0.],
                [0., 0., 5.]])

    Raises ShapeError for lists of different depths and blocks that do not fit. Semantics: ``numpy.block``.
    """
    depth = _depth(arrays)
    rank = max(depth, *(as_tensor(leaf).ndim for leaf in _leaves(arrays)), 0)
    joined = _joined(arrays, depth, rank)
    return given_as_array(joined if depth else cast(joined, joined.dtype, copy=True))


def _leaves(arrays: Any) -> list[Any]:
    if not isinstance(arrays, list):
        return [arrays]
    return [leaf for part in arrays for leaf in _leaves(part)]


def _depth(arrays: Any) -> int:
    if isinstance(arrays, tuple):
        raise ShapeError("block: blocks are in lists, not tuples")
    if not isinstance(arrays, list):
        return 0
    if not arrays:
        raise ShapeError("block: a list is empty")
    depths = {_depth(part) for part in arrays}
    if len(depths) > 1:
        raise ShapeError(f"block: lists have different depths, {sorted(depths)}")
    return depths.pop() + 1


def _joined(arrays: Any, depth: int, rank: int) -> Tensor:
    if depth == 0:
        x = as_tensor(arrays)
        return reshape(x, (*[1] * (rank - x.ndim), *x.shape))
    return concatenate([_joined(part, depth - 1, rank) for part in arrays], -depth)


def row_stack(arrays: Any, *, dtype: Any = None, casting: str = "same_kind") -> Tensor:
    """``vstack``, by its old name.

    Example:
        >>> import tracejit as tj
        >>> tj.row_stack([[1, 2], [3, 4]])
        tensor([[1, 2],
                [3, 4]])

    Raises ShapeError. Semantics: ``numpy.row_stack``.
    """
    return vstack(arrays, dtype=dtype, casting=casting)
