"""Functions of selected elements that go by their places among these: slices, differences, running sums,
orders, products of matrices.

Most bring the selected elements to the front, `compact`; then what a prefix of the elements gives is a prefix
of the result, and the rest of it is never seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from ...base.errors import ArgumentError
from ...ir.dtypes import BOOL, INT64, is_inexact, result_type
from ...ir.registry import OPS
from ...ir.types import normalize_axis
from ...tensors.tensor import Tensor
from .. import reductions
from ..indexing.access import getitem
from ..indexing.taking import take
from ..numpy_calls.protocol import public_function
from ..operands import as_tensor, cast, choice, filled, permuted, reshaped, run
from . import slices
from .each import Each, FromTheEnd, folded
from .masked_selection import Selection, computed_each, read_alone
from .masks import between, ends_of, is_same
from .sized import kept

#: A call of a function with selections; None where it has no meaning.
Call = Callable[[], Any] | None


def line_of(x: Any, place: int) -> tuple[Tensor, Tensor]:
    """The mask of the axis `place` of `x`, as a line, and the whole array; of arrays, all is selected."""
    if not isinstance(x, Selection):
        return filled(True, (x.shape[place],), BOOL), x
    whole, mask = x._whole, x._mask
    shape = (*whole.shape[:place], mask.size, *whole.shape[place + mask.ndim :])
    return reshaped(mask, (mask.size,)), reshaped(whole, shape)


def compact(x: Selection) -> tuple[Tensor, Tensor]:
    """The selected elements in front of an array with room for all, and their number."""
    if ends_of(x._mask) is not None:
        return slices.in_front(x)
    line, whole = line_of(x, x._first)
    return kept("x[mask]", whole, line, x._first, line.size, 0), reductions.sum(cast(line, INT64))


def prefix(axis: int, whole: Tensor, count: Any) -> Selection:
    """The first `count` slices of `whole` along `axis`."""
    return Selection(between(whole.shape[axis], None, count), axis, whole).padded()


def _public(name: str) -> Callable[..., Any]:
    function = public_function(name)
    assert function is not None
    return function


# -- slices ---------------------------------------------------------------------------------------


def sliced(x: Selection, part: slice) -> Selection:
    """``x[..., part, ...]`` along the axis of the selected elements; the step is a number."""
    axis = x._first
    whole, count = compact(x)
    extent, step = whole.shape[axis], 1 if part.step is None else int(part.step)
    if (part.start, part.stop, step) == (None, None, -1) and x._each is not None:
        result = prefix(axis, _from_the_end(whole, axis, count), count)
        result._each = Each(FromTheEnd(x._each.node, x._each.count), x._each.count)
        return result
    start, stop = 0 if part.start is None else part.start, part.stop
    if step > 0 and type(start) is int and start >= 0 and (stop is None or (type(stop) is int and stop < 0)):
        # so many elements fewer: one form, by which two slices of one length are known to have one
        behind = extent + (stop or 0)
        length = run("maximum", count - (start - (stop or 0)), 0)
        whole = getitem(whole, (*[slice(None)] * axis, slice(start, max(behind, 0), step)))
        return prefix(axis, whole, length if step == 1 else (length + (step - 1)) // step)
    if step == 0:
        raise ArgumentError("the step of a slice must not be 0")
    low, high = (0, count) if step > 0 else (-1, count - 1)
    first = _bound(part.start, low if step > 0 else high, low, high, count)
    last = _bound(stop, high if step > 0 else low, low, high, count)
    length = run("maximum", ((last - first) + (step - (1 if step > 0 else -1))) // step, 0)
    if extent:
        steps = run("iota", shape=(-(-extent // abs(step)),), axis=0, dtype=INT64)
        whole = take(whole, run("clip", steps * step + first, 0, extent - 1), axis)
    return prefix(axis, whole, length)


def _from_the_end(whole: Tensor, axis: int, count: Any) -> Tensor:
    """The slices of `whole` along `axis` before `count`, from the last one on."""
    extent = whole.shape[axis]
    steps = run("iota", shape=(extent,), axis=0, dtype=INT64)
    return take(whole, run("clip", run("sub", run("sub", count, 1), steps), 0, max(extent - 1, 0)), axis)


def _bound(value: Any, default: Any, low: Any, high: Any, count: Tensor) -> Any:
    """A bound of a slice as Python has it, of so many elements as `count` says."""
    if value is None:
        return as_tensor(default)
    value = as_tensor(value)
    return run("minimum", run("maximum", value + run("where", value < 0, count, 0), low), high)


# -- along the axis of the elements ---------------------------------------------------------------


def _last(x: Selection) -> Any:
    """A number that stands behind all elements in sorted order, or is the greatest."""
    if is_inexact(x.dtype):
        return math.nan
    return True if x.dtype is BOOL else int(np.iinfo(x.dtype).max)


def _sorted(name: str, x: Selection, kind: str | None = None, **options: Any) -> Call:
    if options:
        return None

    def call() -> Selection:
        whole, count = compact(x)
        line = prefix(x._first, whole, count)
        filled_up = choice(line.chosen(), whole, filled(_last(x), (), x.dtype))
        return prefix(x._first, _public(name)(filled_up, axis=x._first, kind=kind), count)

    return call


def _running(name: str, x: Selection, **options: Any) -> Call:
    def call() -> Selection:
        mask, whole = line_of(x, x._first)
        part = Selection(mask, x._first, whole)
        neutral = filled(0 if name == "cumsum" else 1, (), x.dtype)
        whole = choice(part.chosen(), whole, neutral)
        return Selection(mask, x._first, _public(name)(whole, axis=x._first, **options))

    return call


def _differences(name: str, x: Selection, n: int = 1, **options: Any) -> Call:
    if options or type(n) is not int or n < 0:
        return None

    def call() -> Selection:
        whole, count = compact(x)
        part = prefix(x._first, whole, count)
        result = _public(name)(part._whole, n=n, axis=x._first)
        return prefix(x._first, result, run("maximum", count - n, 0))

    return call


def _flipped(name: str, x: Selection, **options: Any) -> Call:
    return lambda: read_alone(x, sliced(x, slice(None, None, -1)))


#: Functions of each element of one argument by itself, and of tables: the argument.
_OF_EACH: Final = {"digitize": "x", "interp": "x", "isin": "element", "polyval": "x", "searchsorted": "v"}


def _of_each(name: str, function: Callable[..., Any], arguments: Mapping[str, Any]) -> Call:
    """`function` of each selected element; the other arguments are arrays."""
    place = _OF_EACH[name]
    x = arguments.get(place)
    others = [value for key, value in arguments.items() if key != place]
    if not isinstance(x, Selection) or any(isinstance(value, Selection) for value in others):
        return None
    return lambda: Selection(x._mask, x._first, function(**{**arguments, place: x._whole}))


#: Functions along the axis of the selected elements.
ALONG: Final[dict[str, Callable[..., Call]]] = {
    "argsort": _sorted,
    "cumprod": _running,
    "cumsum": _running,
    "diff": _differences,
    "flip": _flipped,
    "sort": _sorted,
}


def _distinct(name: str, function: Callable[..., Any], arguments: Mapping[str, Any]) -> Call:
    """``unique`` of a line, without its options."""
    (x, *options) = arguments.values()
    if options or not isinstance(x, Selection) or x.ndim != 1:
        return None
    return lambda: _distinct_values(x)


def _distinct_values(x: Selection) -> Selection:
    """The distinct elements of a line in ascending order; NaN is equal to NaN."""
    ordered = _sorted("sort", x)
    assert ordered is not None
    line = ordered()
    whole, there = line._whole, line._mask
    extent = whole.shape[0]
    if extent < 2:
        return line  # type: ignore[no-any-return]
    before, after = getitem(whole, slice(None, -1)), getitem(whole, slice(1, None))
    differs = run("ne", before, after)
    if is_inexact(x.dtype):
        differs = run("logical_and", differs, run("logical_not", run("isnan", before)))
    firsts = run("concat", filled(True, (1,), BOOL), differs, axis=0)
    return Selection(run("logical_and", there, firsts), 0, whole).padded()


# -- joining --------------------------------------------------------------------------------------


def _joined(name: str, function: Callable[..., Any], arguments: Mapping[str, Any]) -> Call:
    """Selections and arrays joined along the axis of the selected elements, in their order."""
    options = {key: value for key, value in arguments.items() if value is not None}
    appends = name == "append"
    arrays = (options.pop("x"), options.pop("values")) if appends else options.pop("arrays")
    parts = [part if isinstance(part, Selection) else as_tensor(part) for part in arrays]
    rank = parts[0].ndim
    axis = None if appends or "axis" in arguments else 0
    axis = min(rank - 1, 1) if name == "hstack" else options.pop("axis", options.pop("dim", axis))
    if axis is None and rank == 1:
        parts = [part if isinstance(part, Selection) else reshaped(part, (part.size,)) for part in parts]
        axis = 0
    if options or axis is None or any(part.ndim != rank for part in parts):
        return None
    place = normalize_axis(name, axis, rank)
    if any(isinstance(part, Selection) and part._first != place for part in parts):
        return None
    masks, wholes = zip(*[line_of(part, place) for part in parts], strict=True)
    whole = _public("concatenate")(wholes, axis=place)
    return lambda: Selection(run("concat", *masks, axis=0), place, whole)


def _without(name: str, function: Callable[..., Any], arguments: Mapping[str, Any]) -> Call:
    """``delete(x, nonzero(mask)[0])``: the elements that the mask leaves out."""
    x, obj, axis = (arguments.get(key) for key in ("x", "obj", "axis"))
    if isinstance(x, Selection) or not isinstance(obj, Selection) or obj._place != 0 or obj._mask.ndim != 1:
        return None
    x = as_tensor(x)
    place = 0 if axis is None and x.ndim == 1 else axis
    if place is None or x.shape[(place := normalize_axis("delete", place, x.ndim))] != obj._mask.size:
        return None
    return lambda: Selection(run("logical_not", obj._mask), place, x).padded()


# -- products of matrices -------------------------------------------------------------------------


def _transposed(name: str, function: Callable[..., Any], arguments: Mapping[str, Any]) -> Call:
    """The axes of a selection permuted."""
    x, axes = arguments["x"], arguments.get("axes")
    order = [*range(x.ndim)][::-1] if axes is None else [normalize_axis("transpose", a, x.ndim) for a in axes]
    mask, whole = line_of(x, x._first)
    return lambda: read_alone(x, Selection(mask, order.index(x._first), permuted(whole, tuple(order))))


def _product(name: str, function: Callable[..., Any], arguments: Mapping[str, Any]) -> Call:
    """``x @ y`` of lines and matrices, one or both of them selected along an axis."""
    if len(arguments) != 2:
        return None
    pair: list[Any] = [
        part if isinstance(part, Selection) else as_tensor(part) for part in arguments.values()
    ]
    x, y = pair
    if not (1 <= x.ndim <= 2 and 1 <= y.ndim <= 2):
        return None
    inner = isinstance(x, Selection) and x._first == x.ndim - 1, isinstance(y, Selection) and y._first == 0
    multiply = _public("matmul")
    if all(inner):
        dtype = result_type(x.dtype, y.dtype)
        factors = [part if part.dtype is dtype else run("cast", part, dtype=dtype) for part in pair]
        each = computed_each(OPS["mul"], factors, {}) if x.ndim == y.ndim == 1 else None
        if each is not None and dtype is not BOOL:
            return lambda: folded("sum", each, dtype, None)
        other = y if is_same(x._mask, y._mask) else slices.moved(y, x._mask)
        if other is None:
            return None
        wholes = []
        for part in (x, other):
            mask, whole = line_of(part, part._first)
            there = Selection(mask, part._first, whole).chosen()
            wholes.append(choice(there, whole, filled(0, (), part.dtype)))
        return lambda: multiply(*wholes)
    if any(inner) or (isinstance(x, Selection) and isinstance(y, Selection)):
        return None
    selection, place = (x, 0) if isinstance(x, Selection) else (y, x.ndim - 1)
    mask, whole = line_of(selection, selection._first)
    operands = (whole, y) if selection is x else (x, whole)
    return lambda: Selection(mask, place, multiply(*operands))


#: Functions by their names: what a call of one means whose arguments, by parameter, are selections.
BY_NAME: Final[dict[str, Callable[[str, Callable[..., Any], Mapping[str, Any]], Call]]] = {
    **dict.fromkeys(("append", "concat", "concatenate", "hstack"), _joined),
    **dict.fromkeys(_OF_EACH, _of_each),
    **dict.fromkeys(("dot", "matmul"), _product),
    **dict.fromkeys(("unique", "unique_values"), _distinct),
    "delete": _without,
    "transpose": _transposed,
}
