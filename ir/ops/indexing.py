"""Indexed reads and writes: slices at tuples of indices, where negative ones count from the end.

Indices go along the first axes, or along those that the attribute ``axes`` names: so rows and columns are
read and written alike where they lie. The other axes are those of the slices, in their order.
"""

from __future__ import annotations

import math
import operator
from typing import Any, Final

import numpy as np

from ...base.errors import AttributeValueError, DTypeError, ShapeError, checked_error
from ..dtypes import INT64
from ..registry import Attrs, Builtin, Kind, Op
from ..transforms.batching import batch_gather, batch_scatter
from ..types import TensorType, Types
from .arithmetic import ADD, MAXIMUM, MINIMUM, MUL
from .define import define, in_float32

#: The op that folds a value into the element at its place, by the mode of a scatter.
SCATTER_FOLDS: Final[dict[str, Op]] = {"add": ADD, "mul": MUL, "max": MAXIMUM, "min": MINIMUM}
_UFUNCS: Final = {"mul": np.multiply, "max": np.maximum, "min": np.minimum}
_AXES: Final = {"axes": (tuple,)}
_NO_AXES: Final[Attrs] = {"axes": ()}


def _zeros(b: Any, like: TensorType) -> Any:
    return b.full(value=0.0, shape=like.shape, dtype=like.dtype)


def indexed_axes(count: int, axes: tuple[int, ...]) -> tuple[int, ...]:
    """The axes that `count` indices go along, by the attribute ``axes``: the first ones where it is empty."""
    return axes or tuple(range(count))


def sliced_axes(rank: int, count: int, axes: tuple[int, ...]) -> tuple[int, ...]:
    """The other axes of an operand of `rank`: those of its slices."""
    indexed = indexed_axes(count, axes)
    return tuple([axis for axis in range(rank) if axis not in indexed])


def _in_front(x: Any, axes: tuple[int, ...]) -> Any:
    """The array `x` with the indexed axes first, where they are others: in the same memory."""
    return x if not axes else x.transpose(axes + sliced_axes(x.ndim, len(axes), axes))


def _check_indices(name: str, operand: TensorType, indices: Types, axes: tuple[int, ...]) -> tuple[int, ...]:
    if not indices or len(indices) > operand.ndim:
        raise ShapeError(f"{name}: {len(indices)} index arrays for an operand of rank {operand.ndim}")
    if axes and (len({*axes} & {*range(operand.ndim)}) != len(axes) or len(axes) != len(indices)):
        raise AttributeValueError(
            f"{name}: axes must name an axis of {operand} for each of {len(indices)} index arrays, got {axes}"
        )
    for index in indices:
        if index.dtype is not INT64 or index.shape != indices[0].shape:
            types = ", ".join(map(str, indices))
            raise DTypeError(f"{name}: indices must be int64 arrays of one shape, got ({types})")
    sliced = sliced_axes(operand.ndim, len(indices), axes)
    return indices[0].shape + tuple([operand.shape[axis] for axis in sliced])


def _gather_infer(types: Types, attrs: Attrs) -> Types:
    return (types[0].with_shape(_check_indices("gather", types[0], types[1:], attrs["axes"])),)


def _gather_rule(b: Any, ct: Any, x_type: TensorType, indices: Any, axes: tuple[int, ...]) -> Any:
    return b.scatter(_zeros(b, x_type), ct, *indices, mode="add", axes=axes)


GATHER = define(
    "gather", Kind.GATHER, "x *indices", infer=_gather_infer,
    eval=lambda x, *indices, axes: _in_front(x, axes)[indices],
    doc="x[i0, i1, ...] for index arrays on the first axes, or on `axes`; negative counts from the end",
    attrs=_AXES, defaults=_NO_AXES, vjp={"x": _gather_rule}, batch=batch_gather,
    builtin=Builtin(operator.getitem, attrs=lambda shape: _NO_AXES),
)  # fmt: skip


def _check_eval(x: Any, *indices: Any, axes: tuple[int, ...], error: str) -> Any:
    try:
        return _in_front(x, axes)[indices]
    except IndexError as outside:
        raise checked_error(error) from outside


CHECK = define(
    "check", Kind.GATHER, "x *indices", infer=_gather_infer, eval=_check_eval,
    doc="gather whose index is a condition: one outside is the `error`, given as its class and message",
    attrs={"error": (str,), **_AXES}, defaults=_NO_AXES,
    vjp={"x": _gather_rule}, batch=batch_gather,
)  # fmt: skip


def _check_value(name: str, types: Types, axes: tuple[int, ...]) -> None:
    operand, value, *indices = types
    shape = _check_indices(name, operand, tuple(indices), axes)
    if value.shape != shape or value.dtype is not operand.dtype:
        raise ShapeError(f"{name}: the value must be {operand.with_shape(shape)}, got {value}")


def _scatter_infer(types: Types, attrs: Attrs) -> Types:
    if attrs["mode"] not in ("set", "add"):
        raise DTypeError(f"scatter: mode must be 'set' or 'add', got {attrs['mode']!r}")
    _check_value("scatter", types, attrs["axes"])
    return types[:1]


def _scatter_eval(x: Any, v: Any, *indices: Any, mode: str, axes: tuple[int, ...]) -> Any:
    if mode == "add":
        return _added(x, v, *indices, axes=axes)
    result = np.array(x)
    _in_front(result, axes)[indices] = v
    return result


@in_float32
def _added(x: Any, v: Any, *indices: Any, axes: tuple[int, ...]) -> Any:
    result = np.array(x)
    np.add.at(_in_front(result, axes), *_in_line(indices, v))
    return result


