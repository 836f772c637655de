"""Selections of a size that is an argument, for functions whose result's shape depends on values.

With ``size=n`` a result has n elements: the first ones, and behind them a fill value. So compiled code knows
its shape before it runs. Everything is composed of sorts, positions of true elements, gathers and scatters,
which compile to native code, batch, and have gradients. Semantics of `size` and `fill_value`: ``jax.numpy``.
"""

from __future__ import annotations

import math
import operator
from typing import Any, Final, NamedTuple

from ...base.errors import DTypeError, ShapeError
from ...ir.dtypes import BOOL, BY_NAME, INT64, DType, is_inexact
from ...tensors.tensor import Tensor
from ..indexing.taking import take, take_along_axis
from ..manipulation import moveaxis, ravel
from ..operands import as_tensor, broadcast, candidate, cast, filled, permuted, reshaped, run, sliced
from ..ordering.sorting import lexsort
from ..reductions import any as any_of

__all__ = ["checked_size", "fill_of", "kept", "nonzero", "places_of", "repeat", "taken", "unique"]


def checked_size(name: str, size: Any, parameter: str = "size") -> int:
    """`size` as an int that is not negative."""
    try:
        count = operator.index(size)
    except TypeError:
        raise DTypeError(f"{name}: {parameter} must be an integer, got {size!r}") from None
    if count < 0:
        raise ShapeError(f"{name}: {parameter} must not be negative, got {count}")
    return count


def fill_of(name: str, fill_value: Any, dtype: DType) -> Tensor:
    """`fill_value` as a tensor of rank 0 and of `dtype`."""
    if isinstance(fill_value, (bool, int, float, complex)):
        try:
            return filled(fill_value, (), dtype)
        except DTypeError as error:
            raise DTypeError(f"{name}: fill_value={fill_value!r} does not fit {dtype.name}") from error
    fill = as_tensor(fill_value)
    if fill.ndim:
        raise ShapeError(f"{name}: fill_value must be a number, got shape {fill.shape}")
    return cast(fill, dtype)


def places_of(mask: Tensor, size: int) -> Tensor:
    """The first `size` places where the line `mask` is true; behind them the length of the line."""
    return run("true_positions", mask, size=size)


def taken(x: Tensor, places: Tensor, axis: int, fill: Tensor) -> Tensor:
    """The slices of `x` at the line `places` along `axis`, and `fill` for places behind its end."""
    extent = x.shape[axis]
    shape = (*x.shape[:axis], places.shape[0], *x.shape[axis + 1 :])
    if extent == 0:
        return broadcast(fill, shape)
    slices = take(x, run("minimum", places, extent - 1), axis)
    inside = reshaped(run("lt", places, extent), (*[1] * axis, places.shape[0], *[1] * (x.ndim - axis - 1)))
    return run("where", inside, slices, fill)


def kept(name: str, x: Tensor, mask: Tensor, axis: int, size: Any, fill_value: Any) -> Tensor:
    """The first `size` slices of `x` along `axis` for which the line `mask` is true."""
    places = places_of(mask, checked_size(name, size))
    return taken(candidate(x), places, axis, fill_of(name, fill_value, x.dtype))


def nonzero(name: str, x: Tensor, size: Any, fill_value: Any) -> tuple[Tensor, ...]:
    """The indices of the first `size` elements that are not zero, one line per axis, and `fill_value`, a
    number or one for each axis, behind them."""
    count = checked_size(name, size)
    if isinstance(fill_value, (tuple, list)):
        if len(fill_value) != x.ndim:
            raise ShapeError(f"{name}: expected {x.ndim} fill values, one per axis, got {len(fill_value)}")
        fills = list(fill_value)
    else:
        fills = [0 if fill_value is None else fill_value] * x.ndim
    places = places_of(cast(ravel(x), BOOL), count)
    inside = run("lt", places, x.size)
    lines = []
    for axis, fill in enumerate(fills):
        step = math.prod(x.shape[axis + 1 :])
        line = places
        if x.size:
            line = run("floor_divide", line, step) if step > 1 else line
            line = run("remainder", line, x.shape[axis]) if axis else line
        lines.append(run("where", inside, line, fill_of(name, fill, INT64)))
    return tuple(lines)


class Distinct(NamedTuple):
    """The result of ``unique`` with `size`."""

    values: Tensor
    indices: Tensor
    inverse: Tensor
    counts: Tensor


def order_and_firsts(line: Tensor, equal_nan: bool = True) -> tuple[Tensor, Tensor]:
    """The indices that sort `line`, and whether each sorted element is the first of its equals."""
    if line.dtype is BOOL:
        line = cast(line, BY_NAME["u8"])
    line = line.detach()
    order = run("argsort", line)
    count = max(line.shape[0] - 1, 0)
    ordered = take(line, order)
    before, after = sliced(ordered, 0, 0, count), sliced(ordered, 0, min(1, line.shape[0]), count)
    differs = run("ne", before, after)
    if equal_nan and is_inexact(line.dtype):  # NaNs are last
        differs = run("logical_and", differs, run("logical_not", run("isnan", before)))
    return order, _with_a_first(differs, line.shape[0])


def _with_a_first(differs: Tensor, extent: int) -> Tensor:
    return run("concat", filled(True, (1,), BOOL), differs, axis=0) if extent else differs


