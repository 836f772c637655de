"""Fusions as kernels of a module."""

from __future__ import annotations

from typing import Final

from ...ir.content import content
from ...ir.graph import Instruction
from ...ir.registry import Kind
from ..kernels.lowering import Lowering, LoweringContext


def _content(instruction: Instruction, context: LoweringContext) -> str:
    return "\n".join(content(region) for region in instruction.regions)


FUSION: Final = Lowering(
    (Kind.REGION,),
    lambda name, instruction, context: context.fusions.kernel(instruction, name, context.declarations),
    workspace=lambda instruction, context: context.fusions.workspace(instruction),
    content=_content,
)
