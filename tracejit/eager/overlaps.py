"""Which arrays share memory."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final

import numpy as np
from numpy.lib.array_utils import byte_bounds

#: How hard NumPy looks at two arrays that lie between one another, as columns of a matrix do.
_MAX_WORK: Final = 10_000


def overlapping(arrays: Sequence[Any], chosen: Collection[int]) -> tuple[int, int] | None:
    """The positions of two arrays that share memory, the first of them `chosen`; None where there are none.

    Entries of `arrays` may be None.
    """
    spans = sorted(
        (*byte_bounds(array), position)
        for position, array in enumerate(arrays)
        if array is not None and array.size
    )
    open_spans: list[tuple[int, int]] = []
    for low, high, position in spans:
        open_spans = [(end, other) for end, other in open_spans if end > low]
        for _, other in open_spans:
            for first, second in ((position, other), (other, position)):
                if first in chosen and _share(arrays[first], arrays[second]):
                    return first, second
        open_spans.append((high, position))
    return None


def overlaps_itself(array: Any) -> bool:
    """Whether several elements of `array` may share memory, as those of broadcast views and of windows do."""
    reach = array.itemsize
    for step, size in sorted(
        (abs(step), size) for step, size in zip(array.strides, array.shape, strict=True)
    ):
        if size > 1:
            if step < reach:
                return bool(array.size)
            reach += step * (size - 1)
    return False


def _share(first: Any, second: Any) -> bool:
    try:
        return np.shares_memory(first, second, max_work=_MAX_WORK)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True
