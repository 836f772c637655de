"""Factoring of reductions: a loop that folds, as lanes of vectors with accumulators side by side.

    for j in 0:100 with %t = 0.0 { %x = load b0[j]  %s = fold sum(%t, %x) } next %s as %r

is, in 4 lanes with 2 accumulators,

    for l in 0:4 lanes 4 with %r.l = 0.0 {
      for u in 0:8 step 4 interleaved with %r.u = %r.l {
        for j in 0:96 step 8 with %t = %r.u { %x = load b0[j + u + l]  %s = fold sum(%t, %x) } next %s as %r.0
      } next %r.0 as %r.1
      for j in 96:100 step 4 with %t = %r.1 { %x = load b0[j + l]  %s = fold sum(%t, %x) } next %s as %r.2
    } next %r.2 as %r

and a loop that hands nothing on is written the same way. Elements that fill no vector are a loop whose end
holds the lane. Sums of floats with more than `terms` terms for each accumulator are blocks of so many, whose
sums are added up with their errors (`Accumulate`, `Total`). With fewer `copies` than accumulators these lie
in memory, and take turns, where there is much to compute; maxima and minima, which no order changes, have as
many accumulators as copies, and with one copy fold their lanes in memory.

Of loops inside of each other that hand one fold on the lanes are around all, and go on from line to line. The
pass `block` adds up sums in blocks where lanes are those of loops around.

*Requires*: a loop over all of a known range, one by one, that hands on folds of elements alone, or loops that
hand on what such a one does, and whose iterations may else run in any order; a power of two of lanes and of
accumulators.
*Ensures*: sums of floats are in another order, and as accurate as pairwise ones (`nest.reductions.totals`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from ....ir.registry import Reduction, cost_of
from ...lowering.loop_nest import SHORT_BODY
from ..affine import Affine, affine, variable
from ..legality import require_independent
from ..nodes import (
    INTERLEAVED,
    LANES,
    SERIAL,
    UNROLLED,
    Accumulate,
    Alloc,
    Carry,
    Compute,
    Constant,
    Fold,
    For,
    Kernel,
    Load,
    Node,
    Operand,
    Poll,
    Store,
    Total,
    While,
    unit_of,
)
from ..rewriting import (
    NotApplicable,
    indices_of,
    named_by,
    operands_of,
    replaced,
    require_power_of_two,
    rewritten,
    statements_in,
    unlike,
    with_body,
)
from .unroll import COPY
from .vectorize import LANE

#: The index of blocks of terms, and the name of accumulators in memory.
BLOCK, MEMORY = "c", "w"
#: A sum and its error.
Totals: TypeAlias = "tuple[Operand, Operand]"


def rfactor(kernel: Kernel, index: str, lanes: int, accumulators: int, copies: int, terms: int) -> Kernel:
    """Fold in `lanes` with so many `accumulators`, of which `copies` are side by side, what the loops over
    `index` and inside of them fold; sums of floats of more than `terms` for each of them in blocks."""
    step = f"rfactor({index}, {lanes}, {accumulators}, {copies}, {terms})"
    require_power_of_two(lanes, step)
    require_power_of_two(accumulators, step)
    return _factored(kernel, index, Factoring(lanes, accumulators, copies, terms), step)


def block(kernel: Kernel, index: str, terms: int) -> Kernel:
    """Add up the sums of floats in the loops over `index`, and in those inside of them, in blocks of so many
    `terms`."""
    return _factored(kernel, index, Factoring(0, 1, 1, terms), f"block({index}, {terms})")


def _factored(kernel: Kernel, index: str, factoring: Factoring, step: str) -> Kernel:
    """`kernel` with the loops over `index` as `factoring` makes them."""
    statements = statements_in(kernel.body)
    factoring.taken = {name for node in statements for name in named_by(node)}
    factoring.taken |= {c.name for node in statements if isinstance(node, (For, While)) for c in node.carried}
    memories = {buffer.name for buffer in kernel.buffers}
    memories |= {node.name for node in statements if isinstance(node, Alloc)}
    memories |= {symbol for symbol, _ in kernel.symbols}
    factoring.memories = set(memories)
    factoring.indices = {name for node in statements for index in indices_of(node) for name in index.names}

    def rewrite(loop: For, around: tuple[For, ...]) -> Sequence[Node]:
        loops = nest_of(loop)
        for inner in loops:
            if inner.kind != SERIAL or inner.step != 1 or inner.lo != (affine(0),) or _size(inner) is None:
                raise NotApplicable(f"{step}: the loop over {inner.index} is no loop from 0 to a number")
            for carry in inner.carried:
                _require_fold(inner, carry, step)
        inside = any(isinstance(node, (For, While)) for node in statements_in(loops[-1].body))
        if inside or (factoring.lanes and any(outer.kind == LANES for outer in around)):
            raise NotApplicable(f"{step}: there are lanes around, or loops inside")
        last = loops[-1].index
        for node in statements_in(loops[-1].body) if factoring.lanes else ():
            if isinstance(node, Store) and node.index.coefficient(last).terms:
                raise NotApplicable(f"{step}: {last} is stored to rows whose length is a symbol")
        if factoring.lanes:
            # lanes stand side by side, of which one alone may have an iteration
            most = affine(max(_known_size(loops[-1]), 2))
            inner = For(last, (affine(0),), (most,), 1, SERIAL, loops[-1].body)
            require_independent(kernel, inner, (*around, *loops[:-1]), step)
        names = {name for outer in (*loops, *around) for name in (outer.index, outer.end)} | memories
        factoring.lane, factoring.copy, factoring.block = (
            unlike(names, name) for name in (LANE, COPY, BLOCK)
        )
        nodes = factoring.factored(loop)
        if factoring.lanes and len(loops) > 1:  # lanes go on from line to line
            lanes = nodes[0]
            assert isinstance(lanes, For)
            require_independent(kernel, with_body(lanes, lanes.body, carried=()), around, step)
        return nodes

    result = rewritten(kernel, index, rewrite, step)
    return result.with_body((*factoring.allocs, *result.body)) if factoring.allocs else result


def nest_of(loop: For) -> list[For]:
    """`loop` and the loops inside of it, each of which hands on to the one around it what that hands on;
    behind it signals may be let in."""
    loops = [loop]
    while isinstance(inner := loop.body[0] if loop.body else None, For) and inner.kind == SERIAL:
        if any(not isinstance(node, Poll) for node in loop.body[1:]):
            break
        if [c.first for c in inner.carried] != [c.name for c in loop.carried]:
            break
        if [c.result for c in inner.carried] != [c.following for c in loop.carried]:
            break
        loops.append(inner)
        loop = inner
    return loops


def _require_fold(loop: For, carry: Carry, step: str) -> None:
    """Raise NotApplicable unless what `loop` hands on as `carry` is the result of one fold, or of a loop
    inside, and read by that alone."""
    readers = [node for node in loop.body if carry.name in operands_of(node)]
    fold = readers[0] if len(readers) == 1 else None
    others = [other.following for other in loop.carried if other is not carry]
    if (
        not isinstance(fold, (Fold, For)) or carry.following not in named_by(fold)
        or (isinstance(fold, Fold) and fold.operand == carry.name)
        or carry.name in others or carry.following in others
        or any(carry.following in operands_of(node) for node in loop.body)
    ):  # fmt: skip
        raise NotApplicable(f"{step}: {loop.index} hands on %{carry.name}, which is no fold alone")


class Factoring:
    """Loops of folds, in lanes if it has some: their numbers, as `rfactor` takes them, and the names and the
    memory on the stack that they came to have."""

    def __init__(self, lanes: int, accumulators: int, copies: int, terms: int) -> None:
        self.lanes, self.accumulators, self.copies, self.terms = lanes, accumulators, copies, terms
        #: The indices of lanes, of copies, and of blocks.
        self.lane, self.copy, self.block = LANE, COPY, BLOCK
        #: Names of values that others have, and the last number of each name that there are fresh ones like.
        self.taken, self.numbers = set[str](), dict[str, int]()
        self.memories = set[str]()
        self.allocs: list[Alloc] = []
        #: Names that stand in indices: of values that lie in memory no range would be known.
        self.indices = set[str]()

    def factored(self, loop: For) -> list[Node]:
        """`loop` and those inside of it (`nest_of`), which are over all up to a number."""
        return _Folding(self, nest_of(loop)).nodes()

    def fresh(self, name: str) -> str:
        """A name of a value like `name`."""
        while True:
            number = self.numbers[name] = self.numbers.get(name, -1) + 1
            if f"{name}.{number}" not in self.taken:
                return f"{name}.{number}"

    def memory(self, dtype: str, size: int) -> str:
        """The name of new memory of the kernel's own."""
        name = unlike(self.memories, MEMORY)
        self.memories.add(name)
        self.allocs.append(Alloc(name, dtype, affine(size)))
        return name


