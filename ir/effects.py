"""Effects: what an instruction does beside computing its results, such as printing.

An op whose record says `effect` is kept whether or not anything needs its result, is never merged with
another, and runs in program order with the others. An instruction with regions has the effects of the
instructions in them.
"""

from __future__ import annotations

from .graph import Function, Instruction


def effects_of(instruction: Instruction) -> frozenset[tuple[str, str]]:
    """What an instruction does beside computing, regions included: ops by name, with what they call."""
    own = {(instruction.op.name, str(instruction.attrs.get("callback")))} if instruction.op.effect else set()
    return frozenset(own).union(
        *(effects_of(inner) for region in instruction.regions for inner in region.body)
    )


def has_effect(instruction: Instruction) -> bool:
    """Whether `instruction`, or one in its regions, does something beside computing results."""
    if instruction.op.effect or not instruction.regions:
        return instruction.op.effect
    return any(has_effect(inner) for region in instruction.regions for inner in region.body)


def without_effects(function: Function) -> Function:
    """`function` for those who compute its values again: nothing happens a second time.

    *Requires*: results of ops with an effect are used by nothing. *Ensures*: the same results; itself where
    there is no effect.
    """
    if not any(has_effect(instruction) for instruction in function.body):
        return function
    body = [
        instruction.replace(regions=tuple([without_effects(region) for region in instruction.regions]))
        for instruction in function.body
        if not instruction.op.effect
    ]
    return Function(function.name, function.params, tuple(body), function.results)
