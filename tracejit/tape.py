"""The tape: how eager results remember how they were computed, and the backward pass over that graph.

A Node records one op: its attributes, the edges to what computed its operands, and just those operands
that the gradient rules name. The rules are those of the op records; they run on plain ndarrays, or on
Tensors where the gradient itself must be differentiable or is being traced.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .ir.autodiff import rule_arguments, variadic_index
from .ir.dtypes import FLOAT64
from .ir.errors import GradientError, ShapeError
from .ir.graph import Location, Value
from .ir.ops.shape import sum_to
from .ir.registry import OPS, Attrs, Op, OpNamespace, Rule
from .ir.types import TensorType
from .state import STATE
from .tensor import Tensor, wrap


class Node:
    """One recorded operation of the autograd graph; what ``grad_fn`` shows."""

    __slots__ = (
        "__weakref__",
        "attrs",
        "location",
        "op",
        "operands",
        "output",
        "output_version",
        "parents",
        "saved",
        "types",
        "versions",
    )

    def __init__(
        self,
        op: Op,
        attrs: Attrs,
        parents: tuple[Any, ...],
        saved: tuple[Any, ...] | None,
        versions: tuple[int, ...] | None,
        types: tuple[Any, ...],
        output: Any,
    ) -> None:
        self.op = op
        self.attrs = attrs
        #: Per operand: None, a leaf Tensor, a Node, or an Output of a node with several.
        self.parents = parents
        #: Per operand: the value where a rule needs it, else None; None altogether once freed.
        self.saved = saved
        self.versions = versions
        #: Per operand: (shape, dtype), for what has a parent; per result in `output`.
        self.types = types
        #: The result's data where a rule needs it.
        self.output = output
        #: Counts writes to the result's memory, where a rule needs it; they began at 0.
        self.output_version: list[int] | None = None
        #: Weak references to untracked operands that were not saved, by position, for `graph_of`.
        self.operands: dict[int, weakref.ref[Any]] | None = None
        self.location: Location | None = None

    @property
    def node(self) -> Node:
        return self

    def name(self) -> str:
        """The node's name, such as ``AddBackward``."""
        return "".join(part.capitalize() for part in self.op.name.split("_")) + "Backward"

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """Per operand, the node it comes from (None for constants) and which of its outputs. PyTorch's."""
        found: list[tuple[Any, int]] = []
        for parent in self.parents:
            if isinstance(parent, Output):
                found.append((parent.node, parent.index))
            elif isinstance(parent, Tensor):
                found.append((AccumulateGrad(parent), 0))
            else:
                found.append((parent, 0))
        return tuple(found)

    def __repr__(self) -> str:
        return f"<{self.name()}>"

    # -- backward ---------------------------------------------------------------------------------

    def pull(self, b: Engine, cotangents: list[Any], wanted: Callable[[Any], bool]) -> list[Any]:
        """The operands' cotangents, None for those not `wanted`."""
        if self.saved is None:
            raise GradientError(
                "trying to backward through the graph a second time, after its saved values were freed; "
                "pass retain_graph=True to the first backward"
            )
        self._check_versions()
        inputs = [b.value(one) for one in self.saved]
        out = b.output(self, 0, self.output) if self.output is not None else None
        types = [None if one is None else TensorType(one[1], one[0]) for one in self.types]
        found: list[Any] = []
        for position, parent in enumerate(self.parents):
            rule = self.op.rule_for(position) if parent is not None and wanted(parent) else None
            if rule is None:
                if parent is not None and wanted(parent):
                    raise GradientError(f"{self.op.name}: no gradient with respect to operand {position}")
                found.append(None)
                continue
            index = variadic_index(self.op, position)
            arguments = rule_arguments(rule, inputs, types, out, index, self.attrs)  # type: ignore[arg-type]
            found.append(rule.fn(b.namespace, cotangents[0], *arguments))
        return found

    def _check_versions(self) -> None:
        written = self.output_version
        if written is not None and written[0] != 0:
            raise GradientError(
                f"the result of {self.op.name}, which its gradient needs, was modified in place: it is at "
                f"version {written[0]}, expected version 0"
            )
        if self.versions is None:
            return
        assert self.saved is not None
        for value, version in zip(self.saved, self.versions, strict=True):
            if isinstance(value, Tensor) and value._version is not None and value._version[0] != version:
                raise GradientError(
                    f"a tensor of shape {value.shape} that {self.op.name} saved for backward was modified in "
                    f"place: it is at version {value._version[0]}, expected version {version}"
                )

    def free(self) -> None:
        """Let go of what was saved."""
        self.saved = None
        self.output = None


class Output:
    """One output of a node that has several."""

    __slots__ = ("index", "node")

    def __init__(self, node: Node, index: int) -> None:
        self.node = node
        self.index = index


