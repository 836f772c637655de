"""Loop-invariant code motion."""

from __future__ import annotations

from ...dataflow import invariant
from ...graph import Function, Instruction, Substitution, Value
from ...registry import Kind
from .control_flow import map_regions


def hoist_invariants(function: Function) -> Function:
    """*Requires*: valid IR. *Ensures*: the same results; bodies of loops compute nothing that depends on
    invariants alone, but for views and constants, which cost nothing."""
    if not function.has_control:
        return function
    function = map_regions(function, hoist_invariants)
    body: list[Instruction] = []
    for instruction in function.body:
        for number in instruction.op.kind.traits.step_regions:
            *moved, instruction = _hoisted(instruction, number)
            body += moved
        body.append(instruction)
    if len(body) == len(function.body):
        return function
    return Function(function.name, function.params, tuple(body), function.results)


def _hoisted(loop: Instruction, number: int) -> list[Instruction]:
    """Hoist invariant instructions out of region `number` of `loop`: those, followed by the loop without
    them."""
    body, first = loop.regions[number], loop.attrs["carries"]
    last = len(loop.operands) - loop.attrs.get("slices", 0) - loop.attrs.get("states", 0)
    params = body.params[first:last]
    same = invariant(body, params)
    moved = [
        instruction for instruction in body.body if all(result in same for result in instruction.results)
    ]
    leaving = set(moved)
    inside = {
        operand for instruction in body.body if instruction not in leaving for operand in instruction.operands
    }
    inside |= set(body.results)
    inside |= _read_through_views(moved, inside)
    read_inside = [
        result
        for instruction in moved
        if instruction.op.kind.traits.has_kernel
        for result in instruction.results
        if result in inside
    ]
    if not read_inside:
        return [loop]
    table = Substitution(dict(zip(params, loop.operands[first:last], strict=True)))
    hoisted: list[Instruction] = []
    for original in moved:
        results = tuple([Value(result.type) for result in original.results])
        hoisted.append(original.replace(operands=table.all(original.operands), results=results))
        for old, new in zip(original.results, results, strict=True):
            table[old] = new
    gone = set(read_inside)
    rest = tuple(
        [
            instruction
            for instruction in body.body
            if not any(result in gone for result in instruction.results)
        ]
    )

    def widened(region: Function, more: list[Value]) -> tuple[Value, ...]:
        return (*region.params[:last], *more, *region.params[last:])

    regions = tuple(
        [
            Function(body.name, widened(body, read_inside), rest, body.results)
            if region is body
            else Function(
                region.name,
                widened(region, [Value(v.type) for v in read_inside]),
                region.body,
                region.results,
            )
            for region in loop.regions
        ]
    )
    operands = (*loop.operands[:last], *table.all(tuple(read_inside)), *loop.operands[last:])
    return [*hoisted, loop.replace(operands=operands, regions=regions)]


def _read_through_views(moved: list[Instruction], inside: set[Value]) -> set[Value]:
    """The values that the body reads through `moved` views of them, which then stay in it."""
    viewed = set[Value]()
    for instruction in reversed(moved):
        if instruction.op.kind is Kind.VIEW and (
            instruction.result in inside or instruction.result in viewed
        ):
            viewed.update(instruction.operands)
    return viewed
