"""Normalization: loops without iterations are gone, loops of one iteration are their body, and bounds that are
numbers are one.

*Ensures*: every loop has two iterations or more, or an unknown number of them; or hands values on, or is lanes;
or has values whose names are taken where it stands.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..affine import Affine
from ..nodes import (
    SERIAL,
    UNROLLED,
    Compute,
    Fold,
    For,
    Holds,
    If,
    Invert,
    Kernel,
    Let,
    Load,
    Node,
    Quotient,
    While,
)
from ..rewriting import replaced, with_body


def normalize(kernel: Kernel) -> Kernel:
    """Simplify the loops of `kernel`."""
    return kernel.with_body(tuple(_block(kernel.body)), "normalize()")


def _block(nodes: Sequence[Node]) -> list[Node]:
    result: list[Node] = []
    for node in nodes:
        if isinstance(node, For):
            result += _loop(node, result)
        elif isinstance(node, If):
            result.append(If(node.condition, tuple(_block(node.then)), tuple(_block(node.otherwise))))
        elif isinstance(node, While):
            result.append(While(node.carried, tuple(_block(node.body)), node.condition))
        else:
            result.append(node)
    return result


def _loop(loop: For, before: Sequence[Node]) -> list[Node]:
    lo, hi = _merged(loop.lo, max), _merged(loop.hi, min)
    length = hi[0].plus(lo[0], -1).number if len(lo) + len(hi) == 2 else None
    if not loop.carried and length is not None and length <= 0:
        return []
    single = length is not None and length <= loop.step and loop.kind in (SERIAL, UNROLLED)
    if single and not loop.carried:
        body = _block(replaced(loop.body, loop.index, lo[0]))
        if not _names(before) & _names(body):
            return body
    return [with_body(loop, tuple(_block(loop.body)), lo=lo, hi=hi)]


def _merged(bounds: tuple[Affine, ...], which: object) -> tuple[Affine, ...]:
    """`bounds` with at most one number."""
    if len(bounds) == 1:
        return bounds
    numbers = [bound for bound in bounds if not bound.terms]
    others = list(dict.fromkeys(bound for bound in bounds if bound.terms))
    if numbers:
        least = [bound.constant for bound in numbers]
        others.append(numbers[least.index(max(least) if which is max else min(least))])
    return tuple(others)


def _names(nodes: Sequence[Node]) -> set[str]:
    """The values that `nodes` define where they stand."""
    names: set[str] = set()
    for node in nodes:
        if isinstance(node, Load):
            names.update(node.names)
        elif isinstance(node, (Let, Holds, Compute, Fold, Invert, Quotient)):
            names.add(node.name)
        elif isinstance(node, (For, While)):
            names.update(carry.result for carry in node.carried)
    return names
