"""The backward pass: cotangents from roots to leaves, each node once, in linear time, without recursion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .engine import TENSOR_OPS, Engine
from .ir.errors import GradientError, ShapeError
from .ir.graph import Value
from .state import STATE
from .tape import Node, Output
from .tensor import Tensor, wrap


def run_backward(
    roots: Sequence[Tensor],
    cotangents: Sequence[Tensor],
    *,
    retain_graph: bool,
    create_graph: bool,
    targets: Sequence[Tensor] | None = None,
) -> list[Tensor | None]:
    """Propagate `cotangents` from `roots`.

    With `targets`, return their gradients (None where there is no path); without, accumulate into the
    ``grad`` of every leaf reached.
    """
    traced = STATE.tracer is not None or any(isinstance(one._data, Value) for one in (*roots, *cotangents))
    engine = Engine(tensors=create_graph or traced)
    outer, STATE.recording = STATE.recording, create_graph
    try:
        with np.errstate(all="ignore"):
            found = _propagate(engine, roots, cotangents, targets, retain_graph)
            if targets is not None:
                return [_as_tensor(found.get(_key(one))) for one in targets]
            for leaf, gradient in found.values():
                _accumulate(leaf, gradient, engine)
            return []
    finally:
        STATE.recording = outer


def _as_tensor(entry: Any) -> Tensor | None:
    if entry is None:
        return None
    gradient = entry[1]
    return gradient if isinstance(gradient, Tensor) else wrap(np.asarray(gradient))


def _key(tensor: Tensor) -> Any:
    """What identifies a tensor's place in the graph."""
    place = tensor._node
    if isinstance(place, Output):
        return (id(place.node), place.index)
    return id(tensor) if place is None else (id(place), 0)


def _node_and_index(place: Any) -> tuple[Node, int]:
    return (place.node, place.index) if isinstance(place, Output) else (place, 0)


def _propagate(
    engine: Engine,
    roots: Sequence[Tensor],
    cotangents: Sequence[Tensor],
    targets: Sequence[Tensor] | None,
    retain_graph: bool,
) -> dict[Any, tuple[Tensor, Any]]:
    order, waiting = _reachable(roots)
    wanted_places = None if targets is None else {_key(one): one for one in targets}
    useful = _useful(order, wanted_places)
    found: dict[Any, tuple[Tensor, Any]] = {}
    pending: dict[int, list[Any]] = {}

    def deliver(place: Any, owner: Tensor | None, part: Any) -> None:
        """Add `part` to the cotangent of a leaf, or of one output of a node."""
        if isinstance(place, Tensor):
            if wanted_places is None or id(place) in wanted_places:
                known = found.get(id(place))
                found[id(place)] = (place, part if known is None else engine.namespace.add(known[1], part))
            return
        node, index = _node_and_index(place)
        slots = pending.setdefault(id(node), [])
        slots += [None] * (index + 1 - len(slots))
        slots[index] = part if slots[index] is None else engine.namespace.add(slots[index], part)

    def wanted(parent: Any) -> bool:
        if isinstance(parent, Tensor):
            return wanted_places is None or id(parent) in wanted_places
        node, index = _node_and_index(parent)
        return id(node) in useful or (wanted_places is not None and (id(node), index) in wanted_places)

    for root, cotangent in zip(roots, cotangents, strict=True):
        deliver(root._node or root, root, cotangent if engine.tensors else cotangent._data)
    ready = [node for node in order if waiting[id(node)] == 0]
    tracer = STATE.tracer
    while ready:
        node = ready.pop()
        slots = pending.pop(id(node), None)
        if slots is not None:
            if wanted_places is not None:
                for index, slot in enumerate(slots):
                    target = wanted_places.get((id(node), index))
                    if target is not None and slot is not None:
                        found[(id(node), index)] = (target, slot)
            if id(node) in useful:
                if tracer is not None:
                    tracer.location, tracer.pinned_location = node.location, True
                try:
                    parts = node.pull(engine, slots, wanted)
                finally:
                    if tracer is not None:
                        tracer.pinned_location = False
                for parent, part, type in zip(node.parents, parts, node.types, strict=True):
                    if part is not None:
                        deliver(parent, None, engine.fit(part, *type))
        if not retain_graph:
            node.free()
        for parent in node.parents:
            if parent is not None and not isinstance(parent, Tensor):
                below = parent.node
                waiting[id(below)] -= 1
                if waiting[id(below)] == 0:
                    ready.append(below)
    return found


def _reachable(roots: Sequence[Tensor]) -> tuple[list[Node], dict[int, int]]:
    """The nodes behind `roots`, each once, and how many edges lead to each."""
    waiting: dict[int, int] = {}
    order: list[Node] = []
    stack: list[Node] = []
    for root in roots:
        node = None if root._node is None else root._node.node
        if node is not None and id(node) not in waiting:
            waiting[id(node)] = 0
            order.append(node)
            stack.append(node)
    while stack:
        for parent in stack.pop().parents:
            if parent is None or isinstance(parent, Tensor):
                continue
            below = parent.node
            if id(below) in waiting:
                waiting[id(below)] += 1
            else:
                waiting[id(below)] = 1
                order.append(below)
                stack.append(below)
    return order, waiting


def _useful(order: list[Node], wanted: dict[Any, Tensor] | None) -> set[int]:
    """The nodes through which a cotangent can reach something wanted."""
    if wanted is None:
        return {id(node) for node in order}
    users: dict[int, list[int]] = {}
    useful: set[int] = set()
    for node in order:
        for parent in node.parents:
            if parent is None:
                continue
            if isinstance(parent, Tensor):
                if id(parent) in wanted:
                    useful.add(id(node))
                continue
            below, index = _node_and_index(parent)
            users.setdefault(id(below), []).append(id(node))
            if (id(below), index) in wanted:
                useful.add(id(node))
    stack = list(useful)
    while stack:
        for user in users.get(stack.pop(), ()):
            if user not in useful:
                useful.add(user)
                stack.append(user)
    return useful


def _accumulate(leaf: Tensor, gradient: Any, engine: Engine) -> None:
    """Add `gradient` into ``leaf.grad``."""
    known = leaf._grad
    if engine.tensors:
        leaf._grad = gradient if known is None else engine.namespace.add(known, gradient)
    elif known is None:
        # a copy: rules may hand on the array of another gradient, or a view
        leaf._grad = wrap(np.array(gradient))
    else:
        np.add(known._data, gradient, out=known._data)


def seed(root: Tensor, gradient: Any) -> Tensor:
    """The cotangent to start from: `gradient`, or 1 for a scalar."""
    if gradient is None:
        if root.size != 1:
            raise GradientError(
                f"grad can be implicitly created only for scalar outputs, got shape {root.shape}; pass a "
                "gradient of that shape"
            )
        return TENSOR_OPS.full(value=1.0, shape=root.shape, dtype=root.dtype)  # type: ignore[no-any-return]
    if not isinstance(gradient, Tensor):
        gradient = wrap(np.asarray(gradient, root.dtype))
    if gradient.shape != root.shape:
        raise ShapeError(f"backward: the gradient has shape {gradient.shape}, the tensor {root.shape}")
    return gradient  # type: ignore[no-any-return]
