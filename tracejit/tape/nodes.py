"""Nodes of the autograd graph.

A Node stands for one recorded operation: edges to what computed its operands, and just those values that
its gradient needs. Values are saved as plain arrays beside the count of writes to their memory, never as the
user's Tensor objects, so that no graph can hold itself alive through a tensor that is written in place.
"""

from __future__ import annotations

import abc
import weakref
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final

import numpy as np

from ..base.errors import GradientError
from ..ir.dtypes import is_differentiable
from ..ir.graph import Location
from ..ir.registry import Attrs, Op, Strength
from ..state import STATE
from ..tensors.tensor import Tensor
from .hooks import Cotangents, Hooks, RemovableHandle, hooks_of_leaf
from .plans import Composite, SavePlan
from .saved import PackedValues, modified_in_place, unpacked


def check_parts(node: Node, parts: Sequence[Any]) -> None:
    """Raise GradientError where a cotangent that `node` gave has a NaN."""
    if not STATE.anomaly:
        return
    for position, part in enumerate(parts):
        value = part._data if isinstance(part, Tensor) else part
        if isinstance(value, (np.ndarray, np.generic)) and np.isnan(value).any():
            where = node.location
            line = f" of the operation at {where.file}:{where.line}" if where else ""
            raise GradientError(
                f"function {node.name()!r} returned nan values in its {position}th output: the gradient"
                f"{line} with respect to that operand is nan"
            )


#: Says whether the cotangent of a parent is needed; None where all are.
IsNeeded = Callable[[Any], bool] | None

#: Witness of a node that reaches no leaf by which anybody can still differentiate. See `liveness`.
DEAD: Final = object()


class Node(abc.ABC):
    """One recorded operation; what ``grad_fn`` shows. Subclasses say how it is differentiated.

    Example:
        >>> import tracejit as tj
        >>> node = tj.exp(tj.tensor(2.0, requires_grad=True)).grad_fn
        >>> isinstance(node, tj.autograd.graph.Node), node.name()
        (True, 'ExpBackward')
    """

    __slots__ = ("__weakref__", "hooks", "location", "memories", "parents", "types", "witness")

    #: Whether it has several outputs: then `pull` gets a list of cotangents, and edges are `Output`s.
    several: ClassVar[bool] = False
    #: Strength of the zeros in cotangents of its operands where these were not chosen.
    chooses: Any = Strength.NONE

    #: Parent of each operand: None, a leaf Tensor, a Node, or an Output of a node with several.
    parents: tuple[Any, ...]
    #: (shape, dtype) of each operand that has a parent.
    types: tuple[Any, ...]
    hooks: Hooks | None
    #: Count of writes to each saved value (`Tensor._memory`), and that count when it was saved. None once the
    #: values are freed.
    memories: Sequence[tuple[list[Any], int]] | None
    #: The user's line, where somebody asked for it.
    location: Location | None
    #: A leaf that the graph behind the node reaches, or `DEAD`; unset until `liveness` looks for one.
    witness: Any

    @property
    def node(self) -> Node:
        return self

    @property
    def packed(self) -> bool:
        """Whether what it saved went through hooks of the user's."""
        return False

    @property
    def count(self) -> int:
        """Number of outputs."""
        return 1

    @abc.abstractmethod
    def name(self) -> str:
        """The node's name, such as ``AddBackward``."""

    @abc.abstractmethod
    def pull(self, engine: Cotangents, cotangents: Any, is_needed: IsNeeded) -> Sequence[Any]:
        """The operands' cotangents, None for those not `is_needed`."""

    @abc.abstractmethod
    def free(self) -> None:
        """Release the saved values."""

    def constant(self, position: int) -> Any:
        """The operand at `position`, which needs no gradient, where it is still known; else None."""
        return None

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """Node that each operand comes from (None for constants), and which of its outputs; PyTorch's
        attribute."""
        edges: list[tuple[Any, int]] = []
        for parent in self.parents:
            if isinstance(parent, Output):
                edges.append((parent.node, parent.index))
            elif isinstance(parent, Tensor):
                edges.append((end_of_graph(parent), 0))
            else:
                edges.append((parent, 0))
        return tuple(edges)

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dict of the user's own. PyTorch's."""
        return self.own_hooks().metadata

    def own_hooks(self) -> Hooks:
        """The node's hooks, made when first asked for."""
        if self.hooks is None:
            self.hooks = Hooks()
        return self.hooks

    def register_hook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Call ``fn(grad_inputs, grad_outputs)`` after the node; it may return other grad_inputs."""
        return RemovableHandle(self.own_hooks().post, fn)

    def register_prehook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Call ``fn(grad_outputs)`` before the node; it may return other grad_outputs."""
        return RemovableHandle(self.own_hooks().pre, fn)

    def __repr__(self) -> str:
        return f"<{self.name()}>"

    def check_saved(self) -> None:
        """Raise GradientError where the saved values are freed, or were written since."""
        if self.memories is None:
            raise GradientError(
                "trying to backward through the graph a second time, after its saved values were freed; "
                "compute the result again, or pass retain_graph=True to the first backward. Between steps of "
                "a loop, carry values over with detach()"
            )
        for position, (memory, version) in enumerate(self.memories):
            if memory[0] != version:
                raise modified_in_place(self.describe_saved(position), memory, version)

    def describe_saved(self, position: int) -> str:
        """The words of an error for the saved value whose memory is at `position`."""
        return f"a tensor that {self.name()} saved for backward"


class Output:
    """One output of a node that has several."""

    __slots__ = ("index", "node")

    def __init__(self, node: Node, index: int) -> None:
        self.node = node
        self.index = index


