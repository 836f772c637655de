"""Boxes beside the sets of their elements."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tracejit.ir.passes.array_loops.boxes import common, without


@pytest.mark.parametrize("seed", range(20))
def test_boxes_are_sets(seed: int) -> None:
    rng = random.Random(seed)

    def box() -> Any:
        return tuple([(low, low + rng.randint(1, 4)) for low in (rng.randint(0, 4), rng.randint(0, 4))])

    def elements(box: Any) -> set[tuple[int, int]]:
        return {(i, j) for i in range(*box[0]) for j in range(*box[1])}

    boxes, left = [((0, 8), (0, 8))], elements(((0, 8), (0, 8)))
    for _ in range(6):
        taken = box()
        shared = common(boxes[0], taken) if boxes else None
        assert not boxes or (elements(shared) if shared else set()) == elements(boxes[0]) & elements(taken)
        boxes, left = without(boxes, taken), left - elements(taken)
        assert sum(len(elements(each)) for each in boxes) == len(left)
        assert set().union(*map(elements, boxes)) == left
