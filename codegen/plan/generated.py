"""Modules, which code generation yields: LLVM text, with what linking and calling it need."""

from __future__ import annotations

from ...base.records import field, record
from ..interface import HostCall as HostCall
from ..llvm.function import Code, FunctionCode, text_of
from ..llvm.multiply_add import contracted
from ..llvm.target import Target
from ..lowering.kernel import Kernel
from ..tiers import OPTIMIZED, ScheduleParameters
from .buffers import BufferPlan
from .recovery import Recovery


@record(eq=False, frozen=False)
class Module:
    """LLVM text for a Function, with what linking and calling it need."""

    #: Globals, declarations and functions that kernels share.
    head: Code
    functions: Code
    kernels: list[Kernel]
    host_calls: list[HostCall]
    #: Messages by status - 1.
    errors: list[str]
    #: Whether PARALLEL_FOR is wanted, and the dtypes whose product functions are.
    parallel: bool
    products: list[str]
    arena_bytes: int
    cycles: float = 0.0
    #: Additional cycles of a call as the baseline tier compiles it.
    slower: float = 0.0
    #: Descriptions of its kernels: texts, or objects that print as one.
    descriptions: list[object] = field(default_factory=list)
    plan: BufferPlan = field(default_factory=BufferPlan)
    #: Whether LLVM is to look for better addresses in loops; see `llvm.emit_object`.
    reduce_loops: bool = True
    #: The CPU that it is for.
    target: Target | None = None
    #: The sizes in which its kernels are written.
    parameters: ScheduleParameters = OPTIMIZED.parameters
    #: The messages of other code that stand before its own.
    other_errors: list[str] = field(default_factory=list)
    #: The Function of a module that `generate` made, with what was simplified in it.
    recovery: Recovery | None = None
    #: The symbols of LAPACK's functions that it calls.
    lapack: list[str] = field(default_factory=list)
    #: The addresses of the user's C functions that it calls, by symbol.
    c_functions: dict[str, int] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The LLVM text."""
        return text_of([*self.head, *self.functions])

    def contracted_text(self) -> str:
        """LLVM text with products and sums joined, for all of LLVM's code generators."""
        return contracted([*self.head, *self.functions])

    @property
    def shortened(self) -> bool:
        """Whether something in it was written in smaller sizes than the full ones."""
        return any(kernel.shortened for kernel in self.kernels)

    @property
    def worth_compiling(self) -> frozenset[str]:
        """The functions that the baseline tier, too, is to compile with `Effort.LIGHT`."""
        codes = [kernel.code for kernel in self.kernels if kernel.worth_compiling]
        return frozenset([part.name for code in codes for part in code if isinstance(part, FunctionCode)])

    def loops_text(self) -> str:
        """The loop nests, for ``--stage loops``."""
        return "\n".join(map(str, self.descriptions))
