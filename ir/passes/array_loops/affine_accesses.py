"""Indexed reads and writes at affine indices that are known to lie inside become slices, without checks.

    gather(x, 2 * iota + 1)       slice(x, start=1, step=2)

An index that is one scalar of the program is taken first, as in ``x[i, 1:n]``; what is left are slices.
"""

from __future__ import annotations

import math
from typing import Any, Final

from ....base.records import record
from ...analysis.affine import Affine, AffineValues
from ...builder import Builder
from ...graph import Function, Instruction, Value
from ...ops.indexing import indexed_axes, sliced_axes
from ...registry import Kind
from ...types import Shape
from ..loops.control_flow import map_regions
from ..rewriting import Definitions, rewrite

#: Reads of more elements than this, and this many of each, go by windows that overlap.
MANY: Final = 4096
MAX_AGAIN: Final = 2
#: The inverse of the largest part of an axis that is duplicated where indices wrap around.
_MAX_AGAIN: Final = 4


def slice_accesses(function: Function) -> Function:
    """*Requires*: valid IR. *Ensures*: the same results; no gather or scatter has indices that are numbers,
    or affine arrays with one axis for each axis of the operand, and that lie inside."""
    function = map_regions(function, slice_accesses)
    rules = {"gather": (_sliced_gather, _periodic_gather), "scatter": (_sliced_scatter,)}
    return rewrite(function, rules)


def has_large_windows(function: Function) -> bool:
    """Whether many elements are read several times, in windows that overlap: ``x[i + j]`` for all i and j,
    which no slice is."""
    values = AffineValues({result: step for step in function.body for result in step.results})
    return any(
        step.op.kind is Kind.GATHER
        and step.result.type.size > max(MAX_AGAIN * step.operands[0].type.size, MANY)
        and any(_has_windows(values.of(index), index.shape) for index in step.operands[1:])
        for step in function.body
    )


def _has_windows(form: Affine | None, shape: Shape) -> bool:
    factors = zip(form.axes, shape, strict=True) if form is not None else ()
    return sum([bool(factor) and extent > 1 for factor, extent in factors]) > 1


@record(eq=False)
class _Window:
    """A slice of the elements of an array that an indexed op reads or writes.

    Attributes:
        scalars: by axis of the array the scalar that indexes it.
        axis_of: by axis of the indices the axis of the array along which they go; None where it is repeated.
    """

    scalars: dict[int, Value]
    start: Shape
    size: Shape
    step: Shape
    axis_of: tuple[int | None, ...]


def _window(
    x: Value, indices: tuple[Value, ...], axes: tuple[int, ...], b: Builder, defs: Definitions
) -> _Window | None:
    shape = indices[0].shape
    if not x.type.size or not math.prod(shape):
        return None
    values = AffineValues(defs)
    start, size, step = [0] * len(x.shape), list(x.shape), [1] * len(x.shape)
    axis_of: list[int | None] = [None] * len(shape)
    scalars: dict[int, Value] = {}
    forms = {}
    for axis, index in zip(indexed_axes(len(indices), axes), indices, strict=True):
        form = values.of(index)
        if form is None:
            return None
        forms[axis] = form
        along = [place for place, factor in enumerate(form.axes) if factor and shape[place] > 1]
        if form.scalars:
            if along or not shape:
                return None
            continue
        bounds = form.bounds(shape, 1)
        if bounds is None or len(along) > 1:
            return None
        around = x.shape[axis] if bounds[1] < 0 else 0
        if not (bounds[0] + around >= 0 and bounds[1] + around < x.shape[axis]):
            return None
        start[axis], size[axis] = form.constant + around, 1
        for place in along:
            if axis_of[place] is not None:
                return None
            axis_of[place] = axis
            size[axis], step[axis] = shape[place], form.axes[place]
    for axis, form in forms.items():
        if form.scalars:
            total: Any = None
            for scalar, factor in form.scalars:
                part: Any = scalar if factor == 1 else b.mul(scalar, factor)
                total = part if total is None else b.add(total, part)
            scalars[axis] = total if not form.constant else b.add(total, form.constant)
    return _Window(scalars, tuple(start), tuple(size), tuple(step), tuple(axis_of))


def _sliced_gather(b: Any, gather: Instruction, defs: Definitions) -> Value | None:
    x, *indices = gather.operands
    window = _window(x, tuple(indices), gather.attrs["axes"], b, defs)
    if window is None:
        return None
    result: Value = _read(b, x, window, indices[0].shape, _rest(x, len(indices), gather.attrs["axes"]))
    return result


