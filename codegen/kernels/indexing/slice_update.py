"""Kernels of slice updates, which write into a copy of their operand.

Where buffer planning gave the result the operand's own memory, nothing is copied.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from ....ir.dtypes import SHORT_NAME
from ....ir.graph import Instruction
from ....ir.registry import Kind
from ....ir.types import contiguous_strides
from ...llvm.emitter import Reg
from ...llvm.loops import FunctionWriter
from ...lowering.kernel import Kernel, signature
from ...lowering.lowering import Lowering, LoweringContext
from .copies import COPIES_STRETCHES, copy_unless_empty
from .slices import contiguous_tail


def update_kernel(name: str, instruction: Instruction, context: LoweringContext) -> Kernel:
    """Copies x, then writes v over its slice."""
    w = FunctionWriter(context.declarations)
    x, v = instruction.operands
    start, step = instruction.attrs["start"], instruction.attrs["step"]
    strides = contiguous_strides(x.shape)
    dtype = SHORT_NAME[x.dtype]
    memory = "u8" if dtype == "bool" else dtype
    copy_unless_empty(w, x, context.defs, "%b0", "%b2")
    first = sum(at * stride for at, stride in zip(start, strides, strict=True))
    by = [s * stride for s, stride in zip(step, strides, strict=True)]
    inner = contiguous_tail(v.shape, by)
    stretch = math.prod(v.shape[inner:])
    v_strides = contiguous_strides(v.shape)

    def at(axis: int, source: str, target: str) -> None:
        if axis == inner:
            if stretch == 1:
                w.store(w.load(source, memory), target)
            else:
                w.copy(target, source, stretch * x.dtype.itemsize)
            return

        def body(index: Reg, _: list[Reg]) -> Sequence[Reg]:
            moved = w.offset(source, dtype, w.mul(index, v_strides[axis]))
            at(axis + 1, moved, w.offset(target, dtype, w.mul(index, by[axis])))
            return ()

        w.loop(0, v.shape[axis], 1, body)

    if v.type.size:
        at(0, "%b1", w.offset("%b2", dtype, first))
    w.ret()
    description = f"update {name}: {v.type} into {x.type}"
    cycles = (x.type.nbytes + v.type.nbytes) / 4
    return Kernel(name, [w.function(signature(name, 3), "nounwind")], description, cycles=cycles)


UPDATE: Final = Lowering((Kind.UPDATE,), update_kernel, why_scalar=COPIES_STRETCHES)
