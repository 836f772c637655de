"""The tape: how eager results remember how they were computed, by op and operand.

A Node records one op: its attributes, the edges to what computed its operands, and just those operands
that the gradient rules name. The rules are those of the op records; they run on plain ndarrays, or on
Tensors where the gradient itself must be differentiable or is being traced.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .ir.autodiff import rule_arguments, variadic_index
from .ir.dtypes import FLOAT64
from .ir.errors import GradientError
from .ir.graph import Location
from .ir.registry import Attrs, Op, Rule
from .ir.types import TensorType
from .state import STATE
from .tensor import Tensor

if TYPE_CHECKING:
    from .engine import Engine


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


_NO_ATTRS: dict[str, Any] = {}
_NEW = object.__new__


def recorder(op: Op) -> Callable[[Sequence[Any], Tensor], None]:
    """`record` for an elementwise op without attributes, with its plans looked up beforehand.

    Small eager operations are bound by this function, so it takes the common case (Tensors that nobody has
    written to, numbers, no trace) in a straight line and leaves everything else to `record`.
    """
    plans: dict[Any, tuple[tuple[bool, ...], bool]] = {}
    unwritten = (0,) * len(op.params)

    def fast(operands: Sequence[Any], result: Tensor) -> None:
        parents: list[Any] = []
        types: list[Any] = []
        tracked = 0
        for one in operands:
            if type(one) is Tensor:
                if one._version is not None:
                    record(op, operands, _NO_ATTRS, result)
                    return
                if one._requires_grad:
                    data = one._data
                    parents.append(one._node or one)
                    types.append((data.shape, data.dtype))
                    tracked = tracked << 1 | 1
                    continue
            elif type(one) not in _SCALARS:
                record(op, operands, _NO_ATTRS, result)
                return
            parents.append(None)
            types.append(None)
            tracked <<= 1
        plan = plans.get(tracked)
        if plan is None:
            plan = plans[tracked] = _plan(op, tuple([one is not None for one in parents]))
        inputs, output = plan
        saved: list[Any] = []
        unsaved: dict[int, weakref.ref[Any]] | None = None
        for one, keep, parent in zip(operands, inputs, parents, strict=True):
            if keep or type(one) is not Tensor:
                saved.append(one)
                continue
            if parent is None:
                unsaved = unsaved or {}
                unsaved[len(saved)] = weakref.ref(one)
            saved.append(None)
        node = _NEW(Node)
        node.op, node.attrs, node.parents, node.saved = op, _NO_ATTRS, tuple(parents), tuple(saved)
        node.versions, node.types, node.operands, node.location = unwritten, tuple(types), unsaved, None
        if output:
            node.output = result._data
            node.output_version = result._version = [0]
        else:
            node.output = node.output_version = None
        result._node = node
        result._requires_grad = True

    return fast
