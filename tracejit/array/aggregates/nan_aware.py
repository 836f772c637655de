"""Reductions that leave out NaN: extremes, products, running sums, variances and order statistics.

Of lines that hold nothing else the result is NaN, without NumPy's warning.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...eager.tensor import Tensor
from ...ir.dtypes import INT64, is_float
from ...ir.errors import DomainError, ShapeError
from ...ir.types import normalize_axes, remove_axes
from .. import cumulative, reductions
from ..indexing.searching import take_along_axis
from ..numpy_calls.options import write_out
from ..operands import as_tensor, broadcast, cast, filled, permuted, reshaped, run
from ..order_statistics import quantile
from ..reductions import averaged
from ..statistics import root
from .options import mask_of, masked, variance_of_selected

__all__ = [
    "nanargmax",
    "nanargmin",
    "nancumprod",
    "nancumsum",
    "nanmax",
    "nanmedian",
    "nanmin",
    "nanpercentile",
    "nanprod",
    "nanquantile",
    "nanstd",
    "nanvar",
]


def _extreme(name: str, x: Any, axis: Any, out: Any, keepdims: bool, initial: Any, where: Any) -> Tensor:
    x = as_tensor(x)
    if not is_float(x.dtype):
        return getattr(reductions, name)(x, axis, out, keepdims, initial, where)  # type: ignore[no-any-return]
    missing = run("isnan", x)
    chosen = masked(x, run("logical_not", missing), -math.inf if name == "max" else math.inf)
    result = getattr(reductions, name)(chosen, axis, None, keepdims, initial, where)
    if initial is None:
        none = reductions.all(missing, axis, None, keepdims, where)
        result = run("where", none, filled(math.nan, (), x.dtype), result)
    return result if out is None else write_out(f"nan{name}", out, result)  # type: ignore[no-any-return]


def nanmax(
    x: Any, axis: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True
) -> Tensor:
    """The largest element along `axis` that is not NaN.

    Example:
        >>> import tracejit as tj
        >>> tj.nanmax([1.0, float("nan"), 3.0])
        tensor(3.)

    Raises AxisError, and ShapeError for no elements. Semantics: ``numpy.nanmax``.
    """
    return _extreme("max", x, axis, out, keepdims, initial, where)


def nanmin(
    x: Any, axis: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True
) -> Tensor:
    """The smallest element along `axis` that is not NaN.

    Example:
        >>> import tracejit as tj
        >>> tj.nanmin([1.0, float("nan"), 3.0])
        tensor(1.)

    Raises AxisError, and ShapeError for no elements. Semantics: ``numpy.nanmin``.
    """
    return _extreme("min", x, axis, out, keepdims, initial, where)


def _replaced(x: Any, value: float) -> Tensor:
    x = as_tensor(x)
    return masked(x, run("logical_not", run("isnan", x)), value) if is_float(x.dtype) else x


def nanprod(
    x: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Tensor:
    """The product along `axis` with NaN as 1.

    Example:
        >>> import tracejit as tj
        >>> tj.nanprod([2.0, float("nan"), 3.0])
        tensor(6.)

    Raises AxisError. Semantics: ``numpy.nanprod``.
    """
    return reductions.prod(_replaced(x, 1.0), axis, dtype, out, keepdims, initial, where)


def _index(name: str, x: Any, axis: Any, keepdims: bool) -> Tensor:
    x = as_tensor(x)
    missing = run("isnan", x)
    if not x.is_traced:
        none = reductions.all(missing, axis)
        if np.any(none.detach().numpy()):
            raise DomainError(f"nan{name}: all elements along axis {axis} are NaN")
    chosen = _replaced(x, -math.inf if name == "argmax" else math.inf)
    return getattr(reductions, name)(chosen, axis, keepdims=keepdims)  # type: ignore[no-any-return]


def nanargmax(x: Any, axis: Any = None, *, keepdims: bool = False) -> Tensor:
    """The index along `axis` of the first largest element that is not NaN.

    Example:
        >>> import tracejit as tj
        >>> tj.nanargmax([1.0, float("nan"), 3.0])
        tensor(2)

    Raises AxisError, and DomainError where all are NaN; under a trace that gives 0. Semantics:
    ``numpy.nanargmax``.
    """
    return _index("argmax", x, axis, keepdims)


def nanargmin(x: Any, axis: Any = None, *, keepdims: bool = False) -> Tensor:
    """The index along `axis` of the first smallest element that is not NaN.

    Example:
        >>> import tracejit as tj
        >>> tj.nanargmin([1.0, float("nan"), 3.0])
        tensor(0)

    Raises AxisError, and DomainError where all are NaN; under a trace that gives 0. Semantics:
    ``numpy.nanargmin``.
    """
    return _index("argmin", x, axis, keepdims)


def nancumsum(x: Any, axis: Any = None, dtype: Any = None) -> Tensor:
    """Running sums along `axis` with NaN as 0.

    Example:
        >>> import tracejit as tj
        >>> tj.nancumsum([1.0, float("nan"), 3.0])
        tensor([1., 1., 4.])

    Raises AxisError. Semantics: ``numpy.nancumsum``.
    """
    return cumulative.cumsum(_replaced(x, 0.0), axis, dtype)


def nancumprod(x: Any, axis: Any = None, dtype: Any = None) -> Tensor:
    """Running products along `axis` with NaN as 1.

    Example:
        >>> import tracejit as tj
        >>> tj.nancumprod([2.0, float("nan"), 3.0])
        tensor([2., 2., 6.])

    Raises AxisError. Semantics: ``numpy.nancumprod``.
    """
    return cumulative.cumprod(_replaced(x, 1.0), axis, dtype)


def nanvar(
    x: Any,
    axis: Any = None,
    dtype: Any = None,
    *,
    ddof: float = 0,
    correction: float | None = None,
    keepdims: bool = False,
    where: Any = True,
    mean: Any = None,
) -> Tensor:
    """The variance along `axis` of the elements that are not NaN; NaN where there are `ddof` or fewer.

    Example:
        >>> import tracejit as tj
        >>> tj.nanvar([1.0, float("nan"), 3.0])
        tensor(1.)

    Raises AxisError. Semantics: ``numpy.nanvar``.
    """
    x = averaged(x, dtype)
    chosen = run("logical_not", run("isnan", x))
    if where is not True:
        chosen = run("logical_and", chosen, mask_of("nanvar", where, x))
    freedom = ddof if correction is None else correction
    value = variance_of_selected(masked(x, chosen, 0.0), axis, freedom, keepdims, chosen, mean)
    count = cast(reductions.sum(chosen, axis, keepdims=keepdims), x.dtype)
    return run("where", run("le", count, float(freedom)), filled(math.nan, (), x.dtype), value)


def nanstd(
    x: Any,
    axis: Any = None,
    dtype: Any = None,
    *,
    ddof: float = 0,
    correction: float | None = None,
    keepdims: bool = False,
    where: Any = True,
    mean: Any = None,
) -> Tensor:
    """The standard deviation along `axis` of the elements that are not NaN.

    Example:
        >>> import tracejit as tj
        >>> tj.nanstd([1.0, float("nan"), 3.0])
        tensor(1.)

    Raises AxisError. Semantics: ``numpy.nanstd``.
    """
    return root(
        nanvar(x, axis, dtype, ddof=ddof, correction=correction, keepdims=keepdims, where=where, mean=mean)
    )


def nanmedian(x: Any, axis: Any = None, *, keepdims: bool = False) -> Tensor:
    """The median along `axis` of the elements that are not NaN.

    Example:
        >>> import tracejit as tj
        >>> tj.nanmedian([1.0, float("nan"), 3.0])
        tensor(2.)

    Raises AxisError. Semantics: ``numpy.nanmedian``.
    """
    lines, axes, shape = _sorted_lines("nanmedian", averaged(x, None), axis)
    if lines.shape[-1] == 0:
        value = filled(math.nan, lines.shape[:-1], lines.dtype)
    else:
        count = _count(lines)
        low = run("floor_divide", run("maximum", run("sub", count, 1), 0), 2)
        first, second = _picked(lines, low), _picked(lines, run("floor_divide", count, 2))
        middle = run("add", run("mul", first, 0.5), run("mul", second, 0.5))
        value = run("where", run("eq", run("remainder", count, 2), 1), first, middle)
        value = run("where", run("eq", count, 0), filled(math.nan, (), lines.dtype), value)
    return reshaped(value, remove_axes(shape, axes, keepdims=True)) if keepdims else value


def nanquantile(
    x: Any, q: Any, axis: Any = None, *, method: str = "linear", keepdims: bool = False
) -> Tensor:
    """``quantile`` of the elements along `axis` that are not NaN.

    `method` is one of ``linear``, ``lower``, ``higher``, ``nearest`` and ``midpoint``.

    Example:
        >>> import tracejit as tj
        >>> tj.nanquantile([1.0, float("nan"), 3.0], [0.0, 0.5])
        tensor([1., 2.])

    Raises AxisError, and ShapeError for `q` outside of 0 to 1. Semantics: ``numpy.nanquantile``.
    """
    return _quantile("nanquantile", x, q, 1.0, axis, method, keepdims)


def nanpercentile(
    x: Any, q: Any, axis: Any = None, *, method: str = "linear", keepdims: bool = False
) -> Tensor:
    """``nanquantile`` with `q` from 0 to 100.

    Example:
        >>> import tracejit as tj
        >>> tj.nanpercentile([1.0, float("nan"), 3.0], 50)
        tensor(2.)

    Raises AxisError, and ShapeError for `q` outside of 0 to 100. Semantics: ``numpy.nanpercentile``.
    """
    return _quantile("nanpercentile", x, q, 100.0, axis, method, keepdims)


def _sorted_lines(name: str, x: Tensor, axis: Any) -> tuple[Tensor, tuple[int, ...], tuple[int, ...]]:
    """`x` with `axis` (one, several or all) as its last one, sorted; those axes and the shape."""
    axes = normalize_axes(name, axis, x.ndim)
    rest = [place for place in range(x.ndim) if place not in axes]
    moved = permuted(x, (*rest, *axes))
    extent = math.prod(x.shape[place] for place in axes)
    lines = reshaped(moved, (*(x.shape[place] for place in rest), extent))
    return run("sort", lines), axes, x.shape


def _count(lines: Tensor) -> Tensor:
    """How many elements of each line are not NaN."""
    return reductions.sum(run("logical_not", run("isnan", lines)), -1)


def _picked(lines: Tensor, places: Tensor) -> Tensor:
    """The element of each line at its place of `places`, limited to the line."""
    bounded = run("clip", cast(places, INT64), 0, lines.shape[-1] - 1)
    return reshaped(take_along_axis(lines, reshaped(bounded, (*bounded.shape, 1)), -1), bounded.shape)


def _quantile(name: str, x: Any, q: Any, most: float, axis: Any, method: str, keepdims: bool) -> Tensor:
    shares = as_tensor(q)
    if not shares.is_traced and not bool(
        np.all((shares.detach().numpy() >= 0) & (shares.detach().numpy() <= most))
    ):
        raise ShapeError(f"{name}: expected q between 0 and {most:g}")
    x = as_tensor(x)
    shares = run("div", averaged(shares, None), most) if most != 1.0 else averaged(shares, None)
    if not is_float(x.dtype):
        return quantile(x, shares, axis, method=method, keepdims=keepdims)
    if isinstance(q, (int, float)):
        shares = cast(shares, x.dtype)
    lines, axes, shape = _sorted_lines(name, x, axis)
    if lines.shape[-1] == 0:
        raise ShapeError(f"{name}: axis {axis} of {shape} has no elements")
    if method not in ("linear", "lower", "higher", "nearest", "midpoint"):
        raise DomainError(
            f"{name}: method must be 'linear', 'lower', 'higher', 'nearest' or 'midpoint', got {method!r}"
        )
    count = _count(lines)
    column = reshaped(shares, (*shares.shape, *[1] * count.ndim))
    last = cast(run("maximum", run("sub", count, 1), 0), column.dtype)
    at = run("mul", column, last)
    below, above = run("floor", at), run("ceil", at)
    if method == "nearest":
        below = above = run("rint", at)
    elif method == "lower":
        above = below
    elif method == "higher":
        below = above
    spread = broadcast(reshaped(lines, (*[1] * shares.ndim, *lines.shape)), (*shares.shape, *lines.shape))
    first, second = [
        _picked(spread, broadcast(place.detach(), spread.shape[:-1])) for place in (below, above)
    ]
    weight = 0.5 if method == "midpoint" else run("sub", at, below.detach())
    apart = run("ne", first, second)
    gap = run("sub", run("where", apart, second, 0.0), run("where", apart, first, 0.0))
    value = run("where", apart, run("add", first, run("mul", gap, weight)), first)
    value = run("where", run("eq", count, 0), filled(math.nan, (), value.dtype), value)
    if not keepdims:
        return value
    return reshaped(value, (*shares.shape, *remove_axes(shape, axes, keepdims=True)))
