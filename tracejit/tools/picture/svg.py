"""Pictures as SVG: one file, nothing outside it, readable on light and on dark grounds.

Nodes and edges are groups with ids and classes (``node op``, ``edge``) and with the picture's own ids in
``data-node``, ``data-source`` and ``data-target``, so that a viewer can find them. Ids and styles carry a
prefix made from the picture, so that several pictures may stand in one page.

Widths are in em of DejaVu Sans Bold (titles) and of DejaVu Sans Mono (details), the widest faces among
those that browsers put in for the families that `svg` names; in narrower ones boxes have a little air.
"""

from __future__ import annotations

import os
import unicodedata
import zlib
from collections.abc import Iterator
from typing import Final
from xml.sax.saxutils import escape, quoteattr

from ...base.errors import TracejitError
from .layout import Box, PictureLayout, Route, lay_out
from .model import KINDS, Picture, PictureEdge, PictureNode
from .palette import DARK, LIGHT, Theme, clean

MONO_EM: Final = 0.605
_WIDTHS: Final = (
    (" fijlrtI.,:;'|![]()-/\\`", 0.43),
    ('{}*"^', 0.7),
    ("mwMW@%", 1.05),
    ("ABCDEFGHKNOPQRUVXYZ_=+<>~&#", 0.8),
)
_TITLE_WIDTHS: Final = {char: width for chars, width in _WIDTHS for char in chars}
_OTHER: Final = 0.7


def title_width(text: str, size: float) -> float:
    """The width of `text` in bold proportional type of `size` pixels."""
    return size * sum(_TITLE_WIDTHS.get(char) or _cells(char) * _OTHER for char in text)


def detail_width(text: str, size: float) -> float:
    """The width of `text` in monospaced type of `size` pixels."""
    return size * MONO_EM * sum(map(_cells, text))


def _cells(char: str) -> float:
    if char.isascii():
        return 1.0
    if unicodedata.combining(char):
        return 0.0
    # What a monospaced face lacks comes from another face, up to twice as wide.
    return 1.75 if unicodedata.east_asian_width(char) in "WF" else 1.2


def shortened(text: str, most: int) -> str:
    """`text`, or its first characters and an ellipsis where it has more than `most`.

    >>> shortened("abcdef", 4)
    'abc…'
    """
    return text if len(text) <= most else text[: most - 1] + "…"


_TITLE: Final = 13.0  # font sizes in pixels
_DETAIL: Final = 11.0
_SMALL: Final = 9.5
_ROW: Final = 16.0
_PAD_X: Final = 12.0
_PAD_Y: Final = 7.0
_MIN_WIDTH: Final = 44.0
_LONGEST: Final = 44  # characters; the tooltip has the rest
_MARGIN: Final = 24.0
_HEADER: Final = 34.0
_LEGEND: Final = 38.0
_HALO: Final = 9.0  # how far a group reaches around its nodes
_ARROW: Final = 7.0

_SANS: Final = "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,'DejaVu Sans',sans-serif"
_MONO: Final = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"


def to_svg(picture: Picture, path: str | os.PathLike[str] | None = None, *, legend: bool = False) -> str:
    """`picture` as an SVG document; also written to `path` where one is given.

    `legend` adds a row that says which colour is which kind.

    Example:
        >>> from tracejit.tools.picture import Picture, PictureNode, to_svg
        >>> text = to_svg(Picture((PictureNode("a", ("a < b",)),)))
        >>> text.startswith("<svg xmlns"), "a &lt; b" in text
        (True, True)

    Raises TracejitError where the picture is not one (`Picture.check`) or has a cycle, OSError where the file
    cannot be written.
    """
    if path is not None and not isinstance(path, (str, os.PathLike)):
        raise TracejitError(
            f"to_svg: expected a path to write to, or None for the text alone, got {type(path).__name__}"
        )
    picture.check()
    text = "\n".join(_document(picture, legend)) + "\n"
    if path is not None:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    return text


