"""Arrays with elements added around them: ``pad``.

Each mode works axis by axis, on what the axes before have become, so that corners follow.
"""

from __future__ import annotations

import inspect
import reprlib
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ...base.errors import ArgumentError, DomainError, ShapeError
from ...base.loading import load_module
from ...ir.dtypes import BOOL, INT64, is_inexact
from ...ir.types import normalize_axis
from ...tensors.tensor import Array, Tensor
from .. import reductions
from ..memory_order import as_in_memory
from ..operands import as_tensor, broadcast, cast, given_as_array, reshaped, run, sliced
from ..ranges import linspace
from ..rearranging import flip

Pair = tuple[int, int]
#: Keyword arguments of each mode.
_KEYWORDS: Final[dict[str, tuple[str, ...]]] = {
    "constant": ("constant_values",),
    "edge": (),
    "empty": (),
    "linear_ramp": ("end_values",),
    "maximum": ("stat_length",),
    "mean": ("stat_length",),
    "median": ("stat_length",),
    "minimum": ("stat_length",),
    "reflect": ("reflect_type",),
    "symmetric": ("reflect_type",),
    "wrap": (),
}


def pad(
    x: Any,
    pad_width: Any,
    mode: str | Callable[..., Any] = "constant",
    *,
    constant_values: Any = None,
    end_values: Any = None,
    stat_length: Any = None,
    reflect_type: str | None = None,
    **kwargs: Any,
) -> Tensor:
    """`x` with elements added before and after along each axis.

    `pad_width` is an int, (before, after), ((before, after),), one pair per axis, or a dict of ints and pairs
    by axis. `mode` is

    - ``constant``: `constant_values`, 0 by default;
    - ``edge``: the outermost elements; ``wrap``: those of the other end; ``empty``: zeros;
    - ``reflect`` and ``symmetric``: the elements mirrored at the outermost ones, or behind them; with
      ``reflect_type="odd"`` twice the outermost one minus those;
    - ``linear_ramp``: evenly spaced from the outermost elements to `end_values`, 0 by default;
    - ``maximum``, ``mean``, ``median``, ``minimum`` of the `stat_length` outermost elements, or of all;
    - a function ``f(line, width, axis, kwargs)``, which writes to the ends of each padded line.

    `constant_values`, `end_values` and `stat_length` have the forms of `pad_width`, but for the dict.

    Example:
        >>> import tracejit as tj
        >>> tj.pad([1, 2, 3], (1, 2), mode="reflect")
        tensor([2, 1, 2, 3, 2, 1])
        >>> tj.pad([2.0, 4.0], 2, "linear_ramp", end_values=0)
        tensor([0., 1., 2., 4., 2., 0.])

    Raises ShapeError for widths that do not fit, DomainError for another `mode`, and ArgumentError for an
    argument of another mode. Semantics: ``numpy.pad``.
    """
    x = as_tensor(x)
    options = {
        "constant_values": constant_values,
        "end_values": end_values,
        "stat_length": stat_length,
        "reflect_type": reflect_type,
    }
    options = {name: value for name, value in options.items() if value is not None} | kwargs
    result = _padded(x, _widths(x.ndim, pad_width), mode, options)
    return given_as_array(as_in_memory("pad", result, "A", x))


def _padded(x: Tensor, widths: list[Pair], mode: Any, options: dict[str, Any]) -> Tensor:
    if callable(mode):
        return _pad_by_function(x, widths, mode, options)
    if mode not in _KEYWORDS:
        raise DomainError(f"pad: mode must be a function, {', '.join(_KEYWORDS)}, got {mode!r}")
    for name in options:
        if name not in _KEYWORDS[mode]:
            raise ArgumentError(f"pad: mode {mode!r} takes no {name}")
    if mode in ("constant", "empty"):
        return _pad_constant(x, widths, options.get("constant_values", 0))
    reach = _pairs(x.ndim, options["stat_length"], "stat_length") if "stat_length" in options else None
    ends = _values(x, options.get("end_values", 0), "end_values") if mode == "linear_ramp" else None
    for axis, width in enumerate(widths):
        if not any(width):
            continue
        if x.shape[axis] == 0:
            raise ShapeError(
                f"pad: axis {axis} of {x.shape} is empty, so mode {mode!r} has nothing to repeat"
            )
        if ends is not None:
            x = _with_ramps(x, axis, width, ends)
        elif mode in _STATISTICS:
            x = _with_statistics(x, axis, width, mode, None if reach is None else reach[axis])
        elif _is_odd(options.get("reflect_type")) and x.shape[axis] > 1:
            x = _reflected(x, axis, width, period=x.shape[axis] - (mode == "reflect"))
        else:
            places: Array = np.pad(np.arange(x.shape[axis]), width, mode=mode)
            x = _picked(x, axis, places)
    return cast(x, x.dtype, copy=True)  # one slice of x may be all of it


