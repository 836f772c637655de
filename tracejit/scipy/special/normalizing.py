"""Logarithms of sums of exponentials, and what is divided by such sums."""

from __future__ import annotations

import math
from typing import Any

from ...array import reductions, statistics
from ...array.aggregates.nan_aware import mask_of, masked
from ...array.operands import promoted, reshaped, run
from ...ir.dtypes import is_real_floating
from ...nn import activations
from ...tensors.tensor import Tensor
from .operands import floats


def logsumexp(
    a: Any,
    axis: Any = None,
    b: Any = None,
    keepdims: bool = False,
    return_sign: bool = False,
    *,
    where: Any = None,
) -> Any:
    """log(sum(b exp(a))) along `axis` without overflow; with `return_sign`, of the absolute value, and its
    sign, which of complex sums is that over its absolute value. Elements where `where` is false do not count.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.logsumexp([1000.0, 1000.0], b=[1.0, 3.0])
        tensor(1001.38629436)
        >>> tj.scipy.special.logsumexp([1.0, 2.0], where=[True, False])
        tensor(1.)

    Where a real sum is negative, the result is NaN unless `return_sign`. Semantics:
    ``scipy.special.logsumexp``; `where` is that of ``jax.scipy.special.logsumexp``.
    """
    (a,) = floats(a)
    if b is None and where is None and not return_sign:
        return statistics.logsumexp(a, axis, keepdims=keepdims)
    if b is not None:
        a, b = promoted(a, b)
        a = run("where", run("eq", b, 0.0), -math.inf, a)
    if where is not None:
        a = masked(a, mask_of("logsumexp", where, a), -math.inf)
    real = a.detach() if is_real_floating(a.dtype) else run("real", a.detach())
    largest = reductions.max(real, axis=axis, keepdims=True, initial=-math.inf)
    shift = run("where", run("isfinite", largest), largest, 0.0)
    powers = run("exp", a - shift)
    total = reductions.sum(powers if b is None else b * powers, axis=axis, keepdims=True)
    size = run("abs", total) if return_sign else total
    none = run("eq", size, 0.0)
    value = run("where", none, -math.inf, run("log", run("where", none, 1.0, size)) + shift)
    results = [value, run("sign", total)] if return_sign else [value]
    if not keepdims:
        shape = reductions.sum(a, axis=axis).shape
        results = [reshaped(result, shape) for result in results]
    return tuple(results) if return_sign else results[0]


def softmax(x: Any, axis: Any = None) -> Tensor:
    """exp(x) over its sum along `axis`, or over all elements.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.softmax([1000.0, 1000.0])
        tensor([0.5, 0.5])

    Semantics: ``scipy.special.softmax``.
    """
    return _normalized(activations.softmax, x, axis)


def log_softmax(x: Any, axis: Any = None) -> Tensor:
    """log(softmax(x)), also where that underflows.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.log_softmax([0.0, 1000.0])
        tensor([-1000.,     0.])

    Semantics: ``scipy.special.log_softmax``.
    """
    return _normalized(activations.log_softmax, x, axis)


def _normalized(function: Any, x: Any, axis: Any) -> Tensor:
    (x,) = floats(x)
    if isinstance(axis, int):
        result: Tensor = function(x, axis)
        return result
    if axis is not None and len(axis) != x.ndim:
        order = (
            *[i for i in range(x.ndim) if i not in {a % x.ndim for a in axis}],
            *[a % x.ndim for a in axis],
        )
        back = tuple(order.index(i) for i in range(x.ndim))
        moved = run("transpose", x, perm=order)
        flat = reshaped(moved, (*moved.shape[: x.ndim - len(axis)], _size(moved.shape, len(axis))))
        return run("transpose", reshaped(function(flat, -1), moved.shape), perm=back)
    return reshaped(function(reshaped(x, (x.size,)), 0), x.shape)


def _size(shape: tuple[int, ...], count: int) -> int:
    """Number of elements in the last `count` axes of `shape`."""
    return math.prod(shape[len(shape) - count :])
