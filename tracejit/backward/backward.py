"""The backward pass: cotangents from roots to leaves, each node once, in linear time, without recursion."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any

import numpy as np

from ..base.errors import GradientError, ShapeError
from ..ir.graph import Location, Value
from ..ir.registry import Strength
from ..state import STATE
from ..tape.hooks import run_post_hooks, run_pre_hooks, run_tensor_hooks
from ..tape.liveness import InputNode
from ..tape.nodes import Node, OpNode, Output, check_parts
from ..tensors.tensor import Tensor, wrap
from .engine import ENGINES, TENSOR_OPS, Engine


def run_backward(
    roots: Sequence[Tensor],
    cotangents: Sequence[Tensor],
    *,
    retain_graph: bool,
    create_graph: bool,
    targets: Sequence[Tensor] | None = None,
    accumulate: bool = False,
    boundary: Sequence[Tensor] = (),
    reach: Reach | None = None,
) -> list[Tensor | None]:
    """Propagate `cotangents` from `roots`.

    With `targets`, return their gradients (None where there is no path), and with `accumulate` add them to
    their ``grad`` as well; without, accumulate into the ``grad`` of every leaf reached. The graph behind
    the tensors of `boundary` is not looked at: no target is there. A `reach` is for passes from the same
    roots to the same targets, over a graph that stays.
    """
    tensors = create_graph or STATE.tracer is not None
    if not tensors:
        for tensor in (*roots, *cotangents):
            tensors = tensors or isinstance(tensor._data, Value)
    walk = _Pass(ENGINES[tensors, create_graph], retain_graph=retain_graph)
    keys = [] if targets is None else list(map(_key, targets))
    if targets is not None:
        walk.targets, walk.accumulate = dict(zip(keys, targets, strict=True)), accumulate
    if boundary:
        walk.boundary = {tensor._node.node for tensor in boundary if tensor._node is not None}
    outer, STATE.recording = STATE.recording, create_graph
    around, STATE.walk = STATE.walk, walk
    try:
        with np.errstate(all="ignore"):
            walk.run(roots, cotangents, reach)
    finally:
        STATE.recording, STATE.walk = outer, around
    return [walk.gradients.get(key) for key in keys]


def _key(tensor: Tensor) -> Any:
    """The identity of a tensor's place in the graph: a leaf, or a node and the number of its output."""
    place = tensor._node
    if place is None:
        return tensor
    return (place.node, getattr(place, "index", 0))


class Reach:
    """The part of the graph behind the roots of backward passes, found by the first pass."""

    #: Number of edges that lead to each node or leaf; None before the first pass.
    edges: dict[Any, int] | None = None
    #: The nodes on the way to the targets, None where all are.
    useful: set[Node] | None = None


