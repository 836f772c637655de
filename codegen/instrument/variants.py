"""Instruments, which add code around the instructions of a module.

The module writer asks its `Instrument` at each instruction. The plain instrument, with which every program is
compiled unless somebody looks at it, does nothing and costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from ...ir.graph import Instruction
from ..llvm.function import Code, Declarations
from ..llvm.loops import FunctionWriter
from ..lowering.kernel import Kernel


class ModuleContext(Protocol):
    """Interface of the module under construction, and of the function in it, that an instrument may use."""

    w: FunctionWriter
    functions: Code
    globals: list[str]
    declarations: Declarations
    errors: list[str]
    trips: float

    def check_status(self, status: str, base: int) -> None:
        """Leave the function with `base` + `status` where `status` is not 0."""


class Instrument:
    """The plain instrument: nothing is added."""

    #: A pointer that ``@main`` takes after inputs and outputs, and hands on to the functions of regions; its
    #: name in all of them, empty for none.
    parameter: str = ""

    #: Whether it looks at the code of both tiers, not at the optimized one's alone.
    tiered: bool = False

    def begin(self) -> None:
        """Begin a module anew: forget what was noted of one that came to nothing."""

    def kernel(self, instruction: Instruction, kernel: Kernel, extents: Sequence[int]) -> None:
        """Change the kernel of an instruction; `extents` are the bytes behind its operands, its results, and
        its workspace where it has one."""

    def before(self, writing: ModuleContext, instruction: Instruction, name: str) -> Any:
        """Write what comes before an instruction; `after` gets what this returns."""

    def after(self, writing: ModuleContext, mark: Any) -> None:
        """Write what comes after it."""

    def finish(self, writing: ModuleContext) -> None:
        """Add to the module, when every instruction is written."""


PLAIN = Instrument()
