"""Prefetching: accesses along memory ask for lines of the cache that they come to later.

*Requires*: nothing; it changes no value.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..nodes import AHEAD, For, If, Kernel, Load, Node, Store, While
from ..rewriting import with_body


def ask(kernel: Kernel, *places: str) -> Kernel:
    """Ask for lines of `places` ahead: ``b0+16`` are the accesses of b0 that are 16 elements behind where its
    loops begin."""
    chosen = set(places)

    def is_chosen(node: Load | Store) -> bool:
        return f"{node.buffer}+{node.index.constant}" in chosen

    def block(nodes: Sequence[Node]) -> tuple[Node, ...]:
        result: list[Node] = []
        for node in nodes:
            if isinstance(node, For):
                node = with_body(node, block(node.body))
            elif isinstance(node, While):
                node = While(node.carried, block(node.body), node.condition)
            elif isinstance(node, If):
                node = If(node.condition, block(node.then), block(node.otherwise))
            elif isinstance(node, Load) and is_chosen(node):
                node = Load(node.names, node.dtype, node.buffer, node.index, node.guard, node.mask, AHEAD)
            elif isinstance(node, Store) and is_chosen(node):
                node = Store(node.buffer, node.index, node.values, node.guard, node.mask, AHEAD, node.origins)
            result.append(node)
        return tuple(result)

    return kernel.with_body(block(kernel.body), f"ask({', '.join(places)})")
