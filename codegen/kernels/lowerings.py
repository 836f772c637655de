"""Which kernel an instruction becomes: a table by its op's kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from ...ir.graph import Instruction, Value
from ...ir.registry import Kind
from ..control.register_loops import register_kernel
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


class LoweringContext(Protocol):
    """What a lowering needs of the module that is being written."""

    defs: dict[Value, Instruction]
    fusions: Fusions
    target: Target
    declarations: dict[str, str]


#: Given the module, an instruction and the kernel's name; None where this instruction has no kernel.
LOWERINGS: Final[dict[Kind, Callable[[LoweringContext, Instruction, str], Kernel | None]]] = {
    Kind.REGION: lambda m, instruction, name: m.fusions.kernel(instruction, name, m.declarations),
    Kind.CONTRACTION: lambda m, instruction, name: contraction_kernel(
        name, instruction, m.defs, m.target, m.declarations
    ),
    Kind.CONVOLUTION: lambda m, instruction, name: convolution_kernel(
        name, instruction, m.defs, m.target, m.declarations
    ),
    Kind.CONCAT: lambda m, instruction, name: concat_kernel(name, instruction, m.defs, m.declarations),
    Kind.UPDATE: lambda m, instruction, name: update_kernel(name, instruction, m.declarations),
    Kind.GATHER: lambda m, instruction, name: gather_kernel(name, instruction, m.target, m.declarations),
    Kind.SCATTER: lambda m, instruction, name: scatter_kernel(name, instruction, m.target, m.declarations),
    Kind.CUMULATIVE: lambda m, instruction, name: cumulative_kernel(
        name, instruction, m.target, m.declarations
    ),
    Kind.SORT: lambda m, instruction, name: sort_kernel(name, instruction, m.target, m.declarations),
    Kind.ARG_SORT: lambda m, instruction, name: sort_kernel(name, instruction, m.target, m.declarations),
    Kind.SEARCH: lambda m, instruction, name: search_kernel(name, instruction, m.declarations),
    Kind.HOST: lambda m, instruction, name: external_kernel(name, instruction),
    **dict.fromkeys(
        [kind for kind in Kind if kind.traits.control],
        lambda m, instruction, name: register_kernel(name, instruction, m.target, m.declarations),
    ),
    Kind.SCAN: lambda m, instruction, name: (
        register_kernel(name, instruction, m.target, m.declarations)
        or element_loop_kernel(name, instruction, m.target, m.declarations)
    ),
    Kind.ARG_REDUCTION: lambda m, instruction, name: arg_reduction_kernel(
        name, instruction, m.target, m.declarations
    ),
}
