"""Removal of stacked results that exist already.

Gradients of loops stack much that is there already: the backward scan stacks the factors of each step's
products, and some are what the forward scan has stacked before.
"""

from __future__ import annotations

from ...graph import Function, Instruction, Substitution, Value
from ...registry import Kind
from .control_flow import map_regions


def reuse_stacks(function: Function) -> Function:
    """*Requires*: valid IR. *Ensures*: the same results; of a scan's stacked results none that is used is
    another one again, or what the scan was given as slices; no operand is given to it twice as such.

    What this leaves unused goes with `dce`.
    """
    if not function.has_control:
        return function
    function = map_regions(function, reuse_stacks)
    table = Substitution()
    body: list[Instruction] = []
    changed = False
    for original in function.body:
        instruction = table.apply(original)
        if instruction.op.kind is Kind.SCAN:
            merged = _without_repeated_operands(instruction)
            changed |= merged is not instruction
            instruction = merged
            for old, new in _known(instruction).items():
                table[old] = new
                changed = True
        body.append(instruction)
    if not changed:
        return function
    return Function(function.name, function.params, tuple(body), table.all(function.results))


def _known(scan: Instruction) -> dict[Value, Value]:
    """Map stacked results to an equal operand among the slices of the scan, or to an equal stacked result.
    Step t writes element t of them and reads element t of its slices, in either direction."""
    (body,) = scan.regions
    count, first = scan.attrs["carries"], len(scan.operands) - scan.attrs["slices"]
    holders = dict(zip(body.params[first:], scan.operands[first:], strict=True))
    held = {}
    for value, result in zip(body.results[count:], scan.results[count:], strict=True):
        if value in holders:
            held[result] = holders[value]
        else:
            holders[value] = result
    return held


def _without_repeated_operands(scan: Instruction) -> Instruction:
    """`scan` with each value once among its invariants, and once among its slices."""
    (body,) = scan.regions
    count, slices = scan.attrs["carries"], scan.attrs["slices"]
    first = len(scan.operands) - slices
    table = Substitution()
    taken = list(range(count))
    for positions in (range(count, first), range(first, len(scan.operands))):
        seen: dict[Value, Value] = {}
        for i in positions:
            param = seen.setdefault(scan.operands[i], body.params[i])
            if param is body.params[i]:
                taken.append(i)
            else:
                table[body.params[i]] = param
    if len(taken) == len(scan.operands):
        return scan
    inside = tuple([table.apply(instruction) for instruction in body.body])
    params = tuple([body.params[i] for i in taken])
    region = Function(body.name, params, inside, table.all(body.results))
    attrs = {**scan.attrs, "slices": sum(i >= first for i in taken)}
    operands = tuple([scan.operands[i] for i in taken])
    return scan.replace(operands=operands, attrs=attrs, regions=(region,))
