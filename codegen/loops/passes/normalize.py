"""Normalization: loops without iterations are gone, loops of one iteration are their body, and bounds that
are numbers are one.

*Ensures*: every loop has two iterations or more, or an unknown number of them; or hands values on, or is
lanes; or has values whose names are taken where it stands.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from ..affine import Affine, affine
from ..nodes import SERIAL, UNROLLED, For, If, Kernel, Node, While
from ..rewriting import named_by, replaced, statements_in, with_body


def normalize(kernel: Kernel) -> Kernel:
    """Simplify the loops of `kernel`."""
    names = Counter(name for node in statements_in(kernel.body) for name in named_by(node))
    return kernel.with_body(tuple(_block(kernel.body, names)), "normalize()")


def _block(nodes: Sequence[Node], names: Counter[str]) -> list[Node]:
    result: list[Node] = []
    for node in nodes:
        if isinstance(node, For):
            result += _loop(node, names)
        elif isinstance(node, If):
            then, otherwise = (tuple(_block(block, names)) for block in (node.then, node.otherwise))
            result.append(If(node.condition, then, otherwise))
        elif isinstance(node, While):
            result.append(While(node.carried, tuple(_block(node.body, names)), node.condition))
        else:
            result.append(node)
    return result


def _loop(loop: For, names: Counter[str]) -> list[Node]:
    lo, hi = _merged(loop.lo, max), _merged(loop.hi, min)
    length = hi[0].plus(lo[0], -1).number if len(lo) + len(hi) == 2 else None
    if not loop.carried and length is not None and length <= 0:
        return []
    single = length is not None and length <= loop.step and loop.kind in (SERIAL, UNROLLED)
    if single and not loop.carried and all(names[name] == 1 for node in loop.body for name in named_by(node)):
        return _block(replaced(loop.body, loop.index, lo[0]), names)
    return [with_body(loop, tuple(_block(loop.body, names)), lo=lo, hi=hi)]


def _merged(bounds: tuple[Affine, ...], which: Callable[[Iterable[int]], int]) -> tuple[Affine, ...]:
    """`bounds` with at most one number."""
    if len(bounds) == 1:
        return bounds
    numbers = [bound.constant for bound in bounds if not bound.terms]
    others = list(dict.fromkeys(bound for bound in bounds if bound.terms))
    return tuple([*others, affine(which(numbers))] if numbers else others)
