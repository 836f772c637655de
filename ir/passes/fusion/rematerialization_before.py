"""Rematerialization before fusion: large values made of small arrays are computed again for each reduction
that would read them.

Nests reduce over one set of axes. Where sums along the rows and sums along the columns are taken of the same
values (the forces between all pairs, in the gradient of their energy), one nest would write the values and
the other read them: a large array for each. If they follow from small arrays (broadcast along the rows, or
along the columns), computing them twice takes less time than memory does, and no memory.

A reduction over more axes goes in two steps where another one stops at the first:

    sum(x, rows and columns)  =  sum(sum(x, columns), rows)

This looks at reductions before there are groups, and pays many cycles, because what it reads is small.
`fusion/rematerialization_after.py` looks at the groups that fusion made, whatever they compute, and pays few,
because it may read as much memory as it saves.
"""

from __future__ import annotations

from typing import Final

from ....base.machine import machine
from ...access import resolve
from ...builder import Builder
from ...graph import Function, Instruction, Value
from ...grouping.reasons import why_alone
from ...registry import Kind
from ...types import Shape

#: A source that is read has at least this many times fewer elements than the value computed from it.
SMALL: Final = 16
#: A value is computed again at up to so many cycles an element for each value that is then not written.
CYCLES: Final = 40.0

#: Reductions that may go in steps.
_STEPWISE: Final = ("sum", "prod", "max", "min")


def least_bytes() -> int:
    """Values of fewer bytes stay in cache between two nests."""
    return machine().l2_bytes // 4


def rematerialize(function: Function) -> Function:
    """*Requires*: no composites. *Ensures*: large values that are made of small ones are read by reductions
    over one set of axes, where computing them again is cheap; the same results."""
    if not any(op.kind is Kind.REDUCTION for op in function.ops):
        return function
    reductions = [instruction for instruction in function.body if instruction.op.kind is Kind.REDUCTION]
    large = [instruction for instruction in reductions if _is_large(instruction)]
    if len({instruction.attrs["axes"] for instruction in large}) < 2:
        return function
    function = _in_steps(function, large)
    return _Recompute(function).run()


def _is_large(instruction: Instruction) -> bool:
    if instruction.op.kind is not Kind.REDUCTION or why_alone(instruction):
        return False
    return instruction.operands[0].type.nbytes >= least_bytes()


def _in_steps(function: Function, large: list[Instruction]) -> Function:
    """Reductions over more axes than another one of the same shape, as that one's axes and then the rest."""
    steps: dict[Instruction, tuple[int, ...]] = {}
    for reduction in large:
        axes = set(reduction.attrs["axes"])
        fewer = [
            other.attrs["axes"]
            for other in large
            if other.operands[0].shape == reduction.operands[0].shape and set(other.attrs["axes"]) < axes
        ]
        if fewer and reduction.op.name in _STEPWISE:
            # the last axes are those along which memory lies
            steps[reduction] = max(fewer, key=lambda axes_chosen: (len(axes_chosen), axes_chosen))
    if not steps:
        return function
    b = Builder()
    for instruction in function.body:
        if instruction not in steps:
            b.body.append(instruction)
            continue
        b.location = instruction.location
        first = steps[instruction]
        left = [axis for axis in range(len(instruction.operands[0].shape)) if axis not in first]
        rest = tuple(place for place, axis in enumerate(left) if axis in instruction.attrs["axes"])
        (part,) = b.append(instruction.op, instruction.operands, {"axes": first})
        b.body.append(instruction.replace(operands=(part,), attrs={"axes": rest}))
    return Function(function.name, function.params, tuple(b.body), function.results)


class _Recompute:
    def __init__(self, function: Function) -> None:
        self.function = function
        self.defs = function.defs

    def run(self) -> Function:
        #: Large reductions by the shape they read, and by their axes in the order of the program.
        by_shape: dict[Shape, dict[tuple[int, ...], list[Instruction]]] = {}
        for instruction in self.function.body:
            if _is_large(instruction):
                by_shape.setdefault(instruction.operands[0].shape, {}).setdefault(
                    instruction.attrs["axes"], []
                ).append(instruction)
        again: dict[Instruction, set[Value]] = {}
        for by_axes in by_shape.values():
            seen: set[Value] = set()
            for reductions in by_axes.values():
                producers = set().union(*[self._made_for(reduction) for reduction in reductions])
                shared = producers & seen
                if shared and self._pays(shared, producers, reductions):
                    again.update(dict.fromkeys(reductions, producers))
                seen |= producers
        return self._written(again) if again else self.function

    def _made_for(self, reduction: Instruction) -> set[Value]:
        """The elementwise results from which `reduction` follows, of the shape that it reads."""
        members: set[Value] = set()
        stack = [reduction.operands[0]]
        while stack:
            value, _ = resolve(stack.pop(), self.defs)
            definition = self.defs.get(value)
            if value in members or definition is None or value.shape != reduction.operands[0].shape:
                continue
            if definition.op.kind is Kind.ELEMENTWISE and not why_alone(definition):
                members.add(value)
                stack.extend(definition.operands)
        return members

    def _pays(self, shared: set[Value], producers: set[Value], reductions: list[Instruction]) -> bool:
        """Whether `shared` are rather computed twice than written for `reductions`."""
        read: set[Value] = set()
        for value in producers:
            for operand in self.defs[value].operands:
                source, _ = resolve(operand, self.defs)
                if source in shared and value not in shared:
                    read.add(source)
                elif source not in producers:
                    definition = self.defs.get(source)
                    constant = definition is not None and definition.op.kind is Kind.CREATION
                    if not constant and source.type.size * SMALL > value.type.size:
                        return False
        read |= {source for reduction in reductions if (source := reduction.operands[0]) in shared}
        return sum(self.defs[value].op.cost for value in shared) <= CYCLES * len(read)

    def _written(self, again: dict[Instruction, set[Value]]) -> Function:
        """The function with the values in `again` computed afresh for those reductions."""
        body: list[Instruction] = []
        copies: dict[tuple[tuple[int, ...], Value], Value] = {}
        for instruction in self.function.body:
            if instruction in again:
                key = instruction.attrs["axes"]
                operand = self._copied(instruction.operands[0], key, again[instruction], copies, body)
                instruction = instruction.replace(operands=(operand,))
            body.append(instruction)
        return Function(self.function.name, self.function.params, tuple(body), self.function.results)

    def _copied(
        self,
        value: Value,
        key: tuple[int, ...],
        producers: set[Value],
        copies: dict[tuple[tuple[int, ...], Value], Value],
        body: list[Instruction],
    ) -> Value:
        """`value`, computed afresh where it follows from values in `producers`."""
        stack = [value]
        while stack:
            current = stack[-1]
            if (key, current) in copies:
                stack.pop()
                continue
            definition = self.defs.get(current)
            copied = definition is not None and (
                current in producers
                or (definition.op.kind is Kind.VIEW and resolve(current, self.defs)[0] in producers)
            )
            if not copied or definition is None:
                copies[key, current] = stack.pop()
                continue
            missing = [operand for operand in definition.operands if (key, operand) not in copies]
            if missing:
                stack += missing
                continue
            fresh = Value(current.type)
            operands = tuple([copies[key, operand] for operand in definition.operands])
            body.append(definition.replace(operands=operands, results=(fresh,)))
            copies[key, stack.pop()] = fresh
        return copies[key, value]
