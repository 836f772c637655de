"""Index-set splitting: parts of a loop's range apart, in which guards of loads are known to hold or not to.

    for j in 0:12 { %x = load b0[j - 1] where 0 <= j - 1 < 10 ... }

is, split at 4 and 8,

    for j in 0:4 { %x = load b0[j - 1] where 0 <= j - 1 < 10 ... }
    for j in 4:8 { %x = load b0[j - 1] ... }
    for j in 8:12 { %x = load b0[j - 1] where 0 <= j - 1 < 10 ... }

An outer loop is not cut; `specialize` writes what is in it for a part of its range, and for all others:

    for i in 0:9 { if 0 <= i - 1 < 7 { ... } else { ... } }

*Requires*: a loop that begins at a number or, in tasks, at multiples of its step, as the places do at which
it is split.
*Ensures*: loads whose guard never holds are zeros, and conditions that always do are gone.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....ir.registry import OPS
from ..accesses import entered, never_holds
from ..affine import Affine, Ranges, affine, is_multiple, variable
from ..nodes import (
    SERIAL,
    Carry,
    Compute,
    Constant,
    Fail,
    Fold,
    For,
    Holds,
    If,
    InRange,
    Invert,
    Kernel,
    Load,
    Node,
    Operand,
    Quotient,
    Store,
    While,
)
from ..rewriting import NotApplicable, first_ends, rewritten, with_body


def split(kernel: Kernel, index: str, first: int, stop: int) -> Kernel:
    """Split the loops over `index` at `first` and `stop`."""
    step = f"split({index}, {first}, {stop})"

    def rewrite(loop: For, around: tuple[For, ...]) -> Sequence[Node]:
        if first >= stop:
            raise NotApplicable(f"{step}: there is nothing from {first} up to {stop}")
        if loop.kind != SERIAL or loop.carried or len(loop.lo) > 1:
            raise NotApplicable(f"{step}: the loop over {index} is {loop.kind}, or hands values on")
        (lo,) = loop.lo
        if any(not is_multiple(affine(place).plus(lo, -1), loop.step) for place in (first, stop)):
            raise NotApplicable(f"{step}: the loop over {index} is not split between steps")
        ranges = _ranges(kernel, around)
        parts: list[Node] = []
        for begin, end in ((None, first), (first, stop), (stop, None)):
            low = (lo,) if begin is None else _joined(lo, begin)
            high = loop.hi if end is None else _ended(loop.hi, end)
            numbers = [bound.number for bound in high if bound.number is not None]
            if begin is None and lo.number is not None and end is not None and end <= lo.number:
                continue
            starts = [bound.number for bound in low if bound.number is not None]
            if begin is not None and numbers and min(numbers) <= max(starts):
                continue
            part = with_body(loop, loop.body, lo=low, hi=high)
            parts.append(with_body(part, simplified(loop.body, entered(part, ranges))))
        return parts

    return rewritten(kernel, index, rewrite, step)


def specialize(kernel: Kernel, *parts: str | int) -> Kernel:
    """Write what is in some loops, each inside of the one before, a second time for a part of their range:
    `parts` are their indices, each with the first one and the one behind the last."""
    if not parts or len(parts) % 3:
        raise NotApplicable("specialize: expected an index and the first and the last number of each loop")
    indices = [str(index) for index in parts[::3]]
    bounds = [(int(first), int(stop)) for first, stop in zip(parts[1::3], parts[2::3], strict=True)]
    step = f"specialize({', '.join(map(str, parts))})"

    def rewrite(loop: For, around: tuple[For, ...]) -> Sequence[Node]:
        if loop.carried:
            raise NotApplicable(f"{step}: {loop.index} hands values from one iteration to the next")
        names = {outer.index for outer in (*around, loop)}
        if not names.issuperset(indices):
            raise NotApplicable(f"{step}: the loop over {loop.index} is not in all of the others")
        ranges = _ranges(kernel, (*around, loop))
        for name, (first, stop) in zip(indices, bounds, strict=True):
            ranges = ranges.within(name, (affine(first),), (affine(stop - 1),))
        inside = tuple(
            InRange(variable(name).plus(-first), affine(stop - first))
            for name, (first, stop) in zip(indices, bounds, strict=True)
        )
        return [with_body(loop, (If(inside, simplified(loop.body, ranges), loop.body),))]

    return rewritten(kernel, indices[-1], rewrite, step)


def _ranges(kernel: Kernel, around: Sequence[For]) -> Ranges:
    ranges = Ranges(kernel.symbols)
    for outer in around:
        ranges = entered(outer, ranges)
    return ranges


def _joined(lo: Affine, begin: int) -> tuple[Affine, ...]:
    """The bounds of a loop from `lo` that begins at `begin` or later."""
    if lo.number is not None:
        return (affine(max(lo.number, begin)),)
    return lo, affine(begin)


def _ended(hi: tuple[Affine, ...], end: int) -> tuple[Affine, ...]:
    """`hi` with `end` in the place of a number that is no less."""
    numbers = [bound.number for bound in hi if bound.number is not None]
    return (*[bound for bound in hi if bound.number is None], affine(min([*numbers, end])))


def simplified(nodes: Sequence[Node], ranges: Ranges) -> tuple[Node, ...]:
    """`nodes` with guards and conditions as far as they are not known in `ranges`."""
    return _Simplifying().block(nodes, ranges)


class _Simplifying:
    def __init__(self) -> None:
        #: Substitutes of values.
        self.same: dict[str, Operand] = {}

    def value(self, operand: Operand) -> Operand:
        return self.same.get(operand, operand) if isinstance(operand, str) else operand

    def mask(self, mask: Operand | None) -> Operand | None:
        return None if mask is None else self.value(mask)

    def block(self, nodes: Sequence[Node], ranges: Ranges) -> tuple[Node, ...]:
        result: list[Node] = []
        verdicts: dict[InRange, bool | None] = {}
        for node in nodes:
            if isinstance(node, For):
                hi = first_ends(node.hi, ranges)
                body = self.block(node.body, entered(node, ranges))
                carried = tuple([
                    Carry(c.name, c.dtype, self.value(c.first), self.value(c.following), c.result)
                    for c in node.carried
                ])  # fmt: skip
                node = with_body(node, body, hi=hi, carried=carried)
            elif isinstance(node, While):
                body = self.block(node.body, ranges)
                carried = tuple([
                    Carry(c.name, c.dtype, self.value(c.first), self.value(c.following), c.result)
                    for c in node.carried
                ])  # fmt: skip
                node = While(carried, body, self.value(node.condition))
            elif isinstance(node, If):
                then, otherwise = self.block(node.then, ranges), self.block(node.otherwise, ranges)
                condition = node.condition
                value = self.value(condition) if isinstance(condition, str) else condition
                if isinstance(value, Constant):
                    result += then if value.value else otherwise
                    continue
                node = If(value, then, otherwise)
            elif isinstance(node, Load):
                guard = known(node.guard, ranges, verdicts) if node.guard else ()
                mask = self.mask(node.mask)
                if guard is None or (isinstance(mask, Constant) and not mask.value):
                    self.same.update((name, Constant(0, node.dtype)) for name in node.names)
                    continue
                mask = None if isinstance(mask, Constant) else mask
                node = Load(node.names, node.dtype, node.buffer, node.index, guard, mask, node.hint)
            elif isinstance(node, Holds):
                conditions = known(node.conditions, ranges, verdicts)
                if not conditions:
                    self.same[node.name] = Constant(conditions is not None, "bool")
                    continue
                node = Holds(node.name, conditions)
            elif isinstance(node, Compute):
                operands = tuple([self.value(operand) for operand in node.operands])
                if node.op is OPS["where"] and isinstance(operands[0], Constant):
                    self.same[node.name] = operands[1 if operands[0].value else 2]
                    continue
                node = Compute(node.name, node.dtype, node.op, operands, node.attrs, node.origins)
            elif isinstance(node, Fold):
                accumulator, operand = self.value(node.accumulator), self.value(node.operand)
                node = Fold(node.name, node.dtype, node.op, accumulator, operand, node.origins)
            elif isinstance(node, Invert):
                node = Invert(node.name, node.dtype, self.value(node.divisor))
            elif isinstance(node, Quotient):
                node = Quotient(node.name, node.dtype, self.value(node.operand), node.inverse, node.origins)
            elif isinstance(node, Store):
                values = tuple([self.value(value) for value in node.values])
                guard = known(node.guard, ranges, verdicts) if node.guard else ()
                mask = self.mask(node.mask)
                if guard is None or (isinstance(mask, Constant) and not mask.value):
                    continue
                mask = None if isinstance(mask, Constant) else mask
                node = Store(node.buffer, node.index, values, guard, mask, node.hint, node.origins)
            elif isinstance(node, Fail) and isinstance(node.unless, str):
                unless = self.value(node.unless)
                node = (
                    Fail((InRange(affine(0 if unless.value else -1)),), node.message)
                    if isinstance(unless, Constant)
                    else Fail(unless, node.message)
                )
            result.append(node)
        return tuple(result)


def known(
    conditions: tuple[InRange, ...], ranges: Ranges, verdicts: dict[InRange, bool | None]
) -> tuple[InRange, ...] | None:
    """The `conditions` that are not known to hold in `ranges`; None where one never does. `verdicts` are
    those of the same ranges."""
    still_open: list[InRange] = []
    for check in conditions:
        if check not in verdicts:
            verdicts[check] = _verdict(check, ranges)
        verdict = verdicts[check]
        if verdict is False:
            return None
        if verdict is None:
            still_open.append(check)
    return tuple(still_open)


def _verdict(check: InRange, ranges: Ranges) -> bool | None:
    """Whether `check` holds everywhere in `ranges`, or nowhere; None where neither is known."""
    index, count = check.index, check.count
    if ranges.at_least(index) and (count is None or ranges.at_least(count.plus(index, -1), 1)):
        return True
    return False if never_holds(check, ranges) else None
