"""Choices by a mask where only elements are read that the same mask chooses.

    where(m, f(where(m, x, 1)), y)  =  where(m, f(x), y)

What a mask selects is computed of whole arrays, in which other elements are 1, so that their gradients are
finite. Once gradients are there, nothing reads what is computed of them.
"""

from __future__ import annotations

from collections import Counter
from typing import Final, TypeAlias

from ...graph import Function, Instruction, Substitution, Value
from ...registry import Kind

#: Masks and what they are where an element is read.
_Conditions: TypeAlias = frozenset[tuple[Value, bool]]
_ALWAYS: Final[_Conditions] = frozenset()
#: More conditions of one value are not followed, so that long chains of choices take linear time.
_MOST_CONDITIONS: Final = 8


def drop_guards(function: Function) -> Function:
    """*Requires*: equal masks are one value. *Ensures*: no ``where`` has elements of one operand alone read;
    the same results."""
    choices = [instruction for instruction in function.body if instruction.op.name == "where"]
    counts = Counter([instruction.operands[0] for instruction in choices])
    masks = {mask for mask, count in counts.items() if count > 1}
    if not masks:
        return function
    reads: dict[Value, _Conditions] = dict.fromkeys(function.results, _ALWAYS)
    chosen: dict[Instruction, Value] = {}

    def read(value: Value, conditions: _Conditions) -> None:
        reads[value] = reads.get(value, conditions) & conditions

    for instruction in reversed(function.body):
        conditions = reads.get(instruction.results[0]) if instruction.op.kind is Kind.ELEMENTWISE else _ALWAYS
        if conditions is None:
            continue  # nothing reads it
        if instruction.op.name != "where" or instruction.operands[0] not in masks:
            for operand in instruction.operands:
                read(operand, conditions)
            continue
        mask, *branches = instruction.operands
        for branch, holds in zip(branches, (True, False), strict=True):
            if (mask, holds) in conditions:
                chosen[instruction] = branch
                read(branch, conditions)
                break
        else:
            read(mask, conditions)
            for branch, holds in zip(branches, (True, False), strict=True):
                several = len(conditions) < _MOST_CONDITIONS
                read(branch, conditions | {(mask, holds)} if several else conditions)
    if not chosen:
        return function
    table = Substitution()
    body = []
    for instruction in function.body:
        if instruction in chosen:
            table[instruction.result] = table[chosen[instruction]]
        else:
            body.append(table.apply(instruction))
    return Function(function.name, function.params, tuple(body), table.all(function.results))
