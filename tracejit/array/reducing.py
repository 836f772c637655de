"""Eager reductions, and the functions of users that are made of them (`surface.reductions`)."""

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
from ..surface.making import function_of
from ..surface.rows import Row
from ..tensors.tensor import Tensor, wrap
from .operands import as_tensor, cast, is_tracing, reshaped, run, with_an_axis, write_out

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
    out: Any,
    keepdims: Any,
    dtype: Any = None,
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


def counted(name: str, x: Tensor, axis: Any) -> int:
    """Number of elements of `x` along `axis`."""
    return math.prod(x.shape[place] for place in normalize_axes(name, axis, x.ndim))


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


def _index(function: EagerFunction, x: Any, axis: Any, out: Any, keepdims: Any) -> Tensor:
    """The index that `function` finds, with the options that it may have."""
    result: Tensor = function.python(x, axis, keepdims)
    return result if out is None else write_out(function.op.name, out, result)


#: Eager functions of reductions, by op.
_REDUCTIONS: Final = {
    "sum": _reduction("sum", accumulated, np.add),
    "prod": _reduction("prod", accumulated, np.multiply),
    "mean": EagerFunction(OPS["mean"], _mean),
    "max": _reduction("max", lambda x, dtype: x),
    "min": _reduction("min", lambda x, dtype: x),
    "all": _reduction("all", lambda x, dtype: cast(x, BOOL)),
    "any": _reduction("any", lambda x, dtype: cast(x, BOOL)),
}
_ARG_REDUCTIONS: Final = {name: _arg_reduction(name) for name in ("argmax", "argmin")}


def made(row: Row, module: str) -> Callable[..., Tensor]:
    """The function of a row, as one of `module`."""
    eager = _REDUCTIONS.get(row.runs) or _ARG_REDUCTIONS[row.runs]
    scope = {"__name__": module, "reduce": _reduce if row.runs in _REDUCTIONS else _index, "eager": eager}
    passed = ", ".join(f"{name}={name}" for name in row.arguments)
    function = function_of(row, f"reduce(eager, {passed})", scope)
    function.__doc__ = row.docstring("tj", "", "numpy")
    return plain_calls(eager)(function)
