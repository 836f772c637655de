"""Elements a few places apart, as an image's channel or a reversed row: read as whole vectors whose lanes are
picked by shuffles, where a gather would cost a cycle or two an element.
"""

from __future__ import annotations


def pays(stride: int, lanes: int) -> bool:
    """Whether vectors that hold everything in between are at most half as many as the lanes."""
    return lanes > 1 and (stride == -1 or 1 < abs(stride) <= min(lanes // 2, 8))


def picks(stride: int, lanes: int, first: int = 0) -> list[list[int]]:
    """The shuffles that bring `lanes` elements together, from place `first` on: the first one's operands
    are vector 0 and vector 1 (twice vector 0 where there is one alone), each next one's the last result and
    the next vector. Lanes whose element is in a vector to come hold anything."""
    step = abs(stride)
    places = [first + lane * step for lane in range(lanes)]
    if stride < 0:
        places.reverse()
    held = [place % lanes for place in places]
    if step == 1:
        return [held]
    shuffles = []
    for number in range(1, step):
        shuffles.append(
            [
                lanes + place % lanes if place // lanes == number else at
                for place, at in zip(places, held, strict=True)
            ]
        )
        held = list(range(lanes))
    return shuffles
