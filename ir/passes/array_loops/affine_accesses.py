"""Indexed reads and writes at affine indices that are known to lie inside: slices, where nothing is checked.

    gather(x, 2 * iota + 1)       slice(x, start=1, step=2)

An index that is one scalar of the program is taken first, as in ``x[i, 1:n]``; what is left are slices.
"""

from __future__ import annotations

import math
from typing import Any

from ...builder import Builder
from ...graph import Function, Instruction, Value
from ...ops.indexing import indexed_axes, sliced_axes
from ...records import record
from ...types import Shape
from ..loops.control_flow import map_regions
from ..rewriting import Definitions, rewrite
from .affine import AffineValues


def slice_accesses(function: Function) -> Function:
    """*Requires*: valid IR. *Ensures*: the same results; no gather or scatter has indices that are numbers,
    or affine arrays with one axis for each axis of the operand, and that lie inside."""
    function = map_regions(function, slice_accesses)
    return rewrite(function, {"gather": (_sliced_gather,), "scatter": (_sliced_scatter,)})


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


def _rest(x: Value, count: int, axes: tuple[int, ...]) -> tuple[int, ...]:
    return sliced_axes(len(x.shape), count, axes)


def _kept(x: Value, window: _Window) -> list[int]:
    """The axes of `x` that no scalar indexes."""
    return [axis for axis in range(len(x.shape)) if axis not in window.scalars]


def _part(b: Any, x: Value, window: _Window) -> Value:
    """What the scalars of `window` leave of `x`."""
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
