"""Reductions along axes: sums and products, extremes, truth, counts and running sums.

`axis` is an int, a tuple of ints, or None for all; `keepdims` leaves the reduced axes with size 1. Sums and
products of bools and small integers are computed in int64 or uint64, as NumPy does on 64-bit systems.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ..arguments.errors import checked, named
from ..arguments.plain_calls import plain_calls
from ..dispatch.eager_functions import EagerFunction
from ..ir.dtypes import BOOL, INT64, as_dtype, default_dtype, is_inexact
from ..ir.registry import OPS
from ..ir.types import Shape, normalize_axes, normalize_axis, remove_axes
from ..provided import NAN_AWARE
from ..tensors.tensor import Tensor, wrap
from .operands import as_tensor, cast, is_tracing, reshaped, run, with_an_axis, write_out

__all__ = [
    "all",
    "amax",
    "amin",
    "any",
    "argmax",
    "argmin",
    "count_nonzero",
    "max",
    "mean",
    "min",
    "prod",
    "ptp",
    "sum",
]

_UINT64 = as_dtype("u64")


def _reduced(name: str, x: Tensor, axis: Any, keepdims: bool) -> Tensor:
    axes = _axes(name, x.shape, axis)
    result = run(name, x, axes=axes)
    return kept(result, x.shape, axes, keepdims) if keepdims else result


def _axes(name: str, shape: Shape, axis: Any) -> Shape:
    if not shape and axis in (0, -1) and name != "mean":
        axis = None  # as NumPy's ufunc.reduce has it, of which all but the mean are made
    return normalize_axes(name, axis, len(shape))


def kept(result: Tensor, shape: Shape, axes: Shape, keepdims: bool) -> Tensor:
    """`result` of reducing `shape` over `axes`, which with `keepdims` stay with size 1."""
    return reshaped(result, remove_axes(shape, axes, keepdims=True)) if keepdims else result


def _reduction(
    name: str, operand: Callable[[Tensor, Any], Tensor], ufunc: np.ufunc | None = None
) -> EagerFunction:
    """The reduction `name` of what `operand` makes of a tensor and `dtype`. Eagerly, `ufunc` computes that of
    bools and integers, unless somebody has another kernel for the op."""
    op = OPS[name]
    own = OPS.meaning(op)

    @named(name)
    def python(x: Any, axis: Any, dtype: Any, out: None, keepdims: bool) -> Tensor:
        x = as_tensor(x)
        is_exact = dtype is None and x.dtype.kind in "biu" and isinstance(x._data, np.ndarray)
        if ufunc is not None and is_exact and op.kernel is own and not is_tracing():
            # NumPy converts what it adds up as it goes, without a copy of all
            return wrap(np.asarray(ufunc.reduce(x._data, _axes(name, x.shape, axis), keepdims=keepdims)))
        return _reduced(name, operand(x, dtype), axis, keepdims)

    return EagerFunction(op, python)


def _reduce(
    reduction: EagerFunction,
    x: Any,
    axis: Any,
    dtype: Any,
    out: Any,
    keepdims: Any,
    initial: Any = None,
    where: Any = True,
) -> Tensor:
    """A `reduction` with all options that it may have. The module for some of them loads at first use."""
    if out is None and initial is None and where is True:
        call = reduction.run if dtype is None else reduction.python
        return call(x, axis, dtype, None, keepdims)  # type: ignore[no-any-return]
    name, options = reduction.op.name, NAN_AWARE()
    call = checked(name, options.reduce_with_options)
    return call(name, x, axis, dtype, out, keepdims, initial, where)  # type: ignore[no-any-return]


def accumulated(x: Tensor, dtype: Any) -> Tensor:
    """`x` in the dtype that its sum is computed in: `dtype`, or NumPy's choice."""
    if dtype is not None:
        return cast(x, as_dtype(dtype))
    own = x.dtype
    if own.kind == "f":
        return x
    if own is BOOL or (own.kind == "i" and own.itemsize < 8):
        return cast(x, INT64)
    return cast(x, _UINT64) if own.kind == "u" and own.itemsize < 8 else x


