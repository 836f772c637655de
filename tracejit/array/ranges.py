"""Creation of evenly spaced numbers: arange, linspace, logspace, geomspace.

Eagerly and under a trace the same formula is evaluated, ``start + i step``, in the result's dtype.
"""

from __future__ import annotations

import math
import operator
import sys
from typing import Any, Final

import numpy as np

from ..base.errors import DTypeError, ShapeError, ZeroDivisorError
from ..ir.dtypes import as_dtype, default_dtype, is_inexact, result_type
from ..ir.types import normalize_axis
from ..tensors.python_values import warn_of_lost_gradient
from ..tensors.tensor import Array, Tensor, wrap
from .operands import (
    SCALARS,
    as_tensor,
    broadcast,
    cast,
    floating,
    is_tracing,
    kind_of,
    promoted_arrays,
    reshaped,
    run,
)

#: Ranges of no more are made to see what they begin with.
_FEW: Final = 1000


def _known(n: Tensor | Array) -> Array:
    if isinstance(n, np.ndarray):
        return n
    if n.is_traced and n.dtype.kind in "iu" and not n.ndim:
        return np.asarray(operator.index(n), n.dtype)
    return n.detach()._concrete("arange(n)", "arange(int(n)), which is compiled for each n by itself")


def _numbers(bounds: list[Any], dtype: Any, *, whole: bool) -> tuple[int, Array]:
    """The number of elements of ``np.arange(*bounds)``, and the elements; only the first two of many unless
    `whole`."""
    start, stop, step = bounds
    length = (stop - start) / step
    if whole or not _FEW < length < sys.maxsize:
        values = np.arange(start, stop, step, dtype=dtype)
        return values.size, values
    kind = dtype or np.arange(start * 0, stop * 0, step).dtype  # which depends on types alone
    return math.ceil(length), np.array([start, start + step]).astype(kind)


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> Tensor:
    """The numbers from `start` (0 unless two or more are given) up to but excluding `stop`, `step` apart.

    The bounds must be known numbers, since they decide the shape: a jitted function is compiled for each
    value of an integer, and a traced number of another kind raises ConcretizationError. The dtype is theirs,
    int64 for Python ints and the default dtype for floats.

    Example:
        >>> import tracejit as tj
        >>> tj.arange(5)
        tensor([0, 1, 2, 3, 4])
        >>> tj.arange(1.0, 2.0, 0.25)
        tensor([1.  , 1.25, 1.5 , 1.75])

    Semantics: ``numpy.arange``.
    """
    first, last = (0, start) if stop is None else (start, stop)
    for bound in (first, last, step):
        if isinstance(bound, Tensor):
            warn_of_lost_gradient(bound, "arange(x)")
    bounds: list[Any] = [
        _known(bound)[()] if isinstance(bound, (Tensor, np.ndarray)) else bound
        for bound in (first, last, step)
    ]
    if any(not isinstance(bound, (bool, int, float, np.bool_, np.number)) for bound in bounds):
        raise DTypeError(f"arange: start, stop and step must be numbers, got {first!r}, {last!r}, {step!r}")
    if bounds[2] == 0:
        raise ZeroDivisorError("arange: step must not be zero")
    result_dtype = None if dtype is None else as_dtype(dtype)
    try:
        count, values = _numbers(bounds, result_dtype, whole=not is_tracing())
    except OverflowError as error:
        raise DTypeError(f"arange: {first!r} to {last!r} does not fit: {error}") from error
    if result_dtype is None:
        result_dtype = as_dtype(values.dtype)
        if is_inexact(result_dtype) and all(type(bound) in SCALARS for bound in bounds):
            result_dtype = default_dtype()
        values = values.astype(result_dtype)
    if not is_tracing():
        return wrap(values)
    result = run("iota", shape=(count,), axis=0, dtype=result_dtype)
    if count < 2:
        return result if not count or not values[0] else run("add", result, values[0].item())
    # NumPy's own delta: the second element minus the first, in the result's dtype
    delta = (values[1] - values[0]).item()
    if delta != 1:
        result = run("mul", result, delta)
    return result if values[0] == 0 else run("add", result, values[0].item())


