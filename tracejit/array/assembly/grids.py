"""Grids of coordinates, and the objects that make them by indexing: ``mgrid``, ``ogrid``, ``r_``, ``c_``."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ...base.errors import ShapeError
from ...ir.dtypes import BOOL, as_dtype, default_dtype
from ...tensors.tensor import Tensor, as_array
from ..joining import concatenate, stack
from ..manipulation import broadcast_to, expand_dims, reshape
from ..operands import as_tensor, cast, constant_of, holds_tensors, run
from ..ranges import arange, linspace


def indices(dimensions: Any, dtype: Any = int, sparse: bool = False) -> Any:
    """The coordinates of every element of an array of shape `dimensions`, one array for each axis.

    With `sparse` a tuple of arrays that broadcast to them.

    Example:
        >>> import tracejit as tj
        >>> tj.indices((2, 2))
        tensor([[[0, 0],
                 [1, 1]],
        <BLANKLINE>
                [[0, 1],
                 [0, 1]]])

    Semantics: ``numpy.indices``.
    """
    shape = tuple(operator.index(size) for size in dimensions)
    rank, element = len(shape), as_dtype(dtype)
    lines = []
    for axis, size in enumerate(shape):
        sides = [1] * rank
        sides[axis] = size
        lines.append(reshape(cast(arange(size), element), tuple(sides)))
    if sparse:
        return tuple(lines)
    if not lines:
        return constant_of(np.zeros((0,), element))
    return stack([broadcast_to(line, shape) for line in lines])


def fromfunction(function: Callable[..., Any], shape: Any, *, dtype: Any = float, **kwargs: Any) -> Any:
    """The results of `function` of the coordinates of an array of `shape`, one array for each axis.

    Example:
        >>> import tracejit as tj
        >>> tj.fromfunction(lambda i, j: i + j, (2, 2), dtype=int)
        tensor([[0, 1],
                [1, 2]])

    Semantics: ``numpy.fromfunction``.
    """
    element = default_dtype() if dtype is float else dtype
    grid = indices(shape, element)
    return function(*[grid[axis] for axis in range(len(shape))], **kwargs)


def ix_(*args: Any) -> tuple[Tensor, ...]:
    """Lines of indices, shaped so that ``x[ix_(rows, columns)]`` is the submatrix of these rows and columns.

    Masks stand for the indices of their true elements.

    Example:
        >>> import tracejit as tj
        >>> tj.ix_([0, 1], [2, 4])
        (tensor([[0],
                [1]]), tensor([[2, 4]]))

    Raises ShapeError unless all have rank 1. Semantics: ``numpy.ix_``.
    """
    result = []
    for place, value in enumerate(args):
        if not (isinstance(value, Tensor) or holds_tensors(value)):
            value = np.asarray(value) if np.size(value) else np.zeros(0, np.int64)
            value = np.flatnonzero(value) if value.dtype == bool and value.ndim == 1 else value
        line = as_tensor(value)
        if line.ndim != 1:
            raise ShapeError(f"ix_: expected lines of rank 1, got shape {line.shape}")
        if line.dtype is BOOL:
            line = constant_of(np.flatnonzero(line._concrete("ix_ of a mask", "indices, or tj.where")))
        result.append(reshape(line, (*[1] * place, line.shape[0], *[1] * (len(args) - place - 1))))
    return tuple(result)


def _range_of(part: slice) -> Tensor:
    """The numbers that a slice stands for: a range, or with a step of 5j five equidistant numbers, both ends
    included."""
    start, stop, step = part.start, part.stop, part.step
    start = 0 if start is None else start
    if isinstance(step, complex):
        return linspace(start, stop, int(abs(step)))  # type: ignore[no-any-return]
    return arange(start, stop, 1 if step is None else step)


class _Grid:
    """``numpy.mgrid`` and ``numpy.ogrid``: what indexing gives are coordinates."""

    def __init__(self, *, sparse: bool) -> None:
        self._sparse = sparse

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return _range_of(key)
        lines = [_range_of(part) for part in key]
        dtype = np.result_type(*[line.dtype for line in lines])
        shaped = [
            reshape(cast(line, dtype), tuple(-1 if axis == place else 1 for axis in range(len(lines))))
            for place, line in enumerate(lines)
        ]
        if self._sparse:
            return tuple(shaped)
        shape = tuple(line.size for line in lines)
        return stack([broadcast_to(line, shape) for line in shaped])

    def __repr__(self) -> str:
        return f"tj.{'ogrid' if self._sparse else 'mgrid'}"


class _Joiner:
    """``numpy.r_`` and ``numpy.c_``: indexing joins arrays, numbers and slices that stand for ranges."""

    def __init__(self, name: str, axis: int, rank: int, place: int) -> None:
        self._name, self._settings = name, (axis, rank, place)

    def __getitem__(self, key: Any) -> Tensor:
        axis, rank, place = self._settings
        items = list(key) if isinstance(key, tuple) else [key]
        if items and isinstance(items[0], str):
            parts = items.pop(0).split(",")
            if not all(part.strip().lstrip("-").isdigit() for part in parts):
                raise ShapeError(f"{self._name}: matrices ({parts[0]!r}) are not supported")
            numbers = [int(part) for part in parts]
            axis = numbers[0]
            rank = numbers[1] if len(numbers) > 1 else rank
            place = numbers[2] if len(numbers) > 2 else place
        arrays = [self._array(item, rank, place) for item in items]
        weak = [item for item in items if type(item) in (bool, int, float, complex)]
        strong = [
            array.dtype
            for array, item in zip(arrays, items, strict=True)
            if type(item) not in (bool, int, float, complex)
        ]
        dtype = np.result_type(*strong, *weak)
        return concatenate([cast(array, as_dtype(dtype)) for array in arrays], axis)

    def _array(self, item: Any, rank: int, place: int) -> Tensor:
        if isinstance(item, slice):
            x, own = _range_of(item), 1
        else:
            x = constant_of(as_array(item)) if isinstance(item, (int, float, complex)) else as_tensor(item)
            own = x.ndim
        if x.ndim == 0:
            return reshape(x, (1,) * max(rank, 1))
        if own >= rank:
            return x
        for _ in range(rank - own):
            x = expand_dims(x, 0)
        # the old axes begin at `place`, the new ones are around them
        order = list(range(rank))
        old, new = order[rank - own :], order[: rank - own]
        start = place if place >= 0 else rank - own + place + 1
        return run("transpose", x, perm=(*new[:start], *old, *new[start:]))

    def __repr__(self) -> str:
        return f"tj.{self._name}"


#: Coordinates of a dense grid, by slices: ``mgrid[0:3, 0:2]``. Semantics: ``numpy.mgrid``.
mgrid = _Grid(sparse=False)
#: Coordinates of a grid that broadcast to it. Semantics: ``numpy.ogrid``.
ogrid = _Grid(sparse=True)
#: Arrays, numbers and ranges joined along the first axis: ``r_[1:4, 0, x]``. Semantics: ``numpy.r_``.
r_ = _Joiner("r_", 0, 1, -1)
#: Arrays joined along the last axis, lines as columns: ``c_[x, y]``. Semantics: ``numpy.c_``.
c_ = _Joiner("c_", -1, 2, 0)
