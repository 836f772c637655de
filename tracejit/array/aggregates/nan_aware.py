"""Reductions that leave out NaN: extremes, products, running sums and variances. Order statistics are in
``quantiles``.

Of lines that hold nothing else the result is NaN, with NumPy's warning where values are known.
"""

from __future__ import annotations

import math
import warnings
from typing import Any, Final

import numpy as np

from ...base.errors import DomainError, DTypeError, ShapeError
from ...base.user_code import user_stacklevel
from ...ir.dtypes import BOOL, accumulated_in, as_dtype, is_inexact, real_dtype
from ...ir.types import broadcast_shapes, normalize_axes
from ...tensors.tensor import Tensor
from .. import cumulative, reductions
from ..numpy_calls.options import write_out
from ..operands import (
    as_tensor,
    broadcast,
    cast,
    choice,
    filled,
    is_everywhere,
    reshaped,
    run,
    scalar_of,
    squared_size,
)
from ..reducing import accumulated, averaged
from ..statistics import freedom_of, root

#: Values that replace the elements that ``where=`` leaves out.
_IDENTITIES: Final[dict[str, Any]] = {"sum": 0, "prod": 1, "all": True, "any": False}
#: The function of a result and the initial value.
_COMBINING: Final = {"sum": "add", "prod": "mul", "max": "maximum", "min": "minimum"}


def mask_of(name: str, where: Any, x: Tensor) -> Tensor:
    """`where`, bools that broadcast to the shape of `x`, in that shape."""
    mask = as_tensor(where)
    if mask.dtype is not BOOL:
        raise DTypeError(f"{name}: where must be an array of bools, got dtype {mask.dtype.name}")
    if broadcast_shapes(name, mask.shape, x.shape) != x.shape:
        raise ShapeError(f"{name}: where of shape {mask.shape} does not broadcast to {x.shape}")
    return broadcast(mask, x.shape)


def masked(x: Tensor, mask: Tensor, value: Any) -> Tensor:
    """`x` where `mask` holds, else `value` in the dtype of `x`."""
    return choice(mask, x, filled(value, (), x.dtype))


def warn_of_nothing(nothing: Tensor, message: str) -> None:
    """Warn with NumPy's `message` where an element of `nothing` is true, if its values are known."""
    if not nothing.is_traced and np.any(nothing.detach().numpy()):
        warnings.warn(message, RuntimeWarning, stacklevel=user_stacklevel())


def reduce_with_options(
    name: str,
    x: Any,
    axis: Any,
    dtype: Any,
    out: Any,
    keepdims: bool,
    initial: Any = None,
    where: Any = True,
) -> Any:
    """The reduction `name` of the elements of `x` that `where` selects, begun with `initial`, in `out`."""
    x = as_tensor(x)
    if name in ("sum", "prod"):
        x = accumulated(x, dtype)
    elif name == "mean":
        x = averaged(x, dtype)
    elif name in ("all", "any"):
        x = cast(x, BOOL)
    if name == "mean" and not is_everywhere(where):
        result = _mean(x, axis, keepdims, where)
    else:
        result = _reduced(name, x, axis, keepdims, initial, where)
    if name == "mean" and dtype is not None:
        result = cast(result, as_dtype(dtype))
    return result if out is None else write_out(name, out, result)


def _reduced(name: str, x: Tensor, axis: Any, keepdims: bool, initial: Any, where: Any) -> Tensor:
    function: Any = getattr(reductions, name)
    if not is_everywhere(where):
        start = _IDENTITIES.get(name) if initial is None or name in ("sum", "prod") else initial
        if start is None:
            raise ShapeError(f"{name}: where= needs initial=, the {name} of no elements")
        x = masked(x, mask_of(name, where, x), start)
    dtypes = (x.dtype,) if name in ("sum", "prod") else ()  # of the result: that of `x` as it is now
    if initial is None:
        return function(x, axis, *dtypes, keepdims=keepdims)  # type: ignore[no-any-return]
    start = initial if isinstance(initial, Tensor) else scalar_of(initial, x.dtype)
    axes = normalize_axes(name, axis, x.ndim)
    if name in ("max", "min") and math.prod(x.shape[place] for place in axes) == 0:
        shape = [1 if place in axes else size for place, size in enumerate(x.shape)]
        kept = shape if keepdims else [size for place, size in enumerate(x.shape) if place not in axes]
        return broadcast(cast(as_tensor(start), x.dtype), tuple(kept))
    return run(_COMBINING[name], function(x, axis, *dtypes, keepdims=keepdims), start)


