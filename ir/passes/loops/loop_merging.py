"""Merging of loops that do the same."""

from __future__ import annotations

from typing import Any

from ...dataflow import effects_of, has_effect
from ...graph import Function, Instruction, Substitution, Value
from ...registry import Kind
from .control_flow import trim

# -- scans ----------------------------------------------------------------------------------------


def merge_scans(function: Function) -> Function:
    """Run a scan once where another one does the same and more: gradients extend a scan by what they read.

    *Requires*: valid IR. *Ensures*: the same results; no scan whose results, and effects, another scan with
    the same operands has, too.
    """
    if not function.has_control or sum(instruction.op.kind is Kind.SCAN for instruction in function.body) < 2:
        return function
    table = Substitution()
    body: list[Instruction | None] = []
    scans: dict[Any, list[int]] = {}
    numbers: dict[Any, int] = {}
    meanings: dict[Instruction, list[int]] = {}

    def meaning(scan: Instruction) -> list[int]:
        if scan not in meanings:
            meanings[scan] = _meanings(scan.regions[0], numbers)
        return meanings[scan]

    for original in function.body:
        scan = table.apply(original)
        body.append(scan)
        if scan.op.kind is not Kind.SCAN:
            continue
        key = (scan.operands, tuple(scan.attrs.items()))
        count = scan.attrs["carries"]
        for position in scans.setdefault(key, []):
            earlier = body[position]
            assert earlier is not None
            mine, theirs = meaning(scan), meaning(earlier)
            if mine[:count] != theirs[:count]:
                continue
            own, others = effects_of(scan), effects_of(earlier)
            if set(mine[count:]) <= set(theirs[count:]) and own <= others:
                _redirect(table, scan, mine, earlier, theirs)
                body[-1] = None
                break
            if set(theirs[count:]) <= set(mine[count:]) and others <= own:
                _redirect(table, earlier, theirs, scan, mine)
                body[position], body[-1] = scan, None
                break
        else:
            scans[key].append(len(body) - 1)
    if all(instruction is not None for instruction in body):
        return function
    kept = tuple([table.apply(instruction) for instruction in body if instruction is not None])
    return Function(function.name, function.params, kept, table.all(function.results))


def _redirect(
    table: Substitution, old: Instruction, named: list[int], new: Instruction, names: list[int]
) -> None:
    """Substitute the results of `new` for those of `old`, and for those that `old` has replaced already.

    `named` and `names` are what the results mean.
    """
    count = old.attrs["carries"]
    stack = {name: i + count for i, name in enumerate(names[count:])}
    for i, (value, name) in enumerate(zip(old.results, named, strict=True)):
        table[value] = new.results[i if i < count else stack[name]]
    for value, target in table.table.items():
        table[value] = table[target]


# -- whiles ---------------------------------------------------------------------------------------


def merge_whiles(function: Function) -> Function:
    """Run a while loop once where another one does the same and more: forward mode carries tangents along.

    *Requires*: valid IR. *Ensures*: the same results; no while whose carries another one begins with, where
    that can run in its place.
    """
    while function.has_control and (merged := _merge_one_while(function)) is not None:
        function = merged
    return function


def _merge_one_while(function: Function) -> Function | None:
    loops = [i for i, instruction in enumerate(function.body) if instruction.op.kind is Kind.WHILE]
    for first in loops:
        for second in loops:
            if second > first and _begins_with(function.body[second], function.body[first]):
                merged = _in_place_of(function, first, second)
                if merged is not None:
                    return merged
    return None


def _begins_with(more: Instruction, loop: Instruction) -> bool:
    """Whether the first carries of `more` are those of `loop`, step by step."""
    count = loop.attrs["carries"]
    if more.operands[:count] != loop.operands[:count] or more.attrs["carries"] < count:
        return False
    instruction, other = [trim(x, set(x.results[:count])) for x in (loop, more)]
    if instruction.operands != other.operands or has_effect(loop) or has_effect(more):
        return False
    numbers: dict[Any, int] = {}
    return all(
        _meanings(mine, numbers) == _meanings(theirs, numbers)
        for mine, theirs in zip(instruction.regions, other.regions, strict=True)
    )


def _in_place_of(function: Function, first: int, second: int) -> Function | None:
    """Move the loop at `second`, and the instructions that it needs, to the place of the loop at `first`;
    None where it needs that one."""
    old, new = function.body[first], function.body[second]
    needed = set(new.operands)
    moved: list[Instruction] = []
    rest: list[Instruction] = []
    for instruction in reversed(function.body[first + 1 : second]):
        if any(result in needed for result in instruction.results):
            needed.update(instruction.operands)
            moved.insert(0, instruction)
        else:
            rest.insert(0, instruction)
    if any(result in needed for result in old.results) or any(map(has_effect, moved)):
        return None
    table = Substitution(dict(zip(old.results, new.results, strict=False)))
    after = [table.apply(instruction) for instruction in (*rest, *function.body[second + 1 :])]
    body = (*function.body[:first], *moved, new, *after)
    return Function(function.name, function.params, body, table.all(function.results))


# -- what loops mean ------------------------------------------------------------------------------


def _meanings(function: Function, numbers: dict[Any, int]) -> list[int]:
    """A number for each result, from the table `numbers`: equal ones mean equal computations on the
    parameters."""

    def number(*key: Any) -> int:
        return numbers.setdefault(key, len(numbers))

    names: dict[Value, int] = {}
    for position, param in enumerate(function.params):
        names[param] = number("parameter", position, str(param.type))
    for instruction in function.body:
        meaning = (
            instruction.op.name,
            tuple([names[operand] for operand in instruction.operands]),
            repr(tuple(instruction.attrs.items())),
        )
        regions = [tuple(_meanings(region, numbers)) for region in instruction.regions]
        for index, result in enumerate(instruction.results):
            if instruction.op.kind is Kind.SCAN:  # the same whatever else the scan stacks
                count = instruction.attrs["carries"]
                names[result] = number(
                    *meaning, regions[0][:count], index < count and index, regions[0][index]
                )
            else:
                names[result] = number(*meaning, tuple(regions), index)
    return [names[result] for result in function.results]