def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """`num` evenly spaced numbers from `start` to `stop`, which is included if `endpoint`.

    `start` and `stop` may be tensors, traced or requiring gradients; the numbers then run along the new
    axis `axis`. With ``retstep=True`` gives (numbers, step). Integer `dtype` rounds down.

    Example:
        >>> import tracejit as tj
        >>> tj.linspace(0, 1, 5)
        tensor([0.  , 0.25, 0.5 , 0.75, 1.  ])

    Raises ShapeError for a negative `num`. Semantics: ``numpy.linspace``.
    """
    count = operator.index(num)
    if count < 0:
        raise ShapeError(f"linspace: num must not be negative, got {num}")
    result_dtype = None if dtype is None else as_dtype(dtype)
    common = result_type(kind_of(start), kind_of(stop))
    common = common if is_inexact(common) else default_dtype()
    low, high = cast(as_tensor(start), common), cast(as_tensor(stop), common)
    shape = np.broadcast_shapes(low.shape, high.shape)
    low, high = broadcast(low, shape), broadcast(high, shape)
    divisions = count - 1 if endpoint else count
    span = run("sub", high, low)
    step = run("div", span, float(divisions)) if divisions > 0 else run("mul", span, np.nan)
    column = (count, *[1] * len(shape))
    place = reshaped(run("iota", shape=(count,), axis=0, dtype=low.dtype), column)
    offset = run("mul", place, step if divisions > 0 else span)
    result = run("add", offset, low)
    if endpoint and count > 1:
        last = run("eq", place, float(count - 1))
        result = run("where", last, high, result)
    if result_dtype is not None and not is_inexact(result_dtype):
        result = run("floor", result)
    if result_dtype is not None:
        result = cast(result, result_dtype)
    place_axis = normalize_axis("linspace", axis, result.ndim)
    if place_axis:
        order = [*range(1, place_axis + 1), 0, *range(place_axis + 1, result.ndim)]
        result = run("transpose", result, perm=tuple(order))
    return (result, step) if retstep else result


def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> Tensor:
    """`num` numbers from ``base ** start`` to ``base ** stop``, evenly spaced in the exponent, for each
    `base`.

    Example:
        >>> import tracejit as tj
        >>> tj.logspace(0, 2, 3)
        tensor([  1.,  10., 100.])

    Semantics: ``numpy.logspace``.
    """
    if not isinstance(base, float):
        base = floating(base)
        if base.ndim:
            ends = as_tensor(start), as_tensor(stop)
            rank = max(base.ndim, *(end.ndim for end in ends))
            start, stop, base = (reshaped(x, (*[1] * (rank - x.ndim), *x.shape)) for x in (*ends, base))
            place = normalize_axis("logspace", axis, rank + 1)
            base = reshaped(base, (*base.shape[:place], 1, *base.shape[place:]))
    exponents = linspace(start, stop, num, endpoint, axis=axis)
    result = run("pow", base, exponents)
    return result if dtype is None else cast(result, as_dtype(dtype))


def geomspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0
) -> Tensor:
    """`num` numbers from `start` to `stop` with a constant ratio; both of one sign, or complex, neither zero.

    Example:
        >>> import tracejit as tj
        >>> tj.geomspace(1, 8, 4)
        tensor([1., 2., 4., 8.])

    Semantics: ``numpy.geomspace``.
    """
    first, last = promoted_arrays(start, stop)
    # computed in the default dtype at least, whatever that of the ends is
    common = result_type(first.dtype, default_dtype() if dtype is None else as_dtype(dtype))
    common = common if is_inexact(common) else default_dtype()
    first, last = cast(first, common), cast(last, common)
    sign = run("sign", first)
    low, high = run("div", first, sign), run("div", last, sign)  # those of real ends are 1 and -1
    logs = linspace(run("log10", low), run("log10", high), num, endpoint)
    result = run("mul", run("pow", 10.0, logs), sign)
    # the ends are exact
    column = (result.shape[0], *[1] * (result.ndim - 1))
    place = reshaped(run("iota", shape=(result.shape[0],), axis=0, dtype=result.dtype), column)
    result = run("where", run("eq", place, 0.0), first, result)
    if endpoint and result.shape[0] > 1:
        result = run("where", run("eq", place, float(result.shape[0] - 1)), last, result)
    place_axis = normalize_axis("geomspace", axis, result.ndim)
    if place_axis:
        order = [*range(1, place_axis + 1), 0, *range(place_axis + 1, result.ndim)]
        result = run("transpose", result, perm=tuple(order))
    return result if dtype is None else cast(result, as_dtype(dtype))
