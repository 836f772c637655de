"""The options of NumPy's reductions: ``where=``, ``initial=`` and ``out=``."""

from __future__ import annotations

import math
import warnings
from typing import Any, Final

import numpy as np

from ...eager.tensor import Tensor
from ...ir.dtypes import BOOL, accumulated_in, as_dtype, is_inexact, real_dtype
from ...ir.errors import DTypeError, ShapeError
from ...ir.types import broadcast_shapes, normalize_axes
from ...location import user_stacklevel
from .. import reductions
from ..numpy_calls.options import write_out
from ..operands import as_tensor, broadcast, cast, filled, reshaped, run, scalar_of, squared_size

__all__ = ["mask_of", "masked", "reduce_with_options", "warn_of_nothing"]

#: What elements that ``where=`` leaves out count as.
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
    return run("where", mask, x, filled(value, (), x.dtype))


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
        x = reductions.accumulated(x, dtype)
    elif name == "mean":
        x = reductions.averaged(x, dtype)
    elif name in ("all", "any"):
        x = cast(x, BOOL)
    if name == "mean" and where is not True:
        result = _mean(x, axis, keepdims, where)
    else:
        result = _reduced(name, x, axis, keepdims, initial, where)
    if name == "mean" and dtype is not None:
        result = cast(result, as_dtype(dtype))
    return result if out is None else write_out(name, out, result)


def _reduced(name: str, x: Tensor, axis: Any, keepdims: bool, initial: Any, where: Any) -> Tensor:
    function: Any = getattr(reductions, name)
    if where is not True:
        start = _IDENTITIES.get(name) if initial is None or name in ("sum", "prod") else initial
        if start is None:
            raise ShapeError(f"{name}: where= needs initial=, as there is no {name} of nothing")
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
    mask = mask_of("var", where, x) if where is not True else filled(True, x.shape, BOOL)
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
