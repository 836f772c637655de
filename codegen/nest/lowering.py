"""Fusions as kernels of a module."""

from __future__ import annotations

from typing import Final

from ...ir.content import attributes, content
from ...ir.graph import Instruction
from ...ir.registry import Kind
from ..kernels.lowering import Lowering, LoweringContext


def _content(instruction: Instruction, context: LoweringContext) -> str:
    (region,) = instruction.regions
    return f"{attributes(instruction.attrs)}\n{content(region)}"


FUSION: Final = Lowering(
    (Kind.REGION,),
    lambda name, instruction, context: context.fusions.kernel(instruction, name, context.declarations),
    workspace=lambda instruction, context: context.fusions.workspace(instruction),
    content=_content,
)