def size_of(node: PictureNode) -> tuple[float, float]:
    """The width and height of a node's box."""
    widths = [
        title_width(line, _TITLE) if row == 0 else detail_width(line, _DETAIL)
        for row, line in enumerate(_shown(node))
    ]
    return max(round(max(widths, default=0.0) + 2 * _PAD_X), _MIN_WIDTH), _ROW * max(
        len(widths), 1
    ) + 2 * _PAD_Y


def _shown(node: PictureNode) -> list[str]:
    return [shortened(clean(line), _LONGEST) for line in node.lines]


def _document(picture: Picture, legend: bool) -> Iterator[str]:
    places = lay_out(picture, [size_of(node) for node in picture.nodes])
    title = clean(picture.title)
    heading = shortened(title, 2 * _LONGEST)
    kinds = [kind for kind in KINDS if any(node.kind == kind for node in picture.nodes)] if legend else []
    width = max(places.width, title_width(heading, _TITLE), _legend_width(kinds)) + 2 * _MARGIN
    top = _MARGIN + (_HEADER if title else 0.0)
    height = top + places.height + _MARGIN + (_LEGEND if kinds else 0.0)
    left = (width - places.width) / 2
    # Equal pictures have equal prefixes, and then it does not matter which one an id means.
    prefix = f"tj{zlib.crc32(repr(picture).encode('utf-8', 'backslashreplace')):08x}"
    size = f'width="{_n(width)}" height="{_n(height)}" viewBox="0 0 {_n(width)} {_n(height)}"'
    label = quoteattr(title or "graph")
    yield f'<svg xmlns="http://www.w3.org/2000/svg" {size} id="{prefix}" role="img" aria-label={label}>'
    yield f"<style>{_style('#' + prefix)}</style>"
    # A fixed marker colour would not follow the theme, so markers are styled by class.
    yield (
        f'<defs><marker id="{prefix}-arrow" class="arrow" viewBox="0 0 8 8" refX="1" refY="4" '
        f'markerWidth="{_n(_ARROW)}" markerHeight="{_n(_ARROW)}" markerUnits="userSpaceOnUse" '
        'orient="auto"><path d="M0.5,0.5L8,4L0.5,7.5z"/></marker></defs>'
    )
    yield '<rect class="ground" width="100%" height="100%" rx="10"/>'
    if title:
        yield f'<text class="heading" x="{_n(_MARGIN)}" y="{_n(_MARGIN + 10)}">{escape(heading)}</text>'
    yield f'<g transform="translate({_n(left)},{_n(top)})">'
    yield from _groups(picture, places)
    yield '<g class="edges">'
    for index, (edge, route) in enumerate(zip(picture.edges, places.routes, strict=True)):
        yield _edge(edge, route, f"{prefix}-e{index}", prefix)
    yield "</g>"
    yield '<g class="nodes">'
    for index, (node, box) in enumerate(zip(picture.nodes, places.boxes, strict=True)):
        yield _node(node, box, f"{prefix}-n{index}")
    yield "</g>"
    yield "</g>"
    yield from _legend(kinds, height - _MARGIN)
    yield "</svg>"


def _n(value: float) -> str:
    """A number in as few characters as a picture needs."""
    return f"{value:.1f}".removesuffix(".0")


# -- parts ----------------------------------------------------------------------------------------


def _node(node: PictureNode, box: Box, name: str) -> str:
    shown = _shown(node)
    full = [clean(line) for line in node.lines]
    tip = [
        *(full if full != shown else full[:1]),
        node.kind,
        *([clean(node.tooltip)] if node.tooltip else []),
    ]
    middle = box.x + box.width / 2
    first = box.y + (box.height - _ROW * len(shown)) / 2
    rows = "".join(
        f'<text class="{"title" if row == 0 else "detail"}" x="{_n(middle)}" '
        f'y="{_n(first + _ROW * row + 12)}">{escape(line)}</text>'
        for row, line in enumerate(shown)
    )
    return (
        f'<g id="{name}" class="node {node.kind}" data-node={quoteattr(clean(node.id))}>'
        f"<title>{escape(chr(10).join(tip))}</title>"
        f'<rect x="{_n(box.x)}" y="{_n(box.y)}" width="{_n(box.width)}" height="{_n(box.height)}" '
        f'rx="{_n(_radius(node, box))}"/>{rows}</g>'
    )


