"""Exported functions: fused Functions as functions of C, in one module with all that they call.

``int name(const T *argument, ..., T *result, ..., void *workspace)`` returns 0, or the number of a message of
the module. Intermediate values are on the stack where they are few, else in the caller's workspace. What the
Function captured are constants of the module: to the kernels they are inputs, as they are to the code that
Python calls, so that both compute the same bits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from ...base.records import record
from ...ir.graph import Function, Instruction
from ...ir.ops.linalg.pairs import complex_instruction
from ...ir.registry import OPS, Kind
from ..control.loop_records import release_function
from ..instrument.variants import PLAIN, Instrument
from ..interface import PARALLEL_FOR, POLL, PRODUCT_KERNELS, PRODUCT_TABLE, THREADS
from ..kernels.gemm.library import driver_text, kernels_text
from ..llvm.emitter import constant, pointer
from ..llvm.function import Code, FunctionCode, calls_c_functions
from ..llvm.multiply_add import contracted
from ..llvm.operations import Convert
from ..llvm.registers import bytes_constant
from ..llvm.stack import scratch_on_stack
from ..llvm.target import Target
from ..lowering.kernel import Kernel
from ..module.body import BodyWriter
from ..module.parts import ModuleParts
from ..module.writer import STACK_ARENA
from ..nest.fusions import Fusions
from ..plan.buffers import BufferPlace, plan_buffers
from ..tiers import OPTIMIZED
from .factorizations import OWN

#: All tasks in the thread that calls, no other thread, and no signals.
RUNTIME_TEXT: Final = f"""\
define void @{PARALLEL_FOR}(ptr %task, ptr %context, i64 %tasks, i64 %chunk) nounwind {{
  call void %task(ptr %context, i64 0, i64 %tasks)
  ret void
}}
define i64 @{THREADS}() nounwind {{
  ret i64 1
}}
define i32 @{POLL}() nounwind {{
  ret i32 0
}}
"""
RUNTIME_EXPORTS: Final = (PARALLEL_FOR, THREADS, POLL)
_UNKNOWN_STATUS: Final = "unknown status"


def product_texts(target: Target, dtype: str) -> list[str]:
    """The modules that products of `dtype` are linked from."""
    kernels = ", ".join([f"ptr @{name}" for name in PRODUCT_KERNELS])
    table = f"@{PRODUCT_TABLE} = constant [{len(PRODUCT_KERNELS)} x ptr] [{kernels}]"
    return [driver_text(target, dtype), f"{kernels_text(target, dtype, OPTIMIZED.parameters)}\n{table}\n"]


def queries_text(name: str, workspaces: Mapping[str, int], messages: Sequence[str], size_type: str) -> str:
    """``size_t f_workspace_size(void)`` for each function ``f`` of `workspaces`, in bytes, and ``const char
    *name_status_message(int)`` for the statuses from 0 on, of which the first is success."""
    parts = []
    texts = [*messages, _UNKNOWN_STATUS]
    for number, message in enumerate(texts):
        parts.append(bytes_constant(f"message{number}", message.encode() + b"\0"))
    table = ", ".join([f"ptr @message{number}" for number in range(len(texts))])
    parts.append(f"@messages = internal constant [{len(texts)} x ptr] [{table}]")
    parts += [
        f"define {size_type} @{function}_workspace_size() nounwind {{\n  ret {size_type} {nbytes}\n}}"
        for function, nbytes in workspaces.items()
    ]
    last = len(messages)
    parts.append(
        f"define ptr @{name}_status_message(i32 %status) nounwind {{\n"
        f"  %known = icmp ult i32 %status, {last}\n"
        f"  %number = select i1 %known, i32 %status, i32 {last}\n"
        f"  %place = getelementptr [{len(texts)} x ptr], ptr @messages, i32 0, i32 %number\n"
        "  %text = load ptr, ptr %place\n"
        "  ret ptr %text\n}"
    )
    return "\n".join(parts)


#: Alignment of a workspace, wherever the caller's begins.
_ALIGNMENT: Final = 64
_NO_WORKSPACE: Final = "the workspace is NULL"


@record(eq=False)
class ExportedFunction:
    """A fused Function to be exported as `name`; the last of its parameters are the arrays `captured`."""

    name: str
    function: Function
    captured: Sequence[np.ndarray[Any, Any]]


@record(eq=False)
class ExportedModule:
    """The LLVM text of exported functions."""

    text: str
    #: Messages by status, less 1.
    errors: list[str]
    #: Bytes of the workspace of each function.
    workspaces: dict[str, int]
    #: The dtypes whose product functions are called.
    products: list[str]
    #: The symbols of LAPACK's functions that are called.
    lapack: list[str]
    #: Instructions that cannot leave the process, with the reason.
    refused: list[tuple[Instruction, str]]
    #: The function that gives memory back which is kept between calls; empty where none is.
    release: str

    @property
    def keeps_memory(self) -> bool:
        """Whether memory is kept between calls."""
        return bool(self.release)

    @property
    def exports(self) -> list[str]:
        """The names of its functions."""
        return [*self.workspaces, *[self.release] * self.keeps_memory]


def exported_module(functions: Sequence[ExportedFunction], target: Target, release: str) -> ExportedModule:
    """The module of `functions` for `target`; where it keeps memory, with a function `release`."""
    # which fusions are equal is known among those of one module
    parts = _ExportedParts(functions[0].function, Fusions(target, lapack=lambda: OWN), PLAIN)
    writers = [_FunctionWriter(function, parts) for function in functions]
    for writer in writers:
        writer.write()
    releasing = release_function(parts.declarations, release)
    code: Code = [*parts.globals, *parts.declarations.values(), *parts.functions, *releasing]
    return ExportedModule(
        contracted(code),
        parts.errors,
        {writer.exported.name: writer.workspace_bytes for writer in writers},
        sorted({kernel.product for kernel in parts.kernels if kernel.product}),
        sorted({symbol for kernel in parts.kernels for symbol in kernel.lapack}),
        parts.refused(),
        release if releasing else "",
    )


class _ExportedParts(ModuleParts):
    """Parts of an exported module. Functions share the arrays that they capture, too."""

    def __init__(self, function: Function, fusions: Fusions, instrument: Instrument) -> None:
        super().__init__(function, fusions, instrument)
        #: The names of constants by their bytes.
        self.captures: dict[bytes, str] = {}

    def refused(self) -> list[tuple[Instruction, str]]:
        """Instructions of the module that need this process, each with the reason."""
        refused = [(call.instruction, _reason(call.instruction)) for call in self.host_calls]
        for kernel in self.kernels:
            if kernel.instruction is None:
                continue
            if calls_c_functions(kernel.code):
                inside = [
                    inner
                    for region in kernel.instruction.regions
                    for inner in region.instructions()
                    if inner.op.name in OPS.foreign
                ]
                refused += [
                    (instruction, "calls a C function of this process")
                    for instruction in inside or [kernel.instruction]
                ]
        return refused


class _FunctionWriter(BodyWriter):
    def __init__(self, exported: ExportedFunction, parts: _ExportedParts) -> None:
        plan = plan_buffers(exported.function, parts.memory, donated=())
        # no name in C has a dot
        super().__init__(parts, exported.function, plan, prefix=f"{exported.name}.")
        self.exported, self.parts = exported, parts
        self.arguments = len(exported.function.params) - len(exported.captured)
        #: The names of the constants that this function captures.
        self.captured: list[str] = []

    @property
    def workspace_bytes(self) -> int:
        """Bytes that the caller has to provide."""
        size = self.plan.arena_bytes
        return 0 if size <= STACK_ARENA else size + _ALIGNMENT - 1

    def write(self) -> None:
        """Append the function to the module."""
        self._captures()
        self._open_arena()
        self._instructions()
        self.close_arena("done")
        self.w.ret(constant(0, "i32"))
        self.exits()
        arguments = [f"%input{i}" for i in range(self.arguments)]
        arguments += [f"%output{i}" for i in range(len(self.function.results))]
        listed = ", ".join(f"ptr {text}" for text in (*arguments, "%workspace"))
        self.functions.append(self.w.function(f"i32 @{self.exported.name}({listed})", self._attributes()))

    # -- memory -----------------------------------------------------------------------------------

    def _captures(self) -> None:
        """Add constants for the arrays that the Function captures, each once for all functions of the
        module."""
        for array in self.exported.captured:
            data = np.ascontiguousarray(array).tobytes()
            if data not in self.parts.captures:
                name = self.parts.captures[data] = f"captured.{len(self.parts.captures)}"
                self.globals.append(bytes_constant(name, data))
            self.captured.append(self.parts.captures[data])

    def _open_arena(self) -> None:
        if self.workspace_bytes == 0:
            if self.plan.arena_bytes:
                self._arena_on_stack()
            return
        w = self.w
        if _NO_WORKSPACE not in self.errors:
            self.errors.append(_NO_WORKSPACE)
        status = constant(self.errors.index(_NO_WORKSPACE) + 1, "i32")
        w.when(w.same_place("%workspace", "null"), lambda: w.ret(status))
        arena = w.aligned_down(w.offset("%workspace", "u8", _ALIGNMENT - 1), _ALIGNMENT)
        w.operations.append(Convert("%arena", "ptr", 1, "bitcast", pointer(arena)))

    def close_arena(self, label: str) -> None:
        """Give back only what steps allocated: the workspace is the caller's."""
        self.w.free_held()

    def _provide_scratch(self, kernel: Kernel) -> None:
        """Put the scratch blocks of the functions of `kernel` on the stack: nothing is kept between calls."""
        kernel.code = [
            scratch_on_stack(part) if isinstance(part, FunctionCode) else part for part in kernel.code
        ]

    def _argument(self, place: BufferPlace) -> str:
        if place.kind == "input" and place.index >= self.arguments:
            return f"@{self.captured[place.index - self.arguments]}"
        return f"%{place.kind}{place.index}"


def _reason(instruction: Instruction) -> str:
    """Reason why an instruction is not native code."""
    linear_algebra = complex_instruction(instruction).op.kind is Kind.LINALG
    return "calls LAPACK" if linear_algebra else "runs in Python"
