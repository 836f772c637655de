"""The functions of ``heapq`` on lists that loops read and change. They are Python: loops take them in as they
take a user's helpers. The order in which items stand is that of CPython's heaps, item for item."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any, Final


def _precedes(item: Any, other: Any) -> Any:
    """Whether `item` is less than `other`: of tuples, by the first leaves that differ."""
    if not isinstance(item, tuple):
        return item < other
    if len(item) == 0:
        return False
    return (item[0] < other[0]) | ((item[0] == other[0]) & _precedes(item[1:], other[1:]))


def _rise(heap: Any, first: Any, place: Any) -> None:
    """Move the item at `place` towards `first` until none above it is greater."""
    item = heap[place]
    while place > first:
        above = (place - 1) >> 1
        parent = heap[above]
        if not _precedes(item, parent):
            break
        heap[place] = parent
        place = above
    heap[place] = item


def _sink(heap: Any, place: Any) -> None:
    """Move the item at `place` down to a leaf, along the lesser items, and then up to where it belongs."""
    first, count, item = place, len(heap), heap[place]
    below = 2 * place + 1
    while below < count:
        other = below + 1
        if other < count and not _precedes(heap[below], heap[other]):
            below = other
        heap[place] = heap[below]
        place = below
        below = 2 * place + 1
    heap[place] = item
    _rise(heap, first, place)


def _push(heap: Any, item: Any) -> None:
    heap.append(item)
    _rise(heap, 0, len(heap) - 1)


def _pop(heap: Any) -> Any:
    result = last = heap.pop()
    if len(heap) > 0:
        result = heap[0]
        heap[0] = last
        _sink(heap, 0)
    return result


def _replace(heap: Any, item: Any) -> Any:
    result = heap[0]
    heap[0] = item
    _sink(heap, 0)
    return result


def _push_pop(heap: Any, item: Any) -> Any:
    result = item
    if len(heap) > 0 and _precedes(heap[0], item):
        result = heap[0]
        heap[0] = item
        _sink(heap, 0)
    return result


def _order(heap: Any) -> None:
    for back in range(len(heap) // 2):
        _sink(heap, len(heap) // 2 - 1 - back)


#: Functions that stand in for those of ``heapq``, by these.
HEAP_FUNCTIONS: Final[dict[Any, Callable[..., Any]]] = {
    heapq.heappush: _push,
    heapq.heappop: _pop,
    heapq.heapreplace: _replace,
    heapq.heappushpop: _push_pop,
    heapq.heapify: _order,
}
