"""Choices by a mask where only elements are read that the same mask chooses.

    where(m, f(where(m, x, 1)), y)  =  where(m, f(x), y)

What a mask selects is computed of whole arrays, in which other elements are 1, so that gradients are finite.
Once gradients are there, nothing reads what is computed of them.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from ...graph import Function, Instruction, Substitution, Value
from ...registry import Kind

#: A mask, and what it is where an element is read; None where all elements are.
_Condition: TypeAlias = tuple[Value, bool] | None
_BRANCHES: Final = ((1, True), (2, False))


def drop_choices(function: Function) -> Function:
    """*Requires*: equal masks are one value. *Ensures*: no ``where`` is read through another one by the
    same mask alone; the same results."""
    masks = [instruction.operands[0] for instruction in function.body if instruction.op.name == "where"]
    if len(set(masks)) == len(masks):
        return function
    reads: dict[Value, _Condition] = dict.fromkeys(function.results)
    chosen: dict[Instruction, Value] = {}

    def read(value: Value, condition: _Condition) -> None:
        reads[value] = condition if reads.get(value, condition) == condition else None

    for instruction in reversed(function.body):
        condition = None
        if instruction.op.kind is Kind.ELEMENTWISE:
            if instruction.result not in reads:
                continue
            condition = reads[instruction.result]
        operands = instruction.operands
        if instruction.op.name != "where":
            for operand in operands:
                read(operand, condition)
        elif condition is not None and condition[0] is operands[0]:
            chosen[instruction] = operands[1 if condition[1] else 2]
            read(chosen[instruction], condition)
        else:
            read(operands[0], condition)
            for place, holds in _BRANCHES:
                read(operands[place], (operands[0], holds))
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
