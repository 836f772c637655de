"""Methods of NumPy's ufuncs: ``reduce``, ``accumulate``, ``outer``, ``at`` and ``reduceat``.

Reductions that have an op of their own use it. Other associative functions are folded in halves, in about
log2(n) elementwise steps; what is not associative, such as ``subtract``, is a scan.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ...base.errors import ArgumentError, DTypeError, OutOfBoundsError, ShapeError
from ...base.loading import load_module
from ...ir.dtypes import BOOL, INT64, as_dtype
from ...ir.types import normalize_axes, normalize_axis
from ...provided import NAMESPACE
from ...tensors.tensor import Tensor
from .. import cumulative, reductions
from ..indexing.access import folded_at, getitem, index_add, index_update
from ..joining import concatenate, stack
from ..manipulation import broadcast_to, expand_dims, moveaxis, reshape
from ..operands import as_tensor, cast, choice, filled, holds_tensors, is_everywhere, run, sliced
from ..reducing import accumulated
from . import protocol
from .options import write_out

__all__ = ["accumulate", "at", "outer", "reduce", "reduceat", "run_method"]

#: Functions that writes to indices fold by.
_FOLDS: Final = {"multiply": "mul", "maximum": "max", "minimum": "min"}
_ASSOCIATIVE: Final = frozenset(
    [
        "bitwise_and",
        "bitwise_or",
        "bitwise_xor",
        "fmax",
        "fmin",
        "gcd",
        "hypot",
        "lcm",
        "logaddexp",
        "logaddexp2",
        "logical_and",
        "logical_or",
        "logical_xor",
        "maximum",
        "minimum",
        "add",
        "multiply",
    ]
)
_REDUCTIONS: Final[dict[str, Callable[..., Tensor]]] = {
    "add": reductions.sum,
    "multiply": reductions.prod,
    "maximum": reductions.max,
    "minimum": reductions.min,
    "logical_and": reductions.all,
    "logical_or": reductions.any,
}
_ACCUMULATIONS: Final[dict[str, Callable[..., Tensor]]] = {
    "add": cumulative.cumsum,
    "multiply": cumulative.cumprod,
    "maximum": cumulative.cummax,
    "minimum": cumulative.cummin,
}


def run_method(method: str, name: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """The `method` of NumPy's ufunc `name`."""
    return _METHODS[method](name, *inputs, **options)


def _function(name: str) -> Callable[..., Tensor]:
    function = protocol.public_function(name)
    ufunc: Any = getattr(np, name)
    if function is None or ufunc.nin != 2 or ufunc.nout != 1:
        raise ArgumentError(f"{name}: its methods need a function of two operands and one result")
    return function


