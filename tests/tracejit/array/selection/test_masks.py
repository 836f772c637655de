"""Masks in a trace: those of the indices between two ends, and which are the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.array.selection.masks import between, ends_of, is_same


def seen(function: Any) -> list[Any]:
    """The results of `function` of two traced integers and a traced mask."""
    found: list[Any] = []

    def traced(i: Any, j: Any, mask: Any) -> Any:
        found.extend(function(i, j, mask))
        return i

    tj.jit(traced).lower(2, 5, np.array([True, False, True]))
    return found


def test_ends() -> None:
    def ends(i: Any, j: Any, mask: Any) -> list[Any]:
        both, first, last = between(9, i, j), between(9, i, None), between(9, None, j)
        return [
            (ends_of(both), i._data, j._data), ends_of(first), ends_of(last),
            ends_of(mask), ends_of(mask & mask), ends_of(~both),
        ]  # fmt: skip

    ((start, stop), i, j), first, last, *others = seen(ends)
    assert (start._data, stop._data) == (i, j)
    assert (first[0]._data, first[1]) == (i, None)
    assert (last[0], last[1]._data) == (None, j)
    assert others == [None] * 3


@pytest.mark.parametrize("same", [True, False])
def test_the_same(same: bool) -> None:
    def compared(i: Any, j: Any, mask: Any) -> list[bool]:
        first = between(9, i, j), between(9, None, i + j), mask
        others = [between(9, i, j), between(9, None, i + j), mask]
        if not same:
            others = [between(9, j, i), between(9, i + j, None), ~mask]
        return [is_same(*pair) for pair in zip(first, others, strict=True)]

    assert seen(compared) == [same] * 3
