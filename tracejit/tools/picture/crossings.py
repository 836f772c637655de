"""Layered layout, second step: the order within each layer, with few crossings.

The first order is a walk from the results up through the operands, which draws a tree without any crossing.
Sweeps then move each item to the mean position of its neighbours in the layer before (the barycentre
heuristic of Sugiyama, Tagawa and Toda, 1981), down and up in turn; the best order seen is kept. Last,
neighbours change places where that alone saves crossings.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from typing import Final

from .layers import Layered

#: Sweeps for graphs of fewer items than this; larger ones get the second number.
_SMALL: Final = 3000
_SWEEPS: Final = (16, 6)
_EXCHANGES: Final = (4, 0)


def order_layers(graph: Layered) -> None:
    """Reorder ``graph.layers`` in place."""
    _walk_up(graph)
    small = graph.items < _SMALL
    best = [list(layer) for layer in graph.layers]
    fewest = count_crossings(graph)
    for sweep in range(_SWEEPS[0] if small else _SWEEPS[1]):
        if not fewest:
            break
        _sweep(graph, down=sweep % 2 == 0)
        crossings = count_crossings(graph)
        if crossings < fewest:
            fewest, best = crossings, [list(layer) for layer in graph.layers]
    graph.layers[:] = best
    for _ in range(_EXCHANGES[0] if small else _EXCHANGES[1]):
        if not fewest or not _exchange(graph):
            break


def positions(graph: Layered) -> list[int]:
    """Each item's place within its layer."""
    places = [0] * graph.items
    for layer in graph.layers:
        for place, item in enumerate(layer):
            places[item] = place
    return places


def count_crossings(graph: Layered) -> int:
    """How many pairs of edges cross, edges to one item from one item counted once."""
    place = positions(graph)
    total = 0
    for layer in graph.layers:
        ends: list[int] = []
        for item in layer:
            lower = sorted(place[neighbour] for neighbour in graph.below[item])
            total += sum(len(ends) - bisect_right(ends, number) for number in lower)
            for number in lower:
                insort(ends, number)
    return total


def _walk_up(graph: Layered) -> None:
    """The order of first visit, depth first from the items that nothing uses."""
    seen = [False] * graph.items
    layers: list[list[int]] = [[] for _ in graph.layers]
    for root in range(graph.items):
        if graph.below[root]:
            continue
        stack = [root]
        while stack:
            item = stack.pop()
            if seen[item]:
                continue
            seen[item] = True
            layers[graph.layer[item]].append(item)
            stack += reversed(graph.above[item])
    graph.layers[:] = layers


def _sweep(graph: Layered, *, down: bool) -> None:
    place = positions(graph)
    neighbours = graph.above if down else graph.below
    for layer in graph.layers if down else reversed(graph.layers):
        pulled = [item for item in layer if neighbours[item]]
        mean = {
            item: sum(place[number] for number in neighbours[item]) / len(neighbours[item]) for item in pulled
        }
        ordered = iter(sorted(pulled, key=mean.__getitem__))  # stable: ties stay as they are
        # What has no neighbours on this side keeps its place.
        layer[:] = [next(ordered) if neighbours[item] else item for item in layer]
        for index, item in enumerate(layer):
            place[item] = index


def _exchange(graph: Layered) -> bool:
    """Exchange neighbours where that saves crossings; whether any were."""
    place = positions(graph)
    changed = False
    for layer in graph.layers:
        for index in range(len(layer) - 1):
            left, right = layer[index], layer[index + 1]
            saved = _between(graph.above, place, left, right) + _between(graph.below, place, left, right)
            if saved > 0:
                layer[index], layer[index + 1] = right, left
                place[left], place[right] = index + 1, index
                changed = True
    return changed


def _between(neighbours: list[list[int]], place: list[int], left: int, right: int) -> int:
    """How many crossings of the edges of two neighbours go away when they change places."""
    first = sorted(place[number] for number in neighbours[left])
    second = sorted(place[number] for number in neighbours[right])
    now = sum(len(first) - bisect_right(first, number) for number in second)
    then = sum(len(second) - bisect_right(second, number) for number in first)
    return now - then
