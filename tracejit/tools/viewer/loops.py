"""Listings of kernels in the loop form: the schedule, and each line with the ops that it is for, under the
names that values have at the other stages."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from ...codegen.llvm.function import Marked
from ...codegen.loops.nodes import Compute, For, If, Kernel, Node, Quotient, While
from ...codegen.loops.printer import Anchor, lines_of
from ...codegen.loops.rewriting import named_by, statements_in
from ...codegen.lowering.loop_nest import Nest
from ...ir.graph import Value

Origins: TypeAlias = tuple[int, ...]

_VALUE: Final = re.compile(r"%[\w.]+")


def loop_listing(
    kernel: Kernel,
    nest: Nest,
    values: Sequence[str],
    names: Mapping[Value, str],
    others: Mapping[Origins, Origins],
    about: Origins,
) -> list[Marked]:
    """The lines of `kernel`, which was made of `nest`. Its buffers are `values`, the ops of its statements
    those that `others` has in their place, and what is about no op of its own is `about` all of them."""
    known = _names_in(kernel, nest, names)
    lines: list[Marked] = [(f"; {step}", about) for step in kernel.schedule]
    buffers = ", ".join(
        f"{buffer.name}: {value}" for buffer, value in zip(kernel.buffers, values, strict=False)
    )
    lines.append((f"; {buffers}", about))
    origins = _origins_in(kernel, others)
    for text, anchor in lines_of(kernel):
        shown = _VALUE.sub(lambda match: known.get(match[0][1:], match[0]), text)
        lines.append((shown, origins.get(_node_of(anchor), ()) or about))
    return lines


def _node_of(anchor: Anchor) -> Node | Kernel:
    return anchor[0] if isinstance(anchor, tuple) else anchor


def _names_in(kernel: Kernel, nest: Nest, names: Mapping[Value, str]) -> dict[str, str]:
    """The names at other stages of values that `kernel` computes: the members of `nest` with the same
    op, in the same order. A name that the kernel gives to another value is left out."""
    computed: dict[tuple[str, Origins], dict[str, None]] = {}
    taken: set[str] = set()
    for node in statements_in(kernel.body):
        taken.update(named_by(node))
        if isinstance(node, Compute):
            computed.setdefault((node.op.name, node.origins), {})[node.name] = None
        elif isinstance(node, Quotient):
            computed.setdefault(("div", node.origins), {})[node.name] = None
    known: dict[str, str] = {}
    for member in nest.members:
        alike = computed.get((member.instruction.op.name, member.instruction.origins), {})
        name = names.get(member.value)
        if alike and name is not None:
            own = next(iter(alike))
            del alike[own]
            if name[1:] not in taken:
                known[own] = name
    return known


def _origins_in(kernel: Kernel, others: Mapping[Origins, Origins]) -> dict[Node | Kernel, Origins]:
    """The ops that each statement is for: its own; of loops and conditions those inside; else those of what
    reads the values that it names."""
    origins: dict[Node | Kernel, Origins] = {}
    readers: dict[str, dict[int, None]] = {}
    for text, anchor in lines_of(kernel):
        own = getattr(anchor, "origins", ())
        if isinstance(anchor, tuple) or not own:
            continue
        origins[anchor] = others.get(own, own)
        for name in _VALUE.findall(text):
            readers.setdefault(name[1:], {}).update(dict.fromkeys(origins[anchor]))
    for node in reversed(list(statements_in(kernel.body))):
        if isinstance(node, (For, While, If)):
            inside = [*node.then, *node.otherwise] if isinstance(node, If) else node.body
            merged = dict.fromkeys(number for inner in inside for number in origins.get(inner, ()))
            origins[node] = tuple(merged)
        elif node not in origins:
            origins[node] = tuple(
                dict.fromkeys(number for name in named_by(node) for number in readers.get(name, ()))
            )
    return origins