def _is_odd(reflect_type: str | None) -> bool:
    if reflect_type not in (None, "even", "odd"):
        raise DomainError(f"pad: reflect_type must be 'even' or 'odd', got {reflect_type!r}")
    return reflect_type == "odd"


def _widths(rank: int, pad_width: Any) -> list[Pair]:
    """NumPy's forms of pad_width as one (before, after) per axis."""
    if not isinstance(pad_width, dict):
        return _pairs(rank, pad_width, "pad_width")
    widths = [(0, 0)] * rank
    for axis, width in pad_width.items():
        (widths[normalize_axis("pad", axis, rank)],) = _pairs(1, width, "pad_width")
    return widths


def _pairs(rank: int, value: Any, parameter: str) -> list[Pair]:
    try:
        pairs = np.broadcast_to(np.asarray(value), (rank, 2))
    except ValueError as error:
        raise ShapeError(
            f"pad: expected {parameter} of a pair for each of {rank} axes, got {value!r}"
        ) from error
    if pairs.dtype.kind not in "iu":
        raise ShapeError(f"pad: {parameter} must be integers, got {value!r}")
    if np.min(value, initial=0) < 0:
        raise ShapeError(f"pad: {parameter} must not be negative, got {value!r}")
    return [(int(before), int(after)) for before, after in pairs]


def _values(x: Tensor, values: Any, parameter: str) -> Tensor:
    """`values` as one pair per axis of `x`."""
    values = as_tensor(values)
    try:
        return broadcast(values, (x.ndim, 2))
    except ShapeError as error:
        raise ShapeError(
            f"pad: expected a pair of {parameter} for each of {x.ndim} axes, got shape {values.shape}"
        ) from error


def _value_of(pairs: Tensor, axis: int, side: int) -> Tensor:
    return reshaped(sliced(sliced(pairs, 0, axis, 1), 1, side, 1), ())


def _pad_constant(x: Tensor, widths: list[Pair], values: Any) -> Tensor:
    values = as_tensor(values)
    if values.ndim == 0:
        start = tuple(before for before, _ in widths)
        shape = tuple(before + size + after for (before, after), size in zip(widths, x.shape, strict=True))
        around = broadcast(cast(values, x.dtype), shape)
        return run("update", around, x, start=start, step=(1,) * x.ndim)
    fills = _values(x, cast(values, x.dtype), "constant_values")
    for axis, pair in enumerate(widths):
        parts = [x]
        for side, width in enumerate(pair):
            value = _value_of(fills, axis, side)
            parts.append(broadcast(value, (*x.shape[:axis], width, *x.shape[axis + 1 :])))
        x = run("concat", parts[1], parts[0], parts[2], axis=axis)
    return x


def _picked(x: Tensor, axis: int, places: Array) -> Tensor:
    """The elements at `places` along `axis`, as slices of constant step joined together."""
    parts = []
    for start, size, step in _runs(places.tolist()):
        if step == 0:
            shape = (*x.shape[:axis], size, *x.shape[axis + 1 :])
            parts.append(broadcast(sliced(x, axis, start, 1), shape))
        else:
            parts.append(sliced(x, axis, start, size, step))
    return parts[0] if len(parts) == 1 else run("concat", *parts, axis=axis)


def _runs(places: list[int]) -> list[tuple[int, int, int]]:
    """`places` as maximal runs (first, count, step) with steps -1, 0 and 1."""
    runs: list[tuple[int, int, int]] = []
    for place in places:
        if runs:
            first, count, step = runs[-1]
            last = first + step * (count - 1)
            if count == 1 and abs(place - last) <= 1:
                runs[-1] = (first, 2, place - last)
                continue
            if count > 1 and place - last == step:
                runs[-1] = (first, count + 1, step)
                continue
        runs.append((place, 1, 1))
    return runs


