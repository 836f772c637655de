"""The fused Function as a picture: kernels are boxes, with the ops that they are made of laid out inside.

A box is laid out by itself (`picture.lay_out`) and is then one node of what is around it, to any depth. The
page gives the classes their colours.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Mapping
from typing import Final
from xml.sax.saxutils import escape, quoteattr

from ...base.records import record
from ...ir.graph import Function, Instruction, Value
from ..picture import Picture, PictureEdge, PictureNode, lay_out
from ..picture.layout import Box, PictureLayout, Route
from ..picture.palette import clean
from ..picture.svg import curve, shortened, size_of, title_width
from .numbering import origins_of

#: Layouts that are less high than this, or than so many times their width, stay as they are.
_HEIGHT: Final = 4000.0
_RATIO: Final = 3.0
_BETWEEN_COLUMNS: Final = 60.0
#: Width over height that columns together should have, about a window's.
_WINDOW: Final = 1.6


def in_columns(places: PictureLayout) -> PictureLayout:
    """`places` in as many columns as make it about as wide as a window. No box is cut; edges from one column
    to another run behind the boxes."""
    if places.height < max(_HEIGHT, _RATIO * places.width):
        return places
    step = places.width + _BETWEEN_COLUMNS
    count = math.sqrt(_WINDOW * places.height / step)
    starts = _starts(places, places.height / max(count, 1.0))

    def moved(x: float, y: float) -> tuple[float, float]:
        column = bisect.bisect_right(starts, y) - 1
        return x + column * step, y - starts[column]

    boxes = tuple([Box(*moved(box.x, box.y), box.width, box.height) for box in places.boxes])
    routes = []
    for route in places.routes:
        first, last = route.points[0], route.points[-1]
        points = route.points
        far = bisect.bisect_right(starts, first[1]) != bisect.bisect_right(starts, last[1])
        routes.append(
            Route(tuple([moved(*point) for point in ((first, last) if far else points)]), far or route.far)
        )
    ends = [*starts[1:], places.height]
    height = max(end - start for start, end in zip(starts, ends, strict=True))
    return PictureLayout(len(starts) * step - _BETWEEN_COLUMNS, height, boxes, tuple(routes))


def _starts(places: PictureLayout, height: float) -> list[float]:
    """The y at which columns of about `height` begin, between boxes."""
    starts, end = [0.0], 0.0
    for box in sorted(places.boxes, key=lambda box: box.y):
        if box.y > end and box.y - starts[-1] >= height:
            starts.append((end + box.y) / 2)
        end = max(end, box.y + box.height)
    return starts


_PAD: Final = 14.0
_HEAD: Final = 24.0
_ROW: Final = 16.0
_TITLE: Final = 13.0
_LONGEST: Final = 44


@record(eq=False)
class KernelBox:
    """A drawn part: its size and its SVG, with the upper left corner at (0, 0)."""

    width: float
    height: float
    svg: str


class Drawing:
    """Draws Functions; `group` numbers sets of ops, `names` are the values'."""

    def __init__(self, names: Mapping[Value, str], group: Callable[[tuple[int, ...]], int]) -> None:
        self.names, self.group = names, group

    def picture(self, function: Function) -> KernelBox:
        """A whole Function, with its parameters and results."""
        block = self._function(function, "", results=True)
        margin = 24.0
        width, height = block.width + 2 * margin, block.height + 2 * margin
        return KernelBox(width, height, f'<g transform="translate({margin:g},{margin:g})">{block.svg}</g>')

    def _function(self, function: Function, prefix: str, *, results: bool, inside: str = "") -> KernelBox:
        """`prefix` begins the names of its kernels; within one kernel, `inside` is that one's name."""
        nodes: list[PictureNode] = []
        edges: list[PictureEdge] = []
        sizes: list[tuple[float, float]] = []
        drawn: list[Callable[[float, float, float, float], str]] = []
        ids: dict[Value, str] = {}

        def add(node: PictureNode, size: tuple[float, float], draw: Callable[..., str]) -> None:
            nodes.append(node)
            sizes.append(size)
            drawn.append(draw)

        read = {operand for instruction in function.body for operand in instruction.operands} | set(
            function.results
        )
        for param in function.params:
            if param in read:
                node = PictureNode(
                    f"n{len(nodes)}", (self.names.get(param, "%?"), str(param.type)), "parameter"
                )
                ids[param] = node.id
                add(node, size_of(node), self._leaf(node, (), "", inside))
        for number, instruction in enumerate(function.body):
            name = inside or (f"{prefix}k{number}" if instruction.op.kind.traits.has_kernel else "")
            node = PictureNode(
                f"n{len(nodes)}", self._lines(instruction), "op" if instruction.operands else "constant"
            )
            for result in instruction.results:
                ids[result] = node.id
            edges += [PictureEdge(ids[x], node.id) for x in dict.fromkeys(instruction.operands) if x in ids]
            if instruction.regions:
                block = self._boxed(instruction, name)
                add(node, (block.width, block.height), self._placed(block))
            else:
                where = (
                    str(instruction.location) if instruction.location and instruction.location.file else ""
                )
                extra = " gradient" if instruction.location and instruction.location.gradient else ""
                add(node, size_of(node), self._leaf(node, origins_of(instruction), where, name, extra))
        for position, result in enumerate(function.results if results else ()):
            several = len(function.results) > 1
            title = f"result {position}" if several else "result"
            node = PictureNode(f"n{len(nodes)}", (title, str(result.type)), "result")
            if result in ids:
                edges.append(PictureEdge(ids[result], node.id))
            add(node, size_of(node), self._leaf(node, (), "", inside))
        places = lay_out(Picture(tuple(nodes), tuple(edges)), sizes)
        if results and not prefix:
            places = in_columns(places)
        parts = [
            f'<path class="edge{" far" if route.far else ""}" d="{curve(route)}"/>' for route in places.routes
        ]
        parts += [
            draw(box.x, box.y, box.width, box.height) for draw, box in zip(drawn, places.boxes, strict=True)
        ]
        return KernelBox(places.width, places.height, "".join(parts))

    def _lines(self, instruction: Instruction) -> tuple[str, ...]:
        return (instruction.op.name, *(str(result.type) for result in instruction.results[:3]))

    def _boxed(self, instruction: Instruction, name: str) -> KernelBox:
        """An instruction with regions: a box around their drawings."""
        fusion = instruction.op.kind.traits.grouped
        regions = instruction.regions[-1:] if fusion else instruction.regions
        inner = [
            self._function(region, f"{name}_r{i}_", results=not fusion, inside=name if fusion else "")
            for i, region in enumerate(regions)
        ]
        title = f"{name}  {instruction.op.name}" if name else instruction.op.name
        types = ", ".join(str(result.type) for result in instruction.results)
        width = max(
            sum(block.width + _PAD for block in inner) + _PAD,
            title_width(title, _TITLE) + title_width(types, 11.0) + 3 * _PAD,
        )
        height = _HEAD + _PAD + max(block.height for block in inner) + _PAD
        x = (width - sum(block.width + _PAD for block in inner) + _PAD) / 2
        parts = []
        for block in inner:
            parts.append(f'<g transform="translate({x:g},{_HEAD + _PAD:g})">{block.svg}</g>')
            x += block.width + _PAD
        origins = origins_of(instruction)
        kind = "fusion" if fusion else "control"
        head = (
            f'<rect class="frame" width="{width:g}" height="{height:g}" rx="10"/>'
            f'<text class="head" x="{_PAD:g}" y="{_HEAD - 6:g}">{escape(title)}</text>'
            f'<text class="types" x="{width - _PAD:g}" y="{_HEAD - 6:g}">'
            f"{escape(shortened(types, _LONGEST))}</text>"
        )
        svg = (
            f'<g class="box {kind}" data-g="{self.group(origins)}" data-k={quoteattr(name)}>{head}</g>'
            + "".join(parts)
        )
        return KernelBox(width, height, svg)

    @staticmethod
    def _placed(block: KernelBox) -> Callable[[float, float, float, float], str]:
        return lambda x, y, w, h: f'<g transform="translate({x:g},{y:g})">{block.svg}</g>'

    def _leaf(
        self, node: PictureNode, origins: tuple[int, ...], where: str, name: str, extra: str = ""
    ) -> Callable[[float, float, float, float], str]:
        def draw(x: float, y: float, width: float, height: float) -> str:
            lines = [shortened(clean(line), _LONGEST) for line in node.lines]
            top = (height - _ROW * len(lines)) / 2
            texts = "".join(
                f'<text class="{"title" if row == 0 else "detail"}" x="{width / 2:g}" '
                f'y="{top + _ROW * row + 12:g}">{escape(line)}</text>'
                for row, line in enumerate(lines)
            )
            tip = f"<title>{escape(clean(where))}</title>" if where else ""
            kernel = f" data-k={quoteattr(name)}" if name else ""
            return (
                f'<g class="node {node.kind}{extra}" transform="translate({x:g},{y:g})" '
                f'data-g="{self.group(origins)}"{kernel}>{tip}'
                f'<rect width="{width:g}" height="{height:g}" rx="7"/>{texts}</g>'
            )

        return draw
