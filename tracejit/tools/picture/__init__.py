"""Pictures of graphs, as DOT and as SVG, without any dependency.

`picture_of_graph` pictures the autograd graph behind tensors, `picture_of_function` a Function of the IR;
`to_dot` and `to_svg` write a Picture down.
"""

from __future__ import annotations

from .dot import to_dot
from .layout import Box, PictureLayout, Route, lay_out
from .model import KINDS, Picture, PictureEdge, PictureGroup, PictureNode
from .of_function import picture_of_function
from .of_graph import live_dot, live_svg, picture_of_graph
from .svg import to_svg

__all__ = [
    "KINDS",
    "Box",
    "Picture",
    "PictureEdge",
    "PictureGroup",
    "PictureLayout",
    "PictureNode",
    "Route",
    "lay_out",
    "live_dot",
    "live_svg",
    "picture_of_function",
    "picture_of_graph",
    "to_dot",
    "to_svg",
]
