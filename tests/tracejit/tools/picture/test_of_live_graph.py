"""``graph_of(tensor).dot()`` and ``.svg()``."""

from __future__ import annotations

import tracejit as tj
from tracejit.tools.picture import picture_of_graph, to_dot, to_svg


def test_live_graphs_draw_themselves(tmp_path):
    x = tj.tensor([1.0, 2.0], requires_grad=True)
    y = (x * 3).sum()
    graph = tj.graph_of(y)
    picture = picture_of_graph(y)
    assert graph.dot() == to_dot(picture)
    assert graph._repr_svg_() == graph.svg(tmp_path / "y.svg") == to_svg(picture)
    assert (tmp_path / "y.svg").read_text(encoding="utf-8") == to_svg(picture)
    assert graph.svg(legend=True) == to_svg(picture, legend=True)
