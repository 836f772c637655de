"""Unrolling: several iterations of a loop as copies of its body, one after the other or in turn.

    for j in 0:n step 8 { f(j) }    is    for j in 0:n step 32 { for u in 0:4 unrolled { f(j + 8*u) } }

*Requires*: whole groups of iterations (`peel`); for copies that take turns, iterations in any order.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..affine import affine, is_multiple, variable
from ..legality import private_slots, require_independent
from ..nodes import INTERLEAVED, LANES, SERIAL, UNROLLED, For, Kernel, Node
from ..rewriting import NotApplicable, larger, replaced, rewritten, unused, with_body, with_places
from .vectorize import side_by_side

#: The index of copies.
COPY = "u"


def unroll(kernel: Kernel, index: str, copies: int = 0) -> Kernel:
    """Write `copies` of the body of the loops over `index`; without a number, as many as there are
    iterations."""
    step = f"unroll({index}, {copies})" if copies else f"unroll({index})"
    if copies:
        return _unrolled(kernel, index, copies, UNROLLED, step)

    def rewrite(loop: For, around: tuple[For, ...]) -> Sequence[Node]:
        if len(loop.lo) + len(loop.hi) != 2 or loop.lo[0].terms or loop.hi[0].terms or loop.carried:
            raise NotApplicable(f"{step}: the loop over {index} has no known length")
        return [with_body(loop, loop.body, kind=UNROLLED)]

    return rewritten(kernel, index, rewrite, step)


def interleave(kernel: Kernel, index: str, copies: int) -> Kernel:
    """Write `copies` of the body of the loops over `index`, whose operations take turns."""
    return _unrolled(kernel, index, copies, INTERLEAVED, f"interleave({index}, {copies})")


def _unrolled(kernel: Kernel, index: str, copies: int, kind: str, step: str) -> Kernel:
    (copy,) = unused(kernel, COPY)

    def rewrite(loop: For, around: tuple[For, ...]) -> Sequence[Node]:
        group = loop.step * copies
        if loop.kind != SERIAL or loop.carried:
            raise NotApplicable(f"{step}: the loop over {index} is {loop.kind}, or hands values on")
        if not all(is_multiple(hi.plus(lo, -1), group) for hi in loop.hi for lo in loop.lo):
            raise NotApplicable(f"{step}: the loop over {index} is no whole number of groups of {group}")
        body = replaced(loop.body, loop.index, variable(loop.index).plus(variable(copy, loop.step)))
        if kind == INTERLEAVED:
            own = private_slots(kernel, loop, around)
            require_independent(kernel, loop, around, step, own)
            private.update(own)
            head = loop.body[0]
            lanes = (head.index, head.width) if isinstance(head, For) and head.kind == LANES else ("", 1)
            body = with_places(body, own, lambda index: side_by_side(index, copy, copies, *lanes))
        inner = For(copy, (affine(0),), (affine(copies),), 1, kind, body)
        return [with_body(loop, (inner,), step=group)]

    private = set[str]()
    return larger(rewritten(kernel, index, rewrite, step), private, copies)
