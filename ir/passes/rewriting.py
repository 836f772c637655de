"""What the rewriting passes share: a scan that offers each instruction to a table of rules.

A rule is ``rule(b, instruction, defs) -> Value | None``: it looks at the instruction and the definitions
of its operands, and returns a value that may replace the result (built with `b`), or None.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from ..builder import Builder
from ..graph import Function, Instruction, Substitution, Value

Definitions: TypeAlias = dict[Value, Instruction]
Rule: TypeAlias = Callable[[Builder, Instruction, Definitions], Value | None]


def rewrite(function: Function, rules: Mapping[str, Sequence[Rule]]) -> Function:
    """Apply `rules`, keyed by op name, once over `function`, and to what the rules build.

    *Ensures*: results have the types they had; itself where nothing applied.
    """
    if not any(instruction.op.name in rules for instruction in function.body):
        return function
    builder = Builder()
    builder.params = list(function.params)
    table = Substitution()
    defs: Definitions = {}
    changed = False
    for original in function.body:
        instruction = table.apply(original) if changed else original
        offered = instruction.op.name in rules
        replacement = _offer(builder, instruction, defs, rules) if offered else None
        if replacement is None:
            builder.body.append(instruction)
            _define(defs, instruction)
        else:
            changed = True
            table[original.results[0]] = replacement
    if not changed:
        return function
    return Function(function.name, function.params, tuple(builder.body), table.all(function.results))


def _define(defs: Definitions, instruction: Instruction) -> None:
    for result in instruction.results:
        defs[result] = instruction


def _offer(
    builder: Builder, instruction: Instruction, defs: Definitions, rules: Mapping[str, Sequence[Rule]]
) -> Value | None:
    builder.location = instruction.location
    for rule in rules.get(instruction.op.name, ()):
        start = len(builder.body)
        replacement = rule(builder, instruction, defs)
        if replacement is None:
            continue
        fresh = builder.body[start:]
        del builder.body[start:]
        table = Substitution()
        for built in fresh:  # what a rule builds may itself match a rule
            built = table.apply(built)
            again = _offer(builder, built, defs, rules)
            if again is None:
                builder.body.append(built)
                _define(defs, built)
            else:
                table[built.results[0]] = again
        return table[replacement]
    return None


def constant_of(value: Value, defs: Definitions) -> Any:
    """The number that `value` holds everywhere, or None where it is not a uniform constant."""
    instruction = defs.get(value)
    if instruction is not None and instruction.op.name == "broadcast":
        instruction = defs.get(instruction.operands[0])
    if instruction is not None and instruction.op.name == "full":
        return instruction.attrs["value"]
    return None


def defined_by(value: Value, name: str, defs: Definitions) -> Instruction | None:
    """The instruction that defines `value`, if its op is `name`."""
    instruction = defs.get(value)
    return instruction if instruction is not None and instruction.op.name == name else None
