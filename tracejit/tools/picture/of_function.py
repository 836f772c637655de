"""The picture of an IR Function: a box for each parameter, instruction and result."""

from __future__ import annotations

from typing import Any

from ...base.errors import TracejitError
from ...ir.graph import Function, Instruction, Value
from ...ir.ops.fusion import FUSION
from ...ir.registry import Op
from ...ir.text.printer import print_attr
from .model import Picture, PictureEdge, PictureGroup, PictureNode


def picture_of_function(function: Function) -> Picture:
    """The picture of `function`.

    Each instruction shows its op, its attributes and the types of its results, with the source line as
    tooltip. What a fusion computes is drawn in its place, as a group; regions of other ops are groups
    that lead to their instruction.

    Example:
        >>> import tracejit as tj
        >>> from tracejit.tools.picture import picture_of_function
        >>> picture = picture_of_function(tj.jit(lambda x: tj.exp(x)).trace(tj.ones(3)))
        >>> [node.lines for node in picture.nodes]
        [('%x', 'f64[3]'), ('exp', 'f64[3]'), ('result', 'f64[3]')]

    Raises TracejitError for anything but a Function.
    """
    if not isinstance(function, Function):
        raise TracejitError(
            f"picture_of_function: expected a Function of the IR, such as f.trace(*args) returns, "
            f"got {type(function).__name__}"
        )
    drawing = _FunctionDrawing()
    for position, param in enumerate(function.params):
        drawing.parameter(param, position, None)
    drawing.body(function, None)
    several = len(function.results) > 1
    for position, result in enumerate(function.results):
        node = drawing.node((f"result {position}" if several else "result", str(result.type)), "result")
        drawing.edge(result, node, "")
    return Picture(
        tuple(drawing.nodes), tuple(drawing.edges), tuple(drawing.groups), f"func @{function.name}"
    )


def operand_name(op: Op | None, position: int, count: int) -> str:
    """The label of the edge to an operand: empty for a single operand, and where the order does not
    matter."""
    if count < 2 or (op is not None and op.commutative):
        return ""
    if op is None or not op.params:
        return str(position)
    name = op.params[min(position, len(op.params) - 1)]
    return str(position) if name.startswith("*") else name


class _FunctionDrawing:
    """The picture so far. Regions nest a few levels, so drawing them may recurse."""

    def __init__(self) -> None:
        self.nodes: list[PictureNode] = []
        self.edges: list[PictureEdge] = []
        self.groups: list[PictureGroup] = []
        #: Each value's node, and which of its results it is where it has several.
        self.made: dict[Value, tuple[str, str]] = {}

    def node(self, lines: tuple[str, ...], kind: str, group: str | None = None, location: Any = None) -> str:
        name = f"v{len(self.nodes)}"
        tooltip = "" if location is None else str(location)
        self.nodes.append(PictureNode(name, lines, kind, tooltip, group))
        return name

    def edge(self, value: Value, target: str, port: str) -> None:
        if value not in self.made:
            raise TracejitError(
                f"picture_of_function: a value of type {value.type} is used before it is defined; "
                "tracejit.ir.verifier.verify says where"
            )
        source, label = self.made[value]
        self.edges.append(PictureEdge(source, target, label, port))

    def parameter(self, param: Value, position: int, group: str | None) -> None:
        name = self.node((f"%{param.hint or f'arg{position}'}", str(param.type)), "parameter", group)
        self.made[param] = (name, "")

    def body(self, function: Function, group: str | None) -> None:
        for instruction in function.body:
            if instruction.op is FUSION:
                self.inline(instruction, group)
            else:
                self.instruction(instruction, group)

    def instruction(self, instruction: Instruction, group: str | None) -> None:
        op = instruction.op
        attrs = [f"{key}={print_attr(value)}" for key, value in instruction.attrs.items()]
        types = [str(result.type) for result in instruction.results]
        several = len(types) > 1
        shown = [f"{position}: {type}" if several else type for position, type in enumerate(types)]
        kind = "call" if instruction.regions else "op" if instruction.operands else "constant"
        node = self.node((op.name, *attrs, *shown), kind, group, instruction.location)
        for position, operand in enumerate(instruction.operands):
            self.edge(operand, node, operand_name(op, position, len(instruction.operands)))
        for number, region in enumerate(instruction.regions):
            inner = self.group(f"{op.name} @{region.name}", group)
            for position, param in enumerate(region.params):
                self.parameter(param, position, inner)
            self.body(region, inner)
            for result in region.results:
                self.edge(result, node, f"region {number}")
        for position, result in enumerate(instruction.results):
            self.made[result] = (node, str(position) if several else "")

    def inline(self, instruction: Instruction, group: str | None) -> None:
        """The only region in the instruction's place."""
        (region,) = instruction.regions
        for param, operand in zip(region.params, instruction.operands, strict=True):
            if operand in self.made:
                self.made[param] = self.made[operand]
        self.body(region, self.group(f"{instruction.op.name} @{region.name}", group))
        for result, inner in zip(instruction.results, region.results, strict=True):
            if inner in self.made:
                self.made[result] = self.made[inner]

    def group(self, label: str, parent: str | None) -> str:
        name = f"g{len(self.groups)}"
        self.groups.append(PictureGroup(name, label, parent))
        return name
