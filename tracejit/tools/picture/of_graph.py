"""The picture of a live autograd graph: a box for each node.

Nodes are read through what they show to everyone, ``name()`` and ``next_functions``, and in `_read` alone;
types, values and source lines are shown where a node knows them.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ...base.errors import TracejitError
from ...base.records import record
from ...ir.dtypes import SHORT_NAME
from ...ir.registry import Op
from ...tape.nodes import OpNode
from ...tensors.tensor import Tensor
from .dot import to_dot
from .model import Picture, PictureEdge, PictureNode
from .of_function import operand_name
from .svg import to_svg


@record
class _Operand:
    """An operand of a node: its producer, or its value, or neither where that was not kept."""

    #: The node that made it and which of its outputs it is; None for leaves and constants.
    made_by: tuple[Any, int] | None
    value: Any
    type: str


@record
class _Facts:
    name: str
    op: Op | None
    operands: tuple[_Operand, ...]
    location: str


def picture_of_graph(*roots: Any) -> Picture:
    """The picture of the autograd graph behind `roots`: tensors, or nodes such as ``tensor.grad_fn``.

    Leaves are green and show their value where it is a single number; constants are what the graph keeps of
    operands that do not require a gradient. A graph that ``backward`` freed can still be pictured,
    with its constants as ``not kept``.

    Example:
        >>> import tracejit as tj
        >>> from tracejit.tools.picture import picture_of_graph
        >>> x = tj.tensor(3.0, requires_grad=True)
        >>> picture = picture_of_graph(x * x)
        >>> [node.lines for node in picture.nodes]
        [('leaf f64[]', '= 3.0'), ('MulBackward', 'f64[]'), ('result f64[]', '= 9.0')]
        >>> len(picture.edges)
        3

    Raises TracejitError for anything else, for no roots at all, and for tensors that are being traced.
    """
    if not roots:
        raise TracejitError("picture_of_graph: expected at least one tensor or autograd node, got nothing")
    drawing = _Drawing()
    for position, root in enumerate(roots):
        if isinstance(root, Tensor):
            if root.is_traced:
                raise TracejitError(
                    "picture_of_graph: a tensor inside a traced function has no autograd graph; picture the "
                    "Function that f.trace(*args) returns with picture_of_function"
                )
            node = root.grad_fn
            if node is None:
                drawing.value(root, _type_of(root))
                continue
            drawing.walk(node)
            index = _output_index(root)
            drawing.result(root, node, index, position if len(roots) > 1 else None)
        elif _is_leaf_end(root):
            drawing.value(root.variable, _type_of(root.variable))
        elif _is_node(root):
            drawing.walk(root)
        else:
            raise TracejitError(
                f"picture_of_graph: expected a tensor or an autograd node such as tensor.grad_fn, "
                f"got {type(root).__name__}"
            )
    return drawing.finish()


def live_dot(*roots: Any) -> str:
    """The autograd graph behind `roots` as DOT text: `picture_of_graph`, then `to_dot`."""
    return to_dot(picture_of_graph(*roots))


def live_svg(*roots: Any, path: str | os.PathLike[str] | None = None, legend: bool = False) -> str:
    """The autograd graph behind `roots` as SVG: `picture_of_graph`, then `to_svg`."""
    return to_svg(picture_of_graph(*roots), path, legend=legend)


def _output_index(tensor: Tensor) -> int:
    """The number of the output that `tensor` is of its node; 0 for a node with one output."""
    index: int = getattr(tensor._node, "index", 0)
    return index


# -- reading nodes --------------------------------------------------------------------------------


def _is_node(value: Any) -> bool:
    return callable(getattr(value, "name", None)) and hasattr(value, "next_functions")


def _is_leaf_end(value: Any) -> bool:
    """Whether `value` is where a graph ends at a leaf (``AccumulateGrad``)."""
    return callable(getattr(value, "name", None)) and isinstance(getattr(value, "variable", None), Tensor)


def _read(node: Any) -> _Facts:
    """Description of a node for a picture; the only place that looks into one."""
    operands = []
    for position, (source, index) in enumerate(node.next_functions):
        type = _type_text(node.types[position])
        if source is None:
            value = node.constant(position)
            operands.append(_Operand(None, value, type if value is None else _type_of(value)))
        elif _is_leaf_end(source):
            operands.append(_Operand(None, source.variable, _type_of(source.variable)))
        else:
            operands.append(_Operand((source, index), None, type))
    op = node.op if isinstance(node, OpNode) and isinstance(node.op, Op) else None
    return _Facts(node.name(), op, tuple(operands), str(node.location or ""))


def _type_text(entry: Any) -> str:
    """A type as nodes keep it: a TensorType, or a shape and a dtype, or None."""
    if entry is None:
        return ""
    return _typed(entry[0], entry[1]) if isinstance(entry, tuple) else str(entry)


def _type_of(value: Any) -> str:
    if type(value) in (bool, int, float, complex):
        return ""
    shaped = value if hasattr(value, "dtype") else np.asarray(value)
    return _typed(shaped.shape, shaped.dtype)


def _typed(shape: Any, dtype: Any) -> str:
    return f"{SHORT_NAME.get(dtype, str(dtype))}[{','.join(map(str, shape))}]"


# -- drawing --------------------------------------------------------------------------------------


class _Drawing:
    """The picture so far, and the objects drawn, by identity and kept alive."""

    def __init__(self) -> None:
        self.nodes: list[PictureNode] = []
        self.edges: list[PictureEdge] = []
        self.drawn: dict[int, tuple[Any, str]] = {}
        #: Types of the outputs of each node, as far as those who use them say.
        self.types: dict[str, dict[int, str]] = {}
        #: Edges from a node's output, whose labels wait until it is known whether it has several.
        self.outputs: list[tuple[int, int]] = []

    def walk(self, root: Any) -> None:
        """Draw `root` and all that it was computed from, operands first."""
        stack: list[tuple[Any, _Facts | None]] = [(root, None)]
        while stack:
            node, facts = stack.pop()
            if facts is not None:
                self._node(node, facts)
            elif id(node) not in self.drawn:
                self.drawn[id(node)] = (node, "")  # drawn when its operands are
                facts = _read(node)
                stack.append((node, facts))
                stack += [
                    (operand.made_by[0], None)
                    for operand in reversed(facts.operands)
                    if operand.made_by is not None and id(operand.made_by[0]) not in self.drawn
                ]

    def _node(self, node: Any, facts: _Facts) -> None:
        op = facts.op
        sources: list[tuple[str, int | None]] = []
        for operand in facts.operands:
            if operand.made_by is not None:
                source, index = operand.made_by
                name = self.drawn[id(source)][1]
                if operand.type:
                    self.types.setdefault(name, {})[index] = operand.type
                sources.append((name, index))
            else:
                sources.append((self.value(operand.value, operand.type), None))
        name = self._add((facts.name,), "op" if op is not None else "call", facts.location)
        self.drawn[id(node)] = (node, name)
        for position, (source_name, output) in enumerate(sources):
            self._edge(source_name, name, output, operand_name(op, position, len(sources)))

    def _edge(self, source: str, target: str, output: int | None, port: str) -> None:
        if output is not None:
            self.outputs.append((len(self.edges), output))
        self.edges.append(PictureEdge(source, target, "", port))

    def value(self, value: Any, type: str) -> str:
        """A leaf or a constant; tensors and arrays are drawn once, numbers where they are used."""
        if value is None:
            return self._add(("constant", *([type] if type else []), "not kept"), "constant")
        if not type:
            return self._add((repr(value),), "constant")
        if id(value) not in self.drawn:
            leaf = isinstance(value, Tensor) and value.requires_grad
            lines = (f"{'leaf' if leaf else 'constant'} {type}", *_single(value))
            self.drawn[id(value)] = (value, self._add(lines, "leaf" if leaf else "constant"))
        return self.drawn[id(value)][1]

    def result(self, tensor: Tensor, node: Any, index: int, position: int | None) -> None:
        source = self.drawn[id(node)][1]
        type = _type_of(tensor)
        self.types.setdefault(source, {})[index] = type
        title = "result" if position is None else f"result {position}"
        self._edge(source, self._add((f"{title} {type}", *_single(tensor)), "result"), index, "")

    def _add(self, lines: tuple[str, ...], kind: str, location: str = "") -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(PictureNode(name, lines, kind, location))
        return name

    def finish(self) -> Picture:
        """The picture, with the types of each node's outputs; edges from nodes with several say which."""
        for edge_index, output in self.outputs:
            edge = self.edges[edge_index]
            if self._several(edge.source):
                self.edges[edge_index] = PictureEdge(edge.source, edge.target, str(output), edge.port)
        nodes = [
            PictureNode(node.id, (*node.lines, *self._type_lines(node.id)), node.kind, node.tooltip)
            for node in self.nodes
        ]
        return Picture(tuple(nodes), tuple(self.edges), (), "autograd graph")

    def _several(self, name: str) -> bool:
        return any(index > 0 for index in self.types.get(name, {}))

    def _type_lines(self, name: str) -> list[str]:
        types = sorted(self.types.get(name, {}).items())
        return [f"{index}: {type}" if self._several(name) else type for index, type in types]


def _single(value: Any) -> tuple[str, ...]:
    """``= 3.0`` for a value with one element, nothing for larger ones."""
    array = value.detach().numpy() if isinstance(value, Tensor) else np.asarray(value)
    if array.size != 1:
        return ()
    item = array.reshape(()).item()
    # Six digits, as in a tensor's text, but always recognisable as a float.
    return (f"= {float(f'{item:.6g}')!r}" if isinstance(item, float) else f"= {item!r}",)
