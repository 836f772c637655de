"""Driver of the rewriting passes: a scan that offers each instruction to a table of rules.

A rule is ``rule(b, instruction, defs) -> Value | None``: it looks at the instruction and the definitions
of its operands, and returns a value that may replace the result (built with `b`), or None.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from ..builder import Builder
from ..graph import Function, Instruction, Substitution, Value

Definitions: TypeAlias = Mapping[Value, Instruction]
Rule: TypeAlias = Callable[[Builder, Instruction, Definitions], Value | None]


def rewrite(function: Function, rules: Mapping[str, Sequence[Rule]]) -> Function:
    """Apply `rules`, keyed by op name, once over `function`, and to what the rules build.

    *Ensures*: results have the types they had; itself where nothing applied.
    """
    rules_of = {op: rules[op.name] for op in function.ops if op.name in rules}
    if not rules_of:
        return function
    builder = Builder()
    builder.params = list(function.params)
    body = builder.body
    table = Substitution()
    replaced = table.table.keys()
    defs: Definitions = function.defs
    #: The definitions with what was rewritten: a copy from the first change on.
    changed_defs: dict[Value, Instruction] = {}
    changed = False
    for position, original in enumerate(function.body):
        instruction = original
        if changed and not replaced.isdisjoint(original.operands):
            instruction = table.apply(original)
            for result in instruction.results:
                changed_defs[result] = instruction
        builder.location = instruction.location
        for rule in rules_of.get(instruction.op, ()):
            start = len(body)
            replacement = rule(builder, instruction, defs)
            if replacement is not None:
                if not changed:
                    changed, body[:0], start = True, function.body[:position], start + position
                    defs = changed_defs = dict(defs)
                table[original.results[0]] = _settled(builder, start, replacement, changed_defs, rules)
                break
        else:
            if changed:
                body.append(instruction)
    if not changed:
        return function
    return Function(function.name, function.params, tuple(body), table.all(function.results))


def _offer(
    builder: Builder,
    instruction: Instruction,
    defs: dict[Value, Instruction],
    applicable: Sequence[Rule],
    rules: Mapping[str, Sequence[Rule]],
) -> Value | None:
    """Rewrite `instruction` by the first of the `applicable` rules that applies; the replacement, or None."""
    builder.location = instruction.location
    for rule in applicable:
        start = len(builder.body)
        replacement = rule(builder, instruction, defs)
        if replacement is not None:
            return _settled(builder, start, replacement, defs, rules)
    return None


def _settled(
    builder: Builder,
    start: int,
    replacement: Value,
    defs: dict[Value, Instruction],
    rules: Mapping[str, Sequence[Rule]],
) -> Value:
    """Apply the rules to the instructions that a rule built, from `start` on, and return `replacement` or
    what replaces it."""
    body, table = builder.body, Substitution()
    fresh = body[start:]
    del body[start:]
    for built in fresh:
        built = table.apply(built)
        again = _offer(builder, built, defs, rules.get(built.op.name, ()), rules)
        if again is None:
            body.append(built)
            for result in built.results:
                defs[result] = built
        else:
            table[built.results[0]] = again
    return table[replacement]


def constant_of(value: Value, defs: Definitions) -> Any:
    """The number that `value` holds everywhere, or None where it is not a uniform constant."""
    instruction = defs.get(value)
    while instruction is not None and instruction.op.name == "broadcast":
        instruction = defs.get(instruction.operands[0])
    if instruction is not None and instruction.op.name == "full":
        return instruction.attrs["value"]
    return None


def defined_by(value: Value, name: str, defs: Definitions) -> Instruction | None:
    """The instruction that defines `value`, if its op is `name`."""
    instruction = defs.get(value)
    return instruction if instruction is not None and instruction.op.name == name else None
