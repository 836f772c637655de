"""Kernels of concatenation: each operand's contiguous stretches are copied to their place."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from ....ir.access import element_strides, resolve
from ....ir.dtypes import SHORT_NAME
from ....ir.graph import Instruction, Value
from ....ir.registry import Kind
from ....ir.types import contiguous_strides
from ...llvm.emitter import Reg
from ...llvm.function import Code
from ...llvm.loops import FunctionWriter
from ...lowering.kernel import Kernel, signature
from ...lowering.lowering import Lowering, LoweringContext
from .copies import COPIES_STRETCHES, over_stretches
from .slices import contiguous_tail


def concat_kernel(name: str, instruction: Instruction, context: LoweringContext) -> Kernel:
    """Copies each operand's contiguous stretches to its place; operands may be views of what is in memory.

    Tasks are slices along the first axis, unless that is the one along which they are joined.
    """
    w = FunctionWriter(context.declarations)
    axis, result = instruction.attrs["axis"], instruction.result
    dtype = SHORT_NAME[result.dtype]
    by = contiguous_strides(result.shape)
    tasks = result.shape[0] if axis > 0 and result.type.size else 1
    rows = (Reg("%begin", "i64"), Reg("%end", "i64")) if axis > 0 else None

    def copy(operand: Value, strides: Sequence[int], source: str, target: str) -> None:
        inner = max(axis, contiguous_tail(operand.shape, list(strides)))
        nbytes = math.prod(operand.shape[inner:]) * result.dtype.itemsize
        axes = list(zip(operand.shape, strides, by, strict=True))[:inner]
        over_stretches(
            w, dtype, axes, (source, target), lambda here, there: w.copy(there, here, nbytes), rows
        )

    offset = 0
    for position, operand in enumerate(instruction.operands):
        source, access = resolve(operand, context.defs)
        strides, start = element_strides(access, contiguous_strides(source.shape), len(operand.shape))
        if operand.type.size:
            place = w.offset(f"%b{len(instruction.operands)}", dtype, offset * by[axis])
            copy(operand, strides, w.offset(f"%b{position}", dtype, start), place)
        offset += operand.shape[axis]
    w.ret()
    code: Code = [w.function(signature(name, len(instruction.operands) + 1), "nounwind")]
    count, nbytes = math.prod(result.shape[:axis]), math.prod(result.shape[axis:]) * result.dtype.itemsize
    cycles = result.type.nbytes / 4 + 20 * count
    return Kernel(name, code, f"concat {name}: {count} rows of {nbytes} bytes", tasks, cycles)


CONCATENATION: Final = Lowering((Kind.CONCAT,), concat_kernel, why_scalar=COPIES_STRETCHES)