class _Pass:
    """One walk over the graph."""

    #: The gradients to return or accumulate, by `_key`; None for those of all leaves.
    targets: dict[Any, Tensor] | None = None
    #: Whether gradients are added to the ``grad`` of the tensors that they belong to.
    accumulate = True
    #: Nodes behind which there is no target.
    boundary: Set[Node] = frozenset()
    #: The nodes on the way to the targets, None where all are.
    useful: set[Node] | None = None
    #: The node that is being passed.
    node: Node | None = None

    def __init__(self, engine: Engine, *, retain_graph: bool) -> None:
        self.engine = engine
        #: Adds cotangents.
        self.add = engine.add if engine.tensors else engine.namespace.add
        self.retain_graph = retain_graph
        #: The nodes whose cotangents are 0 where a mask did not choose, with the strength of these zeros.
        self.chosen: dict[Any, Strength] = {}
        #: The gradients of the targets.
        self.gradients: dict[Any, Tensor] = {}
        #: Cotangent so far of each node or leaf; a list of them for nodes with several outputs.
        self.pending: dict[Any, Any] = {}
        #: Number of edges to each node or leaf that have not been passed yet.
        self.waiting: dict[Any, int] = {}
        #: The nodes and leaves to which all edges have been passed.
        self.ready: list[Any] = []
        #: Locations of nodes, and those of their gradients, by identity of the former.
        self.lines: dict[int, tuple[Location, Location]] = {}

    def run(self, roots: Sequence[Tensor], cotangents: Sequence[Tensor], reach: Reach | None) -> None:
        """Visit what is behind `roots`, each node once all cotangents of its results are there."""
        engine, pending, ready, boundary = self.engine, self.pending, self.ready, self.boundary
        free, tracer, chosen, behind = not self.retain_graph, STATE.tracer, self.chosen, engine.by_strength
        targets = self.targets
        if reach is not None and reach.edges is not None:
            self.waiting, self.useful = reach.edges.copy(), reach.useful
        else:
            order = self._reach(roots)
            if targets is not None and not self._all_useful(targets):
                self.useful = _useful(order, targets)
            if reach is not None:
                reach.useful, reach.edges = self.useful, self.waiting.copy()
        plain = self.useful is None and STATE.anomaly is None
        for position, root in enumerate(roots):
            cotangent = cotangents[position]
            self._add(root._node or root, cotangent if engine.tensors else cotangent._data)
        ready += [place for place, count in self.waiting.items() if count == 0]
        while ready:
            place = ready.pop()
            cotangent = pending.pop(place, None)
            if isinstance(place, Tensor):
                if cotangent is not None:
                    self._arrive(place, cotangent)
                continue
            parts, ends = None, place in boundary
            if cotangent is not None:
                if plain and place.hooks is None:  # what `_visit` comes to
                    if not ends and tracer is None:
                        self.node = place
                        in_use = behind[chosen[place]] if place in chosen else engine
                        parts = place.pull(in_use, cotangent, None)
                    elif not ends:
                        parts = self._pull_traced(place, cotangent, None)
                    elif targets is not None:
                        self._capture(place, cotangent if place.several else (cotangent,))
                else:
                    parts = self._visit(place, cotangent)
            if ends:
                continue
            if tracer is not None:
                tracer.pinned_location = True
            try:
                self._pass_on(place, parts)
            finally:
                if tracer is not None:
                    tracer.pinned_location = False
            if free:
                place.free()

    def reaches(self, place: Any, index: int) -> bool:
        """Whether this pass comes to output `index` of the node, or to the leaf, `place`."""
        if place not in self.waiting:
            return False
        if self.targets is None or self.useful is None:
            return True
        if isinstance(place, Tensor):
            return place in self.targets
        return place in self.useful or (place, index) in self.targets

    def _reach(self, roots: Sequence[Tensor]) -> list[Node]:
        """The nodes behind `roots`, each once; counts how many edges lead to each, and to each leaf."""
        waiting, boundary = self.waiting, self.boundary
        order: list[Node] = []
        stack: list[Node] = []
        for root in roots:
            place: Any = root._node or root
            if type(place) is Output:
                place = place.node
            if place not in waiting:
                waiting[place] = 0
                if place is not root:
                    stack.append(place)
        while stack:
            node = stack.pop()
            order.append(node)
            if boundary and node in boundary:
                continue
            for parent in node.parents:
                if parent is None:
                    continue
                if type(parent) is Output:
                    parent = parent.node
                count = waiting.get(parent)
                if count is not None:
                    waiting[parent] = count + 1
                else:
                    waiting[parent] = 1
                    if not isinstance(parent, Tensor):
                        stack.append(parent)
        return order

    def _all_useful(self, targets: dict[Any, Tensor]) -> bool:
        """Whether all that was reached leads to targets: they are the leaves and the inputs of this
        derivative, and there are no others."""
        boundary = self.boundary
        if {key[0] for key in targets if type(key) is tuple} != boundary:
            return False
        for place in self.waiting:
            kind = type(place)
            if (kind is Tensor and place not in targets) or (kind is InputNode and place not in boundary):
                return False
        return True

    def _add(self, place: Any, part: Any) -> None:
        """Add `part` to the cotangent of a leaf, a node, or one output of a node."""
        pending = self.pending
        if type(place) is Output:
            slots = pending.get(place.node)
            if slots is None:
                slots = pending[place.node] = [None] * place.node.count
            sum_so_far = slots[place.index]
            slots[place.index] = part if sum_so_far is None else self.add(sum_so_far, part)
            return
        sum_so_far = pending.get(place)
        pending[place] = part if sum_so_far is None else self.add(sum_so_far, part)

    def _arrive(self, leaf: Tensor, cotangent: Any) -> None:
        """Show the complete cotangent of a leaf to its hooks, then keep or accumulate it."""
        engine, targets, hooks = self.engine, self.targets, leaf._hooks
        if targets is None and hooks is None:
            engine.accumulate(leaf, cotangent)
            return
        if targets is not None and leaf not in targets:
            return
        if hooks is not None:
            cotangent = run_tensor_hooks(hooks, 0, cotangent, engine)
        if targets is not None:
            self.gradients[leaf] = engine.as_tensor(cotangent)
        if not self.accumulate:
            return
        if hooks is not None:
            (cotangent,) = run_pre_hooks(hooks, [cotangent], engine)
        engine.accumulate(leaf, cotangent)
        if hooks is not None:
            run_post_hooks(hooks, [], [cotangent], engine)
            for hook in tuple(hooks.accumulated.values()):
                hook(leaf)

    def _visit(self, node: Node, cotangent: Any) -> Sequence[Any] | None:
        """The cotangents of the node's operands, shown to its hooks; None where no target is behind it."""
        engine, useful, self.node = self.engine, self.useful, node
        if node.hooks is not None or self.targets is not None:
            slots = cotangent if node.several else [cotangent]
            if node.hooks is not None:
                slots = [
                    run_tensor_hooks(node.hooks, index, slot, engine)
                    if slot is not None and self.reaches(node, index)
                    else slot
                    for index, slot in enumerate(slots)
                ]
            if self.targets is not None:
                self._capture(node, slots)
                if node in self.boundary or (useful is not None and node not in useful):
                    return None
            if node.hooks is not None:
                slots = run_pre_hooks(node.hooks, slots, engine)
            cotangent = slots if node.several else slots[0]
        needed = None if useful is None else self._needed_in(useful)
        if STATE.tracer is None:
            parts = node.pull(self._engine_of(node), cotangent, needed)
        else:
            parts = self._pull_traced(node, cotangent, needed)
        if STATE.anomaly is not None:
            check_parts(node, parts)
        if node.hooks is not None:
            parts = run_post_hooks(node.hooks, parts, cotangent if node.several else [cotangent], engine)
        return parts

    def _note_choice(self, node: Node) -> None:
        """Note where cotangents go to that are 0 where a mask did not choose."""
        chosen, strength = self.chosen, node.chooses
        around = chosen.get(node)
        if around is not None and around > strength:
            strength = around
        if not strength:
            return
        for parent in node.parents:
            place = parent.node if type(parent) is Output else parent
            known = chosen.get(place)
            if known is strength or (known is not None and known > strength):
                continue
            if type(place) is not OpNode or strength > place.plan.ends_zeros:
                chosen[place] = strength

    def _engine_of(self, node: Node) -> Engine:
        """The engine for the cotangents of `node`."""
        return self.engine.by_strength[self.chosen.get(node, Strength.NONE)]

    def _pull_traced(self, node: Node, cotangent: Any, needed: Any) -> Sequence[Any]:
        """The cotangents of the node's operands in the graph; what is traced belongs to the node's line."""
        self.node, tracer = node, STATE.tracer
        tracer.location = node.location and self._gradient_of(node.location)
        tracer.pinned_location = True
        try:
            return node.pull(self._engine_of(node), cotangent, needed)
        finally:
            tracer.pinned_location = False

    def _gradient_of(self, location: Location) -> Location:
        """The line of a gradient: one object for all that is computed of a line."""
        known = self.lines.get(id(location))
        if known is None:
            known = self.lines[id(location)] = (location, location.of_gradient())
        return known[1]

    def _pass_on(self, node: Node, parts: Sequence[Any] | None) -> None:
        """Add the cotangents of a node's operands to where they belong; that makes some places ready."""
        pending, waiting, types, tensors = self.pending, self.waiting, node.types, self.engine.tensors
        if self.chosen or node.chooses:
            self._note_choice(node)
        for position, parent in enumerate(node.parents):
            if parent is None:
                continue
            part = None if parts is None else parts[position]
            if part is not None:
                shape, dtype = types[position]
                held = part._data if tensors else part
                if type(held) is Value:
                    held = held.type
                if held.shape != shape or held.dtype is not dtype:
                    part = self.engine.fit(part, shape, dtype)
                if type(parent) is Output or parent in pending:
                    self._add(parent, part)
                else:
                    pending[parent] = part
            if type(parent) is Output:
                parent = parent.node
            count = waiting[parent] = waiting[parent] - 1
            if count == 0:
                self.ready.append(parent)

    def _capture(self, node: Node, slots: Sequence[Any]) -> None:
        assert self.targets is not None
        for index, slot in enumerate(slots):
            target = None if slot is None else self.targets.get((node, index))
            if target is not None:
                self.gradients[(node, index)] = self.engine.as_tensor(slot)
                if self.accumulate:
                    self.engine.accumulate(target, slot)

    def _needed_in(self, useful: set[Node]) -> Any:
        """Whether a cotangent of a parent leads to a target."""
        targets = self.targets
        assert targets is not None

        def is_needed(parent: Any) -> bool:
            if isinstance(parent, Tensor):
                return parent in targets
            if type(parent) is Output:
                return parent.node in useful or (parent.node, parent.index) in targets
            return parent in useful or (parent, 0) in targets

        return is_needed


