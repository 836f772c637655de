"""The live graph: turns the dynamic graph behind an eager result into a Function of its leaves."""

from __future__ import annotations

from typing import Any

import numpy as np

from .base.errors import GradientError, ShapeError
from .base.process.locks import computed_once
from .ir.builder import Builder
from .ir.dtypes import as_dtype
from .ir.graph import Function, Value
from .ir.transforms.differentiation import inline
from .ir.types import TensorType
from .jitted.calls import CallNode, CompiledFunction, call
from .provided import PICTURE
from .tape.liveness import InputNode
from .tape.nodes import Node, OpNode, Output
from .tensors.tensor import Tensor, wrap


class LiveGraph:
    """The graph behind an eager tensor: as a picture, and as a Function of its leaves."""

    def __init__(self, root: Tensor) -> None:
        self.root = root

    @computed_once
    def _imported(self) -> tuple[Function, tuple[Any, ...]]:
        return _Importer().run(self.root)

    @property
    def leaves(self) -> tuple[Any, ...]:
        """The leaves, in the order of the Function's parameters."""
        return self._imported[1]

    def to_ir(self) -> Function:
        """The Function of the leaves; parameters that require grad are named ``leaf``, others ``const``.

        Raises GradientError where the graph was freed by ``backward``, where an operand that was not saved is
        gone, and where a node is Python code (a ``tj.autograd.Function``).
        """
        return self._imported[0]

    def run(self, *leaves: Any) -> Tensor:
        """The result for other values of the leaves, compiled. As many as ``leaves``, of the same types.

        Example:
            >>> import tracejit as tj
            >>> x = tj.tensor([1.0, 2.0], requires_grad=True)
            >>> tj.graph_of((x * 3).sum()).run([10.0, 20.0])
            tensor(90.)
        """
        params = self.to_ir().params
        if len(leaves) != len(params):
            raise GradientError(f"run: expected {len(params)} leaves, got {len(leaves)}")
        inputs = []
        for leaf, param in zip(leaves, params, strict=True):
            tensor = leaf if isinstance(leaf, Tensor) else wrap(np.asarray(leaf, param.dtype))
            if TensorType(tensor.dtype, tensor.shape) != param.type:
                raise ShapeError(f"run: leaf {param.hint} is {param.type}, got {tensor.type}")
            inputs.append(tensor)
        (result,) = call(self._compiled, inputs)
        return result

    @computed_once
    def _compiled(self) -> CompiledFunction:
        return CompiledFunction(self.to_ir())

    def dot(self) -> str:
        """The graph of nodes as DOT text."""
        text: str = PICTURE().live_dot(self.root)
        return text

    def svg(self, path: Any = None, *, legend: bool = False) -> str:
        """The graph of nodes as an SVG document, also written to `path` where one is given."""
        text: str = PICTURE().live_svg(self.root, path=path, legend=legend)
        return text

    _repr_svg_ = svg  # notebooks show it

    def __str__(self) -> str:
        return str(self.to_ir())


def graph_of(tensor: Tensor) -> LiveGraph:
    """The graph behind `tensor`: ``.to_ir()`` is a Function of its leaves, ``.svg()`` and ``.dot()`` draw it.

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

    Raises GradientError where `tensor` is none; for what ``to_ir`` raises see there.
    """
    if not isinstance(tensor, Tensor):
        raise GradientError(f"graph_of: expected a tensor, got {type(tensor).__name__}")
    return LiveGraph(tensor)


class _Importer:
    def __init__(self) -> None:
        self.builder = Builder()
        self.leaves: dict[int, tuple[Any, Value]] = {}
        self.results: dict[int, tuple[Value, ...]] = {}

    def run(self, tensor: Tensor) -> tuple[Function, tuple[Any, ...]]:
        if tensor._node is None:
            result = self._leaf(tensor)
        else:
            for node in _producers_first(tensor._node.node):
                self._import(node)
            result = self._place(tensor._node)
        function = self.builder.finish("graph", [result])
        return function, tuple(leaf for leaf, _ in self.leaves.values())

    def _leaf(self, value: Any) -> Value:
        array = value._data if isinstance(value, Tensor) else np.asarray(value)
        # a constant that was saved is known by its array, one that was not by its tensor
        identity = id(value) if isinstance(value, Tensor) and value._requires_grad else id(array)
        leaf = self.leaves.get(identity)
        if leaf is None:
            kind = "leaf" if isinstance(value, Tensor) and value._requires_grad else "const"
            param = self.builder.parameter(
                TensorType(as_dtype(array.dtype), array.shape), f"{kind}{len(self.leaves)}"
            )
            leaf = self.leaves[identity] = (value, param)
        return leaf[1]

    def _place(self, place: Any) -> Value:
        if isinstance(place, Tensor):
            return self._leaf(place)
        index = place.index if isinstance(place, Output) else 0
        return self.results[id(place.node)][index]

    def _import(self, node: Node) -> None:
        operands = [self._operand(node, position) for position in range(len(node.parents))]
        self.builder.location = node.location
        results: tuple[Any, ...]
        if isinstance(node, InputNode):
            results = (operands[0] if operands else self._leaf(wrap(node.data).requires_grad_()),)
        elif isinstance(node, CallNode):
            results = inline(self.builder, node.plan.compiled.function, operands)
        elif isinstance(node, OpNode):
            results = (node.plan.run(self.builder, operands, node.types, node.attrs),)
        else:
            raise GradientError(f"graph_of: {node.name()} is Python code, which has no IR")
        self.results[id(node)] = results

    def _operand(self, node: Node, position: int) -> Any:
        parent = node.parents[position]
        if parent is not None:
            return self._place(parent)
        saved = node.constant(position)
        if saved is None:
            raise GradientError(
                f"graph_of: operand {position} of {node.name()} is gone: the graph was freed by backward "
                "(pass retain_graph=True to it), or the operand was not saved (keep a reference to it)"
            )
        return saved if type(saved) in (bool, int, float, complex) else self._leaf(saved)


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
