"""Arrays from blocks, stacks of columns and layers, and their parts."""

from __future__ import annotations

import math
from typing import Any

from ...base.errors import AxisError, ShapeError
from ...ir.types import normalize_axis
from ...tensors.tensor import Tensor
from ..joining import atleast_1d, atleast_3d, concatenate, split, vstack
from ..manipulation import expand_dims, moveaxis, ravel, reshape
from ..operands import as_tensor, given_as_array, sliced


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
    return given_as_array(_joined(arrays, depth, rank))


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


def resize(x: Any, new_shape: Any) -> Tensor:
    """The elements of `x`, again and again, in the shape `new_shape`; zeros where `x` has none.

    Example:
        >>> import tracejit as tj
        >>> tj.resize([1, 2, 3], (2, 2))
        tensor([[1, 2],
                [3, 1]])

    Raises ShapeError for negative sizes. Semantics: ``numpy.resize``.
    """
    shape = tuple(new_shape) if isinstance(new_shape, (tuple, list)) else (new_shape,)
    if any(size < 0 for size in shape):
        raise ShapeError(f"resize: sizes must not be negative, got {shape}")
    line = ravel(as_tensor(x))
    count = math.prod(shape)
    if line.size == 0:
        from_nothing = concatenate([line, as_tensor([0] * count)]) if count else line
        return reshape(from_nothing.astype(line.dtype), shape)
    times = -(-count // line.size)
    whole = concatenate([line] * times) if times else line
    return reshape(sliced(whole, 0, 0, count), shape)


def _split(name: str, x: Any, indices_or_sections: Any, axis: int, rank: int) -> list[Tensor]:
    x = as_tensor(x)
    if x.ndim < rank:
        raise ShapeError(f"{name}: expected an array of rank {rank} or more, got shape {x.shape}")
    return split(x, indices_or_sections, axis)


def hsplit(x: Any, indices_or_sections: Any) -> list[Tensor]:
    """Views of `x` cut along the second axis; of a line along its only one.

    Example:
        >>> import tracejit as tj
        >>> tj.hsplit([[1, 2], [3, 4]], 2)
        [tensor([[1],
                [3]]), tensor([[2],
                [4]])]

    Raises ShapeError. Semantics: ``numpy.hsplit``.
    """
    x = as_tensor(x)
    return _split("hsplit", x, indices_or_sections, 1 if x.ndim > 1 else 0, 1)


def vsplit(x: Any, indices_or_sections: Any) -> list[Tensor]:
    """Views of `x`, of rank 2 or more, cut along the first axis.

    Example:
        >>> import tracejit as tj
        >>> tj.vsplit([[1, 2], [3, 4]], 2)
        [tensor([[1, 2]]), tensor([[3, 4]])]

    Raises ShapeError. Semantics: ``numpy.vsplit``.
    """
    return _split("vsplit", x, indices_or_sections, 0, 2)


def dsplit(x: Any, indices_or_sections: Any) -> list[Tensor]:
    """Views of `x`, of rank 3 or more, cut along the third axis.

    Example:
        >>> import tracejit as tj
        >>> tj.dsplit([[[1, 2], [3, 4]]], 2)
        [tensor([[[1],
                 [3]]]), tensor([[[2],
                 [4]]])]

    Raises ShapeError. Semantics: ``numpy.dsplit``.
    """
    return _split("dsplit", x, indices_or_sections, 2, 3)


def rollaxis(x: Any, axis: int, start: int = 0) -> Tensor:
    """`x` with `axis` moved before the one at `start`; ``moveaxis`` is easier to read.

    Example:
        >>> import tracejit as tj
        >>> tj.rollaxis(tj.ones((3, 4, 5)), 2).shape
        (5, 3, 4)

    Raises AxisError. Semantics: ``numpy.rollaxis``.
    """
    x = as_tensor(x)
    place = normalize_axis("rollaxis", axis, x.ndim)
    target = start + x.ndim if start < 0 else start
    if not 0 <= target <= x.ndim:
        raise AxisError(f"rollaxis: start {start} is outside of the {x.ndim} axes of {x.shape}")
    return moveaxis(x, place, target - 1 if place < target else target)


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
