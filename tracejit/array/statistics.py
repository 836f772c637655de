"""Reductions composed of several ops: variance, means with weights, log-sum-exp, ranges, counts, the norm."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..base.errors import DomainError, ShapeError
from ..ir.dtypes import BOOL, accumulated_in, is_real_floating, real_dtype
from ..ir.types import Shape, normalize_axes, normalize_axis
from ..provided import NAN_AWARE
from ..tensors.tensor import Tensor
from . import reductions
from .operands import (
    as_tensor,
    broadcast,
    cast,
    filled,
    floating,
    is_everywhere,
    permuted,
    promoted,
    reshaped,
    run,
    squared_size,
    write_out,
)
from .reducing import averaged, kept
from .reductions import mean, sum


def var(
    x: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Any = True,
    mean: Any = None,
    correction: float | None = None,
) -> Tensor:
    """The variance along `axis`: the squared distances from the mean, summed, over (count - `ddof`).

    `correction` is the Array API's name for `ddof`. NaN or inf where count <= `ddof`. Elements for which
    `where` is false are left out; `mean` is the mean with its axes kept, where that is known already.

    Example:
        >>> import tracejit as tj
        >>> tj.var([1.0, 2.0, 3.0, 4.0], ddof=1)
        tensor(1.66666667)

    Raises AxisError. Semantics: ``numpy.var``.
    """
    x = averaged(x, dtype)
    wide = cast(x, accumulated_in(x.dtype))
    variance = _variance(wide, axis, freedom_of("var", ddof, correction), keepdims, where, mean)
    result = cast(variance, real_dtype(x.dtype))
    return result if out is None else write_out("var", out, result)


def freedom_of(name: str, ddof: float, correction: float | None) -> float:
    """`ddof`, or `correction`, its other name. Raises DomainError where both are there."""
    if correction is None:
        return ddof
    if ddof:
        raise DomainError(f"{name}: ddof={ddof!r} and correction={correction!r} are one argument")
    return correction


def _variance(x: Tensor, axis: Any, ddof: float, keepdims: bool, where: Any, mean: Any) -> Tensor:
    if not is_everywhere(where) or mean is not None:
        options = NAN_AWARE()
        return options.variance_of_selected(x, axis, ddof, keepdims, where, mean)  # type: ignore[no-any-return]
    axes = normalize_axes("var", axis, x.ndim)
    centred = run("sub", x, reductions.mean(x, axes, keepdims=True))
    total = run("sum", squared_size(centred), axes=axes)
    count = math.prod(x.shape[axis] for axis in axes) - ddof
    return kept(run("div", total, float(max(count, 0))), x.shape, axes, keepdims)


def std(
    x: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Any = True,
    mean: Any = None,
    correction: float | None = None,
) -> Tensor:
    """The standard deviation along `axis`, the square root of ``var``.

    Where the variance is zero the gradient is zero (the subgradient that PyTorch takes), not NaN.

    Example:
        >>> import tracejit as tj
        >>> tj.std([1.0, 2.0, 3.0, 4.0])
        tensor(1.11803399)

    Raises AxisError. Semantics: ``numpy.std``.
    """
    x = averaged(x, dtype)
    wide = cast(x, accumulated_in(x.dtype))
    variance = _variance(wide, axis, freedom_of("std", ddof, correction), keepdims, where, mean)
    result = cast(root(variance), real_dtype(x.dtype))
    return result if out is None else write_out("std", out, result)


def root(x: Tensor) -> Tensor:
    """The square root with slope 0 at 0, where that of ``sqrt`` is infinite."""
    zero = run("eq", x, 0.0)
    return run("where", zero, 0.0, run("sqrt", run("where", zero, 1.0, x)))


def euclidean_norm(x: Any) -> Tensor:
    """The square root of the sum of all squares; its gradient at 0 is 0, as in PyTorch."""
    x = floating(x)
    return run("vector_norm", x, axes=tuple(range(x.ndim)), ord=2)


def average(
    x: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False
) -> Any:
    """The mean along `axis`, weighted by `weights` of the shape of `x`, or of the axes that `axis` names.

    With `returned`, gives (average, sum of the weights).

    Example:
        >>> import tracejit as tj
        >>> tj.average([1.0, 2.0, 3.0], weights=[3.0, 0.0, 1.0])
        tensor(1.5)

    Raises AxisError, and ShapeError for weights that do not fit. Semantics: ``numpy.average``.
    """
    if weights is None:
        x = averaged(x, None)
        result = mean(x, axis, keepdims=keepdims)
        total = filled(x.size / max(result.size, 1), result.shape, result.dtype)
        return (result, total) if returned else result
    x, weights = promoted(averaged(x, None), as_tensor(weights))
    normalize_axes("average", axis, x.ndim)
    if weights.shape != x.shape:
        weights = _weights_along(weights, x.shape, axis)
    total = sum(weights, axis, keepdims=keepdims)
    result = run("div", sum(run("mul", x, weights), axis, keepdims=keepdims), total)
    return (result, total) if returned else result


def _weights_along(weights: Tensor, shape: Shape, axis: Any) -> Tensor:
    """`weights`, whose axes are those that `axis` names of `shape`, in its order, broadcast to `shape`."""
    names = axis if isinstance(axis, (tuple, list)) else (axis,)
    places = [] if axis is None else [normalize_axis("average", name, len(shape)) for name in names]
    if weights.shape != tuple(shape[place] for place in places):
        raise ShapeError(f"average: weights of shape {weights.shape} do not fit {shape} along axis {axis}")
    ordered = permuted(weights, [int(place) for place in np.argsort(places)])
    sizes = tuple(size if place in places else 1 for place, size in enumerate(shape))
    return broadcast(reshaped(ordered, sizes), shape)


def logsumexp(x: Any, axis: Any = None, *, keepdims: bool = False) -> Tensor:
    """log(sum(exp(x))) along `axis` without overflow; -inf of nothing and where all elements are -inf.

    The gradient is softmax(x); it is 0 where all elements are -inf, and NaN at elements that are +inf.

    Example:
        >>> import tracejit as tj
        >>> tj.logsumexp([1000.0, 1000.0])
        tensor(1000.69314718)

    Raises AxisError. Semantics: ``scipy.special.logsumexp``.
    """
    x = floating(x)
    axes = normalize_axes("logsumexp", axis, x.ndim)
    if math.prod(x.shape[axis] for axis in axes) == 0:
        shape = kept(run("sum", x, axes=axes), x.shape, axes, keepdims).shape
        return filled(-math.inf, shape, x.dtype)
    # Any finite shift gives the same result, so none of it needs a gradient. An infinite one would give NaN,
    # and a complex one another branch of the logarithm.
    limits = np.finfo(x.dtype)
    size = x.detach() if is_real_floating(x.dtype) else run("real", x.detach())
    largest = kept(run("max", size, axes=axes), x.shape, axes, True)
    shift = run("clip", largest, float(limits.min), float(limits.max))
    total = run("sum", run("exp", run("sub", x, shift)), axes=axes)
    none = run("eq", total, 0.0)
    logarithm = run("log", run("where", none, 1.0, total))
    shifted = run("add", logarithm, reshaped(shift, total.shape))
    return kept(run("where", none, -math.inf, shifted), x.shape, axes, keepdims)


def ptp(x: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Tensor:
    """The largest minus the smallest element along `axis`.

    Example:
        >>> import tracejit as tj
        >>> tj.ptp([3, 1, 7])
        tensor(6)

    Raises AxisError, and ShapeError for no elements. Semantics: ``numpy.ptp``.
    """
    x = as_tensor(x)
    result = run("sub", *(f(x, axis, keepdims=keepdims) for f in (reductions.max, reductions.min)))
    return result if out is None else write_out("ptp", out, result)


def count_nonzero(x: Any, axis: Any = None, *, keepdims: bool = False) -> Tensor:
    """The number of elements along `axis` that are not zero, in int64.

    Example:
        >>> import tracejit as tj
        >>> tj.count_nonzero([0, 1, 7, 0])
        tensor(2)

    Raises AxisError. Semantics: ``numpy.count_nonzero``.
    """
    return sum(cast(as_tensor(x), BOOL), axis, keepdims=bool(keepdims))
