"""Kernels that are a call of the user's C function over whole arrays."""

from __future__ import annotations

from typing import Final

from ...ir.graph import Instruction
from ...ir.registry import Kind
from ..interface import c_function_symbol
from ..llvm.function import Code, Table
from ..llvm.loops import FunctionWriter
from ..llvm.registers import pointer
from .kernel import Kernel, signature
from .lowering import Lowering, LoweringContext

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
