"""Versions of the arrays that loops and branches write in place, and the ops that make them.

A value of few elements is the state of a step. Larger ones are *arrays*, of which steps read and write some
elements.
"""

from __future__ import annotations

from typing import Final

from ...graph import Function, Instruction, Value
from ...registry import Kind

#: Values with more elements are arrays.
MAX_ELEMENTS: Final = 16


def is_array(value: Value) -> bool:
    """Whether `value` has too many elements for the state of a step."""
    return value.type.size > MAX_ELEMENTS


def origin(instruction: Instruction, place: int) -> int | None:
    """The position of the operand of which the result at `place` of a loop or branch is a version; None where
    it is a version of none."""
    kind = instruction.op.kind
    if kind is Kind.SWITCH:
        positions = {_origin_in(region, region.results[place]) for region in instruction.regions}
        position = positions.pop()
        return None if positions or position is None else position + 1
    if kind not in (Kind.SCAN, Kind.WHILE) or place >= instruction.attrs["carries"]:
        return None
    body = instruction.regions[-1]
    return place if _origin_in(body, body.results[place]) == place else None


def _origin_in(function: Function, value: Value) -> int | None:
    """The position of the parameter of which `value` is a version."""
    defs = function.defs
    while (step := defs.get(value)) is not None:
        position = written_operand(step, value)
        if position is None:
            return None
        value = step.operands[position]
    return function.params.index(value) if value in function.params else None


def written_operand(step: Instruction, value: Value) -> int | None:
    """The position of the operand of which the result `value` of `step` is a version, or the copy; None where
    it is of none."""
    if step.op.kind.traits.updates_operand or step.op.name == "copy":
        return 0
    return origin(step, step.results.index(value)) if step.op.kind.traits.control else None


def versions_in(function: Function, position: int) -> set[Value]:
    """The versions of the array that is the parameter and the result at `position` of a loop's step, with the
    parameter; none where it is not written in place."""
    value, versions = function.results[position], {function.results[position]}
    while (step := function.defs.get(value)) is not None:
        operand = written_operand(step, value)
        if operand is None:
            return set()
        value = step.operands[operand]
        versions.add(value)
    return versions if value is function.params[position] and len(versions) > 1 else set()
