"""What the kernels of a Function's instructions ask of memory, for the planner of buffers."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ...ir.graph import Instruction, Value
from ..kernels.lowering import LOWERINGS, LoweringContext
from ..llvm.function import Declarations
from ..nest.fusions import Fusions
from .recovery import attributed


class KernelMemory:
    """The `buffers.Kernels` of a module whose nests are `fusions`."""

    def __init__(self, fusions: Fusions) -> None:
        self.fusions = fusions

    def workspace(self, instruction: Instruction, defs: Mapping[Value, Instruction]) -> int:
        """How many bytes the kernel needs to work in, given the definitions around it."""
        lowering = LOWERINGS.get(instruction.op.kind)
        if lowering is None or lowering.workspace is None:
            return 0
        context = LoweringContext(defs, self.fusions, Declarations())
        with attributed(instruction):
            return lowering.workspace(instruction, context)

    def overwrites(self, instruction: Instruction) -> Collection[tuple[int, int]]:
        """Positions of results, each with that of an operand over which it may be written."""
        lowering = LOWERINGS.get(instruction.op.kind)
        if lowering is None or lowering.overwrites is None:
            return ()
        with attributed(instruction):
            return lowering.overwrites(instruction, LoweringContext({}, self.fusions, Declarations()))
