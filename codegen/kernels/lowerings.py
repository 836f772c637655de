"""Which kernel an instruction becomes: a table by its op's kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from ...ir.graph import Instruction, Value
from ...ir.passes.loops.control_flow import CONTROL
from ...ir.registry import Kind
from ..control.registers import register_kernel
from ..llvm.target import Target
from ..nest.fusions import Fusions
from .conv.convolution import convolution_kernel
from .external import external_kernel
from .gemm.contraction import contraction_kernel
from .indexing.gather import gather_kernel
from .indexing.movement import concat_kernel, update_kernel
from .indexing.scatter import scatter_kernel
from .kernel import Kernel
from .scan.arg_reduction import arg_reduction_kernel
from .scan.cumulative import cumulative_kernel
from .scan.element_loop import element_loop_kernel
from .sort.search import search_kernel
from .sort.sorting import sort_kernel


class Writing(Protocol):
    """What a lowering needs of the module that is being written."""

    defs: dict[Value, Instruction]
    fusions: Fusions
    target: Target
    declarations: dict[str, str]


#: Given the module, an instruction and the kernel's name; None where this instruction has no kernel.
LOWERINGS: Final[dict[Kind, Callable[[Writing, Instruction, str], Kernel | None]]] = {
    Kind.REGION: lambda m, one, name: m.fusions.kernel(one, name, m.declarations),
    Kind.CONTRACTION: lambda m, one, name: contraction_kernel(name, one, m.defs, m.target, m.declarations),
    Kind.CONVOLUTION: lambda m, one, name: convolution_kernel(name, one, m.defs, m.target, m.declarations),
    Kind.CONCAT: lambda m, one, name: concat_kernel(name, one, m.defs, m.declarations),
    Kind.UPDATE: lambda m, one, name: update_kernel(name, one, m.declarations),
    Kind.GATHER: lambda m, one, name: gather_kernel(name, one, m.target, m.declarations),
    Kind.SCATTER: lambda m, one, name: scatter_kernel(name, one, m.target, m.declarations),
    Kind.CUMULATIVE: lambda m, one, name: cumulative_kernel(name, one, m.target, m.declarations),
    Kind.SORT: lambda m, one, name: sort_kernel(name, one, m.target, m.declarations),
    Kind.ARG_SORT: lambda m, one, name: sort_kernel(name, one, m.target, m.declarations),
    Kind.SEARCH: lambda m, one, name: search_kernel(name, one, m.declarations),
    Kind.HOST: lambda m, one, name: external_kernel(name, one),
    **dict.fromkeys(CONTROL, lambda m, one, name: register_kernel(name, one, m.target, m.declarations)),
    Kind.SCAN: lambda m, one, name: (
        register_kernel(name, one, m.target, m.declarations)
        or element_loop_kernel(name, one, m.target, m.declarations)
    ),
    Kind.ARG_REDUCTION: lambda m, one, name: arg_reduction_kernel(name, one, m.target, m.declarations),
}
