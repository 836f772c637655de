"""Views of values that repeat others: transposes, slices and reshapes of what is repeated."""

from __future__ import annotations

from ....graph import Instruction, Value
from .implied_joins import join_of_copies
from .repeated_axes import Line, cut_by, without
from .repeated_values import RepeatedValues


def transposed(repeats: RepeatedValues, instruction: Instruction, line: Line) -> Value:
    """A transpose: what is repeated, with its own axes in the new order."""
    perm = tuple([axis for place in instruction.attrs["perm"] for axis in line.groups[place]])
    fine, sizes = [tuple([own[axis] for axis in perm]) for own in (line.fine, line.value.shape)]
    kept = [axis for axis in perm if not line.repeated[axis]]
    value = repeats.reshaped(line.value, tuple([line.fine[axis] for axis in sorted(kept)]))
    if kept != sorted(kept):
        order = tuple([sorted(kept).index(axis) for axis in kept])
        value = repeats.emit(instruction.op, (value,), {"perm": order})
    return repeats.whole(repeats.reshaped(value, sizes), fine, instruction.result.shape)


def sliced(repeats: RepeatedValues, instruction: Instruction, line: Line) -> Value | None:
    """A slice along axes none of which is merged; along a merged one, whole copies and the ends."""
    attrs, shape = instruction.attrs, instruction.result.shape
    for place, group in enumerate(line.groups):
        ends = tuple([attrs[name][place] for name in ("start", "size", "step")])
        if len(group) > 1 and ends != (0, line.shape[place], 1):
            return _slice_of_copies(repeats, instruction, line, place)
    parts, fine = [], []
    for place, group in enumerate(line.groups):
        part = tuple([attrs[name][place] for name in ("start", "size", "step")])
        merges = len(group) > 1
        for axis in group:
            own = line.value.shape[axis]
            parts.append((0, own, 1) if merges or own == 1 else part)
            fine.append(line.fine[axis] if merges else shape[place])
    ones = {axis for axis, own in enumerate(line.repeated) if own}
    kept = without(parts, ones)
    start, size, step = zip(*kept, strict=True) if kept else ((), (), ())
    value = line.value
    if size != without(value.shape, ones) or any(by != 1 for by in step):
        value = repeats.reshaped(value, without(value.shape, ones))
        value = repeats.emit(instruction.op, (value,), {"start": start, "size": size, "step": step})
        value = repeats.reshaped(value, tuple([part[1] for part in parts]))
    return repeats.whole(value, tuple(fine), shape)


def _slice_of_copies(
    repeats: RepeatedValues, instruction: Instruction, line: Line, place: int
) -> Value | None:
    join = join_of_copies(repeats.emit, instruction, line, place)
    if join is None:
        return None
    if len(join.parts) == 1:
        return join.parts[0]
    repeats.joins[instruction.result] = join
    return None


def reshaped(repeats: RepeatedValues, instruction: Instruction, line: Line) -> Value | None:
    """A reshape that merges no axis that is repeated with one that is not."""
    cut = cut_by(line, instruction.result.shape)
    if cut is None or len(cut.fine) != len(cut.counts):
        return None
    return repeats.repeat(repeats.reshaped(line.value, cut.sizes), instruction.result.shape)
