"""``autograd.scipy.signal``: convolutions along some axes, with products summed along others."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from ....array.assembly.padding import pad
from ....array.contraction import tensordot
from ....array.manipulation import moveaxis, reshape
from ....array.operands import as_tensor
from ....array.rearranging import flip
from ....base.errors import DomainError, ShapeError
from ....nn import conv1d, conv2d
from ....tensors.tensor import Tensor
from ..arrays import for_arrays

__all__ = ["convolve"]

Axes = Sequence[Sequence[int]]


@for_arrays
def convolve(
    A: Any, B: Any, axes: Axes | None = None, dot_axes: Axes | None = None, mode: str = "full"
) -> Tensor:
    """The convolution of two arrays along `axes`, a list of axes for each of them; by default along all.

    Products are summed along `dot_axes`, pairs of axes as well. The result has the other axes of `A`, those
    of `B`, and the convolved ones: with `mode` ``full`` wherever the arrays overlap, with ``valid`` where one
    lies within the other, with ``same`` as many as `A` has, from the middle.

    Example:
        >>> import numpy as np
        >>> from tracejit.compat.autograd.scipy.signal import convolve
        >>> convolve(np.array([1.0, 2.0, 3.0]), np.array([0.0, 1.0, 0.5]))
        array([0. , 1. , 2.5, 4. , 1.5])

    Raises DomainError for another mode, ShapeError where neither array lies within the other. Semantics:
    ``autograd.scipy.signal.convolve``.
    """
    if mode not in ("full", "valid", "same"):
        raise DomainError(f'convolve: mode must be "full", "valid" or "same", got {mode!r}')
    x, y = as_tensor(A), as_tensor(B)
    along = axes if axes is not None else (range(x.ndim), range(y.ndim))
    summed = dot_axes if dot_axes is not None else ((), ())
    rank = len(along[0])
    if len(along[1]) != rank or len(summed[0]) != len(summed[1]):
        raise ShapeError(f"convolve: axes {axes} and dot_axes {dot_axes} must be pairs of equally many axes")
    images, others_of_x = _grouped(x, along[0], summed[0])
    kernels, others_of_y = _grouped(y, along[1], summed[1])
    result = _convolved(images, kernels, rank, mode)
    return reshape(result, (*others_of_x, *others_of_y, *result.shape[2:]))


def _grouped(x: Tensor, along: Sequence[int], summed: Sequence[int]) -> tuple[Tensor, tuple[int, ...]]:
    """`x` as (others, summed, *along), where the others and the summed axes are one each; and the others."""
    named = [axis % x.ndim for axis in (*summed, *along)]
    others = [axis for axis in range(x.ndim) if axis not in named]
    moved = moveaxis(x, (*others, *named), tuple(range(x.ndim)))
    start = len(others) + len(summed)
    return reshape(moved, (*_sizes(x, others), *_sizes(x, named[: len(summed)]), *moved.shape[start:])), (
        tuple([x.shape[axis] for axis in others])
    )


def _sizes(x: Tensor, axes: Sequence[int]) -> tuple[int]:
    size = 1
    for axis in axes:
        size *= x.shape[axis]
    return (size,)


def _convolved(x: Tensor, y: Tensor, rank: int, mode: str) -> Tensor:
    """The convolution of `x`, (N, D, *sizes), with `y`, (M, D, *sizes), as (N, M, *sizes)."""
    larger, smaller = x.shape[2:], y.shape[2:]
    if any(a < b for a, b in zip(larger, smaller, strict=True)):
        if mode == "valid" and any(a > b for a, b in zip(larger, smaller, strict=True)):
            raise ShapeError(f"convolve: neither of the shapes {larger} and {smaller} lies within the other")
        if mode == "valid":
            return moveaxis(_convolved(y, x, rank, mode), 0, 1)
    if mode == "full":
        x = pad(x, [(0, 0), (0, 0), *[(size - 1, size - 1) for size in smaller]])
    elif mode == "same":
        x = pad(x, [(0, 0), (0, 0), *[(size - 1 - (size - 1) // 2, (size - 1) // 2) for size in smaller]])
    flipped = flip(y, tuple(range(2, 2 + rank)))
    if rank == 1:
        return conv1d(x, flipped)
    return conv2d(x, flipped) if rank == 2 else _by_elements(x, flipped, rank)


def _by_elements(x: Tensor, kernels: Tensor, rank: int) -> Tensor:
    """The cross-correlation along any number of axes: a product per element of the kernels."""
    sizes = [a - b + 1 for a, b in zip(x.shape[2:], kernels.shape[2:], strict=True)]
    total: Any = 0.0
    for place in itertools.product(*map(range, kernels.shape[2:])):
        window = x[(..., *[slice(start, start + size) for start, size in zip(place, sizes, strict=True)])]
        total = total + moveaxis(tensordot(kernels[(..., *place)], window, axes=((1,), (1,))), 0, 1)
    return as_tensor(total)
