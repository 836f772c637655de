"""Writes to few elements are made so that they can work in place.

    x + scatter(zeros, v, add)  =  scatter(x, v, add)        x + scatter(zeros, v, set) likewise, at one place

A step back through ``x[i] = ...`` in a loop then costs the elements that it writes, not the whole of x: what
``x[i]`` passes back is added to x's cotangent where that lies. And a write stands behind the last reader of
what it writes to, so that no copy must be kept for that.
"""

from __future__ import annotations

import bisect
import math
from typing import Any, Final

from ...builder import Builder
from ...dataflow import has_effect, read_counts
from ...graph import Function, Instruction, Value
from ...registry import Kind
from ..algebra.cleanup import dce
from ..rewriting import Definitions, constant_of, rewrite

#: An update of at most one element in this many is added in place rather than as an array with zeros.
_FEW: Final = 8


def place_updates(function: Function) -> Function:
    """*Requires*: valid IR. *Ensures*: no sum with a scatter to zeros that nothing else reads; writes behind
    the readers of what they write to, where these do not wait for the write; the same results up to the order
    of sums."""
    added = _without_zeros(function)
    return _late(function if added is function else dce(added))


def _without_zeros(function: Function) -> Function:
    """Replace sums with scatters to zeros by scatters to the other operand."""
    if not any(op.kind is Kind.SCATTER for op in function.ops):
        return function
    uses = read_counts(function)

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

    return rewrite(function, {"add": (rule,)})


def _adds(instruction: Instruction) -> bool:
    return instruction.op.kind is Kind.SCATTER and instruction.attrs["mode"] == "add"


def _sets_once(instruction: Instruction) -> bool:
    """Whether an instruction is a scatter that sets a single element."""
    return (
        instruction.op.name == "scatter"
        and instruction.attrs["mode"] == "set"
        and instruction.operands[2].type.size == 1
    )


def add_parts(function: Function) -> Function:
    """*Requires*: valid IR. *Ensures*: the same results; no sum of what a loop has written with an update of
    few elements of zeros that nothing else reads, and no slice of just what an update wrote."""
    if not any(op.kind is Kind.UPDATE for op in function.ops):
        return function
    uses = read_counts(function)

    def rule(b: Builder, instruction: Instruction, defs: Definitions) -> Value | None:
        for part, other in (instruction.operands[::-1], instruction.operands):
            update = defs.get(part)
            if update is not None and uses[part] == 1 and _is_part(update, other, defs):
                return _added_to_part(b, other, update)
        return None

    added = rewrite(function, {"add": (rule,), "slice": (_read_from_write,)})
    return function if added is function else dce(added)


def _is_part(update: Instruction, other: Value, defs: Definitions) -> bool:
    """Whether `update` writes few elements of zeros, and `other` lies in memory that is written anyway."""
    if update.op.kind is not Kind.UPDATE or constant_of(update.operands[0], defs) != 0:
        return False
    definition = defs.get(other)
    few = update.operands[1].type.size * _FEW <= other.type.size
    return few and definition is not None and definition.op.kind.traits.control


def _added_to_part(b: Any, other: Value, update: Instruction) -> Value:
    """Add the written value of `update` to the elements of `other` at the same places."""
    start, step, value = update.attrs["start"], update.attrs["step"], update.operands[1]
    sum_ = b.add(b.slice(other, start=start, size=value.shape, step=step), value)
    result: Value = b.update(other, sum_, start=start, step=step)
    return result


def _read_from_write(b: Builder, slice_: Instruction, defs: Definitions) -> Value | None:
    """Forward the written value of an update to a slice of exactly its elements."""
    update, attrs = defs.get(slice_.operands[0]), slice_.attrs
    if update is None or update.op.kind is not Kind.UPDATE:
        return None
    value = update.operands[1]
    same = all(tuple(update.attrs[name]) == tuple(attrs[name]) for name in ("start", "step"))
    return value if same and value.shape == tuple(attrs["size"]) else None


def _late(function: Function) -> Function:
    """Writes moved behind the readers of their first operands."""
    body = function.body
    writing = {op for op in function.ops if op.kind.traits.updates_operand}
    if not writing:
        return function
    writes = [
        (position, instruction)
        for position, instruction in enumerate(body)
        if instruction.op in writing and not has_effect(instruction)
    ]
    showing = {op for op in function.ops if op.kind is Kind.VIEW}
    root: dict[Value, Value] = {}
    for instruction in body:
        if instruction.op in showing:
            root[instruction.results[0]] = root.get(instruction.operands[0], instruction.operands[0])
    #: The values that are written to and the results of the writes, then their views.
    memory = {root.get(write.operands[0], write.operands[0]) for _, write in writes}
    memory.update([write.result for _, write in writes])
    viewed = {view: value for view, value in root.items() if value in memory}
    viewed.update({value: value for value in memory})
    readers: dict[Value, list[int]] = {}
    for position, instruction in enumerate(body):
        if not viewed.keys().isdisjoint(instruction.operands):
            for value in {viewed[operand] for operand in instruction.operands if operand in viewed}:
                readers.setdefault(value, []).append(position)
    #: Sorted by these, what was moved comes right behind what it was moved behind.
    moved: dict[int, tuple[float, ...]] = {}

    def place(position: int) -> tuple[float, ...]:
        return moved.get(position) or (position,)

    for number, (position, write) in enumerate(reversed(writes)):
        first = min([place(reader) for reader in readers.get(write.result, ())], default=(math.inf,))
        others = readers[viewed[write.operands[0]]]
        # what has moved was behind this write before, and has moved away from it
        between = others[bisect.bisect_right(others, position) : bisect.bisect_right(others, first[0])]
        behind = [
            place(reader)
            for reader in between
            if place(reader) < first and body[reader].op.kind is not Kind.VIEW
        ]
        if behind:
            moved[position] = (*max(behind), -number)
    if not moved:
        return function
    order = sorted(range(len(body)), key=place)
    return Function(function.name, function.params, tuple([body[i] for i in order]), function.results)
