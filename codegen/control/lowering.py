"""Control flow in registers: steps as lanes, straight-line code for small state, or one element at a time."""

from __future__ import annotations

from typing import Final

from ...ir.graph import Instruction
from ...ir.registry import Kind
from ..kernels.kernel import Kernel
from ..kernels.lowering import Lowering, LoweringContext
from ..kernels.scan.element_loop import element_loop_kernel
from .lane_maps import lane_map_kernel, lane_map_workspace
from .register_loops import register_kernel
from .scalar_maps import scalar_map_kernel


def scan_kernel(name: str, instruction: Instruction, context: LoweringContext) -> Kernel | None:
    """A scan in registers; None where it is written over memory (`regions`)."""
    return (
        scalar_map_kernel(name, instruction, context)
        or lane_map_kernel(name, instruction, context)
        or register_kernel(name, instruction, context)
        or element_loop_kernel(name, instruction, context)
    )


CONTROL_FLOW: Final = Lowering((Kind.SWITCH, Kind.WHILE, Kind.REWIND), register_kernel)
SCAN: Final = Lowering((Kind.SCAN,), scan_kernel, workspace=lane_map_workspace)
