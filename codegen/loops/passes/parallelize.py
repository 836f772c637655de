"""Parallelization: the iterations of the outermost loop as tasks, which threads share.

    for i in 0:1000 { f(i) }    is    for t..s in 0:4 tasks { for i in 256*t:min(256*s, 1000) { f(i) } }

*Requires*: the only loop of the kernel that is in no other one, from 0 to a number, whose iterations may run
in any order.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..affine import affine, variable
from ..legality import own_slots, require_independent
from ..nodes import SERIAL, TASKS, For, Kernel, Node
from ..rewriting import NotApplicable, rewritten, unused, with_body

#: The first task of a part, and the one behind its last.
FIRST, STOP = "t", "s"


def parallelize(kernel: Kernel, index: str, size: int) -> Kernel:
    """Make tasks of `size` indices of the loop over `index`."""
    step = f"parallelize({index}, {size})"
    first, stop = unused(kernel, FIRST, STOP)

    def rewrite(loop: For, around: tuple[For, ...]) -> Sequence[Node]:
        end = loop.hi[0].number
        if around or loop.kind != SERIAL or len(loop.hi) > 1 or loop.lo != (affine(0),) or end is None:
            raise NotApplicable(f"{step}: the loop over {index} is no outermost one from 0 to a number")
        if size % loop.step:
            raise NotApplicable(f"{step}: a task would end within a step of {loop.step}")
        require_independent(kernel, loop, around, step, own_slots(kernel, loop))
        bounds = (variable(stop),) if size == 1 else (variable(stop, size), affine(end))
        inner = with_body(loop, loop.body, lo=(variable(first, size),), hi=bounds)
        tasks = -(-end // size)
        return [For(first, (affine(0),), (affine(tasks),), 1, TASKS, (inner,), end=stop)]

    return rewritten(kernel, index, rewrite, step)