def _mean(x: Tensor, axis: Any, keepdims: bool, where: Any) -> Tensor:
    wide = accumulated_in(x.dtype)
    if wide is not x.dtype:
        return cast(_mean(cast(x, wide), axis, keepdims, where), x.dtype)
    mask = mask_of("mean", where, x)
    total = reductions.sum(masked(x, mask, 0), axis, keepdims=keepdims)
    count = reductions.sum(mask, axis, keepdims=keepdims)
    if not is_inexact(x.dtype):
        return cast(run("div", total, count), x.dtype)
    return run("div", total, cast(count, x.dtype))


def variance_of_selected(x: Tensor, axis: Any, ddof: Any, keepdims: bool, where: Any, mean: Any) -> Tensor:
    """The variance of the elements that `where` selects, about `mean`, or their own where that is None."""
    mask = mask_of("var", where, x) if not is_everywhere(where) else filled(True, x.shape, BOOL)
    axes = normalize_axes("var", axis, x.ndim)
    kept = tuple(1 if place in axes else size for place, size in enumerate(x.shape))
    count = cast(reductions.sum(mask, axes, keepdims=True), real_dtype(x.dtype))
    if mean is None:
        centre = run("div", reductions.sum(masked(x, mask, 0), axes, keepdims=True), count)
    else:
        centre = as_tensor(mean)
        if centre.ndim != x.ndim:
            centre = reshaped(centre, kept)
    gaps = masked(run("sub", x, centre), mask, 0)
    total = reductions.sum(squared_size(gaps), axes, keepdims=keepdims)
    divisor = run("maximum", run("sub", count, float(ddof)), 0.0)
    return run("div", total, divisor if keepdims else reshaped(divisor, total.shape))


def _extreme(name: str, x: Any, axis: Any, out: Any, keepdims: bool, initial: Any, where: Any) -> Tensor:
    x = as_tensor(x)
    if not is_inexact(x.dtype):
        return getattr(reductions, name)(x, axis, out, keepdims, initial, where)  # type: ignore[no-any-return]
    missing = run("isnan", x)
    chosen = masked(x, run("logical_not", missing), -math.inf if name == "max" else math.inf)
    result = getattr(reductions, name)(chosen, axis, None, keepdims, initial, where)
    if initial is None:
        none = reductions.all(missing, axis, None, keepdims, where)
        warn_of_nothing(none, "All-NaN slice encountered")
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
    return choice(run("isnan", x), value, x) if is_inexact(x.dtype) else x


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