_SUM: Final = _reduction("sum", accumulated, np.add)
_PROD: Final = _reduction("prod", accumulated, np.multiply)


@plain_calls(_SUM)
def sum(
    x: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Tensor:
    """The sum along `axis`; 0 of nothing.

    Example:
        >>> import tracejit as tj
        >>> tj.sum([[1.0, 2.0], [3.0, 4.0]], axis=0)
        tensor([4., 6.])

    Raises AxisError. Semantics: ``numpy.sum``.
    """
    return _reduce(_SUM, x, axis, dtype, out, keepdims, initial, where)


@plain_calls(_PROD)
def prod(
    x: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Tensor:
    """The product along `axis`; 1 of nothing. Its gradient is right at zeros.

    Example:
        >>> import tracejit as tj
        >>> tj.prod([1, 2, 3, 4])
        tensor(24)

    Raises AxisError. Semantics: ``numpy.prod``.
    """
    return _reduce(_PROD, x, axis, dtype, out, keepdims, initial, where)


def averaged(x: Any, dtype: Any) -> Tensor:
    """`x` in the floating dtype that its mean is computed in."""
    x = as_tensor(x)
    if dtype is not None:
        return cast(x, as_dtype(dtype))
    return x if is_inexact(x.dtype) else cast(x, default_dtype())


@named("mean")
def _mean(x: Any, axis: Any, dtype: Any, out: None, keepdims: bool) -> Tensor:
    x = averaged(x, dtype)
    if is_inexact(x.dtype):
        return _reduced("mean", x, axis, keepdims)
    total = _reduced("sum", x, axis, keepdims)
    return cast(run("div", total, float(counted("mean", x, axis))), x.dtype)


_MEAN: Final = EagerFunction(OPS["mean"], _mean)


@plain_calls(_MEAN)
def mean(
    x: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, where: Any = True
) -> Tensor:
    """The arithmetic mean along `axis`, NaN of nothing. Integers give the default dtype.

    Where `dtype` is of integers, the sum is computed in it and the quotient loses its fraction.

    Example:
        >>> import tracejit as tj
        >>> tj.mean([[1, 2], [3, 4]], axis=1)
        tensor([1.5, 3.5])

    Raises AxisError. Semantics: ``numpy.mean``.
    """
    return _reduce(_MEAN, x, axis, dtype, out, keepdims, None, where)


def counted(name: str, x: Tensor, axis: Any) -> int:
    """Number of elements of `x` along `axis`."""
    return math.prod(x.shape[place] for place in normalize_axes(name, axis, x.ndim))


_MAX: Final = _reduction("max", lambda x, dtype: x)
_MIN: Final = _reduction("min", lambda x, dtype: x)
_ALL: Final = _reduction("all", lambda x, dtype: cast(x, BOOL))
_ANY: Final = _reduction("any", lambda x, dtype: cast(x, BOOL))


@plain_calls(_MAX)
def max(
    x: Any, axis: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True
) -> Tensor:
    """The largest element along `axis`, NaN if any is NaN. Several largest share the gradient equally.

    Example:
        >>> import tracejit as tj
        >>> tj.max([[1, 5], [3, 4]], axis=1)
        tensor([5, 4])

    Raises AxisError, and ShapeError for no elements. Semantics: ``numpy.max``.
    """
    return _reduce(_MAX, x, axis, None, out, keepdims, initial, where)


@plain_calls(_MIN)
def min(
    x: Any, axis: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True
) -> Tensor:
    """The smallest element along `axis`, NaN if any is NaN. Several smallest share the gradient equally.

    Example:
        >>> import tracejit as tj
        >>> tj.min([[1, 5], [3, 4]], axis=1)
        tensor([1, 3])

    Raises AxisError, and ShapeError for no elements. Semantics: ``numpy.min``.
    """
    return _reduce(_MIN, x, axis, None, out, keepdims, initial, where)


@plain_calls(_ALL)
def all(x: Any, axis: Any = None, out: Any = None, keepdims: bool = False, where: Any = True) -> Tensor:
    """Whether all elements along `axis` are true (not zero). True of nothing.

    Example:
        >>> import tracejit as tj
        >>> tj.all([[True, False], [True, True]], axis=1)
        tensor([False,  True])

    Raises AxisError. Semantics: ``numpy.all``.
    """
    return _reduce(_ALL, x, axis, None, out, keepdims, None, where)


@plain_calls(_ANY)
def any(x: Any, axis: Any = None, out: Any = None, keepdims: bool = False, where: Any = True) -> Tensor:
    """Whether any element along `axis` is true (not zero). False of nothing.

    Example:
        >>> import tracejit as tj
        >>> tj.any([[True, False], [False, False]], axis=1)
        tensor([ True, False])

    Raises AxisError. Semantics: ``numpy.any``.
    """
    return _reduce(_ANY, x, axis, None, out, keepdims, None, where)


def _indexed(name: str, x: Any, axis: Any, keepdims: bool) -> Tensor:
    x = as_tensor(x)
    if axis is None:
        result = run(name, reshaped(x, (x.size,)), axis=0)
        return reshaped(result, (1,) * x.ndim) if keepdims else result
    if x.ndim == 0:
        return run(name, with_an_axis(x, axis), axis=normalize_axis(name, axis, 1))
    place = normalize_axis(name, axis, x.ndim)
    return kept(run(name, x, axis=place), x.shape, (place,), keepdims)


def _arg_reduction(name: str) -> EagerFunction:
    @named(name)
    def python(x: Any, axis: Any, keepdims: bool = False) -> Tensor:
        return _indexed(name, x, axis, keepdims)

    return EagerFunction(OPS[name], python)


_ARGMAX: Final = _arg_reduction("argmax")
_ARGMIN: Final = _arg_reduction("argmin")


@plain_calls(_ARGMAX)
def argmax(x: Any, axis: Any = None, out: Any = None, *, keepdims: bool = False) -> Tensor:
    """The index along `axis` of the first largest element or NaN; of the raveled array if `axis` is None.

    Example:
        >>> import tracejit as tj
        >>> tj.argmax([[1, 5], [4, 3]], axis=1)
        tensor([1, 0])

    Raises AxisError, and ShapeError for no elements. Semantics: ``numpy.argmax``.
    """
    result: Tensor = _ARGMAX.python(x, axis, keepdims)
    return result if out is None else write_out("argmax", out, result)


@plain_calls(_ARGMIN)
def argmin(x: Any, axis: Any = None, out: Any = None, *, keepdims: bool = False) -> Tensor:
    """The index along `axis` of the first smallest element or NaN; of the raveled array if `axis` is None.

    Example:
        >>> import tracejit as tj
        >>> tj.argmin([[1, 5], [4, 3]], axis=1)
        tensor([0, 1])

    Raises AxisError, and ShapeError for no elements. Semantics: ``numpy.argmin``.
    """
    result: Tensor = _ARGMIN.python(x, axis, keepdims)
    return result if out is None else write_out("argmin", out, result)


def ptp(x: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Tensor:
    """The largest minus the smallest element along `axis`.

    Example:
        >>> import tracejit as tj
        >>> tj.ptp([3, 1, 7])
        tensor(6)

    Raises AxisError, and ShapeError for no elements. Semantics: ``numpy.ptp``.
    """
    x = as_tensor(x)
    result = run("sub", max(x, axis, keepdims=keepdims), min(x, axis, keepdims=keepdims))
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


# NumPy's second names.
amax = max
amin = min
