"""Control flow in registers: steps as lanes, straight-line code for small state, or one element at a time."""

from __future__ import annotations

from typing import Any, Final

from ...base.loading import load_module
from ...ir.graph import Instruction
from ...ir.registry import Kind
from ..lowering.element_code import is_scalar_map, lane_cycles
from ..lowering.kernel import Kernel
from ..lowering.lowering import Lowering, LoweringContext
from .register_loops import register_kernel


def _loaded(module: str) -> Any:
    """Load a module of kernels that few loops need, with the modules that it imports."""
    return load_module(module, __package__)


def scan_kernel(name: str, instruction: Instruction, context: LoweringContext) -> Kernel | None:
    """Kernel of a scan in registers; None where the scan is written over memory (`regions`)."""
    kernel: Kernel | None = None
    if is_scalar_map(instruction):
        kernel = _loaded(".scalar_maps").scalar_map_kernel(name, instruction, context)
    if kernel is None and lane_cycles(instruction) is not None:
        kernel = _loaded(".lane_maps").lane_map_kernel(name, instruction, context)
    if kernel is None:
        kernel = register_kernel(name, instruction, context)
    if kernel is None:
        kernel = _loaded("..kernels.scan.element_loop").element_loop_kernel(name, instruction, context)
    return kernel


def _workspace(instruction: Instruction, context: LoweringContext) -> int:
    if lane_cycles(instruction) is None:
        return 0
    nbytes: int = _loaded(".lane_maps").lane_map_workspace(instruction, context)
    return nbytes


CONTROL_FLOW: Final = Lowering((Kind.SWITCH, Kind.WHILE, Kind.REWIND), register_kernel)
SCAN: Final = Lowering((Kind.SCAN,), scan_kernel, workspace=_workspace)
