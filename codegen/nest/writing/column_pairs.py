"""Two columns that lie side by side, such as real and imaginary parts, stored as whole vectors in which their
elements take turns: a store of each alone would be one of every second element."""

from __future__ import annotations

from collections.abc import Sequence

from ...llvm.emitter import Reg
from ...llvm.loops import FunctionWriter
from ..loop_nest import Nest, Write


def neighbouring_columns(nest: Nest, writes: Sequence[Write]) -> dict[Write, Write]:
    """The writes of such columns along which the lanes lie: the second one by the first one."""
    dim = nest.vector_dim
    if dim is None:
        return {}
    plain = [
        write
        for write in writes
        if write.fold is None and not write.row_level and write.memory.strides[dim] == 2
    ]
    firsts = {
        (write.memory.buffer, write.memory.strides, write.memory.offset): write
        for write in plain
        if write.memory.offset % 2 == 0 and write.memory.dtype != "bool"
    }
    pairs: dict[Write, Write] = {}
    for write in plain:
        first = firsts.get((write.memory.buffer, write.memory.strides, write.memory.offset - 1))
        if first is not None:
            pairs[first] = write
    return pairs


def put_pairs(
    w: FunctionWriter, values: tuple[Reg, Reg], place: str, lanes: int, copy: int, mask: Reg | None
) -> None:
    """Store two columns from `place` on: of vectors side by side the ones number `copy`."""
    first, second = [w.splat(value, lanes) for value in values]
    for half in range(2):
        turns = range(half * lanes // 2, (half + 1) * lanes // 2)
        both = w.shuffle(first, second, [lane for turn in turns for lane in (turn, lanes + turn)])
        chosen = None
        if mask is not None:
            chosen = w.shuffle(mask, None, [lane for turn in turns for lane in (turn, turn)])
        w.store(both, w.offset(place, first.dtype, (2 * copy + half) * lanes), chosen)
