"""A tall layout in columns side by side, as text in a newspaper, so that the whole of it can be seen."""

from __future__ import annotations

import bisect
import math
from typing import Final

from ..picture.layout import Box, PictureLayout, Route

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
    """Where columns of about `height` begin: between boxes."""
    starts, end = [0.0], 0.0
    for box in sorted(places.boxes, key=lambda box: box.y):
        if box.y > end and box.y - starts[-1] >= height:
            starts.append((end + box.y) / 2)
        end = max(end, box.y + box.height)
    return starts
