"""Squares of elements in registers, as many vectors as a vector has lanes."""

from __future__ import annotations

from .emitter import Reg
from .loops import FunctionWriter


def turned(w: FunctionWriter, block: list[Reg]) -> list[Reg]:
    """The transpose of a square, by log2(lanes) rounds of interleaving its upper and lower half: each moves
    one bit of an element's row to its lane."""
    lanes = len(block)
    half = lanes // 2
    for _ in range(lanes.bit_length() - 1):
        following: list[Reg] = []
        for a, b in zip(block[:half], block[half:], strict=True):
            for start in (0, half):
                following.append(w.shuffle(a, b, [start + i // 2 + i % 2 * lanes for i in range(lanes)]))
        block = following
    return block
