"""Matrix products: small ones read their operands where they lie, larger ones go over packed panels.

Both take operands as strided views, so transposed matrices and slices cost nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from ...ir.access import element_strides, resolve
from ...ir.dtypes import SHORT_NAME
from ...ir.graph import Instruction, Value
from ...ir.registry import Kind
from ...ir.types import contiguous_strides
from ..emitter import Reg
from ..loops import FunctionWriter
from ..products.library import declaration, descriptor, symbol
from ..products.tiles import PARALLEL_WORK, Blocking, blocking, tile_for
from ..target import Target
from .batches import Strided, over_batch
from .direct import direct_kernel
from .kernel import PARALLEL_FOR, Kernel, signature

#: Products of at most this many multiplications are done without packing.
SMALL: Final = 48**3
#: Panels of up to so many bytes are on the stack, where each task of a batch has its own.
STACK_PANELS: Final = 1 << 17

Definitions = Mapping[Value, Instruction]


def contraction_kernel(
    name: str, instruction: Instruction, defs: Definitions, target: Target, declarations: dict[str, str]
) -> Kernel:
    """The kernel of ``result = x @ y``."""
    cut = _blocking(instruction, target)
    if cut is not None:
        return _PackedKernel(name, instruction, defs, cut, declarations).kernel()
    x, y = instruction.operands
    types = (x.type, y.type, instruction.result.type)
    dtype = SHORT_NAME[instruction.result.dtype]
    operands = _strided(x, defs), _strided(y, defs)
    return direct_kernel(name, types, operands, dtype, target, declarations)


def workspace_bytes(instruction: Instruction, defs: Definitions, target: Target) -> int:
    """What the kernel of an instruction needs of the arena beside its operands and results."""
    if instruction.op.kind is not Kind.CONTRACTION:
        return 0
    cut = _blocking(instruction, target)
    return cut.workspace if cut is not None and not _batched(instruction, cut) else 0


def _strided(operand: Value, defs: Definitions) -> Strided:
    source, access = resolve(operand, defs)
    return Strided(*element_strides(access, contiguous_strides(source.shape), len(operand.shape)))


def _blocking(instruction: Instruction, target: Target) -> Blocking | None:
    """How a product is cut for packing; None for those that are done directly."""
    x, result = instruction.operands[0], instruction.result
    m, k, n = x.shape[-2], x.shape[-1], result.shape[-1]
    dtype = SHORT_NAME[result.dtype]
    if dtype not in ("f32", "f64") or m * n * k <= SMALL or result.type.size == 0:
        return None
    return blocking(tile_for(target, dtype), m, n, k)


def _batched(instruction: Instruction, cut: Blocking) -> bool:
    """Whether the tasks are whole products of a batch, each over panels on its own stack."""
    batch = math.prod(instruction.result.shape[:-2])
    return batch > 1 and cut.m * cut.n * cut.k < PARALLEL_WORK and cut.workspace <= STACK_PANELS


class _PackedKernel:
    """A call of the product function for each matrix of the batch."""

    def __init__(
        self, name: str, one: Instruction, defs: Definitions, cut: Blocking, declarations: dict[str, str]
    ) -> None:
        x, y = one.operands
        self.name, self.cut = name, cut
        self.dtype = cut.tile.dtype
        self.types = (x.type, y.type, one.result.type)
        self.operands = _strided(x, defs), _strided(y, defs)
        self.batch = math.prod(one.result.shape[:-2])
        self.batched = _batched(one, cut)
        self.pooled = not self.batched and cut.m * cut.n * cut.k >= PARALLEL_WORK
        declarations[symbol(self.dtype)] = declaration(self.dtype)
        self.w = FunctionWriter(declarations)

    def kernel(self) -> Kernel:
        cut, lanes = self.cut, self.cut.tile.lanes
        head = (
            f"contraction {self.name}: {self.batch} x ({cut.m}x{cut.k} @ {cut.k}x{cut.n}) {self.dtype}, "
            f"packed in blocks of {cut.rows}, {cut.columns} by {cut.inner}"
        )
        cycles = cut.m * cut.n * cut.k * self.batch / lanes
        tasks = self.types[2].shape[0] if self.batched else 1
        return Kernel(self.name, self._text(), head, tasks, cycles, product=self.dtype, pooled=self.pooled)

    def _text(self) -> str:
        w, dtype, cut = self.w, self.dtype, self.cut
        x, y = self.operands
        numbers = descriptor(cut, x.strides[-2:], y.strides[-2:])
        held = ", ".join(f"i64 {one}" for one in numbers)
        table = f"@{self.name}_numbers = internal constant [{len(numbers)} x i64] [{held}]"
        work = w.slot(dtype, cut.workspace * 8 // int(dtype[1:])) if self.batched else "%b3"
        pool = f"@{PARALLEL_FOR}" if self.pooled else "null"

        def multiply(at: list[str]) -> None:
            a, b, c = at
            w.line(
                f"call void @{symbol(dtype)}(ptr @{self.name}_numbers, ptr {a}, ptr {b}, ptr {c}, "
                f"ptr {work}, ptr {pool})"
            )

        starts = [w.offset("%b0", dtype, x.offset), w.offset("%b1", dtype, y.offset), "%b2"]
        first = (Reg("%begin", "i64"), Reg("%end", "i64")) if self.batched else None
        over_batch(w, self.types, self.operands, starts, dtype, multiply, first=first)
        w.line("ret void")
        buffers = 3 if self.batched else 4
        return f"{table}\n{w.function(signature(self.name, buffers), 'nounwind')}"
