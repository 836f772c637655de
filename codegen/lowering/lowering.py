"""Lowerings: one `Lowering` record for each family of kernels, declared beside the kernels.

A module asks the record for an instruction's kernel, the planner of buffers for its workspace, costs for its
work, the viewer for its words. `LOWERINGS` has the records by the kinds that they serve.

A family of kernels loads when a function has a kernel of it: most first calls need two or three.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Final, TypeAlias

from ...base.lapack.library import LapackLibrary
from ...base.records import record
from ...ir.access import resolve
from ...ir.content import attributes
from ...ir.graph import Instruction, Value
from ...ir.registry import Kind
from ..interface import c_function_symbol
from ..llvm.function import Code, Declarations, Table
from ..llvm.loops import FunctionWriter
from ..llvm.registers import pointer
from ..llvm.target import Target
from ..tiers import ScheduleParameters
from .kernel import Kernel, signature

if TYPE_CHECKING:
    from ..nest.fusions import Fusions

Definitions: TypeAlias = Mapping[Value, Instruction]


@record(eq=False)
class LoweringContext:
    """The Function around an instruction, and the module that is being written."""

    #: The instruction that makes each value of the Function.
    defs: Definitions
    fusions: Fusions
    #: Functions that the module declares and defines once: kernels add those that they call.
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
    """Advice of the viewer on a kernel that takes long: a title, then what the kernel does, then (behind how
    far it is from the machine's limits) what to write instead."""

    title: str
    work: str
    remedy: str
    #: Whether it can be helped however near to the limits it is.
    always: bool = False


@record(eq=False)
class Lowering:
    """Lowering of the ops of `kinds` to machine code. Only `kinds` and `kernel` have to be there."""

    kinds: tuple[Kind, ...]
    #: ``kernel(name, instruction, context)``: the native function; None where this instruction has none, and
    #: is a host call or written over memory.
    kernel: Callable[[str, Instruction, LoweringContext], Kernel | None]
    #: Bytes of memory that the kernel works in, as its last buffer.
    workspace: Callable[[Instruction, LoweringContext], int] | None = None
    #: Positions of results, each with that of an operand over which it may be written; of several pairs with
    #: one result or one operand, any one may be chosen.
    overwrites: Callable[[Instruction, LoweringContext], Collection[tuple[int, int]]] | None = None
    #: A text that is equal for instructions with equal kernels, so that these are written once. It may raise
    #: `ir.content.NoContent`.
    content: Callable[[Instruction, LoweringContext], str] | None = None
    #: Operations with floating results; none where it is left out.
    flops: Callable[[Instruction], int] | None = None
    #: Whether of the first operand as many elements are read as the result has, however large it is.
    reads_result_size: bool = False
    #: Whether kernels are unrolled code, which LLVM's passes over loops would do nothing for.
    unrolled: bool = False
    #: Title in the viewer of kernels that do about as much arithmetic as the machine can.
    arithmetic: str = ""
    #: Reason why a kernel does not work on whole vectors, in the user's words.
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


#: The estimated cycles of a function nobody knows: enough that the GIL is let go.
_CYCLES = 1e5


def external_kernel(name: str, instruction: Instruction, context: LoweringContext) -> Kernel | None:
    """The call of the op's C function; None where it has none. See `ir.registry.External`."""
    function = instruction.op.native
    if function is None:
        return None
    values = [*instruction.operands, *instruction.results]
    sizes = [size for value in values for size in value.shape]
    w, table = FunctionWriter(context.declarations), Table(f"@{name}_sizes", "i64", sizes or [0])
    symbol, buffers = c_function_symbol(function.address), [f"%b{i}" for i in range(len(values))]
    w.declare(symbol, f"void @{symbol}({', '.join(['ptr'] * (len(values) + 1))})")
    w.run(symbol, *map(pointer, [*buffers, table.name]))
    w.ret()
    code: Code = [table, w.function(signature(name, len(values)), "nounwind")]
    return Kernel(name, code, f"{name}: C function of {instruction.op.name}", cycles=_CYCLES)


EXTERNAL: Final = Lowering((Kind.HOST,), external_kernel)
