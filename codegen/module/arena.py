"""Placing blocks of memory, each wanted for a time, in one arena that is as small as we find."""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from typing import Final

from ...ir.records import record

#: Arenas of so many bytes are worth other tries, where there are no more blocks: they look at pairs.
_WORTH_BYTES: Final = 1 << 13
_MANY: Final = 150
#: How many pairs all tries together may look at, and how many tries there are at most.
_PAIRS: Final = 6400
_TRIES: Final = 16


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
    """No arena is smaller than this."""
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
    live: list[tuple[int, int, int]] = []  # offset, size, end
    offsets, total = [], 0
    position, least, start = -1, 0, 0
    for block in blocks:
        if block.start != position:
            position = block.start
            live = sorted([entry for entry in live if entry[2] >= position])
            least, start = 0, 0  # no room for so many bytes before the entry of that number
        offset, at = _first_fit(live, block.nbytes, start if block.nbytes >= least else 0)
        live.insert(at, (offset, block.nbytes, block.end))
        least, start = block.nbytes, at
        offsets.append(offset)
        total = max(total, offset + block.nbytes)
    return offsets, total


def _first_fit(live: list[tuple[int, int, int]], size: int, start: int = 0) -> tuple[int, int]:
    """The lowest offset with room for `size` bytes among entries ordered by offset, none of which overlap,
    and its place in the order. *Requires*: there is no such room before entry `start`."""
    offset = live[start - 1][0] + live[start - 1][1] if start else 0
    for at in range(start, len(live)):
        if live[at][0] - offset >= size:
            return offset, at
        offset = live[at][0] + live[at][1]
    return offset, len(live)


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
