"""The options of NumPy's ufuncs: ``out=``, ``where=``, ``dtype=`` and ``casting=``; ``axes=`` of generalized
ones.
"""

from __future__ import annotations

import operator
import reprlib
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ...base.errors import ArgumentError, AxisError, ConcretizationError, DomainError, DTypeError, ShapeError
from ...dispatch.eager_functions import without_options
from ...ir.dtypes import BOOL, as_dtype, is_inexact
from ...ir.types import broadcast_shapes
from ...state import STATE
from ...tensors.tensor import Tensor
from ..indexing import inplace
from ..manipulation import expand_dims, moveaxis
from ..operands import as_tensor, broadcast, cast, choice, filled, is_everywhere, kind_of

__all__ = ["along_axes", "call_elementwise", "call_with_options", "write_out"]


def along_axes(function: Callable[..., Any], ufunc: np.ufunc, options: dict[str, Any]) -> Callable[..., Any]:
    """`function`, which works along the last axes as `ufunc` does, along those that `options` name.

    Takes ``axes``, ``axis`` and ``keepdims`` out of `options`.
    """
    axes, axis = options.pop("axes", None), options.pop("axis", None)
    keepdims = options.pop("keepdims", False)
    if axes is None and axis is None and not keepdims:
        return function
    name, signature = ufunc.__name__, ufunc.signature or ""
    *operands, result = [
        [label for label in group.strip("()").split(",") if label]
        for group in signature.replace("->", ";").replace("),(", ");(").split(";")
    ]
    if axes is not None and axis is not None:
        raise ArgumentError(f"{name}: axes and axis exclude each other")
    shares_one = all(len(labels) == 1 for labels in operands) and not result
    if (axis is not None or keepdims) and not shares_one:
        raise ArgumentError(f"{name}: axis and keepdims need operands with one axis each, not {signature}")
    if axes is None:
        axes = [-1 if axis is None else axis] * len(operands)
    places = [_as_tuple(name, entry) for entry in axes]
    if len(places) not in (len(operands), len(operands) + 1) or (len(places) == len(operands) and result):
        raise ArgumentError(f"{name}: axes must have an entry for each operand and result, got {axes!r}")

    def call(*inputs: Any) -> Tensor:
        tensors = [
            moveaxis(as_tensor(value), own, tuple(range(-len(own), 0)))
            for value, own in zip(inputs, places, strict=False)
        ]
        value: Tensor = function(*tensors)
        if keepdims:
            return expand_dims(value, places[len(places) - 1] if len(places) > len(inputs) else places[0])
        if len(places) == len(inputs) or not places[-1]:
            return value
        if len(places[-1]) > value.ndim:
            raise AxisError(f"{name}: axes names {len(places[-1])} axes of a result of rank {value.ndim}")
        return moveaxis(value, tuple(range(-len(places[-1]), 0)), places[-1])

    return call


def _as_tuple(name: str, entry: Any) -> tuple[int, ...]:
    try:
        return tuple(map(operator.index, entry if isinstance(entry, (tuple, list)) else (entry,)))
    except TypeError:
        raise ArgumentError(f"{name}: axes must be integers or tuples of them, got {entry!r}") from None


#: Arguments from the middle of the domain, for functions whose gradient at 1 is infinite. They replace the
#: elements that ``where=`` leaves out, so that the zero gradients there do not become NaN.
_SAFE: Final = {"arcsin": 0.5, "arccos": 0.5, "arctanh": 0.5, "arccosh": 2.0}


