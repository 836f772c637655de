"""Control flow whose regions read values that repeat others: they repeat them themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ....builder import Builder
from ....graph import Function, Instruction, Substitution, Value
from ....registry import Kind
from .. import LARGE
from .repeated_values import RepeatedValues

_LOOPS: Final = (Kind.SCAN, Kind.WHILE)


def control(repeats: RepeatedValues, instruction: Instruction) -> tuple[Value, ...] | None:
    """Control flow whose regions read repeated values: they repeat them themselves."""
    attrs, operands = dict(instruction.attrs), instruction.operands
    if instruction.op.kind is Kind.SWITCH:
        first, last, shift = 1, len(operands), 1
    elif instruction.op.kind in _LOOPS:
        first, last, shift = attrs["carries"], len(operands), 0
    else:  # what a replay keeps of its states is memory
        first, last, shift = attrs["carries"], len(operands) - attrs["states"], 0
    slices = len(operands) - attrs.get("slices", 0)
    inner: dict[int, Value] = {}
    invariants, still = [], []
    for place in range(first, last):
        line = repeats.plain(operands[place])
        if line is None or operands[place].type.size < LARGE:
            inner[place] = operands[place]
        elif place < slices:
            inner[place] = line.value
        elif line.repeated[0]:
            inner[place] = repeats.reshaped(line.value, line.value.shape[1:])
            invariants.append(place)
        else:
            inner[place] = line.value
        if place >= slices and place not in invariants:
            still.append(place)
    if all(inner[place] is operands[place] for place in inner):
        return None
    before, behind = range(min(slices, last)), range(last, len(operands))
    order = [*before, *invariants, *still, *behind]
    given = [inner.get(place, operands[place]) for place in order]
    if "slices" in attrs:
        attrs["slices"] = len(still)
    params = [
        value.type.with_shape(value.shape[1:]) if place in still else value.type
        for place, value in zip(order, given, strict=True)
    ]
    regions = tuple(
        [_with_params(region, order[shift:], params[shift:], shift) for region in instruction.regions]
    )
    return repeats.b.append(instruction.op, tuple(given), attrs, regions=regions)


def _with_params(region: Function, order: Sequence[int], types: Sequence[object], shift: int) -> Function:
    """`region` with its parameters in another order and of the `types` of what they repeat. A replay has
    regions that read fewer of its operands than others."""
    b = Builder()
    params: list[Value] = []
    table: dict[Value, Value] = {}
    count = len(region.params)
    for place, type_ in zip(order[:count], types[:count], strict=True):
        param = region.params[place - shift]
        if param.type == type_:
            params.append(param)
            continue
        value = Value(type_, param.hint)  # type: ignore[arg-type]
        params.append(value)
        table[param] = b.broadcast_to(value, param.shape)
    substitution = Substitution(table)
    body = [substitution.apply(instruction) for instruction in region.body]
    return Function(region.name, tuple(params), (*b.body, *body), substitution.all(region.results))