def _radius(node: PictureNode, box: Box) -> float:
    """Values that come from outside are pills, what is computed has corners."""
    return box.height / 2 if node.kind == "constant" and len(node.lines) == 1 else 7.0


def _edge(edge: PictureEdge, route: Route, name: str, prefix: str) -> str:
    ends = f"data-source={quoteattr(clean(edge.source))} data-target={quoteattr(clean(edge.target))}"
    texts = ""
    if edge.label:
        x, y = _beside_start(route)
        texts += f'<text class="label" x="{_n(x)}" y="{_n(y)}">{escape(_short_label(edge.label))}</text>'
    if edge.port:
        x, y = _beside_end(route)
        texts += f'<text class="port" x="{_n(x)}" y="{_n(y)}">{escape(_short_label(edge.port))}</text>'
    kind = "edge far" if route.far else "edge"
    return (
        f'<g id="{name}" class="{kind}" {ends}>'
        f'<path d="{curve(route)}" marker-end="url(#{prefix}-arrow)"/>{texts}</g>'
    )


def _short_label(text: str) -> str:
    return shortened(clean(text), _LONGEST * 3 // 4)


def curve(route: Route) -> str:
    """Vertical lines and S-curves through the route, up to where its arrow head begins."""
    (x, y), *rest = route.points
    end_x, end_y = rest[-1]
    rest[-1] = (end_x, end_y - _ARROW)
    steps = [f"M{_n(x)},{_n(y)}"]
    for next_x, next_y in rest:
        if abs(next_x - x) < 0.05:
            steps.append(f"V{_n(next_y)}")
        else:
            half = _n((y + next_y) / 2)
            steps.append(f"C{_n(x)},{half} {_n(next_x)},{half} {_n(next_x)},{_n(next_y)}")
        x, y = next_x, next_y
    return "".join(steps)


def _beside_start(route: Route) -> tuple[float, float]:
    x, y = route.points[0]
    return x + 4, y + 11


def _beside_end(route: Route) -> tuple[float, float]:
    x, y = route.points[-1]
    return x + 5, y - 3


def _groups(picture: Picture, places: PictureLayout) -> Iterator[str]:
    """Groups as tinted ground behind their nodes and the edges between them.

    A rectangle around all its nodes would take in strangers; this cannot. Groups of one colour are told apart
    by their labels.
    """
    if not picture.groups:
        return
    depth: dict[str, int] = {}
    chain: dict[str, tuple[str, ...]] = {}
    for group in picture.groups:  # outer ones come first
        depth[group.id] = 0 if group.parent is None else depth[group.parent] + 1
        chain[group.id] = (group.id, *(chain[group.parent] if group.parent is not None else ()))
    member = {node.id: chain[node.group] if node.group is not None else () for node in picture.nodes}
    deepest = max(depth.values())
    shapes: dict[str, list[str]] = {group.id: [] for group in picture.groups}
    labels: dict[str, Box] = {}
    for edge, route in zip(picture.edges, places.routes, strict=True):
        for group_id in member[edge.source]:
            if group_id in member[edge.target]:
                wide = 2 * _HALO + 6 * (deepest - depth[group_id])
                shapes[group_id].append(f'<path d="{curve(route)}" stroke-width="{_n(wide)}"/>')
    for node, box in zip(picture.nodes, places.boxes, strict=True):
        for group_id in member[node.id]:
            more = _HALO + 3 * (deepest - depth[group_id])
            first = labels.setdefault(group_id, box)
            if (box.y, box.x) < (first.y, first.x):
                labels[group_id] = box
            shapes[group_id].append(
                f'<rect x="{_n(box.x - more)}" y="{_n(box.y - more)}" width="{_n(box.width + 2 * more)}" '
                f'height="{_n(box.height + 2 * more)}" rx="12"/>'
            )
    yield '<g class="groups">'
    for index, group in enumerate(picture.groups):
        if shapes[group.id]:
            box = labels[group.id]
            label = escape(shortened(clean(group.label), _LONGEST))
            yield (
                f'<g class="group group-{index % len(LIGHT.groups)}" data-group={quoteattr(clean(group.id))}>'
                f"<title>{escape(clean(group.label))}</title>{''.join(shapes[group.id])}"
                f'<text class="label" x="{_n(box.x)}" y="{_n(box.y - _HALO - 3)}">{label}</text></g>'
            )
    yield "</g>"


def _legend_width(kinds: list[str]) -> float:
    return sum(24 + detail_width(kind, _DETAIL) + 14 for kind in kinds)


def _legend(kinds: list[str], bottom: float) -> Iterator[str]:
    if not kinds:
        return
    yield '<g class="legend">'
    x = _MARGIN
    for kind in kinds:
        yield (
            f'<g class="{kind}"><rect x="{_n(x)}" y="{_n(bottom - 12)}" width="18" height="12" rx="4"/>'
            f'<text class="label" x="{_n(x + 24)}" y="{_n(bottom - 2)}">{kind}</text></g>'
        )
        x += 24 + detail_width(kind, _DETAIL) + 14
    yield "</g>"


# -- style ----------------------------------------------------------------------------------------


def _style(root: str) -> str:
    """The style sheet; every rule begins with `root`, so that nothing else in a page is touched."""
    rules = [
        f"text{{font:{_n(_DETAIL)}px {_MONO};text-anchor:middle}}",
        f".heading{{font:600 {_n(_TITLE)}px {_SANS};text-anchor:start}}",
        f".title{{font:600 {_n(_TITLE)}px {_SANS}}}",
        f".label,{root} .port{{font-size:{_n(_SMALL)}px;text-anchor:start}}",
        f".node rect,{root} .legend rect{{stroke-width:1.2}}",
        ".edge path{fill:none;stroke-width:1.4;stroke-linecap:round}",
        ".far path{stroke-opacity:.45;stroke-dasharray:5 4}",
        ".group path{fill:none;stroke-linecap:round;stroke-linejoin:round}",
        ".edge:hover path{stroke-width:2.6}",
        ".node:hover rect{stroke-width:2.4}",
    ]
    light = "".join(f"{root} {rule}" for rule in [*rules, *_colors(LIGHT, root)])
    dark = "".join(f"{root} {rule}" for rule in _colors(DARK, root))
    return f"{light}@media (prefers-color-scheme:dark){{{dark}}}"


def _colors(theme: Theme, root: str) -> Iterator[str]:
    yield f".ground{{fill:{theme.ground}}}"
    yield f".heading{{fill:{theme.text}}}"
    # Labels may lie on edges; a rim of the ground's colour keeps them readable.
    yield (
        f".label,{root} .port{{fill:{theme.faint};stroke:{theme.ground};stroke-width:3px;"
        "paint-order:stroke;stroke-linejoin:round}"
    )
    yield f".edge path{{stroke:{theme.edge}}}"
    yield f".arrow path{{fill:{theme.edge}}}"
    for index, color in enumerate(theme.groups):
        yield f".group-{index} path{{stroke:{color}}}"
        yield f".group-{index} rect{{fill:{color}}}"
    for kind, colors in theme.kinds.items():
        yield f".{kind} rect{{fill:{colors.fill};stroke:{colors.line}}}"
        yield f".node.{kind} text{{fill:{colors.text}}}"