class AccumulateGrad:
    """The end of the graph at a leaf, as ``next_functions`` shows it.

    Example:
        >>> import tracejit as tj
        >>> x = tj.tensor(2.0, requires_grad=True)
        >>> (x * x).grad_fn.next_functions[0]
        (<AccumulateGrad>, 0)
    """

    def __init__(self, variable: Tensor) -> None:
        self.variable = variable

    def name(self) -> str:
        return "AccumulateGrad"

    @property
    def next_functions(self) -> tuple[()]:
        """The empty tuple: the graph ends here."""
        return ()

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dict of the user's own. PyTorch's."""
        return hooks_of_leaf(self.variable).metadata

    def register_hook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Call ``fn(grad_inputs, grad_outputs)`` after accumulation; grad_inputs is empty."""
        return RemovableHandle(hooks_of_leaf(self.variable).post, fn)

    def register_prehook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Call ``fn(grad_outputs)`` before accumulation; it may return another gradient."""
        return RemovableHandle(hooks_of_leaf(self.variable).pre, fn)

    def __repr__(self) -> str:
        return "<AccumulateGrad>"


def end_of_graph(leaf: Tensor) -> AccumulateGrad:
    """The AccumulateGrad of `leaf`: one as long as somebody holds it."""
    hooks = hooks_of_leaf(leaf)
    end: AccumulateGrad | None = None if hooks.end is None else hooks.end()
    if end is None:
        end = AccumulateGrad(leaf)
        hooks.end = weakref.ref(end)
    return end


class OpNode(Node):
    """The node of an op, differentiated by the rules of its record, or of a composite."""

    __slots__ = (
        "attrs",
        "constants",
        "output",
        "plan",
        "saved",
    )

    plan: SavePlan
    attrs: Attrs
    #: Arrays and numbers of the operands that a rule needs, None for others; None altogether once freed.
    saved: tuple[Any, ...] | None
    #: The result's array where a rule needs it.
    output: Any
    #: Weak references to the operands that need no gradient, by position, for `graph_of`.
    constants: dict[int, weakref.ref[Any]] | None

    @property
    def op(self) -> Op | Composite:
        return self.plan.op

    @property
    def chooses(self) -> Strength:
        return self.plan.chooses

    def name(self) -> str:
        return "".join(part.capitalize() for part in self.plan.op.name.split("_")) + "Backward"

    def constant(self, position: int) -> Any:
        held = None if self.constants is None else self.constants.get(position)
        tensor = None if held is None else held()  # the tensor itself, where the user still has it
        return tensor if tensor is not None or self.saved is None else self.values()[0][position]

    def values(self) -> tuple[Sequence[Any], Any]:
        """The saved operands and output."""
        saved = self.saved
        assert saved is not None
        return (list(map(unpacked, saved)), unpacked(self.output)) if self.packed else (saved, self.output)

    @property
    def packed(self) -> bool:
        return type(self.saved) is PackedValues

    def pull(self, engine: Cotangents, cotangents: Any, is_needed: IsNeeded) -> Sequence[Any]:
        if self.memories != ():
            self.check_saved()
        inputs, out = self.values() if type(self.saved) is not tuple else (self.saved, self.output)
        pull = self.plan.pull
        if is_needed is not None:
            pull = self.plan.pull_some([parent is not None and is_needed(parent) for parent in self.parents])
        if engine.tensors:
            if self.plan.on_values:
                parts = engine.pull_values(pull, cotangents, inputs, out, self)
                if parts is not None:
                    return parts
            operand = engine.operand
            inputs = [None if x is None else operand(self, i, x) for i, x in enumerate(inputs)]
            out = None if out is None else engine.output(self, 0, out)
        return pull(engine.namespace, cotangents, inputs, out, self.types, self.attrs)

    def describe_saved(self, position: int) -> str:
        assert self.saved is not None
        where = f", recorded at {self.location.file}:{self.location.line}," if self.location else ""
        # the saved operands come first
        shapes = [value.shape for value in self.saved if hasattr(value, "shape")]
        if position < len(shapes):
            return (
                f"a tensor of shape {tuple(shapes[position])} that {self.op.name}{where} saved for backward"
            )
        return f"the result of {self.op.name}{where}, which its gradient needs,"

    def free(self) -> None:
        if self.memories:  # a node that saved nothing can be passed again
            self.saved = self.output = self.memories = None


class RefusingNode(Node):
    """Stands for something that has no gradient: an error for those who ask for one."""

    __slots__ = ("message", "results", "title")

    several = True

    def __init__(self, title: str, results: int, operands: Sequence[Any], message: str) -> None:
        tracked = [
            operand if isinstance(operand, Tensor) and operand._requires_grad else None
            for operand in operands
        ]
        self.parents = tuple([None if tensor is None else tensor._node or tensor for tensor in tracked])
        self.types = tuple([None if tensor is None else (tensor.shape, tensor.dtype) for tensor in tracked])
        self.title, self.results, self.message = title, results, message
        self.hooks = None
        self.location = None if STATE.tracer is None else STATE.tracer.location

    @property
    def count(self) -> int:
        return self.results

    def name(self) -> str:
        return self.title

    def pull(self, engine: Cotangents, cotangents: Any, is_needed: IsNeeded) -> Sequence[Any]:
        raise GradientError(self.message)

    def free(self) -> None:
        """Do nothing, since nothing was saved."""


def refuse_gradients(title: str, results: Sequence[Tensor], operands: Sequence[Any], message: str) -> None:
    """Raise the error `message` when a gradient of `results` is asked for, if any of `operands` requires
    one."""
    if STATE.recording and any(
        isinstance(operand, Tensor) and operand._requires_grad for operand in operands
    ):
        node = RefusingNode(title, len(results), operands, message)
        for index, result in enumerate(results):
            if is_differentiable(result.dtype):
                result._node, result._requires_grad = Output(node, index), True