def _periodic_gather(b: Any, gather: Instruction, defs: Definitions) -> Value | None:
    """A gather at remainders by the sizes of axes, as in ``x[(i - 1) % n]``, or at indices of which the first
    are negative: at other indices, of what has its last elements in front again, and its first ones
    behind."""
    x, *indices = gather.operands
    values, wrapped = AffineValues(defs), list(indices)
    for place, axis in enumerate(indexed_axes(len(indices), gather.attrs["axes"])):
        views, inner = _views(indices[place], defs)
        remainder, size = defs.get(inner), gather.operands[0].shape[axis]
        if remainder is None or remainder.op.name != "remainder":
            number, index = values.of(indices[place]), indices[place]
            if number is None:
                return None
            bounds, views = number.bounds(index.shape, 1), []
            if bounds is None or bounds[0] >= 0 or not 0 <= bounds[1] < size:
                continue
        else:
            index = remainder.operands[0]
            number, divisor = values.of(index), values.of(remainder.operands[1])
            bounds = number.bounds(inner.shape, 1) if number is not None else None
            if bounds is None or divisor is None or divisor.number != size:
                return None
        before, behind = max(-bounds[0], 0), max(bounds[1] - size + 1, 0)
        if before + behind > size // _MAX_AGAIN:
            return None
        index = b.add(index, before) if before else index
        for view in reversed(views):
            (index,) = b.append(view.op, (index,), view.attrs)
        wrapped[place] = index
        x = _around(b, x, axis, before, behind)
    if wrapped == indices:
        return None
    result: Value = b.gather(x, *wrapped, **gather.attrs)
    return result


def _views(value: Value, defs: Definitions) -> tuple[list[Instruction], Value]:
    """The views by which `value` is one of another value, from the last one on, and that value."""
    views: list[Instruction] = []
    while (definition := defs.get(value)) is not None and definition.op.kind is Kind.VIEW:
        views.append(definition)
        (value,) = definition.operands
    return views, value


def _around(b: Any, x: Value, axis: int, before: int, behind: int) -> Value:
    """`x` with its last `before` elements along an axis in front, and its first `behind` ones behind."""
    ends = []
    for start, count in ((x.shape[axis] - before, before), (0, behind)):
        size = tuple([count if place == axis else extent for place, extent in enumerate(x.shape)])
        first = tuple([start if place == axis else 0 for place in range(len(size))])
        ends.append(b.slice(x, start=first, size=size, step=(1,) * len(size)) if count else None)
    parts = [part for part in (ends[0], x, ends[1]) if part is not None]
    return x if len(parts) == 1 else b.concat(*parts, axis=axis)


def _rest(x: Value, count: int, axes: tuple[int, ...]) -> tuple[int, ...]:
    return sliced_axes(len(x.shape), count, axes)


def _kept(x: Value, window: _Window) -> list[int]:
    """The axes of `x` that no scalar indexes."""
    return [axis for axis in range(len(x.shape)) if axis not in window.scalars]


def _part(b: Any, x: Value, window: _Window) -> Value:
    """Index `x` by the scalars of `window`, which leaves its other axes."""
    if not window.scalars:
        return x
    axes = tuple(window.scalars)
    part: Value = b.gather(x, *window.scalars.values(), axes=() if axes == tuple(range(len(axes))) else axes)
    return part


def _read(b: Any, x: Value, window: _Window, shape: Shape, rest: tuple[int, ...]) -> Value:
    kept = _kept(x, window)
    part = _part(b, x, window)
    size = tuple([window.size[axis] for axis in kept])
    if size != part.shape or any(window.step[axis] < 0 for axis in kept):
        start, step = (
            tuple([window.start[axis] for axis in kept]),
            tuple([window.step[axis] for axis in kept]),
        )
        part = b.slice(part, start=start, size=size, step=step)
    places = {axis: position for position, axis in enumerate(kept)}
    mapped = [places[axis] for axis in window.axis_of if axis is not None]
    last = [places[axis] for axis in rest]
    single = [position for position in range(len(kept)) if position not in mapped and position not in last]
    order = (*mapped, *single, *last)
    if order != tuple(range(len(order))):
        part = b.transpose(part, perm=order)
    sizes = tuple([1 if axis is None else extent for axis, extent in zip(window.axis_of, shape, strict=True)])
    others = tuple([x.shape[axis] for axis in rest])
    return b.broadcast_to(b.reshape(part, shape=sizes + others), shape + others)  # type: ignore[no-any-return]


def _sliced_scatter(b: Any, scatter: Instruction, defs: Definitions) -> Value | None:
    x, value, *indices = scatter.operands
    axes, shape = scatter.attrs["axes"], indices[0].shape
    window = _window(x, tuple(indices), axes, b, defs)
    if window is None or any(
        axis is None and extent > 1 for axis, extent in zip(window.axis_of, shape, strict=True)
    ):
        return None
    rest, kept = _rest(x, len(indices), axes), _kept(x, window)
    part = _part(b, x, window)
    if scatter.attrs["mode"] == "add":
        value = b.add(_read(b, x, window, shape, rest), value)
    # the value's axes, in the order of the array's
    along = [axis for axis in window.axis_of if axis is not None]
    others = [x.shape[axis] for axis in rest]
    value = b.reshape(value, shape=(*[window.size[axis] for axis in along], *others))
    present = [*along, *rest]
    order = sorted(range(len(present)), key=lambda position: present[position])
    if order != list(range(len(order))):
        value = b.transpose(value, perm=tuple(order))
    value = b.reshape(value, shape=tuple([window.size[axis] for axis in kept]))
    start = tuple([window.start[axis] for axis in kept])
    step = tuple([window.step[axis] for axis in kept])
    updated: Value = b.update(part, value, start=start, step=step)
    if not window.scalars:
        return updated
    taken = tuple(window.scalars)
    result: Value = b.scatter(
        x, updated, *window.scalars.values(), mode="set",
        axes=() if taken == tuple(range(len(taken))) else taken,
    )  # fmt: skip
    return result
