"""Tools of passes: finding and replacing loops, and putting expressions in the place of indices."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import Final

from ...base.errors import TracejitError
from ...ir.registry import OPS, Op
from .affine import Affine, Ranges
from .nodes import (
    Accumulate,
    Aligned,
    Alloc,
    Call,
    Carry,
    Compute,
    Fail,
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
    Prefetch,
    Quotient,
    Store,
    Total,
    While,
)

#: Statements of which there are most: they hold no others.
_WITHOUT_BLOCKS: Final = (Compute, Load, Store)


class NotApplicable(TracejitError):
    """A pass does not apply to a loop: its precondition does not hold."""


def statements_in(nodes: Sequence[Node]) -> list[Node]:
    """The statements of `nodes`, at any depth, each before those inside."""
    statements: list[Node] = []
    for node in nodes:
        statements.append(node)
        if isinstance(node, _WITHOUT_BLOCKS):
            continue
        if isinstance(node, (For, While)):
            statements += statements_in(node.body)
        elif isinstance(node, If):
            statements += statements_in((*node.then, *node.otherwise))
    return statements


def loops_in(nodes: Sequence[Node]) -> list[For]:
    """The loops of `nodes`, each before those inside."""
    return [node for node in statements_in(nodes) if isinstance(node, For)]


def rewritten(
    kernel: Kernel, index: str, rewrite: Callable[[For, tuple[For, ...]], Sequence[Node]], step: str
) -> Kernel:
    """The kernel with every loop over `index` as `rewrite` makes it, given the loops around it; ``i#2`` is
    the third of these alone. Raises NotApplicable where there is none."""
    name, _, number = index.partition("#")
    if number and not number.isdigit():
        raise NotApplicable(f"{step}: {index} must end in the number of a loop, as i#1")
    count = 0

    def block(nodes: tuple[Node, ...], around: tuple[For, ...]) -> tuple[Node, ...]:
        nonlocal count
        result: list[Node] = []
        changed = False
        for node in nodes:
            if isinstance(node, _WITHOUT_BLOCKS):
                result.append(node)
                continue
            if isinstance(node, For) and node.index == name:
                count += 1
                if not number or count - 1 == int(number):
                    result += rewrite(node, around)
                    changed = True
                    continue
            result.append(_with_blocks(node, block, around))
            changed = changed or result[-1] is not node
        return tuple(result) if changed else nodes

    body = block(kernel.body, ())
    if count <= int(number or 0):
        raise NotApplicable(f"{step}: there is no loop over {index}")
    return kernel.with_body(body, step)


def require_power_of_two(lanes: int, step: str) -> None:
    """Raise NotApplicable unless there may be so many lanes."""
    if lanes & (lanes - 1):
        raise NotApplicable(f"{step}: lanes are a power of two, got {lanes}")


def unused(kernel: Kernel, *names: str) -> list[str]:
    """Indices like `names` that no loop and no buffer of `kernel` has."""
    taken = {buffer.name for buffer in kernel.buffers}
    taken.update([symbol for symbol, _ in kernel.symbols])
    for loop in loops_in(kernel.body):
        taken.add(loop.index)
        taken.add(loop.end)
    return [unlike(taken, name) for name in names]


def unlike(names: Container[str], name: str) -> str:
    """A name like `name` that is none of `names`."""
    candidate, number = name, 0
    while candidate in names:
        number += 1
        candidate = f"{name}{number}"
    return candidate


def with_body(
    loop: For,
    body: tuple[Node, ...],
    *,
    lo: tuple[Affine, ...] | None = None,
    hi: tuple[Affine, ...] | None = None,
    step: int = 0,
    kind: str = "",
    carried: tuple[Carry, ...] | None = None,
) -> For:
    """`loop` with another body, and what else is given."""
    return For(
        loop.index,
        loop.lo if lo is None else lo,
        loop.hi if hi is None else hi,
        step or loop.step,
        kind or loop.kind,
        body,
        loop.carried if carried is None else carried,
        loop.end,
        loop.width,
    )


def _with_blocks(
    node: Node,
    block: Callable[[tuple[Node, ...], tuple[For, ...]], tuple[Node, ...]],
    around: tuple[For, ...],
) -> Node:
    if isinstance(node, For):
        body = block(node.body, (*around, node))
        return node if body is node.body else with_body(node, body)
    if isinstance(node, While):
        return While(node.carried, block(node.body, around), node.condition)
    if isinstance(node, If):
        return If(node.condition, block(node.then, around), block(node.otherwise, around))
    return node


def replaced(nodes: Sequence[Node], name: str, by: Affine) -> tuple[Node, ...]:
    """`nodes` with `by` in the place of the index `name`."""
    known: dict[Affine, Affine] = {}

    def of(index: Affine) -> Affine:
        result = known.get(index)
        if result is None:
            result = known[index] = index.replaced(name, by)
        return result

    def checks(guard: Sequence[InRange]) -> tuple[InRange, ...]:
        return tuple(
            [InRange(of(check.index), None if check.count is None else of(check.count)) for check in guard]
        )

    def node_with(node: Node) -> Node:
        if isinstance(node, Compute):
            return node
        if isinstance(node, Load):
            guard = checks(node.guard) if node.guard else ()
            return Load(node.names, node.dtype, node.buffer, of(node.index), guard, node.mask, node.hint)
        if isinstance(node, Store):
            guard = checks(node.guard) if node.guard else ()
            return Store(node.buffer, of(node.index), node.values, guard, node.mask, node.hint, node.origins)
        if isinstance(node, Holds):
            return Holds(node.name, checks(node.conditions))
        if isinstance(node, Let):
            return Let(node.name, node.dtype, of(node.index))
        if isinstance(node, For):
            body = tuple([node_with(inner) for inner in node.body])
            return with_body(node, body, lo=tuple(map(of, node.lo)), hi=tuple(map(of, node.hi)))
        if isinstance(node, While):
            return While(node.carried, tuple([node_with(inner) for inner in node.body]), node.condition)
        if isinstance(node, If):
            condition = node.condition
            if isinstance(condition, Aligned):
                apart = [((a, of(i)), (b, of(j))) for (a, i), (b, j) in condition.apart]
                condition = Aligned(tuple([(b, of(i)) for b, i in condition.places]), tuple(apart))
            elif not isinstance(condition, str):
                condition = checks(condition)
            then, otherwise = (
                tuple([node_with(inner) for inner in block]) for block in (node.then, node.otherwise)
            )
            return If(condition, then, otherwise)
        if isinstance(node, Call):
            places = tuple([(buffer, of(index), step) for buffer, index, step in node.places])
            return Call(node.callee, places, node.sizes)
        if isinstance(node, Prefetch):
            return Prefetch(node.buffer, of(node.index), node.near)
        if isinstance(node, Fail) and not isinstance(node.unless, str):
            return Fail(checks(node.unless), node.message)
        return node

    return tuple([node_with(node) for node in nodes])


def with_places(
    nodes: tuple[Node, ...], buffers: Container[str], place: Callable[[Affine], Affine]
) -> tuple[Node, ...]:
    """`nodes` with the accesses of `buffers` where `place` puts them."""
    if not buffers:
        return nodes

    def node_with(node: Node) -> Node:
        if isinstance(node, Load) and node.buffer in buffers:
            return Load(
                node.names, node.dtype, node.buffer, place(node.index), node.guard, node.mask, node.hint
            )
        if isinstance(node, Store) and node.buffer in buffers:
            return Store(
                node.buffer, place(node.index), node.values, node.guard, node.mask, node.hint, node.origins
            )
        return _with_blocks(node, lambda block, _: tuple(map(node_with, block)), ())

    return tuple(map(node_with, nodes))


def larger(kernel: Kernel, slots: Container[str], times: int) -> Kernel:
    """`kernel` with so many times the memory for each of `slots`."""
    body = [
        Alloc(node.name, node.dtype, node.size.scaled(times))
        if isinstance(node, Alloc) and node.name in slots
        else node
        for node in kernel.body
    ]
    return Kernel(kernel.name, kernel.buffers, tuple(body), kernel.symbols, kernel.schedule)


def first_ends(ends: tuple[Affine, ...], ranges: Ranges) -> tuple[Affine, ...]:
    """The `ends` of a loop without those that others never are behind, where names have `ranges`."""
    kept = list(ends)
    # of two that are equal a number stays
    for end in sorted(ends, key=lambda bound: not bound.terms) if len(ends) > 1 else ():
        others = [other for other in kept if other is not end]
        if any(ranges.at_least(end.plus(other, -1)) for other in others):
            kept.remove(end)
    return tuple(kept)


def named_by(node: Node) -> tuple[str, ...]:
    """The values that `node` names where it stands."""
    if isinstance(node, (Load, Accumulate)):
        return node.names
    if isinstance(node, (Let, Holds, Compute, Fold, Total, Invert, Quotient)):
        return (node.name,)
    if isinstance(node, (For, While)):
        return tuple(carry.result for carry in node.carried)
    return ()


def operands_of(node: Node) -> tuple[Operand, ...]:
    """The operands that `node` itself reads: of a loop its first values, and those that it hands on."""
    if isinstance(node, Compute):
        return node.operands
    if isinstance(node, Load):
        return () if node.mask is None else (node.mask,)
    if isinstance(node, Store):
        return node.values if node.mask is None else (*node.values, node.mask)
    if isinstance(node, Fold):
        return node.accumulator, node.operand
    if isinstance(node, Accumulate):
        return node.total, node.error, node.operand
    if isinstance(node, Total):
        return node.total, node.error
    if isinstance(node, Invert):
        return (node.divisor,)
    if isinstance(node, Quotient):
        return (node.operand,)
    if isinstance(node, (For, While)):
        own = [operand for carry in node.carried for operand in (carry.first, carry.following)]
        return (*own, node.condition) if isinstance(node, While) else tuple(own)
    if isinstance(node, If) and isinstance(node.condition, str):
        return (node.condition,)
    if isinstance(node, Fail) and isinstance(node.unless, str):
        return (node.unless,)
    return ()


def indices_of(node: Node) -> tuple[Affine, ...]:
    """The affine expressions of `node` itself: places, bounds, and those of its conditions."""
    checks: tuple[InRange, ...] = ()
    own: list[Affine] = []
    if isinstance(node, (Load, Store)):
        own, checks = [node.index], node.guard
    elif isinstance(node, (Let, Prefetch)):
        own = [node.index]
    elif isinstance(node, Holds):
        checks = node.conditions
    elif isinstance(node, For):
        own = [*node.lo, *node.hi]
    elif isinstance(node, Call):
        own = [index for _, index, _ in node.places]
    elif isinstance(node, If) and isinstance(node.condition, Aligned):
        pairs = [place for pair in node.condition.apart for place in pair]
        own = [index for _, index in (*node.condition.places, *pairs)]
    elif isinstance(node, If) and isinstance(node.condition, tuple):
        checks = node.condition
    elif isinstance(node, Fail) and not isinstance(node.unless, str):
        checks = node.unless
    counts = [check.count for check in checks if check.count is not None]
    return (*own, *[check.index for check in checks], *counts)


def folding_op(nodes: Sequence[Node], first: str, following: Operand) -> Op | None:
    """The reduction whose folds, in `nodes` and in loops among them, make `following` of the value `first`;
    None where something else does."""
    total: Op | None = None
    name: Operand = first
    while name != following:
        for node in nodes:
            if isinstance(node, For):
                for carry in node.carried:
                    if carry.first == name:
                        op, name = folding_op(node.body, carry.name, carry.following), carry.result
                        break
                else:
                    continue
            elif isinstance(node, Fold) and node.accumulator == name:
                op, name = node.op, node.name
            elif isinstance(node, Accumulate) and node.total == name:
                op, name = OPS["sum"], node.names[0]
            elif isinstance(node, Total) and node.total == name:
                op, name = OPS["sum"], node.name
            else:
                continue
            break
        else:
            return None
        if op is None or total not in (None, op):
            return None
        total = op
    return total
