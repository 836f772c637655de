"""Which parts of the graph an outer derivative can still ask about.

A transform such as ``grad`` differentiates with respect to leaves of its own. Once its function has run,
nobody outside can ask for derivatives by them: they are *retired*. A place in the graph is *live* while it
reaches a leaf that is not retired: one of the user's, or one of a transform whose function is still running.
The graph behind results is kept only where it is live, so that it does not grow from call to call.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Iterable
from typing import Any, Final

from ..state import STATE
from ..tensor import Tensor
from .nodes import DEAD, Node

_clock: Final = itertools.count()


class _Retirement(weakref.ref[Tensor]):
    """A leaf of a transform that is over, and when that was."""

    __slots__ = ("key", "time")

    key: int
    time: int


#: The retirements by the leaf's id.
_RETIRED: Final[dict[int, _Retirement]] = {}


def _forget(entry: Any) -> None:
    if _RETIRED.get(entry.key) is entry:
        del _RETIRED[entry.key]


def retire(tensors: Iterable[Tensor]) -> None:
    """Declare that no derivative by these leaves will be asked for, except by who made them."""
    for tensor in tensors:
        if tensor._node is None:
            entry = _Retirement(tensor, _forget)
            entry.key, entry.time = id(tensor), next(_clock)
            _RETIRED[entry.key] = entry


class as_at:
    """Context manager: what runs in it sees those leaves as retired that were retired at `moment`, and those
    that it retires itself. So a function that is run again records what it recorded before."""

    def __init__(self, moment: Moment) -> None:
        self._moment = moment

    def __enter__(self) -> None:
        self._outer = STATE.revived
        STATE.revived = (*self._moment.revived, (self._moment.time, next(_clock)))

    def __exit__(self, *exc: object) -> None:
        STATE.revived = self._outer


class Moment:
    """Which leaves are retired now."""

    __slots__ = ("revived", "time")

    def __init__(self) -> None:
        self.revived, self.time = STATE.revived, next(_clock)


def _is_retired(leaf: Tensor) -> bool:
    entry = _RETIRED.get(id(leaf))
    if entry is None or entry() is not leaf:
        return False
    return not any(start < entry.time < end for start, end in STATE.revived)


def requires_outer_grad(tensor: Tensor) -> bool:
    """Whether `tensor` requires grad on behalf of a live leaf."""
    return tensor._requires_grad and is_live(tensor if tensor._node is None else tensor._node)


def is_live(place: Any) -> bool:
    """Whether a leaf, or the graph behind a node or an output of one, reaches a leaf that is not retired.

    Nodes remember the answer, so that a sequence of questions takes time linear in the graph. In `as_at`,
    where more leaves are live, only positive ones count.
    """
    if isinstance(place, Tensor):
        return not _is_retired(place)
    root: Node = place.node
    answer = _remembered(root)
    if answer is not None:
        return answer
    path = [(root, iter(root.parents))]
    entered = {root}
    while path:
        node, parents = path[-1]
        for parent in parents:
            if parent is None:
                continue
            if isinstance(parent, Tensor):
                witness = None if _is_retired(parent) else parent
            else:
                parent = parent.node
                if parent in entered:
                    continue
                answer = _remembered(parent)
                if answer is None:
                    entered.add(parent)
                    path.append((parent, iter(parent.parents)))
                    break
                witness = parent.witness if answer else None
            if witness is not None:
                for above, _ in path:
                    above.witness = witness
                return True
        else:
            if not STATE.revived:
                node.witness = DEAD
            path.pop()
    return False


def _remembered(node: Node) -> bool | None:
    """What an earlier question found out about `node`, None if that does not hold any more."""
    witness = getattr(node, "witness", None)
    if witness is None:
        return None
    if witness is DEAD:
        return None if STATE.revived else False
    return None if _is_retired(witness) else True
