"""Layered layout (Sugiyama) of a picture whose boxes have known sizes.

Parts that no edge connects are laid out one by one and set beside each other. Within a part: `layers`
chooses layers, waypoints and the order in each, `columns` the x; here are the y, the points
where edges meet boxes, and the routes between. Same picture, same layout; nothing is random.
See docs/decisions/0003-graph-layout.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...base.errors import TracejitError
from ...base.records import record
from .columns import place_columns
from .layers import Layered, add_waypoints, assign_layers, order_layers
from .model import Picture, producers_first

Point = tuple[float, float]

_BETWEEN_BOXES: Final = 26.0
_BETWEEN_LINES: Final = 16.0
_BETWEEN_LAYERS: Final = 34.0
#: Layers stand further apart where edges between them run far to the side, so that the curves stay readable.
_SLOPE: Final = 0.07
_MAX_BETWEEN_LAYERS: Final = 130.0
_BETWEEN_PARTS: Final = 48.0
_BETWEEN_PORTS: Final = 16.0
_CORNER: Final = 10.0  # ports stay this far from a box's corners
_SAME: Final = 0.01


@record
class Box:
    """A node's rectangle: its upper left corner and its size."""

    x: float
    y: float
    width: float
    height: float


@record
class Route:
    """An edge's points, from its source down to its target.

    Between points with the same x it is straight, elsewhere an S-curve that is vertical at both ends.
    `far` marks an edge that runs behind the boxes between, of a graph too large for anything better.
    """

    points: tuple[Point, ...]
    far: bool = False


@record
class PictureLayout:
    """Boxes and routes in the order of the picture's nodes and edges, within (0, 0) - (`width`, `height`)."""

    width: float
    height: float
    boxes: tuple[Box, ...]
    routes: tuple[Route, ...]


def lay_out(picture: Picture, sizes: Sequence[tuple[float, float]]) -> PictureLayout:
    """Places for the nodes of `picture`, whose widths and heights are `sizes`.

    Boxes do not overlap, and every edge goes down, from the lower side of its source to the upper side of its
    target.

    Example:
        >>> from tracejit.tools.picture import Picture, PictureEdge, PictureNode, lay_out
        >>> nodes = (PictureNode("x", ("x",)), PictureNode("y", ("y",)))
        >>> places = lay_out(Picture(nodes, (PictureEdge("x", "y"),)), [(40, 20), (60, 20)])
        >>> places.boxes
        (Box(x=10.0, y=0.0, width=40, height=20), Box(x=0.0, y=54.0, width=60, height=20))
        >>> places.routes[0].points
        ((30.0, 20.0), (30.0, 54.0))

    Raises TracejitError where the picture is not one (`Picture.check`), has a cycle, or lacks a size.
    """
    picture.check()
    if len(sizes) != len(picture.nodes):
        raise TracejitError(
            f"lay_out: expected one (width, height) for each of the {len(picture.nodes)} nodes, "
            f"got {len(sizes)}"
        )
    number = {node.id: index for index, node in enumerate(picture.nodes)}
    edges = [(number[edge.source], number[edge.target]) for edge in picture.edges]
    order = producers_first(len(number), edges, [node.id for node in picture.nodes])
    parts = _parts(len(number), edges)
    of = [0] * len(number)
    for index, part in enumerate(parts):
        for node in part:
            of[node] = index
    part_edges: list[list[int]] = [[] for _ in parts]
    for index, (source, _) in enumerate(edges):
        part_edges[of[source]].append(index)
    part_order: list[list[int]] = [[] for _ in parts]
    for node in order:
        part_order[of[node]].append(node)
    laid = []
    for part, chosen, part_first in zip(parts, part_edges, part_order, strict=True):
        local = {node: index for index, node in enumerate(part)}
        pairs = [(local[edges[number][0]], local[edges[number][1]]) for number in chosen]
        laid.append(
            _lay_out_part(pairs, [local[number] for number in part_first], [sizes[number] for number in part])
        )
    return _beside(laid, parts, part_edges, len(edges))


def _parts(count: int, edges: Sequence[tuple[int, int]]) -> list[list[int]]:
    """The connected parts, each in index order, by their first node."""
    around: list[list[int]] = [[] for _ in range(count)]
    for source, target in edges:
        around[source].append(target)
        around[target].append(source)
    seen = [False] * count
    parts = []
    for first in range(count):
        if seen[first]:
            continue
        seen[first] = True
        part = [first]
        for node in part:  # grows while it is walked
            for other in around[node]:
                if not seen[other]:
                    seen[other] = True
                    part.append(other)
        parts.append(sorted(part))
    return parts


def _lay_out_part(
    edges: Sequence[tuple[int, int]], order: Sequence[int], sizes: Sequence[tuple[float, float]]
) -> PictureLayout:
    """One connected part."""
    graph = add_waypoints(len(sizes), edges, assign_layers(len(sizes), edges, order))
    order_layers(graph)
    widths = [width for width, _ in sizes] + [0.0] * (graph.items - len(sizes))
    columns = place_columns(graph, widths, _BETWEEN_BOXES, _BETWEEN_LINES)
    left = min(x - width / 2 for x, width in zip(columns, widths, strict=True))
    columns = [x - left for x in columns]
    bands = _bands(graph, columns, sizes)
    boxes = []
    for node, (width, height) in enumerate(sizes):
        top, bottom = bands[graph.layer[node]]
        boxes.append(Box(columns[node] - width / 2, (top + bottom - height) / 2, width, height))
    routes = _routes(graph, edges, columns, bands, boxes)
    reach = max(x + width / 2 for x, width in zip(columns, widths, strict=True))
    return PictureLayout(reach, bands[-1][1], tuple(boxes), routes)


