"""Peeling: the last iterations of a loop, which fill no whole group, apart from the others.

    for j in 0:1000 step 32 { f(j) }    is    for j in 0:992 step 32 { f(j) }  for j in 992:1000 step 8 { f(j)
    }

where 8 is the number of lanes, and `f` has bounds that hold for whole groups alone.

*Requires*: a loop that ends at a number, and begins, and may end before it, at multiples of the group.
*Ensures*: lanes in whole groups are all there. Of a loop over a part of the tasks' range, the part that
reaches the end does the rest.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..affine import Affine, Ranges, affine, is_multiple
from ..nodes import SERIAL, Call, For, If, InRange, Kernel, Node
from ..rewriting import NotApplicable, first_ends, replaced, rewritten, with_body


def peel(kernel: Kernel, index: str, group: int) -> Kernel:
    """Take what fills no `group` of iterations out of the loops over `index`. Loops of whole groups, and
    those that begin at no multiple of it, stay."""
    step = f"peel({index}, {group})"

    def rewrite(loop: For, around: tuple[For, ...]) -> Sequence[Node]:
        numbers = [bound.number for bound in loop.hi if bound.number is not None]
        others = [bound for bound in loop.hi if bound.number is None]
        if len(numbers) != 1 or loop.kind != SERIAL or loop.carried or group % loop.step:
            raise NotApplicable(f"{step}: the loop over {index} has no end that is a number")
        if any(not is_multiple(bound, group) for bound in others) or len(loop.lo) != 1:
            raise NotApplicable(f"{step}: the loop over {index} may end within a group")
        (end,), (low,) = numbers, loop.lo
        first = low.number
        if first is None and not is_multiple(low, group):
            raise NotApplicable(f"{step}: the loop over {index} may begin within a group")
        base = 0 if first is None else first
        whole = base + max(0, end - base) // group * group
        nodes: list[Node] = []
        if first is None or whole > first:
            body = _full(loop, loop.body, low, affine(whole - loop.step))
            nodes.append(with_body(loop, body, hi=(*others, affine(whole))))
        if whole < end:
            if any(_last_part_begins(low, outer) >= end for outer in around if outer.end in _names(others)):
                raise NotApplicable(f"{step}: two parts may reach the end of the loop over {index}")
            nodes += _rest(loop, whole, end, others)
        return nodes

    return rewritten(kernel, index, rewrite, step)


def _names(bounds: Sequence[Affine]) -> set[str]:
    return {name for bound in bounds for name in bound.names}


def _last_part_begins(low: Affine, tasks: For) -> int:
    """The index with which a loop from `low` on begins in the last one of the `tasks`."""
    last = low.replaced(tasks.index, tasks.hi[0].plus(-1)).number
    assert last is not None, "tasks have a known number"
    return last


def _rest(loop: For, whole: int, end: int, others: Sequence[Affine]) -> list[Node]:
    """The iterations of `loop` from `whole` up to `end`, without a loop if it is one; the part of tasks that
    reaches the `others`, which are not before the end, has them."""
    last = end - 1 - (end - 1 - whole) % loop.step
    if whole == last and all(isinstance(node, (For, If, Call)) for node in loop.body):
        rest = list(_full(loop, loop.body, affine(whole), affine(whole)))
        rest = list(replaced(rest, loop.index, affine(whole)))
    else:
        body = _full(loop, loop.body, affine(whole), affine(last))
        rest = [with_body(loop, body, lo=(affine(whole),), hi=(affine(end),))]
    return [If(tuple([InRange(other.plus(-end)) for other in others]), tuple(rest))] if others else rest


def _full(loop: For, body: Sequence[Node], first: Affine, last: Affine) -> tuple[Node, ...]:
    """`body` without ends of its loops that others reach first where the index of `loop` is in a range."""
    names = {name for bound in (first, last) for name in bound.names}
    ranges = Ranges((name, 0) for name in names).within(loop.index, (first,), (last,))
    result: list[Node] = []
    for node in body:
        if isinstance(node, For):
            node = with_body(node, _full(loop, node.body, first, last), hi=first_ends(node.hi, ranges))
        result.append(node)
    return tuple(result)
