"""What codegen knows of a family of kernels: one `Lowering` record, declared beside the kernels.

A module asks the record for an instruction's kernel, the planner of buffers for its workspace, costs for its
work, the viewer for its words. `lowerings.py` collects the records by the kinds that they serve.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from ...ir.access import resolve
from ...ir.content import attributes
from ...ir.graph import Instruction, Value
from ...ir.lapack.library import LapackLibrary
from ...ir.records import record
from ...ir.registry import Kind
from ..llvm.declarations import Declarations
from ..llvm.target import Target
from ..nest.fusions import Fusions
from ..tiers import ScheduleParameters
from .kernel import Kernel

Definitions: TypeAlias = Mapping[Value, Instruction]


@record(eq=False)
class LoweringContext:
    """The Function around an instruction, and the module that is being written."""

    #: The instruction that makes each value of the Function.
    defs: Definitions
    fusions: Fusions
    #: What the module declares and defines once: kernels add what they call.
    declarations: Declarations

    @property
    def target(self) -> Target:
        """The CPU that code is generated for."""
        return self.fusions.target

    @property
    def lapack(self) -> LapackLibrary | None:
        """The LAPACK that kernels call."""
        return self.fusions.lapack()

    @property
    def parameters(self) -> ScheduleParameters:
        """The sizes in which kernels are written."""
        return self.fusions.parameters


@record
class Advice:
    """What the viewer says of a kernel that takes long: a title, then what the kernel does, then (behind how
    far it is from the machine's limits) what to write instead."""

    title: str
    work: str
    remedy: str
    #: Whether it can be helped however near to the limits it is.
    always: bool = False


@record(eq=False)
class Lowering:
    """How the ops of `kinds` become machine code. Only `kinds` and `kernel` have to be there."""

    kinds: tuple[Kind, ...]
    #: ``kernel(name, instruction, context)``: the native function; None where this instruction has none, and
    #: is a host call or written over memory.
    kernel: Callable[[str, Instruction, LoweringContext], Kernel | None]
    #: Bytes of memory that the kernel works in, as its last buffer.
    workspace: Callable[[Instruction, LoweringContext], int] | None = None
    #: A text that is equal for instructions with equal kernels, so that these are written once. It may raise
    #: `ir.content.NoContent`.
    content: Callable[[Instruction, LoweringContext], str] | None = None
    #: Operations with floating results; none where it is left out.
    flops: Callable[[Instruction], int] | None = None
    #: Whether of the first operand as many elements are read as the result has, however large it is.
    reads_result_size: bool = False
    #: Whether kernels are unrolled code, which LLVM's passes over loops would do nothing for.
    unrolled: bool = False
    #: For kernels that do about as much arithmetic as the machine can: their title in the viewer.
    arithmetic: str = ""
    #: Why a kernel does not work on whole vectors, in the user's words.
    why_scalar: str = ""
    advice: Callable[[Instruction], Advice] | None = None


def content_with_sources(instruction: Instruction, context: LoweringContext) -> str:
    """The `Lowering.content` of an instruction whose kernel follows from its attributes, and from what memory
    its operands are views of."""
    operands = [(operand.type, *_source(operand, context.defs)) for operand in instruction.operands]
    return f"{instruction.op.name} {attributes(instruction.attrs)} {operands} {instruction.result.type}"


def _source(operand: Value, defs: Definitions) -> tuple[object, ...]:
    source, access = resolve(operand, defs)
    return source.type, access.dims
