"""Binary search in a sorted line, one for each value, without branches.

The line's length is known, so the steps are: each halves what is left, whatever the comparison says. Searches
run in the lanes of some vectors, for each waits for one element after the other; scalar ones LLVM gives
branches, which are guessed wrong every other time. Places stay in the line even if it is not sorted.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Final

from ....ir.dtypes import SHORT_NAME
from ....ir.graph import Instruction
from ....ir.registry import Kind
from ...llvm.emitter import Reg, constant
from ...llvm.function import Code
from ...llvm.loops import FunctionWriter
from ...lowering.kernel import Kernel, signature
from ...lowering.lowering import Lowering, LoweringContext
from ...lowering.parallel_for import part_of
from .ordered_keys import key_of

#: Vectors of searches side by side.
_COPIES: Final = 4
#: Values in one task.
_BLOCK: Final = 256
#: Cycles of a step where the line is in the cache.
_STEP_CYCLES: Final = 2.0


def search_kernel(name: str, instruction: Instruction, context: LoweringContext) -> Kernel:
    """The place of each value in the line."""
    line, values = instruction.operands
    extent, count = line.shape[0], values.type.size
    dtype = "u8" if SHORT_NAME[line.dtype] == "bool" else SHORT_NAME[line.dtype]
    before_equals = instruction.attrs["side"] == "left"
    w = FunctionWriter(context.declarations)

    lanes = context.target.lanes("i64")

    def goes_on(at: Reg, key: Reg) -> Reg:
        """Whether the place is behind element `at`."""
        other = key_of(w, w.gather_at("%b0", dtype, at), merged=True)
        return w.lt(other, key) if before_equals else w.le(other, key)

    def search(index: Reg, copies: int, lanes: int) -> Sequence[Reg]:
        at = [w.add(index, copy * lanes) for copy in range(copies)]
        keys = [key_of(w, w.load(w.offset("%b1", dtype, place), dtype, lanes), merged=True) for place in at]
        places = [constant(0, "i64", lanes) for _ in range(copies)]
        left = extent
        while left > 0:
            half = (left + 1) // 2
            for copy, key in enumerate(keys):
                behind = goes_on(w.add(places[copy], half - 1), key)
                places[copy] = w.select(behind, w.add(places[copy], half), places[copy])
            left -= half
        for reg, place in zip(at, places, strict=True):
            w.store(place, w.offset("%b2", "i64", reg))
        return ()

    def steps(copies: int, width: int, at: Reg, _: list[Reg]) -> Sequence[Reg]:
        return search(at, copies, width)

    def task(index: Reg, _: list[Reg]) -> Sequence[Reg]:
        first, stop = part_of(w, index, _BLOCK, count)
        for copies, width in ((_COPIES, lanes), (1, lanes), (1, 1)):
            whole = w.add(first, w.and_(w.sub(stop, first), -copies * width))
            w.loop(first, whole, copies * width, functools.partial(steps, copies, width))
            first = whole
        return ()

    w.loop(Reg("%begin", "i64"), Reg("%end", "i64"), 1, task)
    w.ret()
    code: Code = [w.function(signature(name, 3), "nounwind")]
    cycles = count * (4.0 + _STEP_CYCLES * extent.bit_length())
    what = f"search {name}: {count} values in {line.type}"
    return Kernel(name, code, what, tasks=-(-count // _BLOCK), cycles=cycles)


SEARCHING: Final = Lowering(
    (Kind.SEARCH,), search_kernel, why_scalar="each element takes a search of its own"
)