def nansum(
    x: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Tensor:
    """The sum along `axis` with NaN as 0.

    Example:
        >>> import tracejit as tj
        >>> tj.nansum([1.0, float("nan")])
        tensor(1.)

    Raises AxisError. Semantics: ``numpy.nansum``.
    """
    return reductions.sum(_replaced(x, 0.0), axis, dtype, out, keepdims, initial, where)


def nanmean(
    x: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, where: Any = True
) -> Tensor:
    """The mean along `axis` of the elements that are not NaN; NaN where there are none.

    Example:
        >>> import tracejit as tj
        >>> tj.nanmean([1.0, 3.0, float("nan")])
        tensor(2.)

    Raises AxisError. Semantics: ``numpy.nanmean``.
    """
    x = averaged(x, dtype)
    chosen = run("logical_not", run("isnan", x))
    if not is_everywhere(where):
        chosen = run("logical_and", chosen, mask_of("nanmean", where, x))
    count = cast(reductions.sum(chosen, axis, keepdims=keepdims), x.dtype)
    total = reductions.sum(masked(x, chosen, 0.0), axis, keepdims=keepdims)
    none = run("eq", count, 0.0)
    warn_of_nothing(none, "Mean of empty slice")
    safe = run("div", total, run("where", none, 1.0, count))
    value = run("where", none, filled(math.nan, (), x.dtype), safe)
    return value if out is None else write_out("nanmean", out, value)


def _index(name: str, x: Any, axis: Any, out: Any, keepdims: bool) -> Tensor:
    x = as_tensor(x)
    missing = run("isnan", x)
    if not x.is_traced:
        none = reductions.all(missing, axis)
        if np.any(none.detach().numpy()):
            raise DomainError(f"nan{name}: all elements along axis {axis} are NaN")
    chosen = _replaced(x, -math.inf if name == "argmax" else math.inf)
    return getattr(reductions, name)(chosen, axis, out, keepdims=keepdims)  # type: ignore[no-any-return]


def nanargmax(x: Any, axis: Any = None, out: Any = None, *, keepdims: bool = False) -> Tensor:
    """The index along `axis` of the first largest element that is not NaN.

    Example:
        >>> import tracejit as tj
        >>> tj.nanargmax([1.0, float("nan"), 3.0])
        tensor(2)

    Raises AxisError, and DomainError where all are NaN; under a trace that gives 0. Semantics:
    ``numpy.nanargmax``.
    """
    return _index("argmax", x, axis, out, keepdims)


def nanargmin(x: Any, axis: Any = None, out: Any = None, *, keepdims: bool = False) -> Tensor:
    """The index along `axis` of the first smallest element that is not NaN.

    Example:
        >>> import tracejit as tj
        >>> tj.nanargmin([1.0, float("nan"), 3.0])
        tensor(0)

    Raises AxisError, and DomainError where all are NaN; under a trace that gives 0. Semantics:
    ``numpy.nanargmin``.
    """
    return _index("argmin", x, axis, out, keepdims)


def nancumsum(x: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Tensor:
    """Running sums along `axis` with NaN as 0.

    Example:
        >>> import tracejit as tj
        >>> tj.nancumsum([1.0, float("nan"), 3.0])
        tensor([1., 1., 4.])

    Raises AxisError. Semantics: ``numpy.nancumsum``.
    """
    return cumulative.cumsum(_replaced(x, 0.0), axis, dtype, out)


def nancumprod(x: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Tensor:
    """Running products along `axis` with NaN as 1.

    Example:
        >>> import tracejit as tj
        >>> tj.nancumprod([2.0, float("nan"), 3.0])
        tensor([2., 2., 6.])

    Raises AxisError. Semantics: ``numpy.nancumprod``.
    """
    return cumulative.cumprod(_replaced(x, 1.0), axis, dtype, out)


def nanvar(
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
    """The variance along `axis` of the elements that are not NaN; NaN where there are `ddof` or fewer.

    Example:
        >>> import tracejit as tj
        >>> tj.nanvar([1.0, float("nan"), 3.0])
        tensor(1.)

    Raises AxisError. Semantics: ``numpy.nanvar``.
    """
    freedom = freedom_of("nanvar", ddof, correction)
    result = _variance("nanvar", averaged(x, dtype), axis, freedom, keepdims, where, mean)
    return result if out is None else write_out("nanvar", out, result)


def _variance(
    name: str, x: Tensor, axis: Any, freedom: float, keepdims: bool, where: Any, mean: Any
) -> Tensor:
    chosen = run("logical_not", run("isnan", x))
    if not is_everywhere(where):
        chosen = run("logical_and", chosen, mask_of(name, where, x))
    with np.errstate(divide="ignore", invalid="ignore"):  # what is divided by 0 is NaN below
        value = variance_of_selected(masked(x, chosen, 0.0), axis, freedom, keepdims, chosen, mean)
    count = cast(reductions.sum(chosen, axis, keepdims=keepdims), value.dtype)
    too_few = run("le", count, float(freedom))
    warn_of_nothing(too_few, "Degrees of freedom <= 0 for slice.")
    return run("where", too_few, filled(math.nan, (), value.dtype), value)


def nanstd(
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
    """The standard deviation along `axis` of the elements that are not NaN.

    Example:
        >>> import tracejit as tj
        >>> tj.nanstd([1.0, float("nan"), 3.0])
        tensor(1.)

    Raises AxisError. Semantics: ``numpy.nanstd``.
    """
    freedom = freedom_of("nanstd", ddof, correction)
    result = root(_variance("nanstd", averaged(x, dtype), axis, freedom, keepdims, where, mean))
    return result if out is None else write_out("nanstd", out, result)
