"""TensorType, and all arithmetic on dimensions.

Op records ask this module for shapes and never compute with dimensions themselves, so that symbolic
dimensions can be added here alone. Every function raises ShapeError or AxisError with a message that
starts with the op's name.
"""

from __future__ import annotations

import functools
import math
import operator
import reprlib
from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeAlias

from ..base.errors import AxisError, AxisKindError, ShapeError, SizeKindError, TracejitError
from ..base.records import record
from .dtypes import SHORT_NAME, DType

Shape: TypeAlias = tuple[int, ...]


@record
class TensorType:
    """The dtype and shape of a value. Prints as ``f64[3,4]``.

    Example:
        >>> import numpy as np
        >>> import tracejit as tj
        >>> kind = tj.TensorType(np.dtype("float64"), (3, 4))
        >>> print(kind, kind.ndim, kind.size, kind.nbytes)
        f64[3,4] 2 12 96
    """

    dtype: DType
    shape: Shape

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    def with_shape(self, shape: Shape) -> TensorType:
        return tensor_type(self.dtype, shape)

    def with_dtype(self, dtype: DType) -> TensorType:
        return TensorType(dtype, self.shape)

    def __str__(self) -> str:
        return f"{SHORT_NAME[self.dtype]}[{','.join(map(str, self.shape))}]"


#: The types of several values, such as the operands of an instruction.
Types: TypeAlias = tuple[TensorType, ...]


@functools.lru_cache(maxsize=4096)
def tensor_type(dtype: DType, shape: Shape) -> TensorType:
    """The type of `dtype` and `shape`: one object for all that ask, which is quicker than another."""
    return TensorType(dtype, shape)


def broadcast_shapes(op: str, *shapes: Shape) -> Shape:
    """The shape all `shapes` broadcast to, by NumPy's rule.

    >>> broadcast_shapes("add", (3, 1), (4,))
    (3, 4)
    """
    first = shapes[0]
    if all(shape == first for shape in shapes):
        return first
    rank = max(map(len, shapes))
    result = [1] * rank
    for shape in shapes:
        for position, size in enumerate(shape, rank - len(shape)):
            if size == 1 or size == result[position]:
                continue
            if result[position] != 1:
                listed = " and ".join(map(str, shapes))
                raise ShapeError(f"{op}: shapes {listed} do not broadcast together")
            result[position] = size
    return tuple(result)


def broadcastable(shape: Shape, target: Shape) -> bool:
    """Whether `shape` broadcasts to exactly `target`."""
    offset = len(target) - len(shape)
    return offset >= 0 and all(size in (1, target[offset + axis]) for axis, size in enumerate(shape))


def normalize_axis(op: str, axis: Any, rank: int) -> int:
    """`axis` as a non-negative int below `rank`."""
    try:
        index = operator.index(axis)
    except TypeError as error:
        raise _no_integer(op, "axis must be an integer", axis, AxisKindError, error) from error
    if not -rank <= index < rank:
        raise AxisError(f"{op}: axis {index} is out of bounds for an array of rank {rank}")
    return index % rank


def normalize_axes(op: str, axis: Any, rank: int) -> Shape:
    """`axis` (None, an int or a tuple) as sorted distinct axes; None means all."""
    if axis is None:
        return tuple(range(rank))
    entries: Sequence[Any] = axis if isinstance(axis, (tuple, list)) else (axis,)
    axes = [normalize_axis(op, entry, rank) for entry in entries]
    if len(set(axes)) != len(axes):
        raise AxisError(f"{op}: axis {axis} names a dimension twice")
    return tuple(sorted(axes))


def remove_axes(shape: Shape, axes: Iterable[int], *, keepdims: bool = False) -> Shape:
    """`shape` without `axes`, or with 1 in their place."""
    gone = set(axes)
    if keepdims:
        return tuple(1 if axis in gone else size for axis, size in enumerate(shape))
    return tuple(size for axis, size in enumerate(shape) if axis not in gone)


def as_shape(op: str, shape: Any, parameter: str = "a shape") -> Shape:
    """`shape` (an int or a sequence), the `parameter` of that name, as a tuple of non-negative ints."""
    result = _sizes(op, shape, parameter)
    if result and min(result) < 0:
        raise ShapeError(f"{op}: negative dimensions are not allowed, got {result}")
    if result and (max(result) > _MAX_ELEMENTS or math.prod(result) > _MAX_ELEMENTS):
        raise ShapeError(f"{op}: an array of shape {result} is too large")
    return result


#: NumPy's limit too: sizes and offsets are signed integers of 64 bits.
_MAX_ELEMENTS: Final = 2**63 - 1


def _no_integer(
    op: str, expected: str, value: Any, kind: type[TracejitError], error: TypeError
) -> TracejitError:
    """The error for `value`, which ``operator.index`` does not take."""
    if isinstance(error, TracejitError):  # a tensor says itself what is wrong
        parameter = expected.partition(" must")[0].removeprefix("a ")
        return type(error)(f"{op}: argument {parameter}: {error}")
    return kind(f"{op}: {expected}, got {_shown(value)}")


def _shown(value: Any) -> str:
    text = reprlib.repr(value)
    return text if len(text) <= 200 else f"{text[:197]}..."


def _sizes(op: str, shape: Any, parameter: str = "a shape") -> Shape:
    """`shape` (an int, or a tuple, list, range or vector of integers) as a tuple of ints."""
    if isinstance(shape, (tuple, list)):
        sizes: Iterable[Any] = shape
    else:
        sizes = shape if isinstance(shape, range) or getattr(shape, "ndim", 0) == 1 else (shape,)
    try:
        return tuple(map(operator.index, sizes))
    except TypeError as error:
        raise _no_integer(op, f"{parameter} must be integers", shape, SizeKindError, error) from error


def resolve_reshape(op: str, shape: Shape, requested: Any) -> Shape:
    """The target of a reshape, with one -1 filled in."""
    target = list(_sizes(op, requested))
    size = math.prod(shape)
    if target.count(-1) > 1 or min(target, default=0) < -1:
        raise ShapeError(
            f"{op}: cannot reshape {shape} to {tuple(target)}: at most one -1 may stand for a size"
        )
    if -1 in target:
        product = math.prod(number for number in target if number != -1)
        if product == 0 or size % product:
            raise ShapeError(f"{op}: cannot reshape {shape} of size {size} to {tuple(target)}")
        target[target.index(-1)] = size // product
    if math.prod(target) != size:
        raise ShapeError(f"{op}: cannot reshape {shape} of size {size} to {tuple(target)}")
    return tuple(target)


@functools.lru_cache(maxsize=4096)
def contiguous_strides(shape: Shape) -> Shape:
    """Row-major strides of `shape`, counted in elements.

    >>> contiguous_strides((2, 3, 4))
    (12, 4, 1)
    """
    strides: list[int] = []
    step = 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))
