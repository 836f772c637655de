"""Gathers: the slice at each tuple of indices.

Many indices are taken in blocks (`index_blocks`), whose slices are copied once the indices are found to be in
range. So the check runs on all threads, and indices are read from memory once.

Measured on Zen 4 and left out: prefetching what a block leads to before it is copied. A million of a million
f32 take 1.6 ms then instead of 1.3: how many cache lines come is the limit, and not the wait for each.
"""

from __future__ import annotations

from typing import Final

from ....base.machine import machine
from ....ir.dtypes import SHORT_NAME
from ....ir.graph import Instruction
from ....ir.registry import Kind
from ...llvm.emitter import Reg, constant
from ...llvm.function import Code, Declarations
from ...llvm.loops import FunctionWriter
from ...llvm.target import Target
from ...lowering.kernel import Kernel, signature
from ...lowering.lowering import Advice, Lowering, LoweringContext
from ...lowering.parallel_for import context_of, run_tasks, task_function, tasks_at_a_time
from .copies import copy_stretch
from .index_blocks import BLOCK, STATUS_BYTES, IndexBlocks, note, status_of
from .slices import Slices, check_indices, index_messages, over_indices, slices_of


def gather_kernel(name: str, instruction: Instruction, context: LoweringContext) -> Kernel:
    """Copies the slice at each tuple of indices."""
    target, declarations = context.target, context.declarations
    x, *indices = instruction.operands
    slices, count = slices_of(x.shape, len(indices), instruction.attrs["axes"]), indices[0].type.size
    description = f"gather {name}: {count} slices of {slices.elements} elements of {x.type}"
    if not slices.leading:
        description += f" along axes {list(slices.axes)}"
    errors = index_messages(instruction, slices)
    cycles, pooled = _work(instruction)
    if count >= BLOCK:
        code = _BlockWriter(name, instruction, target, declarations).write()
        return Kernel(name, code, description, cycles=cycles, errors=errors, pooled=pooled)
    w, dtype, result = FunctionWriter(declarations), SHORT_NAME[x.dtype], f"%b{len(indices) + 1}"

    def copy(w: FunctionWriter, number: Reg, place: Reg) -> None:
        _copy_slice(w, dtype, slices, result, number, place)

    check_indices(w, slices, 1, count, target.lanes("i64"))
    over_indices(w, slices, 1, (0, count), copy)
    w.ret(constant(0, "i32"))
    code = [w.function(signature(name, len(indices) + 2, result="i32"), "nounwind")]
    return Kernel(name, code, description, cycles=cycles, errors=errors)


def _copy_slice(w: FunctionWriter, dtype: str, slices: Slices, result: str, number: Reg, place: Reg) -> None:
    """Copy the slice at `place` to the place `number` of the result."""
    source = w.offset("%b0", dtype, w.mul(place, slices.unit))
    target = w.offset(result, dtype, w.mul(number, slices.elements))
    slices.moves(
        w, dtype, source, target, lambda here, packed: copy_stretch(w, dtype, packed, here, slices.stretch)
    )


def gather_workspace(instruction: Instruction, context: LoweringContext) -> int:
    """Bytes that the kernel works in: a place where tasks note what failed."""
    return STATUS_BYTES if _work(instruction)[1] else 0


def _work(instruction: Instruction) -> tuple[float, bool]:
    """Estimated cycles, and whether threads share them."""
    x, *indices = instruction.operands
    slices, count = slices_of(x.shape, len(indices), instruction.attrs["axes"]), indices[0].type.size
    each = slices.elements * (x.dtype.itemsize / 8 if slices.stretch > 1 or slices.leading else 1)
    cycles = count * (12 + each)
    return cycles, count >= BLOCK and cycles > machine().parallel_cycles


class _BlockWriter:
    """Writes the kernel of many indices."""

    def __init__(
        self, name: str, instruction: Instruction, target: Target, declarations: Declarations
    ) -> None:
        x, *indices = instruction.operands
        self.name, self.declarations = name, declarations
        self.w = FunctionWriter(declarations)
        self.dtype = SHORT_NAME[x.dtype]
        self.axes = len(indices)
        self.count = indices[0].type.size
        self.slices = slices_of(x.shape, self.axes, instruction.attrs["axes"])
        self.blocks = IndexBlocks(self.slices, 1, self.count, target)
        self.cycles, self.pooled = _work(instruction)
        #: Operands, the result, and the workspace where tasks share one.
        self.buffers = self.axes + 2 + self.pooled

    def write(self) -> Code:
        """The code of ``@name(ptr %b0, ..., i64 %begin, i64 %end)`` and of its tasks."""
        parts = []
        if self.pooled:
            part, status = f"{self.name}_g", f"%b{self.axes + 2}"
            bad = self._blocks(Reg("%begin", "i64"), Reg("%end", "i64"))
            note(self.w, bad, status)
            self.w.ret()
            parts = [self.w.function(signature(part, self.buffers), "nounwind")]
            parts.append(task_function(part, self.buffers))
            self.w = w = FunctionWriter(self.declarations)
            w.store(constant(0, "i32"), status)
            context_of(w, self.buffers)
            tasks = self.blocks.number
            run_tasks(w, part, tasks, tasks_at_a_time(tasks, self.cycles, machine().task_cycles))
            bad = w.load(status, "i32")
        else:
            bad = self._blocks(constant(0, "i64"), constant(self.blocks.number, "i64"))
            w = self.w
        w.ret(status_of(w, bad))
        return [*parts, w.function(signature(self.name, self.buffers, result="i32"), "nounwind")]

    def _blocks(self, first: Reg, stop: Reg) -> Reg:
        """Some blocks; a bit for each index that is out of range."""
        w, result = self.w, f"%b{self.axes + 1}"

        def copy(number: Reg, place: Reg) -> None:
            _copy_slice(w, self.dtype, self.slices, result, number, place)

        return self.blocks.over(w, first, stop, lambda start, end: self.blocks.each(w, start, end, copy))


GATHER: Final = Lowering(
    (Kind.GATHER,),
    gather_kernel,
    workspace=gather_workspace,
    reads_result_size=True,
    why_scalar="it copies one slice after the other, from where the indices say when it runs",
    advice=lambda instruction: Advice(
        "Reads at computed indices",
        "Slices are fetched one by one from where the indices say.",
        "A slice, reshape or transpose says the same without indices where these follow a pattern.",
    ),
)