def unique(
    name: str, x: Tensor, axis: int | None, size: Any, fill_value: Any, *, equal_nan: bool = True
) -> Distinct:
    """The first `size` distinct elements of `x`, or slices along `axis`, in ascending order.

    Behind them comes `fill_value`, by default the first of them; the index of what is filled is that of the
    first one, its count is 0. The inverse may name places beyond `size`.
    """
    count = checked_size(name, size)
    slices, place = (ravel(x), 0) if axis is None else (x, axis)
    extent = slices.shape[place]
    if extent == 0 and count and fill_value is None:
        raise ShapeError(f"{name}: x is empty, so size={count} needs fill_value")
    if axis is None:
        order, firsts = order_and_firsts(slices, equal_nan)
    else:
        order, firsts = _order_of_slices(slices, place)
    bounds = places_of(firsts, count + 1)
    starts = sliced(bounds, 0, 0, count)
    counts = run("sub", sliced(bounds, 0, 1, count), starts)
    if extent == 0:
        indices = filled(0, (count,), INT64)
        values = taken(slices, starts, place, fill_of(name, fill_value or 0, x.dtype))
        return Distinct(values, indices, filled(0, x.shape if axis is None else (0,), INT64), counts)
    inside = run("lt", starts, extent)
    indices = take(order, run("where", inside, starts, 0))
    values = take(slices, indices, place)
    if fill_value is not None:
        sides = (*[1] * place, count, *[1] * (slices.ndim - place - 1))
        values = run("where", reshaped(inside, sides), values, fill_of(name, fill_value, x.dtype))
    numbers = run("sub", run("cumsum", cast(firsts, INT64), axis=0, reverse=False), 1)
    inverse = run("scatter", filled(0, (extent,), INT64), numbers, order, mode="set", axes=())
    return Distinct(values, indices, reshaped(inverse, x.shape) if axis is None else inverse, counts)


def _order_of_slices(x: Tensor, axis: int) -> tuple[Tensor, Tensor]:
    """``order_and_firsts`` of slices along `axis`, which are compared element by element."""
    extent = x.shape[axis]
    lines = reshaped(moveaxis(x.detach(), axis, 0), (extent, x.size // max(extent, 1)))
    if lines.dtype is BOOL:
        lines = cast(lines, BY_NAME["u8"])
    if lines.size == 0:
        order = run("iota", shape=(extent,), axis=0, dtype=INT64)
    else:
        order = _lexicographic_order(permuted(lines, (1, 0)))
    count = max(extent - 1, 0)
    ordered = take(lines, order, 0)
    before, after = sliced(ordered, 0, 0, count), sliced(ordered, 0, min(1, extent), count)
    return order, _with_a_first(any_of(run("ne", before, after), 1), extent)


#: The largest number of columns that are sorted one after the other.
_FEW: Final = 8


def _lexicographic_order(columns: Tensor) -> Tensor:
    """The indices that sort by the rows of `columns`, the first one first.

    Many are first replaced by their elements' ranks, and then two of them by one, until few are left: a
    number of sorts that grows with the logarithm of theirs.
    """
    count, extent = columns.shape
    if count > _FEW:
        columns = _ranks(columns)
    while columns.shape[0] > _FEW:
        count = columns.shape[0]
        if count % 2:
            columns = run("concat", columns, filled(0, (1, extent), INT64), axis=0)
        pairs = reshaped(columns, (-(-count // 2), 2, extent))
        first, second = (reshaped(sliced(pairs, 1, side, 1), (pairs.shape[0], extent)) for side in (0, 1))
        columns = _ranks(run("add", run("mul", first, extent), second))
    return lexsort([reshaped(sliced(columns, 0, row, 1), (extent,)) for row in reversed(range(len(columns)))])


def _ranks(columns: Tensor) -> Tensor:
    """The number of different smaller elements in its row, for each element of `columns`; NaNs are equal."""
    count, extent = columns.shape
    order = run("argsort", columns)
    ordered = take_along_axis(columns, order, 1)
    before, after = sliced(ordered, 1, 0, extent - 1), sliced(ordered, 1, 1, extent - 1)
    differs = run("ne", before, after)
    if is_inexact(columns.dtype):
        differs = run("logical_and", differs, run("logical_not", run("isnan", before)))
    steps = run("concat", filled(0, (count, 1), INT64), cast(differs, INT64), axis=1)
    numbers = run("cumsum", steps, axis=1, reverse=False)
    rows = run("iota", shape=(count, extent), axis=0, dtype=INT64)
    places = run("add", run("mul", rows, extent), order)
    line = run(
        "scatter", filled(0, (count * extent,), INT64), ravel(numbers), ravel(places), mode="set", axes=()
    )
    return reshaped(line, (count, extent))


def repeat(x: Tensor, repeats: Tensor, axis: int, total: Any) -> Tensor:
    """The slices of `x` along `axis` `repeats` times each, the first `total` of them; where there are fewer,
    the last slice fills the rest."""
    length = checked_size("repeat", total, "total_repeat_length")
    extent = x.shape[axis]
    if repeats.dtype.kind not in "iub" or repeats.ndim > 1:
        raise DTypeError(
            f"repeat: repeats must be an integer or a vector of them, got shape {repeats.shape} of "
            f"{repeats.dtype.name}"
        )
    if repeats.size not in (1, extent):
        raise ShapeError(f"repeat: {repeats.size} counts for {extent} elements of axis {axis}")
    if extent == 0 and length:
        raise ShapeError(f"repeat: axis {axis} is empty, so total_repeat_length must be 0, got {length}")
    if length == 0:
        return sliced(x, axis, 0, 0)
    counts = run("maximum", broadcast(cast(ravel(repeats), INT64), (extent,)), 0)
    # each slice but the first begins where the ones before it end: there the origin goes up by one
    ends = run("minimum", run("cumsum", counts, axis=0, reverse=False), length)
    steps = run(
        "scatter", filled(0, (length + 1,), INT64), filled(1, (extent,), INT64), ends, mode="add", axes=()
    )
    origins = run("cumsum", sliced(steps, 0, 0, length), axis=0, reverse=False)
    return take(x, run("minimum", origins, extent - 1), axis)
