"""Accesses of the statements of a kernel: the elements that they take, and whether those of different
iterations of a loop are different ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

from ...base.loading import LazyModule
from .affine import Affine, Ranges, affine, is_multiple, variable
from .nodes import Call, For, If, InRange, Load, Node, Store, While

if TYPE_CHECKING:
    from . import intrinsics
else:
    intrinsics = LazyModule(".intrinsics", __package__)

#: An access: its buffer, index, and how many elements from there on it takes.
Access: TypeAlias = "tuple[str, Affine, int]"


class Facts:
    """Ranges of names and facts at a place of a kernel."""

    def __init__(self, ranges: Ranges, facts: tuple[InRange, ...]) -> None:
        self.ranges, self.facts = ranges, facts

    def at_least(self, expression: Affine) -> bool:
        """Whether `expression` is never negative where the facts hold; nothing is where one never does."""
        return (
            self.ranges.at_least(expression)
            or _follows(expression, self.ranges, self.facts)
            or any(never_holds(fact, self.ranges) for fact in self.facts)
        )


def never_holds(condition: InRange, ranges: Ranges) -> bool:
    """Whether `condition` is known not to hold where names have `ranges`."""
    index, count = condition.index, condition.count
    below = ranges.at_least(index.scaled(-1), 1)
    return below or (count is not None and ranges.at_least(index.plus(count, -1)))


def _follows(expression: Affine, ranges: Ranges, facts: tuple[InRange, ...]) -> bool:
    """Whether `expression` is never negative where `facts` hold: the index of a fact takes the place of a
    name in it, or in a multiple of it."""
    for number, fact in enumerate(facts):
        for name, factor in fact.index.terms:
            if name not in expression.names:
                continue
            # times * name = sign * (index - what else is in it)
            times, sign = abs(factor), 1 if factor > 0 else -1
            rest = fact.index.without(name)
            by = variable("?").plus(rest, -1).scaled(sign)
            ends = (fact.count.plus(-1),) if fact.count is not None else ()
            inside = ranges.within("?" * (number + 1), (affine(0),), ends)
            renamed = by.replaced("?", variable("?" * (number + 1)))
            moved = expression.without(name).scaled(times).plus(renamed.times(expression.coefficient(name)))
            others = facts[:number] + facts[number + 1 :]
            if inside.at_least(moved) or (len(facts) < 5 and _follows(moved, inside, others)):
                return True
    return False


def entered(loop: For, ranges: Ranges) -> Ranges:
    """Ranges in the body of `loop`."""
    inner = ranges.within(loop.index, loop.lo, last_indices(loop))
    if loop.end:
        inner = inner.within(loop.end, (variable(loop.index).plus(1),), loop.hi)
    return inner


def last_indices(loop: For) -> tuple[Affine, ...]:
    """The greatest index of `loop`, for each of its ends: it steps from its beginning."""
    last = list[Affine]()
    for hi in loop.hi:
        lengths = [hi.plus(lo, -1) for lo in loop.lo]
        if all(is_multiple(length, loop.step) for length in lengths):
            last.append(hi.plus(-loop.step))
        elif len(lengths) == 1 and lengths[0].number is not None:
            last.append(loop.lo[0].plus((lengths[0].number - 1) // loop.step * loop.step))
        else:
            last.append(hi.plus(-1))
    return tuple(last)


def called(call: Call) -> Iterator[tuple[Access, bool]]:
    """The accesses of `call`, a row each, and whether they write."""
    for place, (buffer, index, step) in zip(
        intrinsics.INTRINSICS[call.callee].places(call.sizes), call.places, strict=True
    ):
        for row in range(place.rows):
            yield (buffer, index.plus(row * step), place.columns), place.written


class Reached:
    """An access in a loop: the loops and conditions from there to it."""

    def __init__(
        self, access: Access, loops: tuple[For, ...], facts: tuple[InRange, ...], *, written: bool
    ) -> None:
        self.buffer, self.index, self.count = access
        self.loops, self.facts, self.written = loops, facts, written


def accesses_of(
    nodes: Sequence[Node], loops: tuple[For, ...] = (), facts: tuple[InRange, ...] = ()
) -> Iterator[Reached]:
    """The accesses of `nodes`."""
    for node in nodes:
        if isinstance(node, (Load, Store)):
            count = len(node.values if isinstance(node, Store) else node.names)
            access, guard = (node.buffer, node.index, count), (*facts, *node.guard)
            yield Reached(access, loops, guard, written=isinstance(node, Store))
        elif isinstance(node, Call):
            for access, written in called(node):
                yield Reached(access, loops, facts, written=written)
        elif isinstance(node, For):
            yield from accesses_of(node.body, (*loops, node), facts)
        elif isinstance(node, While):
            yield from accesses_of(node.body, loops, facts)
        elif isinstance(node, If):
            inside = node.condition if isinstance(node.condition, tuple) else ()
            yield from accesses_of(node.then, loops, (*facts, *inside))
            yield from accesses_of(node.otherwise, loops, facts)


class _Side:
    """An access in one of two iterations of a loop, with names of its own."""

    def __init__(self, loop: For, access: Reached, side: int, ranges: Ranges) -> None:
        self.loop, self.access = loop, access
        names = [name for inner in (loop, *access.loops) for name in (inner.index, inner.end) if name]
        # values that are not known around the loop may be others in each iteration
        names += [name for name in access.index.names if name[0] == "%" and name not in ranges.bounds]
        #: The names of this side.
        self.own = {name: f"{name}'{side}" for name in names}
        self.index = self.renamed(access.index)
        self.facts = tuple(
            InRange(self.renamed(fact.index), None if fact.count is None else self.renamed(fact.count))
            for fact in access.facts
        )
        #: The step of each index in `index`, and where it begins.
        self.steps: dict[str, tuple[int, tuple[Affine, ...]]] = {}

    def renamed(self, expression: Affine) -> Affine:
        for name, own in self.own.items():
            expression = expression.replaced(name, variable(own))
        return expression

    def enter(self, ranges: Ranges) -> Ranges:
        """Ranges with those of the loops around the access."""
        for inner in self.access.loops:
            lo = tuple(map(self.renamed, inner.lo))
            name = self.own[inner.index]
            self.steps[name] = inner.step, lo
            ranges = ranges.within(name, lo, tuple(map(self.renamed, last_indices(inner))))
        return ranges


def iterations_apart(
    loop: For, mine: Reached, theirs: Reached, ranges: Ranges, facts: tuple[InRange, ...] = ()
) -> bool:
    """Whether the elements that two accesses take are different ones in different iterations of `loop`, where
    names around it have `ranges`, and `facts` hold.

    Either all of the first one's are before those of the second one; or that holds of their remainders by a
    number of which everything else is a multiple. Either access may be in the earlier iteration.
    """
    if any(ranges.at_least(lo.plus(loop.step).plus(hi, -1)) for lo in loop.lo for hi in loop.hi):
        return True  # there is one iteration
    first, second = _Side(loop, mine, 1, ranges), _Side(loop, theirs, 2, ranges)
    return all(_ordered(*sides, ranges, facts) for sides in ((first, second), (second, first)))


def _ordered(earlier: _Side, later: _Side, ranges: Ranges, facts: tuple[InRange, ...]) -> bool:
    """`iterations_apart` where `earlier` is in an earlier iteration than `later`."""
    loop = earlier.loop
    last = tuple(hi.plus(-1) for hi in loop.hi)
    begin, end = earlier.own[loop.index], variable(earlier.own[loop.index]).plus(1)
    ranges = ranges.within(begin, loop.lo, last)
    if loop.end:
        # a later part begins where the earlier one ends, or behind that
        name = earlier.own[loop.end]
        ranges, end = ranges.within(name, (end,), last), variable(name)
    ranges = ranges.within(later.own[loop.index], (end,), last)
    if loop.end:
        begins = variable(later.own[loop.index]).plus(1)
        ranges = ranges.within(later.own[loop.end], (begins,), loop.hi)
    ranges = later.enter(earlier.enter(ranges))
    here = Facts(ranges, (*facts, *earlier.facts, *later.facts))
    if any(ranges.at_least(fact.index.plus(1).scaled(-1)) for fact in here.facts):
        return True  # the two are not both run
    before, apart, blocks = (earlier.index, later.index), False, True
    while blocks and not apart:
        moduli = dict.fromkeys([*_moduli(earlier), *_moduli(later)])
        apart = any(_apart(earlier, later, here, modulus) for modulus in (0, *moduli))
        blocks = not apart and any(
            _within_blocks(earlier, later, here, modulus) for modulus in sorted(moduli, reverse=True)
        )
    earlier.index, later.index = before
    return apart


def _within_blocks(earlier: _Side, later: _Side, known: Facts, size: int) -> bool:
    """Whether both accesses are in one block of `size` elements each, as in a row; then they take one element
    where they do within their blocks alone, which is what their indices are from then on."""
    sides = earlier, later
    indices = [
        Affine(side.index.constant % size, tuple([term for term in side.index.terms if term[1] % size]))
        for side in sides
    ]
    if all(index.terms == side.index.terms for index, side in zip(indices, sides, strict=True)):
        return False
    for index, side in zip(indices, sides, strict=True):
        last = affine(size - side.access.count).plus(index, -1)
        if not (known.at_least(index) and known.at_least(last)):
            return False
    earlier.index, later.index = indices
    return True


def _moduli(side: _Side) -> list[int]:
    """Numbers that strides are multiples of."""
    return sorted({abs(factor) * side.steps.get(name, (1, ()))[0] for name, factor in side.index.terms} - {1})


def _apart(earlier: _Side, later: _Side, known: Facts, modulus: int) -> bool:
    """Whether all that `earlier` accesses is before what `later` does, or the other way round; of remainders
    by `modulus`, if that is not 0, by less than it."""
    a, b = earlier.index, later.index
    if modulus:
        a, b = _remainder(earlier, modulus), _remainder(later, modulus)
    for low, high, size, other in (
        (a, b, earlier.access.count, later.access.count),
        (b, a, later.access.count, earlier.access.count),
    ):
        distance = high.plus(low, -1)
        if modulus:
            distance = Affine(distance.constant % modulus, distance.terms)
        for shift in (0, modulus) if modulus else (0,):
            between = distance.plus(-shift)
            if known.at_least(between.plus(-size)) and (
                not modulus or known.at_least(affine(modulus - other).plus(between, -1))
            ):
                return True
    return False


def _remainder(side: _Side, modulus: int) -> Affine:
    """The index of `side` without terms that are multiples of `modulus`."""
    index = side.index
    for name, factor in side.index.terms:
        if _is_always_multiple(variable(name, factor), side, modulus):
            index = index.without(name)
    return index


def _is_always_multiple(expression: Affine, side: _Side, modulus: int) -> bool:
    """Whether `expression` is a multiple of `modulus` wherever the loops of `side` are: all of them step by
    multiples of it from one."""
    for name, factor in expression.terms:
        step, lows = side.steps.get(name, (1, ()))
        if factor * step % modulus or not all(
            _is_always_multiple(low.scaled(factor), side, modulus) for low in lows
        ):
            return False
    return expression.constant % modulus == 0
