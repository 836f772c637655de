"""Pictures as DOT, the text that Graphviz and most graph viewers read.

The grammar and the escapes are those of https://graphviz.org/doc/info/lang.html: in a quoted string only
``\\"`` is an escape of the language, but labels and tooltips give a meaning to every other backslash too, and
to HTML's character references.
"""

from __future__ import annotations

from collections.abc import Iterator

from .model import Picture, PictureEdge, PictureNode, producers_first
from .palette import LIGHT, clean


def to_dot(picture: Picture) -> str:
    """`picture` as DOT text: nodes ``n0``, ``n1``, ... in order, groups as clusters.

    The picture's own ids are kept in the nodes' ``comment``.

    Example:
        >>> from tracejit.tools.picture import Picture, PictureEdge, PictureNode, to_dot
        >>> nodes = (PictureNode("x", ("x",), "leaf"), PictureNode("y", ("exp",)))
        >>> print(to_dot(Picture(nodes, (PictureEdge("x", "y"),))).rstrip())
        digraph "picture" {
        ...
          n0 [label="x", ...];
          n1 [label="exp", ...];
          n0 -> n1;
        }

    Raises TracejitError where the picture is not one (`Picture.check`) or has a cycle.
    """
    picture.check()
    number = {node.id: index for index, node in enumerate(picture.nodes)}
    pairs = [(number[edge.source], number[edge.target]) for edge in picture.edges]
    producers_first(len(number), pairs, [node.id for node in picture.nodes])
    lines = [
        f"digraph {quoted(picture.title or 'picture')} {{",
        f"  graph [rankdir=TB, label={quoted(picture.title)}, labelloc=t, fontname=Helvetica, ranksep=0.35];",
        '  node [shape=box, style="rounded,filled", fontname=Helvetica, fontsize=11, height=0.3];',
        f"  edge [color={quoted(LIGHT.edge)}, fontname=Helvetica, fontsize=9, arrowsize=0.7];",
        "",
    ]
    lines += _write_groups(picture, number)
    lines.append("")
    lines += [
        f"  n{source} -> n{target}{_edge_attributes(edge)};"
        for edge, (source, target) in zip(picture.edges, pairs, strict=True)
    ]
    lines.append("}")
    return "\n".join(lines) + "\n"


def quoted(text: str) -> str:
    r"""`text` as a DOT string that shows as just that text.

    >>> print(quoted('a "b" \\n &lt;'))
    "a \"b\" \\n &amp;lt;"
    """
    return f'"{_escaped(text)}"'


def _escaped(text: str) -> str:
    return clean(text).replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")


def _write_groups(picture: Picture, number: dict[str, int]) -> Iterator[str]:
    """Every node, within the clusters of its groups."""
    nodes: dict[str | None, list[PictureNode]] = {}
    inner: dict[str | None, list[int]] = {}
    for node in picture.nodes:
        nodes.setdefault(node.group, []).append(node)
    for index, group in enumerate(picture.groups):
        inner.setdefault(group.parent, []).append(index)
    todo: list[tuple[int, str | int | None]] = [(1, None)]  # depth, and a group's index, all, or a line
    while todo:
        depth, what = todo.pop()
        indent = "  " * depth
        if isinstance(what, str):
            yield indent + what
            continue
        group_id = None
        if what is not None:
            group = picture.groups[what]
            group_id = group.id
            yield f"{indent}subgraph cluster_{what} {{"
            todo.append((depth, "}"))
            depth += 1
            indent += "  "
            yield f"{indent}label={quoted(group.label)};"
            yield f'{indent}style="rounded,filled";'
            yield f"{indent}color={quoted(LIGHT.groups[what % len(LIGHT.groups)])};"
        for node in nodes.get(group_id, ()):
            yield f"{indent}n{number[node.id]} {_node_attributes(node)};"
        todo += [(depth, index) for index in reversed(inner.get(group_id, ()))]


def _node_attributes(node: PictureNode) -> str:
    colors = LIGHT.kinds[node.kind]
    label = "\\n".join(map(_escaped, node.lines))
    attributes = [
        f'label="{label}"',
        f"fillcolor={quoted(colors.fill)}",
        f"color={quoted(colors.line)}",
        f"fontcolor={quoted(colors.text)}",
        f"class={quoted(node.kind)}",
        f"comment={quoted(node.id)}",
    ]
    if node.tooltip:
        attributes.append(f"tooltip={quoted(node.tooltip)}")
    return f"[{', '.join(attributes)}]"


def _edge_attributes(edge: PictureEdge) -> str:
    attributes = []
    if edge.label:
        attributes.append(f"label={quoted(edge.label)}")
    if edge.port:
        attributes.append(f"headlabel={quoted(edge.port)}")
    return f" [{', '.join(attributes)}]" if attributes else ""
