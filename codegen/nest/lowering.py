"""Lowering of fusions to kernels of a module."""

from __future__ import annotations

from typing import Final

from ...ir.registry import Kind
from ..lowering.lowering import Lowering

FUSION: Final = Lowering(
    (Kind.REGION,),
    lambda name, instruction, context: context.fusions.kernel(instruction, name, context.declarations),
    workspace=lambda instruction, context: context.fusions.workspace(instruction),
    overwrites=lambda instruction, context: context.fusions.overwrites(instruction),
    content=lambda instruction, context: context.fusions.content(instruction),
)