def _in_line(indices: tuple[Any, ...], v: Any) -> tuple[tuple[Any, ...], Any]:
    """Flatten `indices`, and the written values accordingly, to one axis: NumPy's `at` crashes for more than
    32."""
    shape = np.shape(indices[0])
    count = math.prod(shape)
    lines = tuple([np.reshape(index, count) for index in indices])
    return lines, np.reshape(v, (count, *np.shape(v)[len(shape) :]))


def _scatter_x_rule(
    b: Any, ct: Any, indices: Any, v_type: TensorType, mode: str, axes: tuple[int, ...]
) -> Any:
    return ct if mode == "add" else b.scatter(ct, _zeros(b, v_type), *indices, mode="set", axes=axes)


def _scatter_v_rule(
    b: Any, ct: Any, indices: Any, x_type: TensorType, mode: str, axes: tuple[int, ...]
) -> Any:
    """The cotangent of the written values: that of their element for the last write to a place, zero for
    overwritten values."""
    picked = b.gather(ct, *indices, axes=axes)
    shape = indices[0].shape
    count = math.prod(shape)
    if mode == "add" or count == 1:
        return picked
    number = b.reshape(b.iota(shape=(count,), axis=0, dtype=INT64), shape=shape)
    places = tuple([x_type.shape[axis] for axis in indexed_axes(len(indices), axes)])
    owner = b.full(value=-1, shape=places, dtype=INT64)
    last = b.gather(b.scatter(owner, number, *indices, mode="set"), *indices)
    wins = b.reshape(b.eq(last, number), shape=shape + (1,) * (len(picked.shape) - len(shape)))
    return b.where(b.broadcast(wins, shape=picked.shape), picked, 0.0)


SCATTER = define(
    "scatter", Kind.SCATTER, "x v *indices", infer=_scatter_infer, eval=_scatter_eval,
    doc="x with v written (`set`, the last write wins) or added (`add`) at x[i0, i1, ...], or along `axes`",
    attrs={"mode": (str,), **_AXES}, defaults=_NO_AXES, vjp={"x": _scatter_x_rule, "v": _scatter_v_rule},
    batch=batch_scatter,
)  # fmt: skip


# -- scatters that fold ---------------------------------------------------------------------------


def _reduce_infer(types: Types, attrs: Attrs) -> Types:
    if attrs["mode"] not in _UFUNCS:
        raise DTypeError(f"scatter_reduce: mode must be one of {[*_UFUNCS]}, got {attrs['mode']!r}")
    _check_value("scatter_reduce", types, attrs["axes"])
    return types[:1]


@in_float32
def _reduce_eval(x: Any, v: Any, *indices: Any, mode: str, axes: tuple[int, ...]) -> Any:
    result = np.array(x)
    _UFUNCS[mode].at(_in_front(result, axes), *_in_line(indices, v))
    return result


def _share(b: Any, ct: Any, x: Any, v: Any, out: Any, indices: Any, axes: tuple[int, ...]) -> Any:
    """The cotangent of each element of the result for each of the equal ones that it is."""
    wins = b.cast(b.eq(v, b.gather(out, *indices, axes=axes)), dtype=x.dtype)
    count = b.scatter(b.cast(b.eq(x, out), dtype=x.dtype), wins, *indices, mode="add", axes=axes)
    return b.div(ct, count)


def _reduce_x_rule(
    b: Any, ct: Any, x: Any, v: Any, out: Any, indices: Any, mode: str, axes: tuple[int, ...]
) -> Any:
    if mode == "mul":
        ones = b.full(value=1.0, shape=x.shape, dtype=x.dtype)
        return b.mul(ct, b.scatter_reduce(ones, v, *indices, mode="mul", axes=axes))
    return b.mul(_share(b, ct, x, v, out, indices, axes), b.cast(b.eq(x, out), dtype=x.dtype))


def _reduce_v_rule(
    b: Any, ct: Any, x: Any, v: Any, out: Any, indices: Any, mode: str, axes: tuple[int, ...]
) -> Any:
    picked = b.gather(out, *indices, axes=axes)
    if mode != "mul":
        share = b.gather(_share(b, ct, x, v, out, indices, axes), *indices, axes=axes)
        return b.mul(share, b.cast(b.eq(v, picked), dtype=x.dtype))
    # the product of what else meets at the place of a factor, of which one may be zero
    zero = b.eq(v, 0.0)
    factors = b.where(zero, 1.0, v)
    is_zero = b.cast(zero, dtype=x.dtype)
    none = b.full(value=0.0, shape=x.shape, dtype=x.dtype)
    zeros = b.scatter(none, is_zero, *indices, mode="add", axes=axes)
    others = b.sub(b.gather(zeros, *indices, axes=axes), is_zero)
    whole = b.scatter_reduce(x, factors, *indices, mode="mul", axes=axes)
    product = b.div(b.gather(whole, *indices, axes=axes), factors)
    return b.mul(b.gather(ct, *indices, axes=axes), b.where(b.eq(others, 0.0), product, 0.0))


SCATTER_REDUCE = define(
    "scatter_reduce", Kind.SCATTER, "x v *indices", infer=_reduce_infer, eval=_reduce_eval,
    doc="x with v multiplied (`mul`) at x[i0, i1, ...], or the larger (`max`) or smaller (`min`) taken",
    attrs={"mode": (str,), **_AXES}, defaults=_NO_AXES, vjp={"x": _reduce_x_rule, "v": _reduce_v_rule},
    batch=batch_scatter,
)  # fmt: skip
