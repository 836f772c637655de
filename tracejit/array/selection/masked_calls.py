"""Functions of what a traced mask selects: reductions, elementwise functions, order statistics, elements.

Reductions are those that have NumPy's ``where=``. A function is elementwise if all that it does with whole
arrays are elementwise ops. Extremes of no elements are -inf and inf, of integers the least and the greatest;
the other functions give of no elements what NumPy gives.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from ...arguments.wrong_arguments import bound_arguments
from ...eager.tensor import Tensor
from ...ir.dtypes import BOOL, INT64, DType, is_inexact
from ...ir.records import record
from ...ir.types import normalize_axes
from ...pytree import flatten
from ...state import STATE
from .. import reductions
from ..cumulative import cumsum
from ..indexing.access import getitem
from ..numpy_calls.protocol import public_function
from ..operands import broadcast, cast, filled, floating, reshaped, run
from .masked_selection import Selection, aligned, is_elementwise, is_same, of_frame, refused

__all__ = ["call_of_selections", "element"]

#: Ops that elementwise functions consist of, beside those of that kind.
_BESIDE: Final = ("broadcast", "full")


def call_of_selections(
    name: str, function: Callable[..., Any], args: tuple[Any, ...], options: Mapping[str, Any]
) -> Callable[[], Any] | None:
    """The call of `function`, whose name is `name`, with arguments among which are selections; None where it
    has no meaning while their length is not known."""
    arguments = bound_arguments(function, args, options)
    if STATE.tracer is None or arguments is None:
        return None
    name = name.rpartition(".")[2].strip("_")
    if name in ("getitem", "setitem"):
        return _at_places(function, args)
    first, *others = arguments.values()
    if "axis" not in inspect.signature(function).parameters:
        return _elementwise(function, args, options)
    if not isinstance(first, Selection):
        return None
    _, *names = arguments
    named = {key: value for key, value in zip(names, others, strict=True) if value is not None}
    public = public_function(name) or function
    axis = arguments.get("axis", inspect.signature(public).parameters["axis"].default)
    axes = normalize_axes(name, axis, first.ndim)
    named.pop("axis", None)
    if first._first not in axes:
        along = tuple(_padded_axis(first, place) for place in axes)
        named["axis"] = along[0] if isinstance(axis, int) else along
        return functools.partial(_by_row, first, public, named)
    by_where = "where" in inspect.signature(public).parameters
    reduction = _reduced if by_where else _OTHERS.get(name)
    call = _Reduction(name, public, first, axes, named)
    return None if reduction is None else functools.partial(reduction, call)


def _padded_axis(x: Selection, axis: int) -> int:
    """The axis of the whole array that `axis`, another than that of the elements, is."""
    return axis if axis < x._first else axis + x._mask.ndim - 1


def _at_places(function: Callable[..., Any], args: tuple[Any, ...]) -> Callable[[], Any] | None:
    """``x[key]`` and ``x[key] = value`` by indices that are selected elements, as those of ``nonzero``."""
    x, key, *value = args
    keys = list(key) if isinstance(key, tuple) else [key]
    indices = [entry for entry in keys if isinstance(entry, Selection)]
    if not indices or any(entry is not index for entry, index in zip(keys, indices, strict=False)):
        return None
    mask = indices[0]._mask
    if not all(is_same(mask, index._mask) and index.ndim == 1 for index in indices):
        return None
    rest = keys[len(indices) :]
    covered = len(indices) == mask.ndim and x.shape[: mask.ndim] == mask.shape
    if covered and [index._place for index in indices] == list(range(mask.ndim)):
        return functools.partial(function, x, (mask, *rest), *value)
    if value or any(isinstance(entry, (list, tuple, np.ndarray, Tensor)) for entry in rest):
        return None
    whole = (*[index._padded for index in indices], *rest)
    return lambda: Selection(mask, 0, getitem(x, whole))


def _elementwise(
    function: Callable[..., Any], args: tuple[Any, ...], options: Mapping[str, Any]
) -> Callable[[], Any] | None:
    """`function` of whole arrays, if what it does with them is elementwise."""
    leaves, structure = flatten((args, dict(options)), static_strings=True)
    arrays = [isinstance(leaf, (Selection, Tensor, np.ndarray)) for leaf in leaves]
    if not any(isinstance(leaf, Selection) for leaf in leaves):
        return None
    padded, frame = aligned([leaf for leaf, is_array in zip(leaves, arrays, strict=True) if is_array])
    parts = iter(padded)
    whole = [next(parts) if is_array else leaf for leaf, is_array in zip(leaves, arrays, strict=True)]
    positional, named = structure.unflatten(whole)
    body = STATE.tracer.body
    start = len(body)
    result = function(*positional, **named)
    for instruction in body[start:]:
        if not (is_elementwise(instruction.op) or instruction.op.name in _BESIDE):
            return None
    results, structure = flatten(result)
    if not results or not all(isinstance(each, Tensor) and each.ndim >= frame[0].ndim for each in results):
        return None
    return lambda: structure.unflatten([of_frame(frame, each) for each in results])


def _by_row(x: Selection, function: Callable[..., Any], named: dict[str, Any]) -> Any:
    """`function` of the slices that are selected, each by itself, along other axes of theirs."""
    if any(isinstance(leaf, (Selection, np.ndarray, Tensor)) for leaf in flatten(named)[0]):
        raise refused("a function of x[mask] and other arrays along an axis")
    result = function(x._padded, **named)
    axes = np.atleast_1d(named["axis"])
    gone = sum(axis < x._first for axis in axes) if result.ndim < x._padded.ndim else 0
    return Selection(x._mask, x._first - gone, result)


def _mask_of(x: Selection) -> Tensor:
    """The mask, in the shape of the whole array."""
    return broadcast(reshaped(x._mask, x._mask.shape + (1,) * x._after), x._padded.shape)


def _padded_axes(x: Selection, axes: tuple[int, ...]) -> tuple[int, ...]:
    elements = range(x._first, x._first + x._mask.ndim)
    return (*[_padded_axis(x, axis) for axis in axes if axis != x._first], *elements)


@record
class _Reduction:
    """A call of `function`, whose name is `name`, of `x` along `axes`, that of the elements among them."""

    name: str
    function: Callable[..., Any]
    x: Selection
    axes: tuple[int, ...]
    options: dict[str, Any]

    def of(self, name: str, x: Selection, **options: Any) -> Any:
        """The reduction `name` of `x` along the same axes."""
        kept = {key: value for key, value in self.options.items() if key == "keepdims"}
        return _reduced(_Reduction(name, getattr(reductions, name), x, self.axes, {**kept, **options}))


def _reduced(call: _Reduction) -> Any:
    """A reduction of selected elements, by its ``where=``."""
    name, x, options = call.name, call.x, dict(call.options)
    if options.pop("where", True) is not True:
        raise refused(f"{name} of x[mask] with where=")
    if name.endswith(("max", "min")):
        options.setdefault("initial", _extreme_of_nothing(x.dtype, largest=name.endswith("min")))
    result = call.function(x._padded, axis=_padded_axes(x, call.axes), where=_mask_of(x), **options)
    return _kept(call, result)


def _kept(call: _Reduction, result: Tensor) -> Tensor:
    """`result`, with one axis for the elements where axes are kept."""
    if not call.options.get("keepdims"):
        return result
    x, shape = call.x, list(result.shape)
    shape[x._first : x._first + x._mask.ndim] = [1]
    return reshaped(result, tuple(shape))


def _extreme_of_nothing(dtype: DType, *, largest: bool) -> Any:
    """The value of `dtype` that no element is above, or below."""
    if dtype is BOOL:
        return largest
    if is_inexact(dtype):
        return math.inf if largest else -math.inf
    limits = np.iinfo(dtype)
    return int(limits.max if largest else limits.min)


def _replaced(x: Selection, value: Any) -> Tensor:
    """The whole array, with `value` for what is not selected."""
    return run("where", _mask_of(x), x._padded, filled(value, (), x.dtype))


def _with_nothing(value: Any, call: _Reduction) -> Any:
    """The function of the whole array, with elements of `value`, which change nothing."""
    x, options = call.x, call.options
    if isinstance(value, float):
        x = Selection(x._mask, x._first, floating(x._padded))
    whole = _replaced(x, value)
    if len(call.axes) < x.ndim or whole.ndim == 1:
        return _kept(call, call.function(whole, axis=_padded_axes(x, call.axes), **options))
    result = call.function(reshaped(whole, (whole.size,)), **options)
    return reshaped(result, (1,) * x.ndim) if options.get("keepdims") else result


def _ordered(call: _Reduction) -> Any:
    """Medians and quantiles: those that leave out NaN, unless one is selected."""
    own, x = public_function(f"nan{call.name}"), call.x
    assert own is not None
    result = _with_nothing(math.nan, _Reduction(call.name, own, x, call.axes, call.options))
    if not is_inexact(x.dtype):
        return result
    missing = call.of("any", Selection(x._mask, x._first, run("isnan", x._padded)))
    return run("where", missing, math.nan, result)


def _average(call: _Reduction) -> Any:
    weights, x = call.options.get("weights"), call.x
    if call.options.get("returned") or not (weights is None or isinstance(weights, Selection)):
        raise refused("average of x[mask] with other weights than w[mask], or with returned=True,")
    if weights is None:
        return call.of("mean", x)
    if weights.ndim != x.ndim:
        raise refused("average of x[mask] with weights of another shape")
    product: Any = run("mul", x, weights)
    return run("div", call.of("sum", product), call.of("sum", weights))


def _range(call: _Reduction) -> Any:
    return run("sub", call.of("max", call.x), call.of("min", call.x))


def _index(call: _Reduction) -> Any:
    """The index of an extreme element, among those that are selected."""
    x = call.x
    if x.ndim > 1 or call.options.get("keepdims"):
        raise refused(f"{call.name} of x[mask]")
    line = reshaped(
        _replaced(x, _extreme_of_nothing(x.dtype, largest=call.name == "argmin")), (x._padded.size,)
    )
    before = run("lt", run("iota", shape=line.shape, axis=0, dtype=INT64), call.function(line))
    return reductions.sum(run("logical_and", reshaped(x._mask, line.shape), before))


#: Functions along axes that have no ``where=``.
_OTHERS: Final[dict[str, Callable[..., Any]]] = {
    "argmax": _index,
    "argmin": _index,
    "average": _average,
    "count_nonzero": functools.partial(_with_nothing, 0),
    "logsumexp": functools.partial(_with_nothing, -math.inf),
    "median": _ordered,
    "norm": functools.partial(_with_nothing, 0),
    "percentile": _ordered,
    "ptp": _range,
    "quantile": _ordered,
}


def element(x: Selection, key: Any) -> Any:
    """``x[key]``, whose first entry is a number that counts the selected elements; without so many, another
    one of the array."""
    index, *rest = key if isinstance(key, tuple) else (key,)
    if x._first:
        raise refused("x[mask][key] with a number for the selected elements behind other axes")
    shape = x._padded.shape[x._mask.ndim :]
    line = reshaped(x._padded, (x._mask.size, *shape))
    mask = reshaped(x._mask, (x._mask.size,))
    if type(index) is int and index == -1:
        place = mask.size - 1 - reductions.argmax(getitem(mask, slice(None, None, -1)))
    elif type(index) is int and index == 0:
        place = reductions.argmax(mask)
    else:
        counts = cumsum(cast(mask, INT64))
        wrapped = run("where", index < 0, index + counts[-1], index) if isinstance(index, Tensor) else index
        if not isinstance(index, Tensor) and index < 0:
            wrapped = counts[-1] + index
        place = reductions.argmax(run("gt", counts, wrapped))
    return getitem(line, (place, *rest))
