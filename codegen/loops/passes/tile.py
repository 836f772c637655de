"""Tiling: two loops in squares, whose columns are lanes.

    for i in 0:n { for j in 0:m { f(i, j) } }

is, in strips of `group` squares with an `edge` of e,

    for i in 0:n step e*group { for j in 0:m step e {
      for a in 0:min(e*group, n - i) step e {
        for r in 0:min(e, e*group - a, n - i - a) { for l in 0:min(e, m - j) lanes e { f(i + a + r, j + l) } }
      }
    } }

*Requires*: the loop over j inside of that over i, and between them loops alone, one in the other; iterations
of all of them in any order, without lanes inside; an edge that is a power of two.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..affine import affine, variable
from ..legality import require_independent
from ..nodes import LANES, SERIAL, For, Kernel, Node
from ..rewriting import (
    NotApplicable,
    loops_in,
    replaced,
    require_power_of_two,
    rewritten,
    unused,
    with_body,
)
from .vectorize import LANE, ends_within

#: The index of squares in a strip, and of rows in a square.
SQUARE, ROW = "a", "r"


def tile(kernel: Kernel, outer: str, inner: str, edge: int, group: int) -> Kernel:
    """Walk the loops over `outer` and `inner` in strips of `group` squares."""
    step, tall = f"tile({outer}, {inner}, {edge}, {group})", edge * group
    require_power_of_two(edge, step)
    square, row_index, lane = unused(kernel, SQUARE, ROW, LANE)

    def squares(loop: For, strip: For) -> tuple[Node, ...]:
        """The squares in a strip at the steps of the innermost `loop`."""
        i, j, a = map(variable, (strip.index, loop.index, square))
        body = replaced(loop.body, strip.index, i.plus(a).plus(variable(row_index)))
        body = replaced(body, loop.index, j.plus(variable(lane)))
        columns = tuple([hi.plus(j, -1) for hi in ends_within(loop, edge)])
        lanes = For(lane, (affine(0),), (affine(edge), *columns), 1, LANES, body, width=edge)
        heights = (affine(tall), *[hi.plus(i, -1) for hi in ends_within(strip, tall)])
        rows = (affine(edge), *[height.plus(a, -1) for height in heights])
        row = For(row_index, (affine(0),), rows, 1, SERIAL, (lanes,))
        return (For(square, (affine(0),), heights, edge, SERIAL, (row,)),)

    def inside(loop: For, strip: For, around: tuple[For, ...]) -> For:
        if loop.kind != SERIAL or loop.step != 1:
            raise NotApplicable(f"{step}: the loop over {loop.index} is {loop.kind}, by {loop.step}")
        require_independent(kernel, loop, around, step)
        if loop.index == inner and loop is not strip:
            return with_body(loop, squares(loop, strip), step=edge)
        if len(loop.body) != 1 or not isinstance(loop.body[0], For):
            raise NotApplicable(f"{step}: there is more in the loop over {loop.index} than another loop")
        return with_body(loop, (inside(loop.body[0], strip, (*around, loop)),))

    def rewrite(loop: For, around: tuple[For, ...]) -> Sequence[Node]:
        if any(other.kind == LANES for other in (*around, *loops_in(loop.body))):
            raise NotApplicable(f"{step}: there are lanes already")
        strips = inside(loop, loop, around)
        return [with_body(strips, strips.body, step=tall)]

    return rewritten(kernel, outer, rewrite, step)
