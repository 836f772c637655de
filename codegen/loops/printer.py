"""Text of kernels in the loop form; `parser` reads it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from ...ir.text.lexer import quote, sigil_name
from ...ir.text.printer import print_attr
from .affine import Affine
from .nodes import (
    LANES,
    SERIAL,
    TASKS,
    Accumulate,
    Aligned,
    Alloc,
    Call,
    Carry,
    Compute,
    Condition,
    Constant,
    Fail,
    Fence,
    Fold,
    For,
    Holds,
    If,
    InRange,
    Invert,
    Kernel,
    Let,
    Load,
    Node,
    Operand,
    Poll,
    Prefetch,
    Quotient,
    Store,
    Total,
    While,
)

#: A place that is printed as a line: a statement or a kernel, or its ``else`` or ``end``.
Anchor: TypeAlias = "Node | Kernel | tuple[Node | Kernel, str]"


def print_kernel(kernel: Kernel) -> str:
    """The text of `kernel`, behind comments that name its scheduling passes."""
    schedule = [f"; {step}" for step in kernel.schedule]
    return "\n".join([*schedule, *[line for line, _ in lines_of(kernel)]])


def lines_of(kernel: Kernel) -> Iterator[tuple[str, Anchor]]:
    """The lines of `kernel`, each with what it stands for."""
    parameters = [f"{name} >= {least}" for name, least in kernel.symbols]
    parameters += [
        f"{buffer.name}: {'out ' if buffer.out else ''}{buffer.dtype}[{buffer.size}]"
        for buffer in kernel.buffers
    ]
    yield f"kernel {sigil_name('@', kernel.name)}({', '.join(parameters)}) {{", kernel
    yield from _block(kernel.body, "  ")
    yield "}", (kernel, "end")


def _block(nodes: Iterable[Node], indent: str) -> Iterator[tuple[str, Anchor]]:
    for node in nodes:
        yield indent + head_of(node), node
        if isinstance(node, (For, While)):
            yield from _block(node.body, indent + "  ")
            again = f" if {_operand(node.condition)}" if isinstance(node, While) else ""
            yield f"{indent}}}{_next(node.carried)}{again}", (node, "end")
        elif isinstance(node, If):
            yield from _block(node.then, indent + "  ")
            if node.otherwise:
                yield f"{indent}}} else {{", (node, "else")
                yield from _block(node.otherwise, indent + "  ")
            yield f"{indent}}}", (node, "end")


def head_of(node: Node) -> str:
    """The first line of `node`."""
    if isinstance(node, For):
        return f"for {_range(node)}{_with(node.carried)} {{"
    if isinstance(node, While):
        return f"while{_with(node.carried)} {{"
    if isinstance(node, If):
        return f"if {_condition(node.condition)} {{"
    return _statement(node)


def _statement(node: Node) -> str:
    if isinstance(node, Let):
        return f"%{node.name}: {node.dtype} = index({node.index})"
    if isinstance(node, Holds):
        return f"%{node.name}: bool = holds({_inside(node.conditions)})"
    if isinstance(node, Load):
        names = ", ".join([f"%{name}" for name in node.names])
        place = _place(node.buffer, node.index)
        return f"{names}: {node.dtype} = load {place}{_where(node.guard, node.mask)}{_hint(node.hint)}"
    if isinstance(node, Store):
        values, where = _operands(node.values), _where(node.guard, node.mask)
        return f"store {_place(node.buffer, node.index)}, {values}{where}{_hint(node.hint)}"
    if isinstance(node, Compute):
        attrs = ", ".join(f"{key}={print_attr(value)}" for key, value in node.attrs.items())
        call = f"{node.op.name}({_operands(node.operands)})"
        return f"%{node.name}: {node.dtype} = {call}{f' {{{attrs}}}' if attrs else ''}"
    if isinstance(node, Fold):
        call = f"{node.op.name}({_operands((node.accumulator, node.operand))})"
        return f"%{node.name}: {node.dtype} = fold {call}"
    if isinstance(node, Accumulate):
        call = f"accumulate({_operands((node.total, node.error, node.operand))})"
        return f"%{node.names[0]}, %{node.names[1]}: {node.dtype} = {call}"
    if isinstance(node, Total):
        return f"%{node.name}: {node.dtype} = total({_operands((node.total, node.error))})"
    if isinstance(node, Prefetch):
        return f"prefetch {_place(node.buffer, node.index)}{' near' if node.near else ''}"
    if isinstance(node, Invert):
        return f"%{node.name}: {node.dtype} = invert({_operand(node.divisor)})"
    if isinstance(node, Quotient):
        return f"%{node.name}: {node.dtype} = quotient({_operands((node.operand, node.inverse))})"
    if isinstance(node, Alloc):
        return f"alloc {node.name}: {node.dtype}[{node.size}]{' shared' if node.shared else ''}"
    if isinstance(node, Call):
        places = ", ".join(f"{_place(buffer, index)} by {step}" for buffer, index, step in node.places)
        return f"call {node.callee}({places}) sizes {', '.join(map(str, node.sizes))}"
    if isinstance(node, Fail):
        return f"fail {quote(node.message)} unless {_condition(node.unless)}"
    if isinstance(node, Poll):
        return "poll"
    assert isinstance(node, Fence), node
    return "fence"


def _range(loop: For) -> str:
    index = f"{loop.index}..{loop.end}" if loop.kind == TASKS else loop.index
    text = f"{index} in {_bound('max', loop.lo)}:{_bound('min', loop.hi)}"
    if loop.step != 1:
        text += f" step {loop.step}"
    if loop.kind != SERIAL:
        text += f" {loop.kind}"
    return f"{text} {loop.width}" if loop.kind == LANES else text


def _bound(which: str, bounds: Sequence[Affine]) -> str:
    if len(bounds) == 1:
        return str(bounds[0])
    return f"{which}({', '.join(map(str, bounds))})"


def _with(carried: Sequence[Carry]) -> str:
    if not carried:
        return ""
    return " with " + ", ".join(
        f"%{carry.name}: {carry.dtype} = {_operand(carry.first)}" for carry in carried
    )


def _next(carried: Sequence[Carry]) -> str:
    if not carried:
        return ""
    return " next " + ", ".join(f"{_operand(carry.following)} as %{carry.result}" for carry in carried)


def _condition(condition: Condition) -> str:
    if isinstance(condition, str):
        return f"%{condition}"
    if isinstance(condition, Aligned):
        text = f"aligned({', '.join(_place(*place) for place in condition.places)})"
        for place, other in condition.apart:
            text += f" and {_place(*place)} apart from {_place(*other)}"
        return text
    return _inside(condition)


def _inside(conditions: Sequence[InRange]) -> str:
    return " and ".join(
        f"0 <= {condition.index}" + (f" < {condition.count}" if condition.count is not None else "")
        for condition in conditions
    )


def _where(guard: Sequence[InRange], mask: Operand | None) -> str:
    parts = ([_inside(guard)] if guard else []) + ([_operand(mask)] if mask is not None else [])
    return f" where {' and '.join(parts)}" if parts else ""


def _hint(hint: str) -> str:
    return f" {{{hint}}}" if hint else ""


def _place(buffer: str, index: Affine) -> str:
    return f"{buffer}[{index}]"


def _operands(operands: Iterable[Operand]) -> str:
    return ", ".join(map(_operand, operands))


def _operand(operand: Operand) -> str:
    if isinstance(operand, Constant):
        return f"{print_attr(operand.value)}:{operand.dtype}"
    return f"%{operand}"
