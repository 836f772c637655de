"""Gathers: the slice at each tuple of indices.

Many indices are taken in blocks: a block's indices are checked, wrapped and made one number each, by vectors,
and then the slices are copied. So the check runs on all threads, and indices are read from memory once. A
block with an index out of range copies nothing and notes the axis.

Measured on Zen 4 and left out: prefetching what a block leads to before it is copied. A million of a million
f32 take 1.6 ms then instead of 1.3: how many cache lines come is the limit, and not the wait for each.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from ...ir.dtypes import SHORT_NAME
from ...ir.graph import Instruction
from ..emitter import Reg, constant
from ..loops import FunctionWriter
from ..target import Target
from .kernel import PARALLEL_FOR, PARALLEL_TASKS, TASK_CYCLES, Kernel, signature, task_function
from .movement import check_indices, copy_stretch, index_messages, over_indices

#: Indices of a block.
BLOCK: Final = 256
#: Slices copied in one turn.
_COPIES: Final = 8
#: Bytes of the workspace: a cache line.
_STATUS_BYTES: Final = 64


def gather_kernel(
    name: str, instruction: Instruction, target: Target, declarations: dict[str, str]
) -> Kernel:
    """Copies the slice at each tuple of indices."""
    x, *indices = instruction.operands
    stretch, count = math.prod(x.shape[len(indices) :]), indices[0].type.size
    description = f"gather {name}: {count} slices of {stretch} elements of {x.type}"
    errors = index_messages(instruction, x.shape, len(indices))
    cycles, pooled = _work(instruction)
    if count >= BLOCK:
        text = _BlockWriter(name, instruction, target, declarations).write()
        return Kernel(name, text, description, cycles=cycles, errors=errors, pooled=pooled)
    w, dtype, result = FunctionWriter(declarations), SHORT_NAME[x.dtype], f"%b{len(indices) + 1}"

    def copy(w: FunctionWriter, number: Reg, at: Reg) -> None:
        source = w.offset("%b0", dtype, w.mul(at, stretch))
        copy_stretch(w, dtype, w.offset(result, dtype, w.mul(number, stretch)), source, stretch)

    check_indices(w, x.shape, len(indices), 1, count, target.lanes("i64"))
    over_indices(w, x.shape, len(indices), 1, (0, count), copy)
    w.line("ret i32 0")
    text = w.function(signature(name, len(indices) + 2, result="i32"), "nounwind")
    return Kernel(name, text, description, cycles=cycles, errors=errors)


def gather_workspace(instruction: Instruction) -> int:
    """Bytes that the kernel works in: a place where tasks note what failed."""
    return _STATUS_BYTES if _work(instruction)[1] else 0


def _work(instruction: Instruction) -> tuple[float, bool]:
    """Estimated cycles, and whether threads share them."""
    x, *indices = instruction.operands
    stretch, count = math.prod(x.shape[len(indices) :]), indices[0].type.size
    cycles = count * (12 + stretch * x.dtype.itemsize / 8)
    return cycles, count >= BLOCK and cycles > PARALLEL_TASKS * TASK_CYCLES


class _BlockWriter:
    """Writes the kernel of many indices."""

    def __init__(
        self, name: str, instruction: Instruction, target: Target, declarations: dict[str, str]
    ) -> None:
        x, *indices = instruction.operands
        self.name, self.target, self.declarations = name, target, declarations
        self.w = FunctionWriter(declarations)
        self.dtype = SHORT_NAME[x.dtype]
        self.axes, self.shape = len(indices), x.shape
        self.count = indices[0].type.size
        self.stretch = math.prod(x.shape[self.axes :])
        self.blocks = -(-self.count // BLOCK)
        self.cycles, self.pooled = _work(instruction)
        #: Operands, the result, and the workspace where tasks share one.
        self.buffers = self.axes + 2 + self.pooled

    def write(self) -> str:
        """The text of ``@name(ptr %b0, ..., i64 %begin, i64 %end)`` and of its tasks."""
        parts = []
        if self.pooled:
            part, status = f"{self.name}_g", f"%b{self.axes + 2}"
            bad = self._blocks(Reg("%begin", "i64"), Reg("%end", "i64"))
            w = self.w
            w.when(w.ne(bad, 0), lambda: w.line(f"atomicrmw or ptr {status}, {bad} seq_cst"))
            w.line("ret void")
            parts = [w.function(signature(part, self.buffers), "nounwind")]
            parts.append(task_function(part, self.buffers))
            self.w = w = FunctionWriter(self.declarations)
            w.store(constant(0, "i32"), status)
            w.allocas.append(f"  %context = alloca [{self.buffers} x ptr]")
            for i in range(self.buffers):
                w.line(f"store ptr %b{i}, ptr {w.offset('%context', 'i64', i)}")
            chunk = max(1, int(self.blocks * TASK_CYCLES / self.cycles))
            w.line(
                f"call void @{PARALLEL_FOR}(ptr @{part}_task, ptr %context, i64 {self.blocks}, i64 {chunk})"
            )
            bad = w.load(status, "i32")
        else:
            bad = self._blocks(constant(0, "i64"), constant(self.blocks, "i64"))
            w = self.w
        failed = w.add(w.trailing_zeros(bad), 1)
        w.line(f"ret {w.select(w.eq(bad, 0), 0, failed)}")
        return "\n".join([*parts, w.function(signature(self.name, self.buffers, result="i32"), "nounwind")])

    def _blocks(self, first: Reg, stop: Reg) -> Reg:
        """Some blocks; a bit for each axis with an index out of range."""
        w = self.w
        places = w.slot("i64", BLOCK)

        def block(number: Reg, state: list[Reg]) -> Sequence[Reg]:
            start = w.mul(number, BLOCK)
            count = w.min(w.sub(self.count, start), BLOCK)
            bad = self._places(start, count, places)

            def move() -> None:
                whole = w.and_(count, -_COPIES)
                w.loop(0, whole, _COPIES, lambda at, _: self._copy(places, start, at, _COPIES))
                w.loop(whole, count, 1, lambda at, _: self._copy(places, start, at, 1))

            w.when(w.eq(bad, 0), move)
            return [w.or_(state[0], bad)]

        (bad,) = w.loop(first, stop, 1, block, [constant(0, "i32")])
        return bad

    def _places(self, start: Reg, count: Reg, places: str) -> Reg:
        """Put the number of the slice for each index tuple into `places`; the axes that have a bad index."""
        w, lanes = self.w, self.target.lanes("i64")

        def some(lanes: int, at: Reg, state: list[Reg]) -> Sequence[Reg]:
            flat, fine = constant(0, "u64", lanes), []
            for axis, good in enumerate(state):
                given = w.load(w.offset(f"%b{1 + axis}", "i64", w.add(start, at)), "i64", lanes)
                # as unsigned numbers, the smaller one is below the size where the index is in range
                index = w.bitcast(given, "u64")
                wrapped = w.min(index, w.add(index, self.shape[axis]))
                fine.append(w.and_(good, w.lt(wrapped, self.shape[axis])))
                flat = wrapped if axis == 0 else w.add(w.mul(flat, self.shape[axis]), wrapped)
            w.store(flat, w.offset(places, "i64", at))
            return fine

        whole = w.and_(count, -lanes)
        good = [constant(True, "bool", lanes)] * self.axes
        good = w.loop(0, whole, lanes, lambda at, state: some(lanes, at, state), good)
        every = [w.eq(w.mask_bits(one), (1 << lanes) - 1) for one in good]
        every = w.loop(whole, count, 1, lambda at, state: some(1, at, state), every)
        bad = constant(0, "i32")
        for axis, fine in enumerate(every):
            bad = w.or_(bad, w.select(fine, constant(0, "i32"), 1 << axis))
        return bad

    def _copy(self, places: str, start: Reg, at: Reg, copies: int) -> Sequence[Reg]:
        w, result = self.w, f"%b{self.axes + 1}"
        for copy in range(copies):
            here = w.add(at, copy)
            target = w.offset(result, self.dtype, w.mul(w.add(start, here), self.stretch))
            place = w.load(w.offset(places, "i64", here), "i64")
            source = w.offset("%b0", self.dtype, w.mul(place, self.stretch))
            copy_stretch(w, self.dtype, target, source, self.stretch)
        return ()
