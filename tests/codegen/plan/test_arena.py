"""Placement of blocks in an arena."""

from __future__ import annotations

import numpy as np
import pytest

from tracejit.codegen.plan.arena import ArenaBlock, pack


def first_fit(blocks: list[ArenaBlock]) -> list[int]:
    """The lowest offset that is free for each block, by looking at all that came before."""
    offsets: list[int] = []
    for block in blocks:
        taken = sorted(
            (offset, earlier.nbytes)
            for offset, earlier in zip(offsets, blocks, strict=False)
            if earlier.end >= block.start and earlier.nbytes
        )
        free = 0
        for offset, nbytes in taken:
            if offset - free >= block.nbytes:
                break
            free = offset + nbytes
        offsets.append(free if block.nbytes else 0)
    return offsets


def random_blocks(seed: int, count: int, sizes: int) -> list[ArenaBlock]:
    """Blocks by their start, some of which live for long, and some of no bytes."""
    rng = np.random.default_rng(seed)
    starts = np.sort(rng.integers(0, count, count))
    lengths = np.where(rng.random(count) < 0.2, rng.integers(0, count, count), rng.integers(0, 4, count))
    return [
        ArenaBlock(int(start), int(start + length), 8 * int(size))
        for start, length, size in zip(starts, lengths, rng.integers(0, sizes, count), strict=True)
    ]


@pytest.mark.parametrize("seed", range(8))
def test_many_blocks_lie_where_first_fit_puts_them(seed: int) -> None:
    blocks = random_blocks(seed, 300, 2 + 3 * seed)
    offsets, total = pack(blocks)
    assert offsets == first_fit(blocks)
    assert total == max(offset + block.nbytes for offset, block in zip(offsets, blocks, strict=True))


@pytest.mark.parametrize("seed", range(8))
def test_no_two_blocks_are_in_one_place_at_a_time(seed: int) -> None:
    blocks = random_blocks(seed, 60, 1000)
    offsets, total = pack(blocks)
    placed = list(zip(offsets, blocks, strict=True))
    for number, (offset, block) in enumerate(placed):
        assert 0 <= offset <= total - block.nbytes
        for other_offset, other in placed[:number]:
            together = block.start <= other.end and other.start <= block.end
            overlap = offset < other_offset + other.nbytes and other_offset < offset + block.nbytes
            assert not (together and overlap and block.nbytes and other.nbytes)
