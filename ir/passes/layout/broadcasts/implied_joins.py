"""Joins of parts that no op concatenates: slices of merged axes, and values with slices written into them.

ravel(broadcast(x))[i:]  =  concat(whole copies of x, turned by i, and a part of one)
update(x, v)             =  concat(x in front of v, v, x behind it)
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping

from ....graph import Instruction, Value
from ....registry import OPS
from ...rewriting import Definitions, constant_of
from .. import LARGE
from .repeated_axes import Emit, Line
from .repeated_joins import Join


def join_of_copies(emit: Emit, instruction: Instruction, line: Line, place: int) -> Join | None:
    """The parts of a slice along the axis `place` of `line`, which two axes were merged to: of copies that
    follow each other, copies that begin elsewhere and a part of one; of elements each of which is repeated,
    fewer copies of the first and the last one. None of other slices."""
    attrs, shape, group = instruction.attrs, line.shape, line.groups[place]
    start, size, step = [attrs[name][place] for name in ("start", "size", "step")]
    if len(group) != 2 or step != 1 or size == 0 or math.prod(shape) < LARGE:
        return None
    others = [attrs[name][:place] + attrs[name][place + 1 :] for name in ("size", "step")]
    if others != [shape[:place] + shape[place + 1 :], (1,) * (len(shape) - 1)]:
        return None
    first, last = group
    value, inner = line.value, line.fine[last]
    pieces: list[tuple[Value, int, int]] = []
    if line.repeated[first] and not line.repeated[last]:
        begin, copies, rest = start % inner, size // inner, size % inner
        if begin:
            turned = [part_of(emit, value, last, *ends) for ends in ((begin, inner - begin), (0, begin))]
            value = emit(OPS["concat"], turned, {"axis": last})
        if copies:
            pieces.append((value, copies, inner))
        if rest:
            pieces.append((part_of(emit, value, last, 0, rest), 1, rest))
    elif line.repeated[last] and not line.repeated[first]:
        stop = start + size
        whole = min(-(-start // inner) * inner, stop)
        for begin, end in itertools.pairwise((start, whole, max(stop // inner * inner, whole), stop)):
            if begin < end:
                elements = -(-end // inner) - begin // inner
                few = part_of(emit, value, first, begin // inner, elements)
                pieces.append((few, elements, min(end - begin, inner)))
    parts = []
    for few, *sizes in pieces:
        repeated = emit(
            OPS["broadcast"], (few,), {"shape": (*line.fine[:first], *sizes, *line.fine[last + 1 :])}
        )
        own = (*shape[:place], math.prod(sizes), *shape[place + 1 :])
        parts.append(emit(OPS["reshape"], (repeated,), {"shape": own}))
    return Join(place, tuple(parts), stands=True) if parts else None


def join_of_update(
    emit: Emit,
    instruction: Instruction,
    lines: Mapping[Value, Line],
    joins: Collection[Value],
    defs: Definitions,
) -> Join | None:
    """The parts of a value with a slice written into it, where one of both is large and repeats elements: the
    slice, where one number surrounds it."""
    (around, inside), attrs, result = instruction.operands, instruction.attrs, instruction.result
    axes = [axis for axis, size in enumerate(inside.shape) if size != result.shape[axis]]
    if not axes or 0 in inside.shape or any(step != 1 for step in attrs["step"]):
        return None
    large = [value.type.size >= LARGE and (value in lines or value in joins) for value in (around, inside)]
    if not any(large):
        return None
    fills = _is_number(around, defs)
    if fills and not large[1]:
        return None
    axis, *further = axes
    start, size = attrs["start"][axis], inside.shape[axis]
    behind = start + size
    if further:
        starts = (*attrs["start"][:axis], 0, *attrs["start"][axis + 1 :])
        inside = emit(
            instruction.op, (part_of(emit, around, axis, start, size), inside), {**attrs, "start": starts}
        )
    parts = (
        part_of(emit, around, axis, 0, start),
        inside,
        part_of(emit, around, axis, behind, result.shape[axis] - behind),
    )
    return Join(axis, tuple([part for part in parts if part.type.size]), stands=True, fills=fills)


def _is_number(value: Value, defs: Definitions) -> bool:
    """Whether `value` is one number, known now, which may still be cast."""
    while (definition := defs.get(value)) is not None and definition.op.name in (
        "broadcast",
        "reshape",
        "cast",
    ):
        (value,) = definition.operands
    return constant_of(value, defs) is not None


def part_of(emit: Emit, value: Value, axis: int, start: int, size: int) -> Value:
    """The part of `value` along `axis`."""
    sizes = (*value.shape[:axis], size, *value.shape[axis + 1 :])
    if sizes == value.shape:
        return value
    starts = tuple([start if place == axis else 0 for place in range(len(sizes))])
    return emit(OPS["slice"], (value,), {"start": starts, "size": sizes, "step": (1,) * len(sizes)})