def _with_ramps(x: Tensor, axis: int, width: Pair, ends: Tensor) -> Tensor:
    parts = [x]
    for side, count in enumerate(width):
        edge = sliced(x, axis, 0 if side == 0 else x.shape[axis] - 1, 1)
        line = reshaped(edge, (*x.shape[:axis], *x.shape[axis + 1 :]))
        ramp = linspace(_value_of(ends, axis, side), line, count, endpoint=False, axis=axis)
        if x.dtype.kind in "iu":
            ramp = run("floor", ramp)
        ramp = cast(ramp, x.dtype)
        parts = [ramp, *parts] if side == 0 else [*parts, flip(ramp, axis)]
    return run("concat", *parts, axis=axis)


def _median(x: Tensor, axis: int) -> Tensor:
    quantiles: Any = load_module("..aggregates.quantiles", __package__)  # which load at first use
    return quantiles.median(x, axis, keepdims=True)  # type: ignore[no-any-return]


_STATISTICS: Final[dict[str, Callable[[Tensor, int], Tensor]]] = {
    "maximum": lambda x, axis: reductions.max(x, axis, keepdims=True),
    "mean": lambda x, axis: reductions.mean(x, axis, keepdims=True),
    "median": _median,
    "minimum": lambda x, axis: reductions.min(x, axis, keepdims=True),
}


def _with_statistics(x: Tensor, axis: int, width: Pair, mode: str, reach: Pair | None) -> Tensor:
    extent = x.shape[axis]
    parts = [x]
    for side, count in enumerate(width):
        length = extent if reach is None else min(reach[side], extent)
        if length == 0:
            raise ShapeError("pad: stat_length must be positive, got 0")
        value = _STATISTICS[mode](sliced(x, axis, 0 if side == 0 else extent - length, length), axis)
        if is_inexact(value.dtype) and x.dtype.kind in "iu":
            value = run("rint", value)
        around = broadcast(cast(value, x.dtype), (*x.shape[:axis], count, *x.shape[axis + 1 :]))
        parts = [around, *parts] if side == 0 else [*parts, around]
    return run("concat", *parts, axis=axis)


def _reflected(x: Tensor, axis: int, width: Pair, period: int) -> Tensor:
    """`x` continued so that it is odd about both ends."""
    if x.dtype is BOOL:
        return cast(_reflected(cast(x, INT64), axis, width, period), BOOL)
    extent = x.shape[axis]
    before = _continued(x, axis, range(-width[0], 0), period)
    after = _continued(x, axis, range(extent, extent + width[1]), period)
    return run("concat", *before, x, *after, axis=axis)


def _continued(x: Tensor, axis: int, places: range, period: int) -> list[Tensor]:
    """The odd continuation of `x` at `places` outside of it, in parts.

    Of the period number k from 0, an even one is that of `x` and k times the distance of the ends more; an
    odd one is mirrored: twice the last element minus the period, and k - 1 times that distance more.
    """
    extent, parts = x.shape[axis], []
    low, high = sliced(x, axis, 0, 1), sliced(x, axis, extent - 1, 1)
    for k in range(places.start // period, (places.stop - 1) // period + 1):
        start, stop = max(places.start - k * period, 0), min(places.stop - k * period, period)
        if stop <= start:
            continue
        if k % 2 == 0:
            part, times = sliced(x, axis, start, stop - start), k
        else:
            mirrored = sliced(x, axis, extent - 1 - start, stop - start, -1)
            part, times = run("sub", run("mul", high, 2), mirrored), k - 1
        if times:
            rise = run("mul", run("sub", high, low), abs(times))
            part = run("add" if times > 0 else "sub", part, rise)
        parts.append(part)
    return parts


def _pad_by_function(
    x: Tensor, widths: list[Pair], function: Callable[..., Any], options: dict[str, Any]
) -> Tensor:
    """`x` with zeros around it, whose lines `function` writes to, axis by axis."""
    if not _takes_four(function):
        raise ArgumentError(
            "pad: mode, where it is a function, must take a line, its widths, the axis and the keywords, "
            f"got {reprlib.repr(function)}"
        )
    padded = _pad_constant(x, widths, 0)
    for axis, width in enumerate(widths):
        for key in np.ndindex(*padded.shape[:axis], *padded.shape[axis + 1 :]):
            line = padded[(*key[:axis], slice(None), *key[axis:])]
            function(line, width, axis, options)
    return padded


def _takes_four(function: Callable[..., Any]) -> bool:
    if isinstance(function, type):
        return False
    try:
        inspect.signature(function).bind(None, None, None, None)
    except TypeError:
        return False
    except ValueError:  # a builtin function that tells nothing of its parameters
        return True
    return True
