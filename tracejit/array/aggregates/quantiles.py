"""Medians, quantiles and percentiles, of all elements or of those that are not NaN, read off sorted lines.

NaN counts as larger than everything else, as in NumPy, so that the last element of a line tells whether
there is one.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...base.errors import DomainError, ShapeError
from ...ir.dtypes import FLOAT64, is_real_floating, result_type
from ...ir.graph import Value
from ...ir.types import Shape, normalize_axes
from ...tensors.tensor import Tensor
from .. import reductions
from ..cumulative import cumsum
from ..indexing.taking import take, take_along_axis
from ..numpy_calls.options import write_out
from ..operands import (
    as_tensor,
    broadcast,
    cast,
    filled,
    holds_tensors,
    kind_of,
    permuted,
    require_real,
    reshaped,
    run,
    sliced,
)
from ..reducing import averaged
from .nan_aware import warn_of_nothing
from .quantile_methods import SELECTING, check_method, places, selects


def median(
    x: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: bool = False
) -> Tensor:
    """The middle element along `axis`, or the mean of the two middle ones; NaN of NaN and of nothing.

    `x` is never overwritten; `overwrite_input` is taken for NumPy's sake.

    Example:
        >>> import tracejit as tj
        >>> tj.median([3.0, 1.0, 4.0, 1.0])
        tensor(2.)

    Raises AxisError. Semantics: ``numpy.median``.
    """
    lines, axes, shape = _lines("median", averaged(x, None), axis)
    extent = lines.shape[-1]
    if extent == 0:
        value = filled(np.nan, lines.shape[:-1], lines.dtype)
    else:
        ordered = run("sort", lines)
        low, high = [_element(ordered, at) for at in ((extent - 1) // 2, extent // 2)]
        middle = low if extent % 2 else run("add", run("mul", low, 0.5), run("mul", high, 0.5))
        value = run("where", run("isnan", _element(ordered, extent - 1)), np.nan, middle)
    return _result("median", value, out, shape, axes, keepdims)


def nanmedian(
    x: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: bool = False
) -> Tensor:
    """The median along `axis` of the elements that are not NaN.

    Example:
        >>> import tracejit as tj
        >>> tj.nanmedian([1.0, float("nan"), 3.0])
        tensor(2.)

    Raises AxisError. Semantics: ``numpy.nanmedian``.
    """
    lines, axes, shape = _lines("nanmedian", averaged(x, None), axis)
    if lines.shape[-1] == 0:
        value = filled(math.nan, lines.shape[:-1], lines.dtype)
    else:
        lines = run("sort", lines)
        count = _count(lines)
        low = run("floor_divide", run("maximum", run("sub", count, 1), 0), 2)
        high = run("minimum", run("floor_divide", count, 2), lines.shape[-1] - 1)
        first, second = _of_each_line(lines, low), _of_each_line(lines, high)
        middle = run("add", run("mul", first, 0.5), run("mul", second, 0.5))
        value = run("where", run("eq", run("remainder", count, 2), 1), first, middle)
        nothing = run("eq", count, 0)
        warn_of_nothing(nothing, "All-NaN slice encountered")
        value = run("where", nothing, filled(math.nan, (), lines.dtype), value)
    return _result("nanmedian", value, out, shape, axes, keepdims)


def quantile(
    x: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Tensor:
    """The value below which a part `q` (0 to 1) of the elements along `axis` lies; NaN where any is NaN.

    `q` may be an array, whose shape the result begins with. `method` says what to take where that falls
    between two elements: ``linear`` interpolates by how near they are, as ``interpolated_inverted_cdf``,
    ``hazen``, ``weibull``, ``median_unbiased`` and ``normal_unbiased`` do with other definitions of the
    place; ``lower``, ``higher``, ``nearest`` (the even one at half), ``inverted_cdf`` and
    ``closest_observation`` take one of them; ``midpoint`` and ``averaged_inverted_cdf`` their mean. With
    ``inverted_cdf``, elements may have `weights`, in the shape of `x` or of `axis`. Integers give floats
    where the method computes between elements, unless `q` is of integers, too.

    Gradients go to the elements that are taken; by `q` there is one where the method interpolates.

    Example:
        >>> import tracejit as tj
        >>> tj.quantile([1.0, 2.0, 3.0, 4.0], [0.0, 0.5])
        tensor([1. , 2.5])
        >>> tj.quantile([1.0, 2.0, 3.0, 4.0], 0.4, method="weibull")
        tensor(2.)

    Raises AxisError, ShapeError for no elements or `q` outside of 0 to 1, and DomainError for another method
    or weights that are negative or all zero; where `q` is traced, outside gives NaN, or the first or last of
    integers. Semantics: ``numpy.quantile``.
    """
    value = _quantiles("quantile", x, _shares("quantile", q), axis, method, weights, keepdims)
    return value if out is None else write_out("quantile", out, value)


def percentile(
    x: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Tensor:
    """``quantile`` with `q` from 0 to 100.

    Example:
        >>> import tracejit as tj
        >>> tj.percentile([1.0, 2.0, 3.0, 4.0], 50)
        tensor(2.5)

    Raises what ``quantile`` raises. Semantics: ``numpy.percentile``.
    """
    value = _quantiles("percentile", x, _percents("percentile", q), axis, method, weights, keepdims)
    return value if out is None else write_out("percentile", out, value)


def nanquantile(
    x: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Tensor:
    """``quantile`` of the elements along `axis` that are not NaN; NaN where all are.

    Example:
        >>> import tracejit as tj
        >>> tj.nanquantile([1.0, float("nan"), 3.0], [0.0, 0.5])
        tensor([1., 2.])

    Raises what ``quantile`` raises. Semantics: ``numpy.nanquantile``.
    """
    value = _quantiles("nanquantile", x, _shares("nanquantile", q), axis, method, weights, keepdims)
    return value if out is None else write_out("nanquantile", out, value)


def nanpercentile(
    x: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Tensor:
    """``nanquantile`` with `q` from 0 to 100.

    Example:
        >>> import tracejit as tj
        >>> tj.nanpercentile([1.0, float("nan"), 3.0], 50)
        tensor(2.)

    Raises what ``quantile`` raises. Semantics: ``numpy.nanpercentile``.
    """
    value = _quantiles("nanpercentile", x, _percents("nanpercentile", q), axis, method, weights, keepdims)
    return value if out is None else write_out("nanpercentile", out, value)


def _shares(name: str, q: Any) -> tuple[Tensor, bool]:
    """`q` as a tensor, and whether it is a Python number, which leaves the dtype of the result alone."""
    if _known_outside(q, 1):
        raise ShapeError(f"{name}: expected q between 0 and 1 (percentile takes 0 to 100)")
    return _numbers(q)


def _percents(name: str, q: Any) -> tuple[Tensor, bool]:
    """`q` from 0 to 100 as parts of 1; see ``_shares``."""
    if _known_outside(q, 100):
        raise ShapeError(f"{name}: expected q between 0 and 100 (quantile takes 0 to 1)")
    numbers, weak = _numbers(q)
    return run("div", numbers if is_real_floating(numbers.dtype) else cast(numbers, FLOAT64), 100.0), weak


def _numbers(q: Any) -> tuple[Tensor, bool]:
    numbers, weak = as_tensor(q), _is_number(q)
    return cast(numbers, FLOAT64) if weak and is_real_floating(numbers.dtype) else numbers, weak


def _is_number(q: Any) -> bool:
    return not isinstance(q, (list, tuple)) and isinstance(kind_of(q), type)


def _known_outside(q: Any, most: int) -> bool:
    """Whether some of `q` is not between 0 and `most`, as far as that is known before the function runs."""
    if isinstance(q, Tensor) or holds_tensors(q):
        q = as_tensor(q)._data
        if isinstance(q, Value):
            return False
    numbers = np.asarray(q)
    return not bool(((numbers >= 0) & (numbers <= most)).all())


def _quantiles(
    name: str, x: Any, shares: tuple[Tensor, bool], axis: Any, method: str, weights: Any, keepdims: bool
) -> Tensor:
    x, (q, weak) = as_tensor(x), shares
    require_real(name, x)
    check_method(name, method)
    if weights is not None and method != "inverted_cdf":
        raise DomainError(f"{name}: weights= needs method='inverted_cdf', got method={method!r}")
    whole = selects(method, q, weak)
    lines, axes, shape = _lines(name, x if whole else averaged(x, None), axis)
    extent, rank = lines.shape[-1], lines.ndim - 1
    if extent == 0:
        raise ShapeError(f"{name}: axis {axis} of {shape} has no elements")
    skips = name.startswith("nan") and is_real_floating(lines.dtype)
    parts = q if is_real_floating(q.dtype) else cast(q, FLOAT64)
    column = reshaped(parts, (*q.shape, *(1,) * rank))
    if weights is not None:
        value, ordered = _weighted(name, lines, _line_weights(name, weights, x, axis), column, skips)
    else:
        ordered = run("sort", lines)
        value = _unweighted(method, ordered, parts if not skips else column, whole, weak, skips)
    if is_real_floating(lines.dtype):
        if skips:
            nan = run("isnan", _element(ordered, 0))
            warn_of_nothing(nan, "All-NaN slice encountered")
        else:
            nan = run("isnan", _element(ordered, extent - 1))
        if isinstance(q._data, Value):
            outside = run("logical_not", run("logical_and", run("ge", column, 0.0), run("le", column, 1.0)))
            nan = run("logical_or", nan, outside)
        value = run("where", nan, np.nan, value)
    if whole and not weak and method not in ("linear", *SELECTING):
        value = cast(value, result_type(value.dtype, q.dtype))
    return _kept(value, shape, axes, keepdims, q.shape)


def _unweighted(method: str, ordered: Tensor, q: Tensor, whole: bool, weak: bool, skips: bool) -> Tensor:
    """The quantiles of sorted lines; of the elements that are not NaN, with `q` as a column, if `skips`."""
    extent, fronts = ordered.shape[-1], q.ndim - (ordered.ndim - 1 if skips else 0)
    below, above, share = places(method, _count(ordered) if skips else extent, q)
    if skips:
        shape = (*q.shape[:fronts], *ordered.shape)
        spread = broadcast(reshaped(ordered, (*(1,) * fronts, *ordered.shape)), shape)
        first, second = [_of_each_line(spread, broadcast(place, shape[:-1])) for place in (below, above)]
    else:
        order = (*range(ordered.ndim - 1, ordered.ndim - 1 + fronts), *range(ordered.ndim - 1))
        first = permuted(take(ordered, below, -1), order)
        second = first if share is None else permuted(take(ordered, above, -1), order)
        if share is not None:
            share = reshaped(share, (*q.shape, *(1,) * (ordered.ndim - 1)))
    if share is None or whole:
        return first
    if weak:
        share = cast(share, ordered.dtype)
    # nothing is between two equal elements, and infinite ones have no difference
    apart = run("logical_and", run("ne", first, second), run("ne", share, 0.0))
    low, high = [run("where", apart, neighbour, 0.0) for neighbour in (first, second)]
    gap = run("sub", high, low)
    near_high = run("sub", high, run("mul", gap, run("sub", 1.0, share)))
    near_low = run("add", low, run("mul", gap, share))
    return run("where", apart, run("where", run("ge", share, 0.5), near_high, near_low), first)


def _line_weights(name: str, weights: Any, x: Tensor, axis: Any) -> Tensor:
    """`weights` as lines along `axis`, as `_lines` gives those of `x`."""
    values = as_tensor(weights).detach()
    if values.shape != x.shape:
        axes = normalize_axes(name, axis, x.ndim)
        expected = tuple(x.shape[place] for place in axes)
        if axis is None or values.shape != expected:
            raise ShapeError(f"{name}: expected weights of shape {x.shape} or of axis, got {values.shape}")
        order = np.argsort(axes).tolist()
        sides = tuple(size if place in axes else 1 for place, size in enumerate(x.shape))
        values = broadcast(reshaped(permuted(values, order), sides), x.shape)
    if not values.is_traced:
        numbers = values.numpy()
        if np.any(numbers < 0):
            raise DomainError(f"{name}: weights must not be negative")
        if not np.all(np.isfinite(numbers)):
            raise DomainError(f"{name}: weights must be finite")
    return cast(_lines(name, values, axis)[0], FLOAT64)


def _weighted(name: str, lines: Tensor, weights: Tensor, q: Tensor, skips: bool) -> tuple[Tensor, Tensor]:
    """The elements at which the sum of `weights` of sorted elements reaches the part `q` of all; and the
    sorted lines."""
    if skips:
        weights = run("where", run("isnan", lines.detach()), 0.0, weights)
    order = run("argsort", lines.detach())
    ordered, weights = take_along_axis(lines, order, -1), take_along_axis(weights, order, -1)
    sums = cumsum(weights, -1)
    total = sliced(sums, sums.ndim - 1, sums.shape[-1] - 1, 1)
    empty = run("eq", total, 0.0)
    some = run("logical_not", run("isnan", sliced(ordered, ordered.ndim - 1, 0, 1))) if skips else True
    if not empty.is_traced and np.any(run("logical_and", empty, some).detach().numpy()):
        raise DomainError(f"{name}: weights must not be all zero")
    shares = cast(run("div", sums, run("where", empty, 1.0, total)), q.dtype)
    shares = run("where", run("eq", shares, 0.0), -1.0, shares)  # elements without weight are not the first
    spread = reshaped(shares, (*(1,) * (q.ndim - lines.ndim + 1), *shares.shape))
    before = reductions.sum(run("lt", spread, reshaped(q, (*q.shape, 1))), -1)
    place = run("minimum", before, lines.shape[-1] - 1)
    shape = (*place.shape, lines.shape[-1])
    value = _of_each_line(
        broadcast(reshaped(ordered, (*(1,) * (len(shape) - ordered.ndim), *ordered.shape)), shape), place
    )
    return value, ordered


def _lines(name: str, x: Tensor, axis: Any) -> tuple[Tensor, Shape, Shape]:
    """`x` with `axis` (one, several or all) as its last one; those axes and the shape."""
    axes = normalize_axes(name, axis, x.ndim)
    rest = [place for place in range(x.ndim) if place not in axes]
    moved = permuted(x, (*rest, *axes))
    extent = math.prod(x.shape[place] for place in axes)
    return reshaped(moved, (*(x.shape[place] for place in rest), extent)), axes, x.shape


def _count(lines: Tensor) -> Tensor:
    """Number of elements of each line that are not NaN."""
    return reductions.sum(run("logical_not", run("isnan", lines.detach())), -1)


def _element(lines: Tensor, place: int) -> Tensor:
    """Element `place` of each line."""
    return reshaped(sliced(lines, lines.ndim - 1, place, 1), lines.shape[:-1])


def _of_each_line(lines: Tensor, places: Tensor) -> Tensor:
    """The element of each line at its own place of `places`."""
    return reshaped(take_along_axis(lines, reshaped(places, (*places.shape, 1)), -1), places.shape)


def _result(name: str, value: Tensor, out: Any, shape: Shape, axes: Shape, keepdims: bool) -> Tensor:
    value = _kept(value, shape, axes, keepdims)
    return value if out is None else write_out(name, out, value)


def _kept(value: Tensor, shape: Shape, axes: Shape, keepdims: bool, front: Shape = ()) -> Tensor:
    if not keepdims:
        return value
    return reshaped(value, (*front, *(1 if place in axes else size for place, size in enumerate(shape))))
