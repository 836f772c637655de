"""Writes to few elements are made so that they can work in place.

    x + scatter(zeros, v, add)  =  scatter(x, v, add)        x + scatter(zeros, v, set) likewise, at one place

A step back through ``x[i] = ...`` in a loop then costs the elements that it writes, not the whole of x: what
``x[i]`` passes back is added to x's cotangent where that lies. And a write stands behind the last reader of
what it writes to, so that no copy must be kept for that.
"""

from __future__ import annotations

import math
from collections import Counter

from ...builder import Builder
from ...effects import has_effect
from ...graph import Function, Instruction, Value
from ...registry import Kind
from ..algebra.cleanup import dce
from ..rewriting import Definitions, constant_of, rewrite


def place_updates(function: Function) -> Function:
    """*Requires*: valid IR. *Ensures*: no sum with a scatter to zeros that nothing else reads; writes behind
    the readers of what they write to, where these do not wait for the write; the same results up to the order
    of sums."""
    if not any(instruction.op.kind.traits.updates_operand for instruction in function.body):
        return function
    uses = Counter(operand for instruction in function.body for operand in instruction.operands)
    uses.update(function.results)

    def rule(b: Builder, instruction: Instruction, defs: Definitions) -> Value | None:
        if instruction.operands[0] is instruction.operands[1]:
            return None
        for part, other in (instruction.operands[::-1], instruction.operands):
            parts, base = list[Instruction](), part
            while uses[base] <= 1 and (definition := defs.get(base)) is not None and _adds(definition):
                parts.append(definition)
                base = definition.operands[0]
            first = defs.get(base)
            if first is not None and uses[base] <= 1 and _sets_once(first):
                parts.append(first)
                base = first.operands[0]
            if parts and constant_of(base, defs) == 0:
                for definition in reversed(parts):
                    attrs = {**definition.attrs, "mode": "add"}
                    (other,) = b.append(definition.op, (other, *definition.operands[1:]), attrs)
                return other
        return None

    added = rewrite(function, {"add": (rule,)})
    return _late(function if added is function else dce(added))


def _adds(instruction: Instruction) -> bool:
    return instruction.op.kind is Kind.SCATTER and instruction.attrs["mode"] == "add"


def _sets_once(instruction: Instruction) -> bool:
    """Whether it is a scatter that sets what no other of its indices does."""
    return (
        instruction.op.name == "scatter"
        and instruction.attrs["mode"] == "set"
        and instruction.operands[2].type.size == 1
    )


def _late(function: Function) -> Function:
    """Writes moved behind the readers of their first operands."""
    root: dict[Value, Value] = {}
    for instruction in function.body:
        if instruction.op.kind is Kind.VIEW:
            root[instruction.result] = root.get(instruction.operands[0], instruction.operands[0])
    readers: dict[Value, list[Instruction]] = {}
    for instruction in function.body:
        for value in {*instruction.operands, *[root.get(each, each) for each in instruction.operands]}:
            readers.setdefault(value, []).append(instruction)
    #: Sorted by these, what was moved comes right behind what it was moved behind.
    places: dict[Instruction, tuple[float, ...]] = {
        instruction: (position,) for position, instruction in enumerate(function.body)
    }
    writes = [
        instruction
        for instruction in reversed(function.body)
        if instruction.op.kind.traits.updates_operand and not has_effect(instruction)
    ]
    moved = False
    for number, write in enumerate(writes):
        first = min([places[reader] for reader in readers.get(write.result, ())], default=(math.inf,))
        behind = [
            places[reader]
            for reader in readers[root.get(write.operands[0], write.operands[0])]
            if places[write] < places[reader] < first and reader.op.kind is not Kind.VIEW
        ]
        if behind:
            moved = True
            places[write] = (*max(behind), -number)
    if not moved:
        return function
    body = sorted(function.body, key=places.__getitem__)
    return Function(function.name, function.params, tuple(body), function.results)
