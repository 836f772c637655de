"""The order of rows after the exchanges of a factorization."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ....ir.graph import Instruction
from ...llvm.emitter import Reg, constant
from ...llvm.loops import FunctionWriter
from ..kernel import Kernel, empty_kernel, signature
from ..lowering import LoweringContext

#: About the cycles of an exchange, each of which waits for the one before.
_CYCLES = 8.0


def permutation_kernel(name: str, instruction: Instruction, context: LoweringContext) -> Kernel:
    """One vector of pivots of the batch after the other. A pivot out of range exchanges nothing, and is
    reported in the end."""
    shape = instruction.result.shape
    batch, rows = math.prod(shape[:-1]), shape[-1]
    description = f"permutation {name}: {batch} of {rows} rows"
    if batch * rows == 0:
        return empty_kernel(name, 2, description)
    w = FunctionWriter(context.declarations)

    def vector(index: Reg, bad: list[Reg]) -> Sequence[Reg]:
        start = w.mul(index, rows)
        pivots, order = w.offset("%b0", "i64", start), w.offset("%b1", "i64", start)

        def number(row: Reg, _: list[Reg]) -> Sequence[Reg]:
            w.store(row, w.offset(order, "i64", row))
            return ()

        def exchange(row: Reg, bad: list[Reg]) -> Sequence[Reg]:
            pivot = w.load(w.offset(pivots, "i64", row), "i64")
            outside = w.or_(w.lt(pivot, 0), w.ge(pivot, rows))
            here = w.offset(order, "i64", row)
            there = w.offset(order, "i64", w.select(outside, row, pivot))
            old, new = w.load(here, "i64"), w.load(there, "i64")
            w.store(new, here)
            w.store(old, there)
            return [w.or_(bad[0], outside)]

        w.loop(0, rows, 1, number)
        return w.loop(0, rows, 1, exchange, bad)

    begin, end = Reg("%begin", "i64"), Reg("%end", "i64")
    (bad,) = w.loop(begin, end, 1, vector, [constant(False, "bool")])
    w.ret(w.cast(bad, "i32"))
    where = f" ({instruction.location.file}:{instruction.location.line})" if instruction.location else ""
    message = f"{instruction.op.name}: pivots must be between 0 and {rows - 1}{where}"
    return Kernel(
        name, [w.function(signature(name, 2, result="i32"), "nounwind")], description, tasks=batch,
        cycles=_CYCLES * batch * rows, errors=(message,),
    )  # fmt: skip
