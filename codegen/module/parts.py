"""Parts of a module under construction, which the writers of its functions share."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir.graph import Function
from ..instrument.variants import Instrument
from ..llvm.function import Code, Declarations
from ..lowering.kernel import Kernel
from ..nest.fusions import Fusions
from ..plan.generated import HostCall
from .deduplication import KernelDeduplication, KernelMemory, TaskFunctions


class ModuleParts:
    """Text, tables and messages of a module whose first function is `function`."""

    def __init__(
        self, function: Function, fusions: Fusions, instrument: Instrument, errors: Sequence[str] = ()
    ) -> None:
        self.fusions, self.instrument = fusions, instrument
        #: Parameters of all functions, beside their buffers.
        self.extra = [instrument.parameter] if instrument.parameter else []
        self.memory = KernelMemory(fusions)
        self.declarations = Declarations(fusions.target)
        self.functions: Code = []
        self.globals: list[str] = []
        self.kernels: list[Kernel] = []
        self.known = KernelDeduplication()
        self.tasks = TaskFunctions(function)
        self.host_calls: list[HostCall] = []
        self.errors: list[str] = list(errors)
        self.descriptions: list[object] = []
