"""Counts of small integers."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ...base.errors import DTypeError, ShapeError
from ...ir.dtypes import FLOAT64, INT64
from ...tensors.tensor import Tensor
from ..operands import as_tensor, cast, run


def bincount(x: Any, weights: Any = None, minlength: int = 0, *, length: int | None = None) -> Tensor:
    """Counts of each integer 0, 1, 2, ... in the line `x`, in int64; or the sums of the `weights` of
    the elements that are that integer, in float64.

    There are as many counts as the largest element asks for, and at least `minlength`. With `length` there
    are just so many, and larger elements are not counted. Compiled code needs to know how many there are:
    without `length` there are `minlength`, and larger elements are an error; without both, there is code for
    each largest element that calls have. Gradients go to `weights`.

    Example:
        >>> import tracejit as tj
        >>> tj.bincount([1, 3, 1])
        tensor([0, 2, 0, 1])
        >>> tj.jit(lambda x, w: tj.bincount(x, w, length=3))([1, 3, 1], [0.5, 1.0, 2.0])
        tensor([0. , 2.5, 0. ])

    Raises OutOfBoundsError for negative elements, and under a trace for those from `minlength` on,
    ShapeError unless `x` has rank 1 and `weights` its shape, DTypeError unless `x` holds integers, and
    ConcretizationError without `length` and `minlength` in traces that are no call's. Semantics:
    ``numpy.bincount``; `length` as in ``jax.numpy.bincount``.
    """
    least = operator.index(minlength)
    if least < 0:
        raise ShapeError(f"bincount: minlength must not be negative, got {least}")
    line = as_tensor(x)
    if line.ndim != 1:
        raise ShapeError(f"bincount: expected a line of rank 1, got shape {line.shape}")
    if not np.can_cast(line.dtype, INT64) and (line.size or isinstance(x, (Tensor, np.ndarray))):
        raise DTypeError(f"bincount: expected integers that fit int64, got {line.dtype.name}")
    line = cast(line, INT64)
    strict = length is None and least > 0 and line.is_traced
    if strict:
        length = least
    elif length is None:
        instead = "minlength=n if all are below n, or tj.bincount(x, length=n), which counts those that are"
        largest = line.max()._concrete("bincount(x)", instead, decides=True) if line.size else -1
        length = max(least, int(largest) + 1)
    operands = [line]
    if weights is not None:
        terms = as_tensor(weights)
        if terms.shape != line.shape:
            raise ShapeError(f"bincount: expected weights of shape {line.shape}, got {terms.shape}")
        if line.size:  # of nothing NumPy gives integers
            operands.append(cast(terms, FLOAT64))
    return run("bincount", *operands, length=operator.index(length), strict=strict)
