"""Reductions that leave out NaN: extremes, products, running sums and variances. Order statistics are in
``quantiles``.

Of lines that hold nothing else the result is NaN, with NumPy's warning where values are known.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...eager.tensor import Tensor
from ...ir.dtypes import is_inexact
from ...ir.errors import DomainError
from .. import cumulative, reductions
from ..numpy_calls.options import write_out
from ..operands import as_tensor, cast, filled, run
from ..reductions import averaged
from ..statistics import freedom_of, root
from .options import mask_of, masked, variance_of_selected, warn_of_nothing

__all__ = [
    "nanargmax",
    "nanargmin",
    "nancumprod",
    "nancumsum",
    "nanmax",
    "nanmean",
    "nanmin",
    "nanprod",
    "nanstd",
    "nansum",
    "nanvar",
]


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
    return run("where", run("isnan", x), value, x) if is_inexact(x.dtype) else x


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
    if where is not True:
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
    if where is not True:
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
