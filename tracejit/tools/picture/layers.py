"""Layered layout, first steps: which layer each node lies in, and the order within each, with few crossings.

Layers count downward and every edge goes down. Longest paths from the inputs give a first layering; then
nodes move within their slack to where their edges are shortest in total, which brings weights and constants
down to where they are used. Between layers that are not neighbours an edge passes a waypoint per layer,
so that the later steps only see edges between neighbours. All edges out of one node share its waypoints, a
trunk that the edges leave one by one; a value that is used everywhere costs one waypoint a layer, not one
per use.

The first order is a walk from the results up through the operands, which draws a tree without any crossing.
Sweeps then move each item to the mean position of its neighbours in the layer before (the barycentre
heuristic of Sugiyama, Tagawa and Toda, 1981), down and up in turn; the best order seen is kept. Last,
neighbours change places where that alone saves crossings.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from ...base.records import field, record

#: Waypoints at most: this many per node, and this many besides. Beyond it the longest trunks are dropped, and
#: their edges drawn straight across: a chain run backwards would need the square of its length.
_WAYPOINTS_PER_NODE: Final = 4
_WAYPOINTS_BESIDES: Final = 2000
#: Most items in all routes together for which every edge is drawn whole; beyond it, trunks only once.
_ITEMS_IN_ROUTES: Final = 20_000


@record(frozen=False)
class Layered:
    """A graph whose edges join neighbouring layers.

    Items below `nodes` are the nodes; the others are waypoints. `below` and `above` hold each item's
    neighbours in the next and the previous layer, without repetition.
    """

    nodes: int
    layer: list[int]
    layers: list[list[int]]
    below: list[list[int]]
    above: list[list[int]]
    #: Items that each edge passes, its ends included; its end alone where it is drawn straight across. Begins
    #: at the last waypoint where a longer edge draws the trunk to there.
    routes: list[tuple[int, ...]] = field(default_factory=list)

    @property
    def items(self) -> int:
        return len(self.layer)


def assign_layers(count: int, edges: Sequence[tuple[int, int]], order: Sequence[int]) -> list[int]:
    """The layer of each node, from 0; `order` has producers first."""
    sources: list[list[int]] = [[] for _ in range(count)]
    targets: list[list[int]] = [[] for _ in range(count)]
    for source, target in edges:
        sources[target].append(source)
        targets[source].append(target)
    layer = [0] * count
    for node in order:
        layer[node] = max([layer[number] + 1 for number in sources[node]], default=0)
    # Each move shortens edges in total. A tree that serves one node only can follow it down whole, so edges
    # from such trees do not count as held from above.
    held = [0] * count
    for node in order:
        held[node] = sum(held[number] > 0 or targets[number] != [node] for number in sources[node])
    for node in reversed(order):
        if len(targets[node]) > held[node]:
            layer[node] = min(layer[number] for number in targets[node]) - 1
    for node in order:
        if len(sources[node]) > len(targets[node]):
            layer[node] = max(layer[number] for number in sources[node]) + 1
    top = min(layer, default=0)
    return [number - top for number in layer]


def add_waypoints(count: int, edges: Sequence[tuple[int, int]], layer: Sequence[int]) -> Layered:
    """`edges` as routes between neighbouring layers."""
    placed = list(layer)
    depth = [0] * count  # how many waypoints each node's trunk has
    for source, target in edges:
        depth[source] = max(depth[source], layer[target] - layer[source] - 1)
    budget = _WAYPOINTS_PER_NODE * count + _WAYPOINTS_BESIDES
    trunks: dict[int, list[int]] = {}
    for source in sorted(range(count), key=lambda node: (depth[node], node)):
        if depth[source] <= budget:
            budget -= depth[source]
            first = len(placed)
            placed += range(layer[source] + 1, layer[source] + 1 + depth[source])
            trunks[source] = [source, *range(first, len(placed))]
    below: list[dict[int, None]] = [{} for _ in placed]
    above: list[dict[int, None]] = [{} for _ in placed]
    routes: list[tuple[int, ...]] = []
    draw_whole = sum(layer[target] - layer[source] for source, target in edges) <= _ITEMS_IN_ROUTES
    drawn: set[int] = set()
    for source, target in edges:
        span = layer[target] - layer[source]
        trunk = trunks.get(source)
        if trunk is None:
            if span > 1:
                routes.append((target,))
                continue
            trunk = [source]
        whole = draw_whole or (span == len(trunk) and source not in drawn)
        if whole:
            drawn.add(source)
        routes.append((*trunk[0 if whole else span - 1 : span], target))
        below[trunk[span - 1]][target] = None
        above[target][trunk[span - 1]] = None
    for trunk in trunks.values():
        for upper, lower in pairwise(trunk):
            below[upper][lower] = None
            above[lower][upper] = None
    layers: list[list[int]] = [[] for _ in range(max(placed, default=-1) + 1)]
    for item, at in enumerate(placed):
        layers[at].append(item)
    return Layered(
        count,
        placed,
        layers,
        [list(mapping) for mapping in below],
        [list(mapping) for mapping in above],
        routes,
    )


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
    """Number of pairs of edges that cross, edges to one item from one item counted once."""
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
    """Number of crossings of the edges of two neighbours that go away when they change places."""
    first = sorted(place[number] for number in neighbours[left])
    second = sorted(place[number] for number in neighbours[right])
    now = sum(len(first) - bisect_right(first, number) for number in second)
    then = sum(len(second) - bisect_right(second, number) for number in first)
    return now - then