def reduce(
    name: str,
    x: Any,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Tensor:
    """`x` folded along `axis` by the function `name`, from `initial` on. ``numpy.ufunc.reduce``."""
    function = _function(name)
    x = as_tensor(x)
    initial = None if initial is np._NoValue else initial
    if isinstance(out, tuple):
        (out,) = out
    own = _REDUCTIONS.get(name)
    if own is not None:
        if name in ("logical_and", "logical_or"):
            result = own(x, axis, keepdims=keepdims, where=where)
            result = result if initial is None else function(result, initial)
        elif name in ("maximum", "minimum"):
            x = x if dtype is None else cast(x, as_dtype(dtype))
            result = own(x, axis, keepdims=keepdims, initial=initial, where=where)
        else:
            result = own(x, axis, dtype, keepdims=keepdims, initial=initial, where=where)
        return result if out is None else write_out(f"{name}.reduce", out, result)
    if dtype is not None:
        x = cast(x, as_dtype(dtype))
    axes = normalize_axes(f"{name}.reduce", axis, x.ndim)
    if len(axes) > 1 and name not in _ASSOCIATIVE:
        raise ShapeError(
            f"{name}.reduce: the order of the elements matters, so axis must be one axis, got {axis}"
        )
    rest = [place for place in range(x.ndim) if place not in axes]
    lines = moveaxis(x, axes, tuple(range(len(axes))))
    lines = reshape(lines, (-1 if x.size else _count(x, axes), *[x.shape[place] for place in rest]))
    identity = getattr(np, name).identity
    start = initial if initial is not None else identity
    if not is_everywhere(where):
        if start is None:
            raise ShapeError(f"{name}.reduce: where= needs initial=, as the function has no identity")
        mask = moveaxis(broadcast_to(as_tensor(where), x.shape), axes, tuple(range(len(axes))))
        lines = choice(reshape(mask, lines.shape), lines, start)
    if lines.shape[0] == 0:
        if start is None:
            raise ShapeError(
                f"{name}.reduce: no elements along axis {axis}, and the function has no identity"
            )
        result = filled(start, lines.shape[1:], _result_dtype(name, x))
    else:
        result = _folded(name, function, lines)
        if initial is not None:
            result = function(initial, result)
    if keepdims:
        for place in axes:
            result = expand_dims(result, place)
    return result if out is None else write_out(f"{name}.reduce", out, result)


def _count(x: Tensor, axes: tuple[int, ...]) -> int:
    return int(np.prod([x.shape[place] for place in axes], dtype=int))


def _result_dtype(name: str, x: Tensor) -> Any:
    return as_dtype(getattr(np, name).resolve_dtypes((x.dtype, x.dtype, None))[-1])


def _folded(name: str, function: Callable[..., Tensor], lines: Tensor) -> Tensor:
    """`lines`, at least one, folded along the first axis."""
    if name not in _ASSOCIATIVE:
        return _scanned(function, lines)[0]
    if lines.shape[0] == 1:
        return cast(getitem(lines, 0), _result_dtype(name, lines), copy=True)
    while (count := lines.shape[0]) > 1:
        half = count // 2
        merged = function(sliced(lines, 0, 0, half), sliced(lines, 0, half, half))
        rest = sliced(lines, 0, 2 * half, count - 2 * half)
        lines = merged if count == 2 * half else concatenate([merged, cast(rest, merged.dtype)])
    return getitem(lines, 0)


def _scanned(function: Callable[..., Tensor], lines: Tensor) -> tuple[Tensor, Tensor]:
    """`lines` folded from the first to the last: the last result, and all of them."""
    first = getitem(lines, 0)
    dtype = function(first, first).dtype
    first, lines = cast(first, dtype), cast(lines, dtype)
    scan = NAMESPACE().scan

    def step(carry: Tensor, row: Tensor) -> tuple[Tensor, Tensor]:
        result = function(carry, row)
        return result, result

    last, others = scan(step, first, sliced(lines, 0, 1, lines.shape[0] - 1))
    return last, concatenate([expand_dims(first, 0), others])


def accumulate(name: str, x: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Tensor:
    """The results of folding `x` along `axis`, step by step. ``numpy.ufunc.accumulate``."""
    function = _function(name)
    x = as_tensor(x)
    if dtype is not None:
        x = cast(x, as_dtype(dtype))
    if isinstance(out, tuple):
        (out,) = out
    label = f"{name}.accumulate"
    place = normalize_axis(label, axis, x.ndim)
    own = _ACCUMULATIONS.get(name)
    if own is not None:
        result = own(x, place) if dtype is None or name not in ("add", "multiply") else own(x, place, dtype)
    elif x.shape[place] == 0:
        result = cast(x, _result_dtype(name, x))
    elif name in _ASSOCIATIVE:
        prefixes = NAMESPACE().associative_scan
        result = prefixes(function, cast(x, _result_dtype(name, x)), axis=place)
    else:
        result = moveaxis(_scanned(function, moveaxis(x, place, 0))[1], 0, place)
    return result if out is None else write_out(label, out, result)


def outer(name: str, x: Any, y: Any, **options: Any) -> Tensor:
    """The function of every element of `x` with every element of `y`. ``numpy.ufunc.outer``."""
    function = _function(name)
    x, y = as_tensor(x), as_tensor(y)
    spread = reshape(x, (*x.shape, *[1] * y.ndim))
    if not options:
        return function(spread, y)
    return protocol.array_ufunc(spread, getattr(np, name), "__call__", spread, y, **options)  # type: ignore[no-any-return]


def at(name: str, x: Any, indices: Any, y: Any = None, /) -> None:
    """Write the function of ``x[indices]`` and `y` back there, once for each time that an index occurs.

    ``numpy.ufunc.at``. Sums, differences, and products and extremes of real numbers take any indices; for
    others these must not depend on the arguments of a traced function.
    """
    label = f"{name}.at"
    ufunc: Any = getattr(np, name)
    if isinstance(x, np.ndarray):
        ufunc.at(x, *protocol.as_arrays((indices, *(() if y is None else (y,)))))
        return
    if not isinstance(x, Tensor):
        raise DTypeError(f"{label}: the array that is written must be a tensor, got {type(x).__name__}")
    if ufunc.nin == 2 and y is None:
        raise ArgumentError(f"{label}: expected a second operand")
    operands = (y,) if ufunc.nin == 2 else ()
    inplace_write = load_module("..indexing.inplace", __package__).write
    if name in ("add", "subtract"):
        values = y if name == "add" else _negated(y, x)
        inplace_write(x, label, (values,), lambda old, new: index_add(old, indices, new))
        return
    if name in _FOLDS and x.dtype.kind in "iuf":
        mode = _FOLDS[name]
        inplace_write(x, label, (y,), lambda old, new: folded_at(label, old, indices, new, mode))
        return
    function: Any = protocol.public_function(name)
    for key, chosen in _occurrences(label, x, indices):
        new = [broadcast_to(as_tensor(operand), chosen.shape) for operand in operands]
        parts = [getitem(operand, chosen.places) for operand in new]
        inplace_write(
            x,
            label,
            tuple(parts),
            lambda old, *others, key=key: index_update(
                old, key, cast(function(getitem(old, key), *others), old.dtype)
            ),
        )


def _negated(y: Any, x: Tensor) -> Tensor:
    """-y, in the dtype of `x` where `y` becomes that: a narrow unsigned integer has no negative."""
    values = as_tensor(y)
    fits = np.can_cast(values.dtype, x.dtype, "same_kind") and x.dtype is not BOOL
    return run("neg", cast(values, x.dtype) if fits else values)


class _Chosen:
    """Places of one write of ``at``: no index occurs twice among them."""

    def __init__(self, shape: tuple[int, ...], places: Any) -> None:
        self.shape, self.places = shape, places


def _occurrences(label: str, x: Tensor, indices: Any) -> list[tuple[Any, _Chosen]]:
    """Keys of `x` that name each element once: of the first occurrences in `indices`, the second ones, ..."""
    parts = indices if isinstance(indices, tuple) else (indices,)
    concrete = [
        part if part is None or part is Ellipsis or isinstance(part, slice) else _concrete(label, part)
        for part in parts
    ]
    positions = np.atleast_1d(np.arange(x.size).reshape(x.shape)[tuple(concrete)])
    flat = positions.ravel()
    order = np.argsort(flat, kind="stable")
    sorted_flat = flat[order]
    starts = np.r_[True, sorted_flat[1:] != sorted_flat[:-1]] if flat.size else np.zeros(0, bool)
    first = np.maximum.accumulate(np.where(starts, np.arange(flat.size), 0)) if flat.size else order
    rank = np.empty(flat.size, np.int64)
    rank[order] = np.arange(flat.size) - first
    result = []
    for turn in range(int(rank.max(initial=-1)) + 1):
        chosen = np.flatnonzero(rank == turn)
        key = np.unravel_index(flat[chosen], x.shape)
        places = np.unravel_index(chosen, positions.shape)
        result.append((tuple(key), _Chosen(positions.shape, tuple(places))))
    return result


def _concrete(label: str, value: Any) -> Any:
    if isinstance(value, Tensor) or holds_tensors(value):
        data = as_tensor(value)._concrete(label, "indices that are known, or np.add.at, which takes any")
    else:
        data = np.asarray(value)
    return data.astype(np.int64) if data.dtype.kind != "b" else data


def reduceat(name: str, x: Any, indices: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Tensor:
    """`x` folded along `axis` over the slices that consecutive `indices` bound. ``numpy.ufunc.reduceat``."""
    label = f"{name}.reduceat"
    _function(name)
    x = as_tensor(x)
    place = normalize_axis(label, axis, x.ndim)
    bounds = _concrete(label, indices)
    extent = x.shape[place]
    if bounds.ndim != 1:
        raise ShapeError(f"{label}: indices must be of rank 1, got shape {bounds.shape}")
    if bounds.size and not (bounds.min() >= 0 and bounds.max() < extent):
        raise OutOfBoundsError(f"{label}: indices must be from 0 to {extent - 1}, got {bounds.tolist()}")
    stops = np.r_[bounds[1:], extent] if bounds.size else bounds
    stops = np.maximum(stops, bounds + 1)
    if isinstance(out, tuple):
        (out,) = out
    if name == "add":
        lines = accumulated(moveaxis(x, place, 0), dtype)
        lengths = stops - bounds
        segments = np.repeat(np.arange(bounds.size), lengths)
        offsets = np.arange(segments.size) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        terms = getitem(lines, bounds[segments] + offsets)
        zeros = filled(0, (bounds.size, *lines.shape[1:]), lines.dtype)
        result = moveaxis(index_add(zeros, segments.astype(INT64), terms), 0, place)
    else:
        pieces = [
            reduce(name, sliced(x, place, int(start), int(stop - start)), place, dtype)
            for start, stop in zip(bounds, stops, strict=True)
        ]
        if not pieces:
            raise ShapeError(f"{label}: expected at least one index")
        result = stack(pieces, place)
    return result if out is None else write_out(label, out, result)


_METHODS: Final[dict[str, Callable[..., Any]]] = {
    "reduce": reduce,
    "accumulate": accumulate,
    "outer": outer,
    "at": at,
    "reduceat": reduceat,
}
