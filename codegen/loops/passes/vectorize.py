"""Vectorization: the iterations of a loop as lanes of vectors.

    for j in 0:n { f(j) }    is    for j in 0:n step 8 { for l in 0:min(8, n - j) lanes 8 { f(j + l) } }

*Requires*: iterations that may run in any order, one by one, without lanes inside; a power of two of them.
Memory of the kernel's own that each of them writes before it reads it has room for all lanes afterwards.
*Ensures*: the last vector leaves out lanes that have no iteration; `peel` takes it out of the loop.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..affine import Affine, affine, is_multiple, variable
from ..legality import private_slots, require_independent
from ..nodes import LANES, SERIAL, For, Kernel, Node
from ..rewriting import (
    NotApplicable,
    larger,
    loops_in,
    replaced,
    require_power_of_two,
    rewritten,
    unused,
    with_body,
    with_places,
)

#: The index of lanes.
LANE = "l"


def vectorize(kernel: Kernel, index: str, lanes: int) -> Kernel:
    """Run `lanes` iterations of the loops over `index` together."""
    step, lane = f"vectorize({index}, {lanes})", unused(kernel, LANE)[0]
    require_power_of_two(lanes, step)

    def rewrite(loop: For, around: tuple[For, ...]) -> Sequence[Node]:
        if loop.kind != SERIAL or loop.step != 1:
            raise NotApplicable(f"{step}: the loop over {index} is {loop.kind}, by {loop.step}")
        if any(inner.kind == LANES for inner in (*around, *loops_in(loop.body))):
            raise NotApplicable(f"{step}: there are lanes already")
        own = private_slots(kernel, loop, around)
        require_independent(kernel, loop, around, step, own)
        private.update(own)
        j = variable(loop.index)
        body = replaced(loop.body, loop.index, j.plus(variable(lane)))
        body = with_places(body, own, lambda index: side_by_side(index, lane, lanes))
        remaining = tuple([hi.plus(j, -1) for hi in ends_within(loop, lanes)])
        inner = For(lane, (affine(0),), (affine(lanes), *remaining), 1, LANES, body, width=lanes)
        return [with_body(loop, (inner,), step=lanes)]

    private = set[str]()
    return larger(rewritten(kernel, index, rewrite, step), private, lanes)


def side_by_side(index: Affine, name: str, count: int, lane: str = "", lanes: int = 1) -> Affine:
    """The place of what lies at `index` where each of the `count` iterations over `name` has its own, side by
    side: an element, or `lanes` of them."""
    own = index.without(lane).scaled(count)
    return (own.plus(variable(lane)) if lane else own).plus(variable(name, lanes))


def ends_within(loop: For, group: int) -> list[Affine]:
    """The ends of `loop` at which a group of iterations may be cut short."""
    if not all(is_multiple(lo, group) for lo in loop.lo):
        return list(loop.hi)
    return [hi for hi in loop.hi if not is_multiple(hi, group)]
