"""Dependences between the values of a Function, and the side effects of instructions, such as printing.

An op whose record says `effect` is kept whether or not anything needs its result, is never merged with
another, and runs in program order with the others. An instruction with regions has the effects of the
instructions in them.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable

from .dtypes import INT64
from .graph import Function, Instruction, Value


def read_counts(function: Function) -> Counter[Value]:
    """Count the uses of each value of `function`, as operand and as result; uses in regions do not count."""
    counts = Counter(itertools.chain.from_iterable([each.operands for each in function.body]))
    counts.update(function.results)
    return counts


def needed(function: Function, results: Iterable[Value]) -> set[Value]:
    """The values of `function` that `results` depend on, parameters among them."""
    live = set(results)
    for instruction in reversed(function.body):
        if not live.isdisjoint(instruction.results):
            live.update(instruction.operands)
    return live


def invariant(body: Function, params: Iterable[Value]) -> set[Value]:
    """The values of a loop's body that only depend on `params`, its invariants, and that may be computed
    though the loop has no step: of the kinds that are movable, all but powers of integers, which can fail."""
    same = set(params)
    for instruction in body.body:
        fallible = (
            instruction.op.name == "pow" and instruction.result.dtype.kind != "f"
            if len(instruction.results) == 1
            else True
        )
        if (
            instruction.op.kind.traits.movable
            and not fallible
            and all(operand in same for operand in instruction.operands)
        ):
            same.update(instruction.results)
    return same


def increment(body: Function, carry: int) -> int | None:
    """The constant that each step with `body` adds to the carry number `carry`, or None if there is none."""
    param, result = body.params[carry], body.results[carry]
    step = next((step for step in body.body if result in step.results), None)
    if param.shape or param.dtype is not INT64 or step is None or step.op.name not in ("add", "sub"):
        return None
    x, y = step.operands
    other = y if x is param else x if y is param and step.op.name == "add" else None
    number = next((instruction for instruction in body.body if other in instruction.results), None)
    if number is None or number.op.name != "full":
        return None
    value = int(number.attrs["value"])
    return -value if step.op.name == "sub" else value


def can_fail(function: Function) -> bool:
    """Whether an instruction of `function`, or of a region in it, can be an error for some values."""
    for instruction in function.instructions():
        traits = instruction.op.kind.traits
        if traits.can_fail and not traits.control:
            return True
        if instruction.op.name == "pow" and instruction.result.dtype.kind == "i":
            return True
    return False


def effects_of(instruction: Instruction) -> frozenset[tuple[str, str]]:
    """The side effects of an instruction, regions included: names of ops, each with the callback that it
    calls."""
    own = {(instruction.op.name, str(instruction.attrs.get("callback")))} if instruction.op.effect else set()
    return frozenset(own).union(
        *(effects_of(inner) for region in instruction.regions for inner in region.body)
    )


def has_effect(instruction: Instruction) -> bool:
    """Whether `instruction`, or one in its regions, does something beside computing results."""
    if instruction.op.effect or not instruction.regions:
        return instruction.op.effect
    return any(has_effect(inner) for region in instruction.regions for inner in region.body)


def acts(function: Function) -> bool:
    """Whether running `function` does more than to compute its results, so that it must not run twice."""
    return any(
        has_effect(instruction) or "callback" in instruction.attrs for instruction in function.instructions()
    )


def silent(instruction: Instruction) -> Instruction:
    """`instruction`, which itself has no effect, without those of the instructions in its regions."""
    if not any(has_effect(inner) for region in instruction.regions for inner in region.body):
        return instruction
    return instruction.replace(regions=tuple(map(without_effects, instruction.regions)))


def without_effects(function: Function) -> Function:
    """`function` for those who compute its values again: nothing happens a second time.

    *Requires*: results of ops with an effect are used by nothing. *Ensures*: the same results; itself where
    there is no effect.
    """
    if not any(has_effect(instruction) for instruction in function.body):
        return function
    body = [silent(instruction) for instruction in function.body if not instruction.op.effect]
    return Function(function.name, function.params, tuple(body), function.results)
