"""Layered layout, third step: x coordinates that keep each layer's order and draw long edges straight.

Brandes and Koepf, "Fast and simple horizontal coordinate assignment" (Graph Drawing 2001): items are
aligned with a median neighbour into vertical blocks, blocks are packed as close as their widths allow,
and this is done from each of the four corners; the mean of the two middle results is taken. Packing is by
longest paths in the graph of blocks rather than by the paper's recursion: chains may be 10,000 long.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from .layers import Layered


def place_columns(graph: Layered, widths: Sequence[float], gap: float, narrow: float) -> list[float]:
    """The x of each item's centre. Neighbours in a layer keep `gap` between them; waypoints `narrow`."""
    if not graph.items:
        return []
    aside = _aside(graph)
    conflicts = _conflicts(graph)
    layouts: list[list[float]] = []
    for upward in (False, True):
        for mirrored in (False, True):
            layers = [layer[::-1] if mirrored else layer for layer in graph.layers]
            neighbours = graph.above
            if upward:
                layers.reverse()
                neighbours = graph.below
            root = _align(graph, layers, neighbours, aside, conflicts)
            places = _pack(graph, layers, root, widths, gap, narrow)
            layouts.append([-place for place in places] if mirrored else places)
    columns = _balance(layouts, widths)
    _draw_in(graph, columns, aside, widths, gap, narrow)
    return columns


def _aside(graph: Layered) -> set[tuple[int, int]]:
    """Edges from short side branches (weights, constants) into a much longer one, which is to stay straight.

    Not in the paper: without it, each operand that joins a chain from the left moves the chain by half a box.
    """
    height = [0] * graph.items
    edges: set[tuple[int, int]] = set()
    for layer in graph.layers:
        for item in layer:
            most = max([height[number] for number in graph.above[item]], default=-1)
            height[item] = most + 1
            edges.update(
                (number, item) for number in graph.above[item] if height[number] < most >= 2 * height[number]
            )
    return edges


def _draw_in(
    graph: Layered,
    columns: list[float],
    aside: set[tuple[int, int]],
    widths: Sequence[float],
    gap: float,
    narrow: float,
) -> None:
    """Move side branches, which nothing holds, as close to what they lead to as their neighbours allow."""
    side = [False] * graph.items
    for layer in reversed(graph.layers):
        ideal: dict[int, float] = {}
        for item in layer:
            below = graph.below[item]
            side[item] = bool(below) and all(side[number] or (item, number) in aside for number in below)
            if side[item]:
                ideal[item] = sum(columns[number] for number in below) / len(below)
        if not ideal:
            continue
        space = [
            (widths[left] + widths[right]) / 2 + (narrow if max(left, right) >= graph.nodes else gap)
            for left, right in pairwise(layer)
        ]
        for index in range(len(layer) - 1, -1, -1):
            item = layer[index]
            if ideal.get(item, columns[item]) > columns[item]:
                last = index + 1 == len(layer)
                limit = ideal[item] if last else columns[layer[index + 1]] - space[index]
                columns[item] = max(columns[item], min(ideal[item], limit))
        for index, item in enumerate(layer):
            if ideal.get(item, columns[item]) < columns[item]:
                limit = ideal[item] if not index else columns[layer[index - 1]] + space[index - 1]
                columns[item] = min(columns[item], max(ideal[item], limit))


def _conflicts(graph: Layered) -> set[tuple[int, int]]:
    """Edges that cross a segment between two waypoints: the segment is to be straight, the edge yields."""
    place = {item: index for layer in graph.layers for index, item in enumerate(layer)}
    nodes = graph.nodes
    edges: set[tuple[int, int]] = set()
    for upper, lower in pairwise(graph.layers):
        left, begin = -1, 0
        for index, item in enumerate(lower):
            inner = None
            if item >= nodes:
                inner = next((neighbour for neighbour in graph.above[item] if neighbour >= nodes), None)
            if inner is None and index < len(lower) - 1:
                continue
            right = len(upper) if inner is None else place[inner]
            for between in lower[begin : index + 1]:
                for number in graph.above[between]:
                    if not left <= place[number] <= right and not (number >= nodes and between >= nodes):
                        edges.add((number, between))
            left, begin = (right, index + 1) if inner is not None else (left, begin)
    return edges


def _align(
    graph: Layered,
    layers: list[list[int]],
    neighbours: list[list[int]],
    aside: set[tuple[int, int]],
    conflicts: set[tuple[int, int]],
) -> list[int]:
    """Each item's block, named by the block's first item."""
    place = [0] * graph.items
    for layer in layers:
        for index, item in enumerate(layer):
            place[item] = index
    root = list(range(graph.items))
    for layer in layers:
        last = -1
        for item in layer:
            pairs = {
                other: (other, item) if graph.layer[other] < graph.layer[item] else (item, other)
                for other in neighbours[item]
            }
            around = sorted((pair for pair in pairs if pairs[pair] not in aside), key=place.__getitem__)
            if not around:
                continue
            middle = (len(around) - 1) // 2
            for other in around[middle : len(around) // 2 + 1]:
                if last < place[other] and pairs[other] not in conflicts:
                    root[item] = root[other]
                    last = place[other]
                    break
    return root


def _pack(
    graph: Layered,
    layers: list[list[int]],
    root: list[int],
    widths: Sequence[float],
    gap: float,
    narrow: float,
) -> list[float]:
    """Blocks as far to the left as they go, then each to the right up to its neighbours."""
    after: list[dict[int, float]] = [{} for _ in range(graph.items)]
    before = [0] * graph.items
    for layer in layers:
        for left, right in pairwise(layer):
            space = narrow if left >= graph.nodes or right >= graph.nodes else gap
            space += (widths[left] + widths[right]) / 2
            widest = after[root[left]].get(root[right])
            if widest is None:
                before[root[right]] += 1
            after[root[left]][root[right]] = space if widest is None else max(widest, space)
    order = [item for item in range(graph.items) if root[item] == item and not before[item]]
    places = [0.0] * graph.items
    for block in order:  # grows while it is walked
        for other, space in after[block].items():
            places[other] = max(places[other], places[block] + space)
            before[other] -= 1
            if not before[other]:
                order.append(other)
    for block in reversed(order):
        if after[block]:
            places[block] = min(places[other] - space for other, space in after[block].items())
    return [places[root[item]] for item in range(graph.items)]


def _balance(layouts: list[list[float]], widths: Sequence[float]) -> list[float]:
    """The four results moved to the sides of the narrowest, and the mean of the middle two of each item."""
    edges = [
        (
            min(x - width / 2 for x, width in zip(items, widths, strict=True)),
            max(x + width / 2 for x, width in zip(items, widths, strict=True)),
        )
        for items in layouts
    ]
    left, right = min(edges, key=lambda edge: edge[1] - edge[0])
    moved = []
    for index, (places, edge) in enumerate(zip(layouts, edges, strict=True)):
        shift = right - edge[1] if index % 2 else left - edge[0]  # odd ones were packed to the right
        moved.append([x + shift for x in places])
    placed = []
    for four in zip(*moved, strict=True):
        ordered = sorted(four)
        placed.append((ordered[1] + ordered[2]) / 2)
    return placed