def _useful(order: list[Node], targets: dict[Any, Tensor]) -> set[Node]:
    """The nodes through which a cotangent can reach a target."""
    users: dict[Node, list[Node]] = {}
    useful: set[Node] = set()
    for node in order:
        for parent in node.parents:
            if parent is None:
                continue
            if isinstance(parent, Tensor):
                if parent in targets:
                    useful.add(node)
                continue
            below, index = (parent.node, parent.index) if type(parent) is Output else (parent, 0)
            users.setdefault(below, []).append(node)
            if (below, index) in targets:
                useful.add(node)
    stack = list(useful)
    while stack:
        for user in users.get(stack.pop(), ()):
            if user not in useful:
                useful.add(user)
                stack.append(user)
    return useful


def ones_like(root: Tensor) -> Tensor:
    """The cotangent of the sum of the elements of `root`."""
    data = root._data
    if STATE.tracer is not None:
        return TENSOR_OPS.full(value=1.0, shape=data.shape, dtype=data.dtype)  # type: ignore[no-any-return]
    ones: Any = np.empty(data.shape, data.dtype)
    ones[...] = 1.0
    return wrap(ones)


def seed(root: Tensor, gradient: Any) -> Tensor:
    """The cotangent to start from: `gradient`, or 1 for a scalar."""
    if gradient is None:
        data = root._data
        if data.shape != () and root.size != 1:
            raise GradientError(
                f"grad can be implicitly created only for scalar outputs, got shape {root.shape}; reduce it "
                "first, as in loss.mean().backward(), or pass a gradient of that shape"
            )
        return ones_like(root)
    cotangent: Tensor = gradient if isinstance(gradient, Tensor) else wrap(np.asarray(gradient, root.dtype))
    if cotangent.shape != root.shape:
        raise ShapeError(
            f"backward: the gradient has shape {cotangent.shape}, the tensor {root.shape}; they must be equal"
        )
    return cotangent
