"""The live graph: turns the dynamic graph behind an eager result into a Function of its leaves."""

from __future__ import annotations

from typing import Any

import numpy as np

from .calls import CallNode
from .ir.autodiff import inline
from .ir.builder import Builder
from .ir.dtypes import as_dtype
from .ir.errors import GradientError
from .ir.graph import Function, Value
from .ir.records import record
from .ir.types import TensorType
from .tape.nodes import Node, OpNode, Output
from .tape.saved import unpacked
from .picture import live_dot, live_svg
from .tape import Node, Output
from .tensor import Tensor


@record
class LiveGraph:
    """A Function of the leaves of a graph, and those leaves in the order of its parameters."""

    function: Function
    leaves: tuple[Any, ...]
    #: The tensor that the graph is behind.
    root: Any = None

    def to_ir(self) -> Function:
        """The Function; parameters that require grad are named ``leaf``, others ``const``."""
        return self.function

    def dot(self) -> str:
        """The autograd graph as DOT text. See ``tracejit.picture``."""
        return live_dot(self.root)

    def svg(self, path: Any = None, *, legend: bool = False) -> str:
        """The autograd graph as an SVG document, also written to `path` where one is given."""
        return live_svg(self.root, path=path, legend=legend)

    _repr_svg_ = svg  # notebooks show it

    def __str__(self) -> str:
        return str(self.function)


def graph_of(tensor: Tensor) -> LiveGraph:
    """The graph behind `tensor` as a Function of its leaves.

    Leaves are the tensors that require grad and the other tensors and arrays that entered the computation;
    Python numbers are constants.

    Example:
        >>> import tracejit as tj
        >>> x = tj.tensor([1.0, 2.0], requires_grad=True)
        >>> print(tj.graph_of((x * 3).sum()))
        func @graph(%leaf0: f64[2]) -> f64[] {
          %0: f64[]  = full() {value=3.0, shape=[], dtype=f64}
          %1: f64[2] = broadcast(%0) {shape=[2]}
          %2: f64[2] = mul(%leaf0, %1)
          %3: f64[]  = sum(%2) {axes=[0]}
          return %3
        }

    Raises GradientError where the graph was freed by ``backward``, or an operand that was not saved is gone.
    """
    if not isinstance(tensor, Tensor):
        raise GradientError(f"graph_of: expected a tensor, got {type(tensor).__name__}")
    return _Importer().run(tensor)


class _Importer:
    def __init__(self) -> None:
        self.builder = Builder()
        self.leaves: dict[int, tuple[Any, Value]] = {}
        self.results: dict[int, tuple[Value, ...]] = {}

    def run(self, tensor: Tensor) -> LiveGraph:
        if tensor._node is None:
            result = self._leaf(tensor)
        else:
            for node in _producers_first(tensor._node.node):
                self._import(node)
            result = self._place(tensor._node)
        function = self.builder.finish("graph", [result])
        return LiveGraph(function, tuple(leaf for leaf, _ in self.leaves.values()), tensor)

    def _leaf(self, value: Any) -> Value:
        array = value._data if isinstance(value, Tensor) else np.asarray(value)
        # a constant that was saved is known by its array, one that was not by its tensor
        identity = id(value) if isinstance(value, Tensor) and value._requires_grad else id(array)
        known = self.leaves.get(identity)
        if known is None:
            kind = "leaf" if isinstance(value, Tensor) and value._requires_grad else "const"
            param = self.builder.parameter(
                TensorType(as_dtype(array.dtype), array.shape), f"{kind}{len(self.leaves)}"
            )
            known = self.leaves[identity] = (value, param)
        return known[1]

    def _place(self, place: Any) -> Value:
        if isinstance(place, Tensor):
            return self._leaf(place)
        index = place.index if isinstance(place, Output) else 0
        return self.results[id(place.node)][index]

    def _import(self, node: Node) -> None:
        operands = [self._operand(node, position) for position in range(len(node.parents))]
        self.builder.location = node.location
        if isinstance(node, CallNode):
            results = inline(self.builder, node.compiled.function, operands)
        elif isinstance(node, OpNode):
            results = (self.builder.apply(node.op, tuple(operands), node.attrs),)
        else:
            raise GradientError(f"graph_of: {node.name()} is Python code, which has no IR")
        self.results[id(node)] = results

    def _operand(self, node: Node, position: int) -> Any:
        parent = node.parents[position]
        if parent is not None:
            return self._place(parent)
        kept = node.inputs if isinstance(node, CallNode) else node.saved  # type: ignore[attr-defined]
        if kept is None:
            raise GradientError("graph_of: the graph was freed by backward; pass retain_graph=True to it")
        saved = unpacked(kept[position])
        if isinstance(node, OpNode) and node.constants and position in node.constants:
            held = node.constants[position]()  # the tensor itself, where the user still has it
            saved = saved if held is None else held
        if saved is None:
            raise GradientError(
                f"graph_of: operand {position} of {node.name()} was not saved and is gone; "
                "keep a reference to it"
            )
        return saved if type(saved) in (bool, int, float) else self._leaf(saved)


def _producers_first(root: Node) -> list[Node]:
    """The nodes behind `root`, each after those it depends on."""
    order: list[Node] = []
    seen: set[int] = set()
    stack: list[tuple[Node, bool]] = [(root, False)]
    while stack:
        node, done = stack.pop()
        if done:
            order.append(node)
            continue
        if id(node) in seen:
            continue
        seen.add(id(node))
        stack.append((node, True))
        for parent in reversed(node.parents):
            if parent is not None and not isinstance(parent, Tensor) and id(parent.node) not in seen:
                stack.append((parent.node, False))
    return order
