"""The picture of a graph as data: what to draw, before anyone decides where or in which format.

`dot` and `svg` read it; `of_graph` makes it. A picture is acyclic: data flows along
its edges, from operands to what uses them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...base.errors import TracejitError
from ...base.records import record

#: Kinds of nodes; each has its colour.
KINDS: Final = ("parameter", "leaf", "constant", "op", "call", "result")


@record
class PictureNode:
    """One box. `id` is unique in its picture; `lines` is its text, the first line the title.

    `kind` is one of KINDS, `tooltip` what a viewer shows on hovering (a source location), `group` the id
    of the innermost PictureGroup that the node lies in.
    """

    id: str
    lines: tuple[str, ...]
    kind: str = "op"
    tooltip: str = ""
    group: str | None = None


@record
class PictureEdge:
    """An arrow from the node `source` to the node `target`.

    `label` says what flows (such as which of several results); `port` says which operand it is, where
    that matters. Two edges between the same nodes are two operands.
    """

    source: str
    target: str
    label: str = ""
    port: str = ""


@record
class PictureGroup:
    """A named set of nodes, such as a region; `parent` is the group around it."""

    id: str
    label: str
    parent: str | None = None


@record
class Picture:
    """Nodes, edges and groups, with a title. `check` says what must hold.

    Example:
        >>> from tracejit.tools.picture import Picture, PictureEdge, PictureNode, to_dot
        >>> nodes = (PictureNode("x", ("x", "f64[3]"), "leaf"), PictureNode("y", ("exp",)))
        >>> print(to_dot(Picture(nodes, (PictureEdge("x", "y"),))).splitlines()[-2].strip())
        n0 -> n1;
    """

    nodes: tuple[PictureNode, ...]
    edges: tuple[PictureEdge, ...] = ()
    groups: tuple[PictureGroup, ...] = ()
    title: str = ""

    def check(self) -> None:
        """Raise TracejitError unless ids are unique and known, kinds are of KINDS, and groups nest.

        That edges form no cycle is checked by `producers_first`, which must walk them anyway.
        """
        seen: set[str] = set()
        groups: set[str] = set()
        for group in self.groups:
            if group.id in groups:
                raise TracejitError(f"picture: two groups have the id {group.id!r}; ids must be unique")
            if group.parent is not None and group.parent not in groups:
                raise TracejitError(
                    f"picture: group {group.id!r} lies in {group.parent!r}, which is not listed before it; "
                    "list outer groups first"
                )
            groups.add(group.id)
        for node in self.nodes:
            if node.id in seen:
                raise TracejitError(f"picture: two nodes have the id {node.id!r}; ids must be unique")
            if node.kind not in KINDS:
                raise TracejitError(
                    f"picture: node {node.id!r} has the kind {node.kind!r}; expected one of "
                    f"{', '.join(KINDS)}"
                )
            if node.group is not None and node.group not in groups:
                raise TracejitError(
                    f"picture: node {node.id!r} lies in the group {node.group!r}, which is not in groups"
                )
            seen.add(node.id)
        for edge in self.edges:
            for end in (edge.source, edge.target):
                if end not in seen:
                    raise TracejitError(
                        f"picture: the edge {edge.source!r} -> {edge.target!r} names {end!r}, which is no "
                        "node; add the node, or drop the edge"
                    )


def producers_first(count: int, edges: Sequence[tuple[int, int]], names: Sequence[str]) -> list[int]:
    """The nodes 0 .. `count` - 1, each after those that point to it; in index order where free.

    Raises TracejitError with the `names` along a cycle, if there is one.
    """
    missing = [0] * count
    targets: list[list[int]] = [[] for _ in range(count)]
    for source, target in edges:
        targets[source].append(target)
        missing[target] += 1
    order = [node for node in range(count) if not missing[node]]
    for node in order:  # grows while it is walked
        for target in targets[node]:
            missing[target] -= 1
            if not missing[target]:
                order.append(target)
    if len(order) < count:
        raise TracejitError(
            f"picture: the edges form a cycle, {_cycle(missing, targets, names)}; a picture must be acyclic"
        )
    return order


def _cycle(missing: list[int], targets: list[list[int]], names: Sequence[str]) -> str:
    """The names around one cycle among the nodes that still miss a producer."""
    sources: dict[int, int] = {}
    for node, left in enumerate(missing):
        if left:
            sources.update((target, node) for target in targets[node] if missing[target])
    # Every node that is left has a source that is left, so walking back must meet itself.
    node = next(iter(sources))
    walked: dict[int, None] = {}
    while node not in walked:
        walked[node] = None
        node = sources[node]
    path = list(walked)
    around = path[path.index(node) :][::-1]
    shown = [repr(names[number]) for number in (around[-1], *around)]
    if len(shown) > 8:
        shown[4:-3] = ["..."]
    return " -> ".join(shown)