class AccumulateGrad:
    """The end of the graph at a leaf, as ``next_functions`` shows it."""

    def __init__(self, variable: Tensor) -> None:
        self.variable = variable

    def name(self) -> str:
        return "AccumulateGrad"

    def __repr__(self) -> str:
        return "<AccumulateGrad>"


_SCALARS = frozenset((bool, int, float))
#: The type of a Python number among the operands; no rule asks for it.
_SCALAR = ((), FLOAT64)

# -- recording ------------------------------------------------------------------------------------

_PLANS: dict[tuple[Op, tuple[bool, ...]], tuple[tuple[bool, ...], bool]] = {}


def _plan(op: Op, tracked: tuple[bool, ...]) -> tuple[tuple[bool, ...], bool]:
    """Which operands to save, and whether the output, when `tracked` operands require gradients."""
    plan = _PLANS.get((op, tracked))
    if plan is None:
        rules: list[Rule] = [
            rule for i, one in enumerate(tracked) if one and (rule := op.rule_for(i)) is not None
        ]
        inputs = tuple(any(rule.saves_input(i) for rule in rules) for i in range(len(tracked)))
        plan = _PLANS[(op, tracked)] = (inputs, any(rule.saves_output for rule in rules))
    return plan


def record(op: Op, operands: Sequence[Any], attrs: Attrs, result: Tensor) -> None:
    """Make `result` remember that it is `op` of `operands`, some of which require gradients."""
    tracked = tuple([isinstance(one, Tensor) and one._requires_grad for one in operands])
    inputs, output = _plan(op, tracked)
    parents: list[Any] = []
    saved: list[Any] = []
    versions: list[int] | None = None
    types: list[Any] = []
    unsaved: dict[int, weakref.ref[Any]] | None = None
    for position, operand in enumerate(operands):
        if tracked[position]:
            parents.append(operand._node or operand)
        else:
            parents.append(None)
        if isinstance(operand, Tensor):
            data = operand._data
            types.append((data.shape, data.dtype))
            if inputs[position] and operand._version is not None:
                versions = versions or [0] * len(operands)
                versions[position] = operand._version[0]
            elif inputs[position] and versions is None:
                versions = [0] * len(operands)
        elif type(operand) in _SCALARS:
            types.append(_SCALAR)
        else:
            types.append((np.shape(operand), np.asarray(operand).dtype))
        if inputs[position] or type(operand) in _SCALARS:
            saved.append(operand)
        else:
            saved.append(None)
            if not tracked[position]:
                unsaved = unsaved or {}
                unsaved[position] = weakref.ref(operand)
    node = Node(
        op,
        attrs,
        tuple(parents),
        tuple(saved),
        None if versions is None else tuple(versions),
        tuple(types),
        result._data if output else None,
    )
    node.operands = unsaved
    if output:
        node.output_version = result._version = [0]
    tracer = STATE.tracer
    if tracer is not None:
        node.location = tracer.location
    result._node = node
    result._requires_grad = True


# -- the engine -----------------------------------------------------------------------------------


class _NumpyOps(OpNamespace):
    """Ops on ndarrays: the fast way, where nobody differentiates the gradient."""

    def apply(self, op: Op, operands: tuple[Any, ...], attrs: Attrs) -> Any:
        return op.eval(*operands, **attrs)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        op = OPS.get(name)
        if op is None:
            raise AttributeError(name)
        setattr(self, name, op.eval)  # nothing between a rule and the kernel
        return op.eval


class TensorOps(OpNamespace):
    """Ops on Tensors: recorded or traced like the user's own."""

    def apply(self, op: Op, operands: tuple[Any, ...], attrs: Attrs) -> Any:
        from .dispatch import apply  # dispatch records through this module

        return apply(op, operands, attrs)


NUMPY_OPS = _NumpyOps()
TENSOR_OPS = TensorOps()


class Engine:
    """How one backward pass represents cotangents: ndarrays, or Tensors."""

    def __init__(self, *, tensors: bool) -> None:
        self.tensors = tensors
        self.namespace: Any = TENSOR_OPS if tensors else NUMPY_OPS

    def value(self, saved: Any) -> Any:
        if self.tensors or not isinstance(saved, Tensor):
            return saved
        return saved._data

    def output(self, node: Node, index: int, data: Any) -> Any:
        """A node's saved output; as a Tensor it is connected to the node again."""
        if not self.tensors:
            return data
        result = wrap(data)
        result._node = node
        result._requires_grad = True
        return result

    def fit(self, cotangent: Any, shape: Any, dtype: Any) -> Any:
        """`cotangent` with the shape and dtype of what it belongs to: the transpose of broadcasting."""
        if cotangent.shape != shape:
            cotangent = sum_to(self.namespace, cotangent, shape)
        if cotangent.dtype != dtype:
            cotangent = self.namespace.cast(cotangent, dtype=dtype)
        return cotangent


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
