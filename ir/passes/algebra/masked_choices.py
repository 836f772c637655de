"""Choices by a mask where only elements are read that the same mask chooses.

    where(m, f(where(m, x, 1)), y)  =  where(m, f(x), y)

What a mask selects is computed of whole arrays, in which other elements are 1, so that gradients are finite.
Once gradients are there, nothing reads what is computed of them. A mask of rows or columns is followed
through views and into the operand of a product that has these.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from ...access import resolve, view_access
from ...graph import Function, Instruction, Substitution, Value
from ...registry import Access, Kind
from ...types import Shape

#: Index map of the elements of an array to those of a mask.
_Map: TypeAlias = tuple[tuple[int | None, int, int], ...]
#: A mask, the map to its elements, and what they are where an element is read; None where all elements are.
_Condition: TypeAlias = tuple[Value, _Map, bool] | None
_BRANCHES: Final = ((1, True), (2, False))


def drop_choices(function: Function) -> Function:
    """*Requires*: equal masks are one value. *Ensures*: no ``where`` is read through another one by the
    same mask alone; the same results."""
    choices = [instruction for instruction in function.body if instruction.op.name == "where"]
    if len(choices) < 2:
        return function
    defs = function.defs
    masks = {choice: _mask(choice.operands[0], defs) for choice in choices}
    if len({mask for mask, _ in masks.values()}) == len(masks):
        return function
    reads: dict[Value, _Condition] = dict.fromkeys(function.results)
    chosen: dict[Instruction, Value] = {}

    def read(value: Value, condition: _Condition) -> None:
        reads[value] = condition if reads.get(value, condition) == condition else None

    for instruction in reversed(function.body):
        if instruction.op.kind is Kind.ELEMENTWISE and instruction.result not in reads:
            continue
        condition = reads.get(instruction.results[0]) if len(instruction.results) == 1 else None
        if instruction.op.name != "where":
            for position, operand in enumerate(instruction.operands):
                read(operand, _of_operand(instruction, position, condition))
            continue
        mask, index_map = masks[instruction]
        if condition is not None and condition[:2] == (mask, index_map):
            chosen[instruction] = instruction.operands[1 if condition[2] else 2]
            read(chosen[instruction], condition)
            continue
        read(instruction.operands[0], condition)
        for place, holds in _BRANCHES:
            read(instruction.operands[place], (mask, index_map, holds))
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


def _mask(value: Value, defs: Mapping[Value, Instruction]) -> tuple[Value, _Map]:
    """The mask of which `value` is a view, and the map to its elements."""
    mask, access = resolve(value, defs)
    return mask, _normal(access.dims, value.shape)


def _normal(dims: _Map, shape: Shape) -> _Map:
    """`dims` without the axes of `shape` that have one index alone."""
    return tuple(
        [
            (None, 0, offset) if axis is not None and shape[axis] == 1 else (axis, step, offset)
            for axis, step, offset in dims
        ]
    )


def _of_operand(instruction: Instruction, position: int, condition: _Condition) -> _Condition:
    """The condition under which elements of an operand are read, where those of the result are so under
    `condition`."""
    if condition is None or instruction.op.kind is Kind.ELEMENTWISE:
        return condition
    operand, (mask, dims, holds) = instruction.operands[position], condition
    axes = _axes_of_operand(instruction, position, view_access(instruction))
    if any(axis not in axes for axis, _, _ in dims if axis is not None):
        return None
    turned = tuple([(None if axis is None else axes[axis], step, offset) for axis, step, offset in dims])
    return mask, _normal(turned, operand.shape), holds


def _axes_of_operand(instruction: Instruction, position: int, access: Access | None) -> dict[int, int]:
    """The axes of an operand whose index is that of an axis of the result, by the latter."""
    if access is not None:
        places = enumerate(access.dims)
        return {
            axis: place
            for place, (axis, step, first) in places
            if axis is not None and (step, first) == (1, 0)
        }
    rank = len(instruction.result.shape)
    if instruction.op.name != "matmul" or any(len(x.shape) != rank for x in instruction.operands):
        return {}
    summed = rank - 1 - position
    return {axis: axis for axis in range(rank) if axis != summed}
