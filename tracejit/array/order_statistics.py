"""Order statistics: median, quantiles and percentiles, read off sorted lines.

NaN counts as larger than everything else, as in NumPy, so that the last element of a line tells whether
there is one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..eager.tensor import Tensor
from ..ir.dtypes import INT64, default_dtype, is_float, result_type
from ..ir.errors import DTypeError, ShapeError
from ..ir.graph import Value
from ..ir.types import Shape, normalize_axes
from .indexing.searching import take_along_axis
from .operands import (
    as_tensor,
    broadcast,
    cast,
    filled,
    holds_tensors,
    kind_of,
    permuted,
    reshaped,
    run,
    sliced,
)
from .reductions import averaged

__all__ = ["median", "percentile", "quantile"]


def median(x: Any, axis: Any = None, *, keepdims: bool = False) -> Tensor:
    """The middle element along `axis`, or the mean of the two middle ones; NaN of NaN and of nothing.

    Example:
        >>> import tracejit as tj
        >>> tj.median([3.0, 1.0, 4.0, 1.0])
        tensor(2.)

    Raises AxisError. Semantics: ``numpy.median``.
    """
    lines, axes, shape = _lines("median", averaged(x, None), axis)
    extent = lines.shape[-1]
    if extent == 0:
        return _reduced(filled(np.nan, lines.shape[:-1], lines.dtype), shape, axes, keepdims)
    ordered = run("sort", lines)
    low, high = [_picked(ordered, at) for at in ((extent - 1) // 2, extent // 2)]
    middle = low if extent % 2 else run("add", run("mul", low, 0.5), run("mul", high, 0.5))
    return _reduced(_with_nan(ordered, middle), shape, axes, keepdims)


def quantile(x: Any, q: Any, axis: Any = None, *, method: str = "linear", keepdims: bool = False) -> Tensor:
    """The value below which a part `q` (0 to 1) of the elements along `axis` lies; NaN where any is NaN.

    `q` may be an array, whose shape the result begins with. `method` says what to take where that falls
    between two elements: ``linear`` (between them, by how near), ``lower``, ``higher``, ``nearest`` (the even
    one at half) or ``midpoint``. Integers give floats where the method computes between elements, unless `q`
    is of integers, too. Gradients go to the two elements; by `q` there is one under ``linear``.

    Example:
        >>> import tracejit as tj
        >>> tj.quantile([1.0, 2.0, 3.0, 4.0], [0.0, 0.5])
        tensor([1.0000, 2.5000])

    Raises AxisError, and ShapeError for no elements or `q` outside of 0 to 1; where `q` is traced, that gives
    NaN, or the first or last of integers. Semantics: ``numpy.quantile``.
    """
    if _known_outside(q, 1):
        raise ShapeError("quantile: expected q between 0 and 1 (percentile takes 0 to 100)")
    x = as_tensor(x)
    return _quantiles("quantile", x, _shares(x, q), axis, method, keepdims)


def percentile(x: Any, q: Any, axis: Any = None, *, method: str = "linear", keepdims: bool = False) -> Tensor:
    """``quantile`` with `q` from 0 to 100.

    Example:
        >>> import tracejit as tj
        >>> tj.percentile([1.0, 2.0, 3.0, 4.0], 50)
        tensor(2.5000)

    Raises AxisError, and ShapeError for no elements or `q` outside of 0 to 100; where `q` is traced, that
    gives NaN, or the first or last of integers. Semantics: ``numpy.percentile``.
    """
    if _known_outside(q, 100):
        raise ShapeError("percentile: expected q between 0 and 100 (quantile takes 0 to 1)")
    x = as_tensor(x)
    share = run("div", averaged(_shares(x, q), None), 100.0)
    return _quantiles("percentile", x, share, axis, method, keepdims)


def _shares(x: Tensor, q: Any) -> Tensor:
    """`q` as a tensor; a Python number in the dtype of `x`, where that is floating."""
    shares = as_tensor(q)
    is_number = not isinstance(q, (list, tuple)) and isinstance(kind_of(q), type)
    return cast(shares, x.dtype) if is_number and is_float(x.dtype) else shares


def _known_outside(q: Any, most: int) -> bool:
    """Whether some of `q` is not between 0 and `most`, as far as that is known before the function runs."""
    if isinstance(q, Tensor) or holds_tensors(q):
        q = as_tensor(q)._data
        if isinstance(q, Value):
            return False
    numbers = np.asarray(q)
    return not bool(((numbers >= 0) & (numbers <= most)).all())


def _quantiles(name: str, x: Tensor, q: Tensor, axis: Any, method: str, keepdims: bool) -> Tensor:
    # integers stay what they are where no number between two of them is asked for
    is_whole = method == "linear" and not is_float(q.dtype)
    selects = method in ("lower", "higher", "nearest") or is_whole
    lines, axes, shape = _lines(name, x if selects else averaged(x, None), axis)
    if is_float(q.dtype) and not selects:
        lines = cast(lines, result_type(lines.dtype, q.dtype))
    extent, rank = lines.shape[-1], lines.ndim - 1
    if extent == 0:
        raise ShapeError(f"{name}: axis {axis} of {shape} has no elements")
    ordered = run("sort", lines)
    floats = is_float(lines.dtype)
    at = run("mul", cast(q, lines.dtype if floats else default_dtype()), float(extent - 1))
    low, high, weight = _between(name, at, method, extent)
    # the shape of q in front, a line of elements for each of its own
    column = (*q.shape, *(1,) * rank)
    flat = reshaped(ordered, (*(1,) * q.ndim, *ordered.shape))
    neighbours = [
        reshaped(
            take_along_axis(
                broadcast(flat, (*q.shape, *ordered.shape)),
                broadcast(reshaped(tensor, (*column, 1)), (*q.shape, *ordered.shape[:-1], 1)),
            ),
            (*q.shape, *ordered.shape[:-1]),
        )
        for tensor in (low, high)
    ]
    if not floats:
        return _reduced(neighbours[0], shape, axes, keepdims, q.shape)
    share = reshaped(weight, column)
    # nothing is between two equal elements, and infinite ones have no difference
    apart = run("ne", neighbours[0], neighbours[1])
    first, second = [run("where", apart, neighbour, 0.0) for neighbour in neighbours]
    mixed = run("add", neighbours[0], run("mul", run("sub", second, first), share))
    value = run("where", apart, mixed, neighbours[0])
    nan = run("isnan", _picked(ordered, extent - 1))
    if isinstance(q._data, Value):
        outside = run("logical_not", run("logical_and", run("ge", q, 0.0), run("le", q, 1.0)))
        nan = run("logical_or", nan, reshaped(outside, column))
    return _reduced(run("where", nan, np.nan, value), shape, axes, keepdims, q.shape)


def _between(name: str, at: Tensor, method: str, extent: int) -> tuple[Tensor, Tensor, Tensor]:
    """The two neighbours of the places `at`, and the weight of the second one."""
    below, above = run("floor", at), run("ceil", at)
    if method == "nearest":
        below = above = run("rint", at)
    elif method == "lower":
        above = below
    elif method == "higher":
        below = above
    elif method not in ("linear", "midpoint"):
        raise DTypeError(
            f"{name}: method must be 'linear', 'lower', 'higher', 'nearest' or 'midpoint', got {method!r}"
        )
    weight = filled(0.5, at.shape, at.dtype) if method == "midpoint" else run("sub", at, below)
    last = extent - 1
    low, high = [run("clip", cast(tensor.detach(), INT64), 0, last) for tensor in (below, above)]
    return low, high, weight


def _lines(name: str, x: Tensor, axis: Any) -> tuple[Tensor, Shape, Shape]:
    """`x` with `axis` (one, several or all) as its last one; those axes and the shape."""
    axes = normalize_axes(name, axis, x.ndim)
    kept = [number for number in range(x.ndim) if number not in axes]
    shape = tuple(x.shape[number] for number in kept)
    moved = permuted(x, (*kept, *axes))
    lines = reshaped(moved, (*shape, int(np.prod([x.shape[axis] for axis in axes], dtype=int))))
    return lines, axes, x.shape


def _picked(ordered: Tensor, at: int) -> Tensor:
    """Element `at` of each line."""
    return reshaped(sliced(ordered, ordered.ndim - 1, at, 1), ordered.shape[:-1])


def _with_nan(ordered: Tensor, value: Tensor) -> Tensor:
    """`value`, NaN where the line holds one: it is the last."""
    return run("where", run("isnan", _picked(ordered, ordered.shape[-1] - 1)), np.nan, value)


def _reduced(value: Tensor, shape: Shape, axes: Shape, keepdims: bool, front: Shape = ()) -> Tensor:
    if not keepdims:
        return value
    return reshaped(value, (*front, *(1 if i in axes else size for i, size in enumerate(shape))))