class _Folding:
    """The loops of one fold: around lines, which are in lanes or just the innermost loop."""

    def __init__(self, factoring: Factoring, loops: Sequence[For]) -> None:
        self.of, self.loop, self.outer = factoring, loops[-1], loops[:-1]
        loop, by_name = self.loop, {node.name: node for node in loops[-1].body if isinstance(node, Fold)}
        self.folds = folds = [by_name[carry.following] for carry in loop.carried]  # type: ignore[index]
        #: The values that the loops hand on, by their names outside.
        self.carried = loops[0].carried
        self.lanes, copies = max(1, factoring.lanes), factoring.copies
        self.lane, self.copy = variable(factoring.lane), variable(factoring.copy)
        self.group = self.lanes * factoring.accumulators
        in_any_order = all(_reduction(fold).idempotent for fold in folds)
        #: Vectors that are side by side, and whether accumulators lie in memory.
        self.together = min(factoring.accumulators, copies) if in_any_order else factoring.accumulators
        self.in_memory = copies < self.together and _cost(loop.body) > SHORT_BODY
        self.single = loop.body
        if factoring.lanes:
            self.single = replaced(loop.body, loop.index, variable(loop.index).plus(self.lane))
        self.end = end = _known_size(loop)
        self.whole, self.vectors = end // self.group * self.group, end // self.lanes * self.lanes
        #: Terms that an accumulator takes in a line, and those in the loops from each one on.
        self.terms = [self.whole // self.group + (self.whole < end)]
        for outer in reversed(self.outer):
            self.terms.insert(0, self.terms[0] * _known_size(outer))
        if in_any_order and self.together == 1:
            self.whole = self.vectors

    def nodes(self) -> list[Node]:
        """The statements in the place of the loops."""
        of, carried, body = self.of, self.carried, list[Node]()
        is_long = any(map(_rounds, self.folds)) and self.terms[0] > of.terms
        if not of.lanes:
            return self._blocked() if is_long else [self.outer[0] if self.outer else self.loop]
        names = [of.fresh(carry.result) for carry in carried]
        in_memory = [
            of.copies == 1 and self.lanes > 1 and _reduction(fold).idempotent
            and f"%{carry.result}" not in of.indices
            for fold, carry in zip(self.folds, carried, strict=True)
        ]  # fmt: skip
        stored = self.in_memory and not is_long
        begin: list[Operand] = [
            identity(fold) if apart or stored else name
            for fold, name, apart in zip(self.folds, names, in_memory, strict=True)
        ]
        state: Sequence[Operand]
        if is_long:
            state = self._finished(body, self._blocks(body, 0, self._start(begin)))
        else:
            state = self._loops(body, 0, begin)
        lanes: list[Carry] = []
        behind: list[Node] = []
        for carry, fold, name, value, apart in zip(carried, self.folds, names, state, in_memory, strict=True):
            if apart:
                slot = of.memory(carry.dtype, self.lanes)
                body.append(Store(slot, self.lane, (value,)))
                behind += self._lanes_of(slot, carry, fold)
            else:
                total = self._fold(body, fold, name, value) if stored else value
                lanes.append(Carry(name, carry.dtype, carry.first, total, carry.result))
        ends = (affine(0),), (affine(self.lanes),)
        return [For(of.lane, *ends, 1, LANES, tuple(body), tuple(lanes), width=self.lanes), *behind]

    def _blocked(self) -> list[Node]:
        """The loops without lanes, in blocks."""
        body: list[Node] = []
        totals = self._blocks(body, 0, self._start([carry.first for carry in self.carried]))
        (loop,) = body
        assert isinstance(loop, For)
        names: dict[Operand, str] = {}
        for carry, fold, sums in zip(self.carried, self.folds, totals, strict=True):
            if _rounds(fold):
                body.append(Total(carry.result, carry.dtype, *sums))
            else:
                names[sums[0]] = carry.result
        handed = [
            Carry(c.name, c.dtype, c.first, c.following, names.get(c.result, c.result)) for c in loop.carried
        ]
        return [with_body(loop, loop.body, carried=tuple(handed)), *body[1:]]

    def _lanes_of(self, slot: str, carry: Carry, fold: Fold) -> list[Node]:
        """Fold the lanes that lie in `slot`, one after the other."""
        of, nodes = self.of, list[Node]()
        first = of.fresh(carry.result)
        nodes.append(Load((first,), carry.dtype, slot, affine(0)))
        if not is_identity(carry.first, fold):
            first = self._fold(nodes, fold, carry.first, first)
        element, total = of.fresh(carry.result), of.fresh(carry.result)
        body: list[Node] = [Load((element,), carry.dtype, slot, self.lane)]
        own = self._fold(body, fold, total, element)
        handed = (Carry(total, carry.dtype, first, own, carry.result),)
        nodes.append(For(of.lane, (affine(1),), (affine(self.lanes),), 1, SERIAL, tuple(body), handed))
        return nodes

    # -- loops around lines -----------------------------------------------------------------------

    def _loops(
        self, body: list[Node], depth: int, state: Sequence[Operand],
        bounds: tuple[Affine, tuple[Affine, ...]] | None = None,
    ) -> Sequence[Operand]:  # fmt: skip
        """Fold all in the loops from the one at `depth` on into `state`; of that one, what is between
        `bounds`."""
        if depth == len(self.outer):
            whole = affine(0), (affine(self.whole),)
            return self._rest(body, self._groups(body, *whole, state, self.whole))
        loop, names = self.outer[depth], [self.of.fresh(carry.name) for carry in self.carried]
        inner: list[Node] = []
        parts = self._loops(inner, depth + 1, names)
        carried = self._carries(names, state, parts)
        lo, hi = bounds or (affine(0), loop.hi)
        body.append(For(loop.index, (lo,), hi, 1, SERIAL, (*inner, *loop.body[1:]), carried))
        return [carry.result for carry in carried]

    def _carries(
        self, names: Sequence[str], first: Sequence[Operand], following: Sequence[Operand]
    ) -> tuple[Carry, ...]:
        """The values that a loop hands on, one of each fold."""
        return tuple([
            Carry(name, carry.dtype, begin, end, self.of.fresh(carry.result))
            for carry, name, begin, end in zip(self.carried, names, first, following, strict=True)
        ])  # fmt: skip

    def _blocks(self, body: list[Node], depth: int, totals: Sequence[Totals]) -> list[Totals]:
        """Add up blocks of all in the loops from the one at `depth` on, with their errors, to `totals`."""
        units = [identity(fold) for fold in self.folds]
        if self.terms[depth] <= self.of.terms:
            return self._added(body, totals, self._loops(body, depth, units))
        if depth == len(self.outer):
            size = self.of.terms * self.group
            most = min(size, self.whole)
            known = self._by_block(
                body, totals, size, self.whole,
                lambda inner, lo, hi: self._groups(inner, lo, hi, units, most),
            )  # fmt: skip
            return known if self.whole == self.end else self._added(body, known, self._rest(body, units))
        loop, size = self.outer[depth], self.of.terms // self.terms[depth + 1]
        if size > 1:
            return self._by_block(
                body, totals, size, _known_size(loop),
                lambda inner, lo, hi: self._loops(inner, depth, units, (lo, hi)),
            )  # fmt: skip
        inner: list[Node] = []
        names = self._names_of_totals()
        results = self._blocks(inner, depth + 1, names)
        nodes = (*inner, *loop.body[1:])
        return self._handing_on(body, (loop.index, affine(0), loop.hi[0]), nodes, names, totals, results)

    def _by_block(
        self, body: list[Node], totals: Sequence[Totals], size: int, end: int,
        fold: Callable[[list[Node], Affine, tuple[Affine, ...]], Sequence[Operand]],
    ) -> list[Totals]:  # fmt: skip
        """Add up what ``fold(body, first, ends)`` folds of blocks of `size` indices up to `end`."""
        first = variable(self.of.block, size)
        ends = (first.plus(size),) if end % size == 0 else (first.plus(size), affine(end))
        inner = list[Node]()
        parts = fold(inner, first, ends)
        names = self._names_of_totals()
        results = self._added(inner, names, parts)
        loop = self.of.block, affine(0), affine(-(-end // size))
        return self._handing_on(body, loop, tuple(inner), names, totals, results)

    def _start(self, begin: Sequence[Operand]) -> list[Totals]:
        """The totals that begin with `begin`, without errors."""
        return [(first, Constant(0.0, fold.dtype)) for first, fold in zip(begin, self.folds, strict=True)]

    def _names_of_totals(self) -> list[tuple[str, str]]:
        """New names for the sum and the error of each fold."""
        return [(self.of.fresh(carry.result), self.of.fresh(carry.result)) for carry in self.carried]

    def _handing_on(
        self, body: list[Node], loop: tuple[str, Affine, Affine], nodes: tuple[Node, ...],
        names: Sequence[tuple[str, str]], totals: Sequence[Totals],
        results: Sequence[Totals],
    ) -> list[Totals]:  # fmt: skip
        """A loop over `nodes` that hands on `totals`, by their `names` there, as its `results`."""
        index, lo, hi = loop
        known, carried = self._names_of_totals(), list[Carry]()
        for fold, *both in zip(self.folds, names, totals, results, known, strict=True):
            handed = [Carry(c, fold.dtype, s, f, r) for c, s, f, r in zip(*both, strict=True)]
            carried += handed if _rounds(fold) else handed[:1]
        body.append(For(index, (lo,), (hi,), 1, SERIAL, nodes, tuple(carried)))
        return list(known)

    def _finished(self, body: list[Node], totals: Sequence[Totals]) -> list[Operand]:
        """The values of `totals`."""
        state: list[Operand] = []
        for carry, fold, sums in zip(self.carried, self.folds, totals, strict=True):
            total = sums[0]
            if _rounds(fold):
                total = self.of.fresh(carry.result)
                body.append(Total(total, carry.dtype, *sums))
            state.append(total)
        return state

    # -- parts of a line --------------------------------------------------------------------------

    def _loop(
        self, lo: Affine, hi: tuple[Affine, ...], step: int, body: tuple[Node, ...], first: Sequence[Operand]
    ) -> tuple[For, list[str]]:
        """The loop over some of the line, which begins with `first`; the names of its results."""
        carried = tuple([
            Carry(c.name, c.dtype, begin, c.following, self.of.fresh(c.result))
            for c, begin in zip(self.loop.carried, first, strict=True)
        ])  # fmt: skip
        loop = For(self.loop.index, (lo,), hi, step, SERIAL, body, carried)
        return loop, [carry.result for carry in carried]

    def _groups(
        self, body: list[Node], lo: Affine, hi: tuple[Affine, ...], state: Sequence[Operand], most: int
    ) -> Sequence[Operand]:
        """Fold whole groups, of `most` elements at the most, into `state`."""
        if most == 0:
            return state
        if self.together == 1:
            loop, results = self._loop(lo, hi, self.lanes, self.single, state)
            body.append(loop)
            return results
        copied = replaced(self.single, self.of.lane, self.lane.plus(self.copy))
        ends = (affine(0),), (affine(self.group),)
        if self.in_memory:
            return self._in_memory(body, copied, lo, hi, state)
        names = [self.of.fresh(carry.result) for carry in self.loop.carried]
        loop, results = self._loop(lo, hi, self.group, copied, names)
        carried = tuple([
            Carry(name, carry.dtype, begin, result, self.of.fresh(carry.result))
            for carry, name, begin, result in zip(self.loop.carried, names, state, results, strict=True)
        ])  # fmt: skip
        body.append(For(self.of.copy, *ends, self.lanes, INTERLEAVED, (loop,), carried))
        return [carry.result for carry in carried]

    def _in_memory(
        self, body: list[Node], copied: tuple[Node, ...], lo: Affine, hi: tuple[Affine, ...],
        state: Sequence[Operand],
    ) -> Sequence[Operand]:  # fmt: skip
        """Fold whole groups with accumulators in memory, vector after vector."""
        ends = (affine(0),), (affine(self.group),)
        place, carried = self.lane.plus(self.copy), self.loop.carried
        slots = [self.of.memory(carry.dtype, self.group) for carry in carried]
        first, begin = (
            0,
            [Store(slot, place, (identity(f),)) for slot, f in zip(slots, self.folds, strict=True)],
        )
        if not all(is_identity(before, fold) for before, fold in zip(state, self.folds, strict=True)):
            body += [Store(slot, self.lane, (before,)) for slot, before in zip(slots, state, strict=True)]
            first = self.lanes
        body.append(For(self.of.copy, (affine(first),), ends[1], self.lanes, UNROLLED, tuple(begin)))
        loads = [Load((c.name,), c.dtype, slot, place) for slot, c in zip(slots, carried, strict=True)]
        stores = [Store(slot, place, (f.name,)) for slot, f in zip(slots, self.folds, strict=True)]
        turn = For(self.of.copy, *ends, self.lanes, SERIAL, (*loads, *copied, *stores))
        body.append(For(self.loop.index, (lo,), hi, self.group, SERIAL, (turn,)))
        totals: list[Operand] = []
        for slot, fold, carry in zip(slots, self.folds, carried, strict=True):
            parts: list[Operand] = []
            for copy in range(self.of.accumulators):
                name = self.of.fresh(carry.result)
                body.append(Load((name,), carry.dtype, slot, self.lane.plus(copy * self.lanes)))
                parts.append(name)
            while len(parts) > 1:
                parts = [self._fold(body, fold, *pair) for pair in zip(parts[::2], parts[1::2], strict=True)]
            totals.append(parts[0])
        return totals

    def _rest(self, body: list[Node], state: Sequence[Operand]) -> Sequence[Operand]:
        """Fold what fills no group: vectors, then lanes of one."""
        if self.whole < self.vectors:
            loop, state = self._loop(
                affine(self.whole), (affine(self.vectors),), self.lanes, self.single, state
            )
            body.append(loop)
        if self.vectors < self.end:
            ends = (affine(self.end).plus(self.lane, -1),)
            loop, state = self._loop(affine(self.vectors), ends, self.lanes, self.single, state)
            body.append(loop)
        return state

    def _added(self, body: list[Node], totals: Sequence[Totals], parts: Sequence[Operand]) -> list[Totals]:
        """Add what a block folded, `parts`, to `totals`, each a sum and its error."""
        results: list[Totals] = []
        for fold, carry, (total, error), part in zip(self.folds, self.carried, totals, parts, strict=True):
            if _rounds(fold):
                names = self.of.fresh(carry.result), self.of.fresh(carry.result)
                body.append(Accumulate(names, carry.dtype, total, error, part, fold.origins))
                results.append(names)
            else:
                results.append((self._fold(body, fold, total, part), error))
        return results

    def _fold(self, body: list[Node], fold: Fold, accumulator: Operand, operand: Operand) -> str:
        name = self.of.fresh(fold.name)
        body.append(Fold(name, fold.dtype, fold.op, accumulator, operand, fold.origins))
        return name


def _size(loop: For) -> int | None:
    """The index up to which `loop` is, where that is one number."""
    return loop.hi[0].number if len(loop.hi) == 1 else None


def _known_size(loop: For) -> int:
    size = _size(loop)
    assert size is not None
    return size


def _cost(nodes: Sequence[Node]) -> float:
    """The cost of what `nodes` compute."""
    return sum(cost_of(node.op, node.attrs) for node in nodes if isinstance(node, Compute))


def _reduction(fold: Fold) -> Reduction:
    assert fold.op.reduction is not None
    return fold.op.reduction


def _rounds(fold: Fold) -> bool:
    """Whether `fold` adds floats."""
    return _reduction(fold).additive and fold.dtype[0] == "f"


def identity(fold: Fold) -> Constant:
    """The value from which `fold` begins."""
    return unit_of(fold.op, fold.dtype)


def is_identity(operand: Operand, fold: Fold) -> bool:
    """Whether `operand` is the value from which `fold` begins."""
    return isinstance(operand, Constant) and repr(operand.value) == repr(identity(fold).value)
