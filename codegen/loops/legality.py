"""Legality of passes: whether the iterations of a loop may run in any order."""

from __future__ import annotations

import itertools
import math
from collections.abc import Container, Sequence

from .accesses import Reached, accesses_of, entered, iterations_apart
from .affine import Affine, Ranges, affine
from .nodes import Alloc, For, Kernel, While
from .rewriting import NotApplicable


def require_independent(
    kernel: Kernel, loop: For, around: tuple[For, ...], step: str, own: Container[str] = ()
) -> None:
    """Raise NotApplicable unless the iterations of `loop`, inside the loops `around`, may run in any order,
    each with memory of its `own` by some names."""
    if loop.carried:
        raise NotApplicable(f"{step}: {loop.index} hands values from one iteration to the next")
    if any(isinstance(node, While) for node in loop.body):
        raise NotApplicable(f"{step}: iterations of {loop.index} have loops of unknown length")
    accesses = list(accesses_of(loop.body))
    written: dict[str, list[Reached]] = {}
    for access in accesses:
        if access.written and access.buffer not in own:
            written.setdefault(access.buffer, [])
    for access in accesses:
        if access.buffer in written:
            written[access.buffer].append(access)
    if all(_injective(loop, group) for group in written.values()):
        return
    ranges = Ranges(kernel.symbols)
    for outer in around:
        ranges = entered(outer, ranges)
    if any(map(ranges.at_least, loop.lo)) and all(
        _injective(loop, group, first=affine(0)) for group in written.values()
    ):
        return
    for group in written.values():
        for mine, theirs in itertools.product(group, repeat=2):
            if mine.written and not iterations_apart(loop, mine, theirs, ranges):
                raise NotApplicable(
                    f"{step}: iterations of {loop.index} may not run in any order: they access"
                    f" {mine.buffer}[{mine.index}] and {theirs.buffer}[{theirs.index}]"
                )


def own_slots(kernel: Kernel, loop: For) -> set[str]:
    """The memory on the stack of which each iteration of `loop` reads what it has written alone."""
    slots = {node.name for node in kernel.body if isinstance(node, Alloc)}
    return _written_before(list(accesses_of(loop.body))) & slots if slots else slots


def private_slots(kernel: Kernel, loop: For, around: Sequence[For]) -> set[str]:
    """The memory among `own_slots` that iterations of `loop`, inside the loops `around`, have by turns, at
    one place, as may other loops, of which each reads what it has written."""
    own = own_slots(kernel, loop)
    if own:
        own -= {access.buffer for access in accesses_of(loop.body) if loop.index in access.index.names}
        others: dict[For | None, list[Reached]] = {}
        for access in accesses_of(kernel.body):
            inside = [inner for inner in access.loops if inner not in around]
            if access.buffer in own and all(inner.index != loop.index for inner in inside):
                others.setdefault(inside[0] if inside else None, []).append(access)
        for statement, accesses in others.items():
            alone = _written_before(accesses) if statement is not None else set()
            own -= {access.buffer for access in accesses} - alone
    return own


def _written_before(accesses: Sequence[Reached]) -> set[str]:
    """The buffers of which `accesses`, which are in order, read nothing but what they have written: by loops
    of the same range, at the same places of it, and under the same conditions."""
    written: set[tuple[object, ...]] = set()
    others: set[str] = set()
    for access in accesses:
        index, walk = access.index, list[tuple[object, ...]]()
        for loop in access.loops:
            factor = index.coefficient(loop.index)
            if factor.terms or factor.constant:
                walk.append((factor, *_range(loop, access.loops), loop.step))
                index = index.without(loop.index)
        place = access.buffer, index, tuple(walk), access.count
        if access.written:
            written.add((*place, access.facts))
        elif not written & {(*place, facts) for facts in ((), access.facts)}:
            others.add(access.buffer)
    return {access.buffer for access in accesses} - others


def _range(loop: For, around: Sequence[For]) -> tuple[tuple[Affine, ...], tuple[Affine, ...]]:
    """The bounds of `loop`; where it takes block after block, those of all blocks."""
    name = loop.lo[0].names
    outer = next((blocks for blocks in around if [blocks.index] == name), None)
    size = loop.lo[0].coefficient(name[0]).number if outer is not None else None
    if outer is None or size is None or loop.hi[0] != loop.lo[0].plus(size) or outer.lo != (affine(0),):
        return loop.lo, loop.hi
    return outer.lo, loop.hi[1:] or tuple([end.scaled(size) for end in outer.hi])


def _injective(loop: For, accesses: list[Reached], first: Affine | None = None) -> bool:
    """Whether `accesses` of one buffer, which are alike but for a number, take other elements in each
    iteration of `loop`: whether strides, from the smallest one on, are larger than what all before them span.

    That tells most loops over arrays, or does where they are told to begin at `first`; those that it does not
    tell are asked in full.
    """
    terms = accesses[0].index.terms
    if any(access.index.terms != terms for access in accesses):
        return False
    offsets = sorted({access.index.constant for access in accesses})
    span = max(access.count for access in accesses) - 1
    steps = {second - first for first, second in itertools.pairwise(offsets)}
    loops = {inner.index: inner for access in accesses for inner in (loop, *access.loops)}
    strides: list[tuple[int, int]] = []
    if len(steps) == 1:  # as one more loop
        strides.append((offsets[1] - offsets[0], len(offsets)))
    else:
        span += offsets[-1] - offsets[0]
    for name, factor in terms:
        inner = loops.get(name)
        if inner is not None:
            trips = _most_trips(inner, (*inner.lo, first) if inner is loop and first else inner.lo)
            if trips is None and inner is not loop:
                return False
            strides.append((abs(factor) * inner.step, trips or 0))
        elif "*" in name or name[0] == "%":
            return False
    reach: float = span
    for stride, trips in sorted(strides, key=lambda pair: (pair[0], pair[1] or math.inf)):
        if stride <= reach:
            return False
        # so many iterations as one likes reach beyond any other stride
        reach = reach + stride * (trips - 1) if trips else math.inf
    return bool(accesses[0].index.coefficient(loop.index).constant)


def _most_trips(loop: For, begins: Sequence[Affine]) -> int | None:
    """The most iterations of `loop`, which begins behind all of `begins`; None where that is no number."""
    lo = [bound.number for bound in begins if bound.number is not None]
    hi = [bound.number for bound in loop.hi if bound.number is not None]
    if lo and hi:
        return max(0, -(-(min(hi) - max(lo)) // loop.step))
    spans = [high.plus(low, -1).number for low in begins for high in loop.hi]
    known = [span for span in spans if span is not None]
    return max(0, -(-min(known) // loop.step)) if known else None
