"""Folds of values that repeat others, and ops on each line along an axis: of what is repeated along other
axes they are computed once, and along their own where the result follows from it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from ....graph import Instruction, Value
from ....ops.signal.fourier import has_pairs
from ....types import Shape
from .constant_lines import along_constant_line
from .merged_lines import running_fold, sorted_places
from .repeated_axes import PLACES, Line
from .repeated_values import RepeatedValues

#: Folds that repeated elements do not change.
IDEMPOTENT: Final = ("max", "min", "nanmax", "all", "any")


def reduction(repeats: RepeatedValues, instruction: Instruction, line: Line) -> Value | None:
    """Folds: what is repeated along other axes is folded once; of what is repeated along the folded ones,
    once as well, where the result follows from it."""
    op, repeated = instruction.op, line.repeated
    axes = tuple([axis for place in instruction.attrs["axes"] for axis in line.groups[place]])
    copies = math.prod(line.fine[axis] for axis in axes if repeated[axis])
    sums = op.name == "sum" and line.value.dtype.kind != "b"
    follows = sums or op.name in IDEMPOTENT
    if not follows and not any(own for axis, own in enumerate(repeated) if axis not in axes):
        return None
    value = line.value
    if not follows:
        value = repeats.repeat(
            value, tuple([line.fine[i] if i in axes else size for i, size in enumerate(value.shape)])
        )
    result = repeats.emit(op, (value,), {**instruction.attrs, "axes": axes})
    if copies > 1 and sums:
        result = repeats.times(result, copies)
    fine = tuple([size for axis, size in enumerate(line.fine) if axis not in axes])
    return repeats.whole(result, fine, instruction.result.shape)


def by_lines(repeats: RepeatedValues, instruction: Instruction, line: Line) -> Value | None:
    """Ops on each line along an axis: what is repeated along other axes is computed once; so is what is
    repeated along its own, where the result follows from the element."""
    op, attrs, b = instruction.op, instruction.attrs, repeats.b
    last = len(line.counts) - 1
    axis = attrs.get("axis", last)
    group = line.groups[axis]
    kept = [place for place in group if not line.repeated[place]]
    count, whole = math.prod(line.fine[place] for place in kept), line.shape[axis]
    if op.name in PLACES and count < whole:
        return _place(repeats, instruction, line, group, kept)
    if op.name == "sort" and 1 < count < whole:
        ordered = _with_merged(line.value.shape, group, count)
        (value,) = b.append(op, (repeats.reshaped(line.value, ordered),), attrs)
        fine = (*line.fine[: group[0]], count, whole // count)
        return repeats.whole(repeats.reshaped(value, (*ordered, 1)), fine, instruction.result.shape)
    if 1 < count < whole:
        merged = _merged_lines(repeats, instruction, line, group)
        if merged is not None:
            return merged
    fine, value, place = _with_merged(line.fine, group, whole), line.value, group[0]
    if count < whole and count > 1:
        value = repeats.repeat(
            value, tuple([line.fine[i] if i in group else size for i, size in enumerate(value.shape)])
        )
    value = repeats.reshaped(value, _with_merged(value.shape, group, 1 if count == 1 else whole))
    sizes = list(value.shape)
    if has_pairs(instruction):
        sizes[-1] = 2
    if count == 1 < whole:
        constant = repeats.repeat(value, tuple(sizes))
        follows = along_constant_line(b, instruction, constant, _along(sizes, place, whole), place)
        if follows is not None:
            return _line_of(repeats, instruction, follows, fine, place)
    sizes[place] = whole
    if tuple(sizes) == fine:
        return None
    if "axis" in attrs:
        attrs = {**attrs, "axis": place}
    result = repeats.emit(op, (repeats.repeat(value, tuple(sizes)),), attrs)
    return _line_of(repeats, instruction, result, fine, place)


def _merged_lines(
    repeats: RepeatedValues, instruction: Instruction, line: Line, group: range
) -> Value | None:
    """Results along merged axes, some of which are repeated, that follow from what is not."""
    if instruction.op.name == "argsort":
        places, whole = sorted_places(repeats.b, line, group), instruction.result.shape[-1]
        return repeats.whole(places, (*line.fine[: group[0]], whole), instruction.result.shape)
    running = running_fold(repeats.b, repeats.emit, instruction.op, line, group, instruction.attrs)
    if running is None:
        return None
    result = repeats.whole(running, line.fine, instruction.result.shape)
    repeats.define()
    repeats.lines[result] = Line(running, line.fine, line.counts)
    return result


def _line_of(
    repeats: RepeatedValues, instruction: Instruction, result: Value, fine: Shape, place: int
) -> Value:
    """`result`, of lines along the axis `place` of an operand with axes `fine`, repeated along others.
    Transforms between numbers and pairs have a last axis more or less."""
    if instruction.op.name in PLACES:
        fine = (*fine[:place], *fine[place + 1 :])
    else:
        fine = _along(fine, place, result.shape[place])
    fine = (*fine, *result.shape[len(fine) :])[: len(result.shape)]
    return repeats.whole(result, fine, instruction.result.shape)


def _place(
    repeats: RepeatedValues, instruction: Instruction, line: Line, group: range, kept: Sequence[int]
) -> Value:
    """The first place among merged axes: that of the first copy, along those that are repeated."""
    b, place = repeats.b, group[0]
    count = math.prod(line.fine[axis] for axis in kept)
    value = repeats.reshaped(line.value, _with_merged(line.value.shape, group, count))
    (number,) = b.append(instruction.op, (value,), {**instruction.attrs, "axis": place})
    result = number
    if kept:
        result, above = b.mul(number, 0), number
        for axis in reversed(kept):
            size, stride = line.fine[axis], math.prod(line.fine[axis + 1 : group[-1] + 1])
            following = b.floor_divide(above, size)
            result = b.add(result, b.mul(b.sub(above, b.mul(following, size)), stride))
            above = following
    fine = (*line.fine[:place], *line.fine[group[-1] + 1 :])
    return repeats.whole(result, fine, instruction.result.shape)


def _with_merged(sizes: Shape, group: range, size: int) -> Shape:
    """`sizes` with one axis of `size` in place of the axes of `group`."""
    return (*sizes[: group[0]], size, *sizes[group[-1] + 1 :])


def _along(sizes: Sequence[int], axis: int, size: int) -> Shape:
    return (*sizes[:axis], size, *sizes[axis + 1 :])
