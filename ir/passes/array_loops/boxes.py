"""Boxes of an array's elements: an interval of integers along each axis."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeAlias

from ...types import Shape

#: The first index of each axis, and the one behind the last.
Box: TypeAlias = tuple[tuple[int, int], ...]

#: A set of more boxes is not made smaller any more.
MAX_BOXES: Final = 32


def whole(shape: Shape) -> Box:
    """All elements of an array."""
    return tuple([(0, size) for size in shape])


def common(x: Box, y: Box) -> Box | None:
    """The elements in both; None where there are none."""
    box = tuple([(max(a, c), min(b, d)) for (a, b), (c, d) in zip(x, y, strict=True)])
    return box if all(first < last for first, last in box) else None


def without(boxes: Iterable[Box], taken: Box) -> list[Box]:
    """Disjoint boxes of the elements in `boxes`, which are disjoint, that are not in `taken`."""
    left: list[Box] = []
    for box in boxes:
        inner = common(box, taken)
        if inner is None:
            left.append(box)
            continue
        rest = list(box)
        for axis, ((first, last), (begin, end)) in enumerate(zip(box, inner, strict=True)):
            for side in ((first, begin), (end, last)):
                if side[0] < side[1]:
                    left.append((*rest[:axis], side, *rest[axis + 1 :]))
            rest[axis] = (begin, end)
    return left
