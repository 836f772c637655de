"""Control flow in registers: straight-line code for small state, or a scan element by element."""

from __future__ import annotations

from typing import Final

from ...ir.graph import Instruction
from ...ir.registry import Kind
from ..kernels.kernel import Kernel
from ..kernels.lowering import Lowering, LoweringContext
from ..kernels.scan.element_loop import element_loop_kernel
from .register_loops import register_kernel


def scan_kernel(name: str, instruction: Instruction, context: LoweringContext) -> Kernel | None:
    """A scan in registers; None where it is written over memory (`regions`)."""
    return register_kernel(name, instruction, context) or element_loop_kernel(name, instruction, context)


CONTROL_FLOW: Final = Lowering((Kind.SWITCH, Kind.WHILE, Kind.REWIND), register_kernel)
SCAN: Final = Lowering((Kind.SCAN,), scan_kernel)
