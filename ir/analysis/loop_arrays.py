"""Arrays that loops and branches write in place: the versions of each, from operands to results.

Every version of an array lies in the same place.
"""

from __future__ import annotations

from ..graph import Function, Instruction, Value
from ..ops.control_flow.versions import MAX_ELEMENTS, is_array
from ..registry import Kind

__all__ = ["MAX_ELEMENTS", "is_array", "step_of", "written_arrays", "written_versions"]


def step_of(instruction: Instruction) -> tuple[Function, ...]:
    """The regions whose results are those of the instruction."""
    return instruction.regions if instruction.op.kind is Kind.SWITCH else instruction.regions[-1:]


def written_arrays(instruction: Instruction) -> dict[int, int] | None:
    """The positions of results of a control flow instruction that are arrays, with those of the operands that
    become them; None where there is no such operand. Stacked results are none of these."""
    if instruction.op.kind is Kind.REWIND:
        return {}
    if instruction.op.kind is not Kind.SWITCH:
        count = instruction.attrs["carries"]
        return {place: place for place in range(count) if is_array(instruction.results[place])}
    arrays: dict[int, int] = {}
    for place, result in enumerate(instruction.results):
        if is_array(result):
            origins = {_origin(region, region.results[place]) for region in instruction.regions}
            origin = origins.pop()
            if origins or origin is None or origin + 1 in arrays.values():
                return None
            arrays[place] = origin + 1
    return arrays


def _origin(region: Function, value: Value) -> int | None:
    """The position of the parameter of which `value` is a version, if it is one."""
    defs = region.defs
    while (definition := defs.get(value)) is not None:
        if definition.op.kind.traits.updates_operand:
            value = definition.operands[0]
            continue
        place = definition.results.index(value)
        arrays = written_arrays(definition) if definition.op.kind.traits.control else None
        if not arrays or place not in arrays:
            return None
        value = definition.operands[arrays[place]]
    return region.params.index(value) if value in region.params else None


def written_versions(instruction: Instruction) -> list[tuple[Value, Value]] | None:
    """Arrays that `instruction` reads, each with the version that it makes of it; None where it makes an
    array of something else."""
    if instruction.op.kind.traits.updates_operand and is_array(instruction.result):
        return [(instruction.operands[0], instruction.result)]
    if not instruction.op.kind.traits.control:
        return []
    arrays = written_arrays(instruction)
    if arrays is None:
        return None
    return [(instruction.operands[origin], instruction.results[place]) for place, origin in arrays.items()]
