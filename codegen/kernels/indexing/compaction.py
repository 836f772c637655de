"""Positions of true elements, written one behind the other without branches.

Each element's position goes to the next free place, which moves on where the element is true; so those of
false elements are written over. Behind the last place they go to a word of the workspace.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from ....ir.graph import Instruction
from ....ir.registry import Kind
from ...llvm.emitter import Reg, constant
from ...llvm.function import Code
from ...llvm.loops import FunctionWriter
from ...lowering.kernel import Kernel, signature
from ...lowering.lowering import Lowering, LoweringContext

#: Estimated cycles of an element: its store waits for the place of the one before.
_CYCLES: Final = 1.5
#: Bytes of the word that takes what does not fit, for each row.
_WORD_BYTES: Final = 8


def _rows(instruction: Instruction) -> int:
    return math.prod(instruction.operands[0].shape[:-1])


def compaction_kernel(name: str, instruction: Instruction, context: LoweringContext) -> Kernel:
    """The positions of the first true elements of each row."""
    (mask,) = instruction.operands
    extent, size, rows = mask.shape[-1], instruction.attrs["size"], _rows(instruction)
    w = FunctionWriter(context.declarations)

    def row(number: Reg, _: list[Reg]) -> Sequence[Reg]:
        elements = w.offset("%b0", "u8", w.mul(number, extent))
        places = w.offset("%b1", "i64", w.mul(number, size))
        spare = w.offset("%b2", "i64", number)

        def element(at: Reg, count: list[Reg]) -> Sequence[Reg]:
            place = w.choose(w.lt(count[0], size), w.offset(places, "i64", count[0]), spare)
            w.store(at, place)
            truth = w.cast(w.load(w.offset(elements, "u8", at), "u8"), "i64")
            return [w.add(count[0], truth)]

        (count,) = w.loop(0, extent, 1, element, [constant(0, "i64")])

        def fill(at: Reg, _: list[Reg]) -> Sequence[Reg]:
            w.store(constant(extent, "i64"), w.offset(places, "i64", at))
            return ()

        w.loop(w.min(count, size), size, 1, fill)
        return ()

    w.loop(Reg("%begin", "i64"), Reg("%end", "i64"), 1, row)
    w.ret()
    code: Code = [w.function(signature(name, 3), "nounwind")]
    cycles = rows * (_CYCLES * extent + size)
    what = (
        f"compaction {name}: positions of the first {size} true elements in each of {rows} rows of {extent}"
    )
    return Kernel(name, code, what, tasks=rows, cycles=cycles)


COMPACTION: Final = Lowering(
    (Kind.COMPACTION,),
    compaction_kernel,
    workspace=lambda instruction, context: _WORD_BYTES * _rows(instruction),
    why_scalar="where an element goes depends on the ones before it",
)
