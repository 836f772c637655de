"""Kernels of slice updates, which write into a copy of their operand.

Where buffer planning gave the result the operand's own memory, nothing is copied.
"""

from __future__ import annotations

import math
from typing import Final

from ....ir.dtypes import SHORT_NAME
from ....ir.graph import Instruction
from ....ir.registry import Kind
from ....ir.types import contiguous_strides
from ...llvm.loops import FunctionWriter
from ...lowering.kernel import Kernel, signature
from ...lowering.lowering import Lowering, LoweringContext
from .copies import COPIES_STRETCHES, copy_stretch, copy_unless_empty, over_stretches
from .slices import contiguous_tail


def update_kernel(name: str, instruction: Instruction, context: LoweringContext) -> Kernel:
    """Copies x, then writes v over its slice."""
    w = FunctionWriter(context.declarations)
    x, v = instruction.operands
    start, step = instruction.attrs["start"], instruction.attrs["step"]
    strides = contiguous_strides(x.shape)
    dtype = SHORT_NAME[x.dtype]
    copy_unless_empty(w, x, context.defs, "%b0", "%b2")
    first = sum(at * stride for at, stride in zip(start, strides, strict=True))
    by = [s * stride for s, stride in zip(step, strides, strict=True)]
    inner = contiguous_tail(v.shape, by)
    stretch = math.prod(v.shape[inner:])
    axes = list(zip(v.shape, contiguous_strides(v.shape), by, strict=True))[:inner]
    if v.type.size:
        places = "%b1", w.offset("%b2", dtype, first)
        over_stretches(
            w, dtype, axes, places, lambda here, there: copy_stretch(w, dtype, there, here, stretch)
        )
    w.ret()
    description = f"update {name}: {v.type} into {x.type}"
    cycles = (x.type.nbytes + v.type.nbytes) / 4
    return Kernel(name, [w.function(signature(name, 3), "nounwind")], description, cycles=cycles)


UPDATE: Final = Lowering((Kind.UPDATE,), update_kernel, why_scalar=COPIES_STRETCHES)