def call_with_options(
    function: Callable[..., Any], ufunc: np.ufunc, inputs: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    """``ufunc(*inputs, **options)`` by `function`, which does the same and has no options.

    Places that ``where=`` leaves out keep the value of ``out=``, and without one they are 0.
    """
    name = ufunc.__name__
    options = dict(options)
    out = options.pop("out", None)
    where = options.pop("where", True)
    dtype = options.pop("dtype", None)
    casting = options.pop("casting", "same_kind")
    order = options.pop("order", "K")  # of the memory of the result, which is in C order
    options.pop("subok", None)
    signature = options.pop("signature", options.pop("sig", None))
    if ufunc.signature is not None:
        function = along_axes(function, ufunc, options)
    if options or signature is not None:
        parameter = next(iter(options), "signature")
        raise ArgumentError(f"{name}: argument {parameter} is not supported for tensors")
    if len(inputs) > ufunc.nin:
        out = (*inputs[ufunc.nin :], *[None] * (ufunc.nin + ufunc.nout - len(inputs)))
        inputs = inputs[: ufunc.nin]
    if len(inputs) < ufunc.nin:
        raise ArgumentError(f"{name}: expected {ufunc.nin} operands, got {len(inputs)}")
    result_dtype = None
    _check_words(name, casting, order)
    if dtype is not None or casting != "same_kind":
        inputs, result_dtype = _cast_operands(ufunc, inputs, dtype, casting)
    return _selected(name, function, inputs, out, where, result_dtype)


_CASTINGS: Final = ("no", "equiv", "safe", "same_kind", "unsafe")
_ORDERS: Final = ("C", "F", "A", "K")


def _check_words(name: str, casting: Any, order: Any) -> None:
    """Raise ArgumentError for what is no text, and DomainError for other texts than NumPy takes."""
    for parameter, value, words in (("casting", casting, _CASTINGS), ("order", order, _ORDERS)):
        if type(value) is not str:
            raise ArgumentError(f"{name}: {parameter} must be a string, got {reprlib.repr(value)}")
        if value not in words:
            raise DomainError(f"{name}: {parameter} must be one of {words}, got {value!r}")


def call_elementwise(
    function: Callable[..., Any], inputs: tuple[Any, ...], out: Any, where: Any, dtype: Any, casting: Any
) -> Any:
    """`function` of `inputs` with the options of NumPy's ufuncs; see ``call_with_options``."""
    name = function.__name__
    ufunc = getattr(np, name, None)
    function = without_options(function)
    if isinstance(ufunc, np.ufunc):
        options = {"out": out, "where": where, "dtype": dtype, "casting": casting or "same_kind"}
        return call_with_options(function, ufunc, inputs, options)
    if dtype is not None:
        inputs = tuple(cast(as_tensor(value), as_dtype(dtype)) for value in inputs)
    return _selected(name, function, inputs, out, where, None)


def _selected(
    name: str, function: Callable[..., Any], inputs: tuple[Any, ...], out: Any, where: Any, result_dtype: Any
) -> Any:
    """The results of `function` where `where` holds, in `result_dtype`, written to `out`."""
    mask = None if is_everywhere(where) else _mask(name, where)
    if mask is not None:
        inputs = _operands_inside(name, inputs, mask)
    results = function(*inputs)
    several = isinstance(results, tuple)
    values = list(results) if several else [results]
    if result_dtype is not None and not several:
        values = [cast(values[0], result_dtype)]
    outs = out if isinstance(out, tuple) else (out,) * len(values)
    if len(outs) != len(values):
        raise ArgumentError(f"{name}: out must have {len(values)} arrays, got {len(outs)}")
    written = [_placed(name, value, place, mask) for value, place in zip(values, outs, strict=True)]
    return tuple(written) if several else written[0]


def _cast_operands(
    ufunc: np.ufunc, inputs: tuple[Any, ...], dtype: Any, casting: Any
) -> tuple[tuple[Any, ...], Any]:
    """`inputs` in the dtypes that NumPy's loop for a result of `dtype` takes, and its result's dtype."""
    kinds: list[Any] = [kind_of(value) for value in inputs]
    options: dict[str, Any] = (
        {} if dtype is None else {"signature": (*[None] * ufunc.nin, *[as_dtype(dtype)] * ufunc.nout)}
    )
    try:
        operands_and_results: Any = (*kinds, *[None] * ufunc.nout)
        loop = ufunc.resolve_dtypes(operands_and_results, casting=casting, **options)
    except TypeError as error:
        place = getattr(error, "in_i", None)  # of NumPy's error about an operand
        if place is None:
            raise DTypeError(f"{ufunc.__name__}: dtype={dtype!r}, casting={casting!r}: {error}") from error
        raise DTypeError(
            f"{ufunc.__name__}: {'xyz'[place]} has dtype {kinds[place]}, which does not become "
            f"{getattr(error, 'to', dtype)} with dtype={dtype!r}, casting={casting!r}"
        ) from error
    operands = tuple(
        cast(as_tensor(value), as_dtype(needed)) for value, needed in zip(inputs, loop, strict=False)
    )
    return operands, as_dtype(loop[-1])


def _mask(name: str, where: Any) -> Tensor:
    mask = as_tensor(where)
    if mask.dtype is not BOOL:
        raise DTypeError(f"{name}: where must be an array of bools, got dtype {mask.dtype.name}")
    return mask


def _operands_inside(name: str, inputs: tuple[Any, ...], mask: Tensor) -> tuple[Any, ...]:
    """`inputs` broadcast with `mask`, floats with a harmless value where that is false."""
    safe = _SAFE.get(name, 1.0)
    operands = []
    for value in inputs:
        if isinstance(value, (Tensor, np.ndarray, list, tuple)):
            value = as_tensor(value)
            if is_inexact(value.dtype):
                value = choice(mask, value, safe)
        operands.append(value)
    return tuple(operands)


def _placed(name: str, value: Tensor, out: Any, mask: Tensor | None) -> Any:
    """`value` where `mask` holds, written to `out` where that is not None."""
    if mask is not None:
        shape = broadcast_shapes(name, value.shape, mask.shape)
        if out is None:
            other = filled(0, shape, value.dtype)
        else:
            other = as_tensor(out)
            shape = broadcast_shapes(name, shape, other.shape)
        if other.dtype is not value.dtype and np.can_cast(value.dtype, other.dtype, "same_kind"):
            value = cast(value, other.dtype)
        value = broadcast(choice(mask, value, other), shape)
    return value if out is None else write_out(name, out, value, broadcasts=True)


def write_out(name: str, out: Any, value: Tensor, *, broadcasts: bool = False) -> Any:
    """Write `value` to `out`, a tensor or an ndarray that takes its dtype and shape, and return that.

    The results of elementwise functions are repeated to a larger shape.
    """
    if not isinstance(out, (Tensor, np.ndarray)):
        raise DTypeError(f"{name}: out must be a tensor or an ndarray, got {type(out).__name__}")
    if value.shape != out.shape:
        if not broadcasts or broadcast_shapes(name, value.shape, out.shape) != tuple(out.shape):
            raise ShapeError(
                f"{name}: the result has shape {value.shape}, which does not fit out= {out.shape}"
            )
        value = broadcast(value, tuple(out.shape))
    if not np.can_cast(value.dtype, out.dtype, "same_kind"):
        raise DTypeError(f"{name}: the result has dtype {value.dtype.name}, which out= cannot take")
    if isinstance(out, Tensor):
        return inplace.write(out, name, (value,), lambda _, new: new)
    if value.is_traced:
        error = ConcretizationError(
            f"{name}: out= is an ndarray, which cannot hold the traced result of type {value.type}. Make the "
            "array by tj.zeros or np.zeros_like(x), so that it is a tensor; for a -= x write a = a - x"
        )
        if STATE.tracer is not None and STATE.tracer.handled is not None:
            STATE.tracer.handled.note_refusal(error)
        raise error
    np.copyto(out, value.numpy(), casting="same_kind")
    return out
