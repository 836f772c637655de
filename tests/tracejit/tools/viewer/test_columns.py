"""Tall graphs in columns."""

from __future__ import annotations

import pytest

from tracejit.tools.picture import Picture, PictureEdge, PictureNode, lay_out
from tracejit.tools.picture.layout import PictureLayout
from tracejit.tools.viewer.drawing import in_columns


def chain(count: int, height: float = 40.0) -> PictureLayout:
    """`count` boxes below each other, of which every fifth is read again seven boxes later."""
    nodes = tuple(PictureNode(f"n{i}", (f"n{i}",)) for i in range(count))
    edges = [PictureEdge(f"n{i}", f"n{i + 1}") for i in range(count - 1)]
    edges += [PictureEdge(f"n{i}", f"n{i + 7}") for i in range(0, count - 7, 5)]
    return lay_out(Picture(nodes, tuple(edges)), [(80.0, height + i % 3 * 20.0) for i in range(count)])


def test_what_fits_a_window_stays() -> None:
    places = chain(12)
    assert in_columns(places) is places


@pytest.mark.parametrize("count", [80, 600])
def test_columns(count: int) -> None:
    places = chain(count)
    columns = in_columns(places)
    assert 0.8 < columns.width / columns.height < 3
    boxes = columns.boxes
    assert len(boxes) == count
    for i, box in enumerate(boxes):
        assert box.x >= 0
        assert box.x + box.width <= columns.width
        assert box.y >= 0
        assert box.y + box.height <= columns.height
        assert (box.width, box.height) == (places.boxes[i].width, places.boxes[i].height)
        for other in boxes[i + 1 :]:
            apart_x = box.x + box.width <= other.x or other.x + other.width <= box.x
            apart_y = box.y + box.height <= other.y or other.y + other.height <= box.y
            assert apart_x or apart_y
    for before, after in zip(places.routes, columns.routes, strict=True):
        assert len(after.points) == (2 if after.far and not before.far else len(before.points))
    assert any(route.far for route in columns.routes)
    assert sum(route.far for route in columns.routes) < len(columns.routes) / 2


def test_edges_meet_their_boxes() -> None:
    columns = in_columns(chain(100))
    for (x, y), box in zip([route.points[0] for route in columns.routes[:99]], columns.boxes, strict=False):
        assert box.x <= x <= box.x + box.width
        assert y == pytest.approx(box.y + box.height)
