"""Arena packing: blocks of memory, each wanted for a time, in one arena that is as small as we find.

A value may lie in the array of a result before the result is written to it, where that array may be the
memory of a donated parameter. Whatever is written to the array ends that: the parameter cannot be read any
more. So a value may lie there, where the first that is written comes after all readers of such parameters, or
is an update of one in its own memory.
"""

from __future__ import annotations

import heapq
import math
from bisect import bisect_left, insort
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from ...base.records import record
from ...ir.graph import Instruction, Value


def comes_after(
    value: Value,
    donated: Sequence[Value],
    defs: Mapping[Value, Instruction],
    positions: Mapping[Instruction, int],
    last_use: Mapping[Value, int],
    root: Callable[[Value], Value],
) -> bool:
    """Whether `value`, and what it is an update of in the same memory, are written behind the readers of the
    parameters `donated`. `positions` are those of instructions, `last_use` says where values are read last,
    and ``root(x)`` is the value whose memory x is."""
    writer, updated = defs.get(value), None
    while writer is not None and writer.op.kind.traits.updates_operand:
        updated = root(writer.operands[0])
        if updated not in defs or last_use[updated] != positions[writer]:
            break
        writer, updated = defs[updated], None
    if writer is None:
        return False
    start = positions[writer]
    return all(
        last_use.get(param, -1) < start or (param is updated and last_use[param] == start)
        for param in donated
    )


#: Arenas of so many bytes are worth other tries, where there are no more blocks: they look at pairs.
_WORTH_BYTES: Final = 1 << 13
_MANY: Final = 150
#: Most pairs that all tries together may look at, and most tries.
_PAIRS: Final = 6400
_TRIES: Final = 16


#: Memory that is free: where it begins and where it ends.
_Gap: TypeAlias = tuple[int, float]


@record
class ArenaBlock:
    """`nbytes` that are wanted from the instruction at position `start` to the one at `end`."""

    start: int
    end: int
    nbytes: int


def pack(blocks: Sequence[ArenaBlock]) -> tuple[list[int], int]:
    """An offset for each of `blocks`, which are ordered by their start, and the arena's size."""
    offsets, total = _in_order(blocks)
    if total < _WORTH_BYTES or len(blocks) > _MANY:
        return offsets, total
    least = _most_at_once(blocks)
    order = sorted(range(len(blocks)), key=lambda i: -blocks[i].nbytes)  # large ones find no room later
    for _ in range(min(_TRIES, max(1, _PAIRS // len(blocks) ** 2))):
        if total <= least:
            break
        others, size = _one_by_one(blocks, order)
        if size < total:
            offsets, total = others, size
        # what reaches highest is in the way: the next time it may choose first
        highest = max(order, key=lambda i: others[i] + blocks[i].nbytes)
        order.remove(highest)
        order.insert(0, highest)
    return offsets, total


def _most_at_once(blocks: Sequence[ArenaBlock]) -> int:
    """Lower bound of the arena's size: the most bytes that are wanted at one time."""
    changes = [(block.start, block.nbytes) for block in blocks] + [
        (block.end + 1, -block.nbytes) for block in blocks
    ]
    most = now = 0
    for _, change in sorted(changes):  # at one position, what ends comes first
        now += change
        most = max(most, now)
    return most


def _in_order(blocks: Sequence[ArenaBlock]) -> tuple[list[int], int]:
    """First fit, in order of definition: close to linear time."""
    gaps: list[_Gap] = [(0, math.inf)]  # by offset, none beside another
    live: list[tuple[int, int, int]] = []  # a heap of end, offset, size
    offsets, total = [], 0
    for block in blocks:
        while live and live[0][0] < block.start:
            _, offset, nbytes = heapq.heappop(live)
            _free(gaps, offset, offset + nbytes)
        offset = _first_fit(gaps, block.nbytes) if block.nbytes else 0
        if block.nbytes:
            heapq.heappush(live, (block.end, offset, block.nbytes))
        offsets.append(offset)
        total = max(total, offset + block.nbytes)
    return offsets, total


def _first_fit(gaps: list[_Gap], size: int) -> int:
    """Take `size` bytes from the first of `gaps` that has as many; their offset."""
    for at, (start, stop) in enumerate(gaps):
        if stop - start > size:
            gaps[at] = start + size, stop
            return start
        if stop - start == size:
            del gaps[at]
            return start
    raise AssertionError("the last gap has no end")


def _free(gaps: list[_Gap], start: int, stop: float) -> None:
    """Add what lies between `start` and `stop` to `gaps`, joined with its neighbours."""
    at = bisect_left(gaps, (start, stop))
    after = at
    if after < len(gaps) and gaps[after][0] == stop:
        stop, after = gaps[after][1], after + 1
    if at and gaps[at - 1][1] == start:
        at -= 1
        start = gaps[at][0]
    gaps[at:after] = [(start, stop)]


def _one_by_one(blocks: Sequence[ArenaBlock], order: Sequence[int]) -> tuple[list[int], int]:
    """The blocks in `order`, each at the lowest offset that is free for its time."""
    offsets, total = [0] * len(blocks), 0
    placed: list[tuple[int, int]] = []  # offset, number
    for number in order:
        block, offset = blocks[number], 0
        for start, other in placed:
            neighbour = blocks[other]
            if neighbour.end < block.start or block.end < neighbour.start:
                continue
            if start - offset >= block.nbytes:
                break
            offset = max(offset, start + neighbour.nbytes)
        insort(placed, (offset, number))
        offsets[number] = offset
        total = max(total, offset + block.nbytes)
    return offsets, total