def _bands(
    graph: Layered, columns: Sequence[float], sizes: Sequence[tuple[float, float]]
) -> list[tuple[float, float]]:
    """The top and bottom of each layer."""
    bands: list[tuple[float, float]] = []
    top = 0.0
    for layer in graph.layers:
        if bands:
            aside = max(
                (abs(columns[item] - columns[number]) for item in layer for number in graph.above[item]),
                default=0.0,
            )
            top = bands[-1][1] + min(_BETWEEN_LAYERS + _SLOPE * aside, _MAX_BETWEEN_LAYERS)
        height = max((sizes[item][1] for item in layer if item < graph.nodes), default=0.0)
        bands.append((top, top + height))
    return bands


def _routes(
    graph: Layered,
    edges: Sequence[tuple[int, int]],
    columns: Sequence[float],
    bands: Sequence[tuple[float, float]],
    boxes: Sequence[Box],
) -> tuple[Route, ...]:
    leaving: list[dict[tuple[int, int], float]] = [{} for _ in boxes]
    entering: list[dict[tuple[int, int], float]] = [{} for _ in boxes]
    hops: list[tuple[int, int]] = []
    for index, ((source, target), route) in enumerate(zip(edges, graph.routes, strict=True)):
        first = route[1] if len(route) > 1 and route[0] == source else target
        # Edges along a trunk leave their source together.
        hop = (first, -1) if first >= graph.nodes else (first, index)
        hops.append(hop)
        if len(route) == 1 or route[0] == source:
            leaving[source][hop] = columns[first]
        last = route[-2] if len(route) > 1 else source
        entering[target][last, index] = columns[last]
    out = [_ports(mapping, columns[node], boxes[node].width) for node, mapping in enumerate(leaving)]
    into = [_ports(mapping, columns[node], boxes[node].width) for node, mapping in enumerate(entering)]
    routes = []
    for index, ((source, target), route) in enumerate(zip(edges, graph.routes, strict=True)):
        points: list[Point] = []
        if len(route) == 1 or route[0] == source:
            x = out[source][hops[index]]
            points.append((x, boxes[source].y + boxes[source].height))
            points.append((x, bands[graph.layer[source]][1]))
        for item in route[:-1]:
            if item >= graph.nodes:
                points += ((columns[item], y) for y in bands[graph.layer[item]])
        last = route[-2] if len(route) > 1 else source
        x = into[target][last, index]
        points.append((x, bands[graph.layer[target]][0]))
        points.append((x, boxes[target].y))
        routes.append(Route(tuple(_simplified(points)), far=len(route) == 1))
    return tuple(routes)


def _ports(ends: dict[tuple[int, int], float], x: float, width: float) -> dict[tuple[int, int], float]:
    """The x at which the edges from or to `ends` (hop to x) meet one side of a box around `x`.

    What comes straight from above or goes straight down keeps the middle; the others fan out beside it.
    """
    if len(ends) == 1:
        return dict.fromkeys(ends, x)
    ordered = sorted(ends, key=lambda end: (ends[end], end[1]))
    left = [end for end in ordered if ends[end] < x - _SAME]
    middle = [end for end in ordered if abs(ends[end] - x) <= _SAME]
    right = [end for end in ordered if ends[end] > x + _SAME]
    half = (len(middle) - 1) / 2 if middle else -0.5
    most = half + max(len(left), len(right))
    room = max(width / 2 - _CORNER, 0.0)
    step = min(_BETWEEN_PORTS, room / most) if most > 0 else 0.0
    ports = {end: x + (index - half) * step for index, end in enumerate(middle)}
    ports.update({end: x - (half + 1 + index) * step for index, end in enumerate(reversed(left))})
    ports.update({end: x + (half + 1 + index) * step for index, end in enumerate(right)})
    return ports


def _simplified(points: list[Point]) -> list[Point]:
    """`points` without repetitions and without those in the middle of a vertical line."""
    kept: list[Point] = []
    for point in points:
        if kept and abs(point[0] - kept[-1][0]) <= _SAME:
            if point[1] - kept[-1][1] <= _SAME:
                continue
            if len(kept) > 1 and abs(kept[-2][0] - point[0]) <= _SAME:
                kept.pop()
        kept.append(point)
    return kept


def _beside(
    laid: Sequence[PictureLayout], parts: Sequence[list[int]], part_edges: Sequence[list[int]], edges: int
) -> PictureLayout:
    """The parts on shelves, left to right, in about a square where none is wider."""
    area = sum((layout.width + _BETWEEN_PARTS) * (layout.height + _BETWEEN_PARTS) for layout in laid)
    wide = max([layout.width for layout in laid], default=0.0)
    wide = max(wide, 1.5 * float(area**0.5))
    boxes: list[Box] = [Box(0, 0, 0, 0)] * sum(map(len, parts))
    routes: list[Route] = [Route(())] * edges
    x = y = shelf = width = 0.0
    for layout, part, chosen in zip(laid, parts, part_edges, strict=True):
        if x and x + layout.width > wide:
            x, y, shelf = 0.0, y + shelf + _BETWEEN_PARTS, 0.0
        for node, box in zip(part, layout.boxes, strict=True):
            boxes[node] = Box(box.x + x, box.y + y, box.width, box.height)
        for edge, route in zip(chosen, layout.routes, strict=True):
            routes[edge] = Route(tuple((px + x, py + y) for px, py in route.points), route.far)
        width = max(width, x + layout.width)
        shelf = max(shelf, layout.height)
        x += layout.width + _BETWEEN_PARTS
    return PictureLayout(width, y + shelf, tuple(boxes), tuple(routes))
