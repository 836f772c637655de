"""Liveness of the graph: the parts that an outer derivative can still ask about.

A transform such as ``grad`` differentiates with respect to inputs of its own (`InputNode`). Once its function
has run, nobody outside can ask for derivatives by them: they are *retired*. A place in the graph is *live*
while it reaches a leaf of the user's, or an input of a transform whose function is still running. The graph
behind results is kept only where it is live, so that it does not grow from call to call.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from ..ir.graph import Value
from ..state import STATE
from ..tensors.tensor import Tensor, is_eager_scalar, noted_array, wrap
from .nodes import DEAD, IsNeeded, Node

if TYPE_CHECKING:
    from .hooks import Cotangents

_clock: Final = itertools.count()


class InputNode(Node):
    """An input that a transform differentiates by. It has a parent where the argument was in a graph
    itself."""

    __slots__ = ("data", "retired")

    #: The time at which the transform's function ended; None while it runs.
    retired: int | None

    def __init__(self, data: Any, tensor: Tensor) -> None:
        self.data = data
        self.parents = self.types = ()
        if tensor._requires_grad and requires_outer_grad(tensor):
            self.parents = (tensor if tensor._node is None else tensor._node,)
            self.types = ((tensor.shape, tensor.dtype),)
        self.hooks = self.location = self.retired = None

    def name(self) -> str:
        return "InputBackward"

    def pull(self, engine: Cotangents, cotangents: Any, is_needed: IsNeeded) -> Sequence[Any]:
        return (cotangents,) if self.parents else ()

    def free(self) -> None:
        """Do nothing, since nothing was saved."""


def transform_input(data: Any, tensor: Tensor) -> Tensor:
    """`data`, the value of `tensor`, as an input of a transform: no leaf, so that it may be written."""
    result = wrap(data)
    result._node, result._requires_grad = InputNode(data, tensor), True
    is_array = not isinstance(data, Value) and not is_eager_scalar(tensor)
    return noted_array(result) if is_array else result


def retire(inputs: Iterable[Tensor]) -> None:
    """Declare that no derivative by these inputs will be asked for, except by who made them."""
    for tensor in inputs:
        tensor._node.retired = next(_clock)


class as_at:
    """Context manager: what runs in it sees those inputs as retired that were retired at `moment`, and those
    that it retires itself. So a function that is run again records what it recorded before."""

    def __init__(self, moment: Instant) -> None:
        self._moment = moment

    def __enter__(self) -> None:
        self._outer = STATE.revived
        STATE.revived = (*self._moment.revived, (self._moment.time, next(_clock)))

    def __exit__(self, *exc: object) -> None:
        STATE.revived = self._outer


class Instant:
    """A moment, for `as_at`: it determines which inputs are retired."""

    __slots__ = ("revived", "time")

    def __init__(self) -> None:
        self.revived, self.time = STATE.revived, next(_clock)


def requires_outer_grad(tensor: Tensor) -> bool:
    """Whether `tensor` requires grad on behalf of something live."""
    return tensor._requires_grad and (tensor._node is None or is_live(tensor._node))


def is_live(place: Any) -> bool:
    """Whether a leaf is meant, or the graph behind a node or an output of one is live.

    Nodes remember the answer, so that a sequence of questions takes time linear in the graph. In `as_at`,
    where more inputs are live, only positive ones count.
    """
    if isinstance(place, Tensor):
        return True
    root: Node = place.node
    answer = _answer(root)
    if answer is not None:
        return answer
    if not root.parents and not STATE.revived:
        root.witness = DEAD
        return False
    #: The nodes that have been met, with the node that led there.
    met: dict[Node, Node | None] = {root: None}
    stack = [root]
    while stack:
        node = stack.pop()
        for parent in node.parents:
            if parent is None:
                continue
            witness = parent
            if type(parent) is not Tensor:
                parent = parent.node
                if parent in met:
                    continue
                answer = _answer(parent)
                if answer is None:
                    met[parent] = node
                    stack.append(parent)
                    continue
                if not answer:
                    continue
                witness = parent if type(parent) is InputNode and _is_running(parent) else parent.witness
            above: Node | None = node
            while above is not None:
                above.witness = witness
                above = met[above]
            return True
    if not STATE.revived:
        for node in met:
            node.witness = DEAD
    return False


def _answer(node: Node) -> bool | None:
    """Whether `node` is live, None where its parents have to be asked."""
    if type(node) is InputNode and _is_running(node):
        return True
    witness = getattr(node, "witness", None)
    if witness is None:
        return None
    if witness is DEAD:
        return None if STATE.revived else False
    return True if isinstance(witness, Tensor) or _is_running(witness) else None


def _is_running(node: InputNode) -> bool:
    """Whether the function of the transform is still running whose input `node` is."""
    time = node.retired
    if time is None:
        return True
    revived = STATE.revived
    return revived != () and any(start < time < end for start, end in revived)
