"""Removal of warnings of derivatives, for programs that run without Python."""

from __future__ import annotations

from ..builder import Builder
from ..graph import Function, Instruction, Value
from ..ops.linalg.undetermined import WARN_UNLESS_ZERO
from .rewriting import Definitions, rewrite


def without_warnings(function: Function) -> Function:
    """`function` without what calls Python to warn. *Requires*: no pass was applied. *Ensures*: the same
    results; itself where it has no warnings."""
    if not any(instruction.op is WARN_UNLESS_ZERO for instruction in function.instructions()):
        return function
    body = [
        instruction.replace(regions=tuple(map(without_warnings, instruction.regions)))
        if instruction.regions
        else instruction
        for instruction in function.body
    ]
    silent = Function(function.name, function.params, tuple(body), function.results)
    return rewrite(silent, {WARN_UNLESS_ZERO.name: (_operand,)})


def _operand(b: Builder, instruction: Instruction, defs: Definitions) -> Value | None:
    return instruction.operands[0]
