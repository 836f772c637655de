"""Numbers of a trace's ops, which lines of all stages lead back to.

An op's number is in its location (`Location.origins`), which passes hand on, merge and split.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...ir.access import resolve
from ...ir.graph import Function, Instruction, Location, Value
from ...ir.grouping.inlining import is_inline
from ...ir.registry import Kind


def numbered(function: Function) -> tuple[Function, list[Instruction]]:
    """`function` with numbered ops, and the ops by number; those of regions follow the op that owns them."""
    ops: list[Instruction] = []
    return _numbered(function, ops), ops


def _numbered(function: Function, ops: list[Instruction]) -> Function:
    body = []
    for instruction in function.body:
        number = len(ops)
        ops.append(instruction)
        regions = tuple([_numbered(region, ops) for region in instruction.regions])
        location = instruction.location or Location("", 0)
        where = Location(location.file, location.line, location.gradient, (number,))
        numbered = Instruction(
            instruction.op, instruction.operands, instruction.attrs, instruction.results, where, regions
        )
        ops[number] = numbered
        body.append(numbered)
    return Function(function.name, function.params, tuple(body), function.results)


def origins_of(instruction: Instruction) -> tuple[int, ...]:
    """The numbers of all ops that an instruction and its regions stem from."""
    numbers = dict.fromkeys(instruction.origins)
    for region in instruction.regions:
        for inner in region.instructions():
            numbers.update(dict.fromkeys(inner.origins))
    return tuple(numbers)


def origins_in(functions: Iterable[Function]) -> set[int]:
    """The numbers of all ops that are left in `functions`."""
    return {
        n for function in functions for instruction in function.instructions() for n in instruction.origins
    }


def with_views(function: Function) -> Function:
    """A fused `function` whose members stand for the views and constants too that they read through, which
    have no code of their own."""
    body = tuple([_with_regions(instruction) for instruction in function.body])
    return Function(function.name, function.params, body, function.results)


def _with_regions(instruction: Instruction) -> Instruction:
    if not instruction.regions:
        return instruction
    inside = _absorbed if instruction.op.kind is Kind.REGION else with_views
    regions = tuple([inside(region) for region in instruction.regions])
    return instruction.replace(regions=regions)


def _absorbed(region: Function) -> Function:
    defs = {result: instruction for instruction in region.body for result in instruction.results}
    body = []
    for instruction in region.body:
        if not is_inline(instruction, defs):
            instruction = instruction.also_for(_inline_behind(instruction, defs))
        body.append(instruction)
    return Function(region.name, region.params, tuple(body), region.results)


def _inline_behind(instruction: Instruction, defs: dict[Value, Instruction]) -> list[Instruction]:
    """The views and constants through which `instruction` reads."""
    inline: dict[Instruction, None] = {}
    stack = list(instruction.operands)
    while stack:
        value = stack.pop()
        definition = defs.get(value)
        if definition is None or definition in inline or not is_inline(definition, defs):
            continue
        inline[definition] = None
        if resolve(value, defs)[0] is not value:
            stack.extend(definition.operands)
    return list(inline)
