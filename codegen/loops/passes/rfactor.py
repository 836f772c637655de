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

*Requires*: a loop over all of a known range, one by one, that hands on folds of elements alone, and whose
iterations may else run in any order; a power of two of lanes and of accumulators.
*Ensures*: sums of floats are in another order, and as accurate as pairwise ones (`nest.reductions.totals`).
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

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
    Store,
    Total,
    While,
)
from ..rewriting import (
    NotApplicable,
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


def rfactor(kernel: Kernel, index: str, lanes: int, accumulators: int, copies: int, terms: int) -> Kernel:
    """Fold in `lanes` with so many `accumulators`, of which `copies` are side by side, what the loops over
    `index` fold; sums of floats of more than `terms` for each of them in blocks."""
    step = f"rfactor({index}, {lanes}, {accumulators}, {copies}, {terms})"
    require_power_of_two(lanes, step)
    require_power_of_two(accumulators, step)
    statements = statements_in(kernel.body)
    taken = {name for node in statements for name in named_by(node)}
    taken |= {c.name for node in statements if isinstance(node, (For, While)) for c in node.carried}
    memories = {buffer.name for buffer in kernel.buffers}
    memories |= {node.name for node in statements if isinstance(node, Alloc)}
    memories |= {symbol for symbol, _ in kernel.symbols}
    factoring = Factoring(lanes, accumulators, copies, terms, taken, memories)

    def rewrite(loop: For, around: tuple[For, ...]) -> Sequence[Node]:
        end = loop.hi[0].number if len(loop.hi) == 1 else None
        if loop.kind != SERIAL or loop.step != 1 or loop.lo != (affine(0),) or end is None:
            raise NotApplicable(f"{step}: the loop over {index} is no loop from 0 to a number")
        inside = any(isinstance(node, (For, While)) for node in statements_in(loop.body))
        if inside or any(outer.kind == LANES for outer in around):
            raise NotApplicable(f"{step}: there are lanes around, or loops inside")
        for node in statements_in(loop.body):
            if isinstance(node, Store) and node.index.coefficient(index.partition("#")[0]).terms:
                raise NotApplicable(f"{step}: {index} is stored to rows whose length is a symbol")
        for carry in loop.carried:
            _require_fold(loop, carry, step)
        require_independent(kernel, with_body(loop, loop.body, carried=()), around, step)
        names = {loop.index, *memories, *[name for outer in around for name in (outer.index, outer.end)]}
        factoring.lane, factoring.copy, factoring.block = (
            unlike(names, name) for name in (LANE, COPY, BLOCK)
        )
        return factoring.factored(loop, end)

    result = rewritten(kernel, index, rewrite, step)
    return result.with_body((*factoring.allocs, *result.body)) if factoring.allocs else result


def _require_fold(loop: For, carry: Carry, step: str) -> None:
    """Raise NotApplicable unless what `loop` hands on as `carry` is the result of one fold, and read by that
    alone."""
    readers = [node for node in loop.body if carry.name in operands_of(node)]
    fold = readers[0] if len(readers) == 1 else None
    others = [other.following for other in loop.carried if other is not carry]
    if (
        not isinstance(fold, Fold) or fold.name != carry.following or fold.operand == carry.name
        or carry.name in others or fold.name in others
        or any(fold.name in operands_of(node) for node in loop.body)
    ):  # fmt: skip
        raise NotApplicable(f"{step}: {loop.index} hands on %{carry.name}, which is no fold alone")


class Factoring:
    """Loops of folds in lanes: their numbers, as `rfactor` takes them, and the names and the memory on the
    stack that they came to have."""

    def __init__(
        self, lanes: int, accumulators: int, copies: int, terms: int,
        taken: Container[str] = (), memories: Iterable[str] = (),
    ) -> None:  # fmt: skip
        self.lanes, self.accumulators, self.copies, self.terms = lanes, accumulators, copies, terms
        #: The indices of lanes, of copies, and of blocks.
        self.lane, self.copy, self.block = LANE, COPY, BLOCK
        #: Names of values that others have, and the last number of each name that there are fresh ones like.
        self.taken, self.numbers = taken, dict[str, int]()
        self.memories = set(memories)
        self.allocs: list[Alloc] = []

    def factored(self, loop: For, end: int) -> list[Node]:
        """`loop`, which is over all up to `end` and hands on folds of elements, in lanes."""
        return _Line(self, loop, end).nodes()

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


class _Line:
    """The loops of one line, in lanes."""

    def __init__(self, factoring: Factoring, loop: For, end: int) -> None:
        self.of, self.loop, self.end = factoring, loop, end
        by_name = {node.name: node for node in loop.body if isinstance(node, Fold)}
        self.folds = folds = [by_name[carry.following] for carry in loop.carried]  # type: ignore[index]
        self.lanes, copies = factoring.lanes, factoring.copies
        self.lane, self.copy = variable(factoring.lane), variable(factoring.copy)
        self.group = self.lanes * factoring.accumulators
        in_any_order = all(_reduction(fold).idempotent for fold in folds)
        #: Vectors that are side by side, and whether accumulators lie in memory.
        self.together = min(factoring.accumulators, copies) if in_any_order else factoring.accumulators
        self.in_memory = copies < self.together and _cost(loop.body) > SHORT_BODY
        j = variable(loop.index).plus(self.lane)
        self.single = replaced(loop.body, loop.index, j)
        self.whole, self.vectors = end // self.group * self.group, end // self.lanes * self.lanes
        terms = self.whole // self.group + (self.whole < end)
        self.is_long = any(map(_rounds, folds)) and terms > factoring.terms
        if in_any_order and self.together == 1:
            self.whole = self.vectors

    def nodes(self) -> list[Node]:
        """The statements in the place of the loop."""
        of, carried = self.of, self.loop.carried
        names = [of.fresh(carry.result) for carry in carried]
        in_memory = [of.copies == 1 and self.lanes > 1 and _reduction(fold).idempotent for fold in self.folds]
        begin: list[Operand] = [
            identity(fold) if apart else name
            for fold, name, apart in zip(self.folds, names, in_memory, strict=True)
        ]
        body: list[Node] = []
        if self.is_long:
            state = self._totals(body, begin)
        else:
            state = self._rest(body, self._groups(body, affine(0), (affine(self.whole),), begin, self.whole))
        lanes: list[Carry] = []
        behind: list[Node] = []
        for carry, fold, name, value, apart in zip(carried, self.folds, names, state, in_memory, strict=True):
            if apart:
                slot = of.memory(carry.dtype, self.lanes)
                body.append(Store(slot, self.lane, (value,)))
                behind += self._lanes_of(slot, carry, fold)
            else:
                lanes.append(Carry(name, carry.dtype, carry.first, value, carry.result))
        ends = (affine(0),), (affine(self.lanes),)
        return [For(of.lane, *ends, 1, LANES, tuple(body), tuple(lanes), width=self.lanes), *behind]

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
        begin = [Store(slot, place, (identity(fold),)) for slot, fold in zip(slots, self.folds, strict=True)]
        body.append(For(self.of.copy, *ends, self.lanes, UNROLLED, tuple(begin)))
        loads = [Load((c.name,), c.dtype, slot, place) for slot, c in zip(slots, carried, strict=True)]
        stores = [Store(slot, place, (f.name,)) for slot, f in zip(slots, self.folds, strict=True)]
        turn = For(self.of.copy, *ends, self.lanes, SERIAL, (*loads, *copied, *stores))
        body.append(For(self.loop.index, (lo,), hi, self.group, SERIAL, (turn,)))
        totals: list[Operand] = []
        for slot, fold, carry, before in zip(slots, self.folds, carried, state, strict=True):
            parts: list[Operand] = []
            for copy in range(self.of.accumulators):
                name = self.of.fresh(carry.result)
                body.append(Load((name,), carry.dtype, slot, self.lane.plus(copy * self.lanes)))
                parts.append(name)
            while len(parts) > 1:
                parts = [self._fold(body, fold, *pair) for pair in zip(parts[::2], parts[1::2], strict=True)]
            begins = is_identity(before, fold)
            totals.append(parts[0] if begins else self._fold(body, fold, before, parts[0]))
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

    def _totals(self, body: list[Node], begin: Sequence[Operand]) -> Sequence[Operand]:
        """Fold blocks of groups, each from the beginning, and add them up with their errors."""
        size = self.of.terms * self.group
        block = variable(self.of.block, size)
        inner: list[Node] = []
        units = [identity(fold) for fold in self.folds]
        ends = (block.plus(size),) if self.whole % size == 0 else (block.plus(size), affine(self.whole))
        parts = self._groups(inner, block, ends, units, min(size, self.whole))
        totals = [(self.of.fresh(carry.result), self.of.fresh(carry.result)) for carry in self.loop.carried]
        results = self._added(inner, totals, parts)
        known = [(self.of.fresh(carry.result), self.of.fresh(carry.result)) for carry in self.loop.carried]
        carried: list[Carry] = []
        for fold, first, *names in zip(self.folds, begin, totals, results, known, strict=True):
            starts = first, Constant(0.0, fold.dtype)
            handed = [Carry(c, fold.dtype, s, f, r) for s, c, f, r in zip(starts, *names, strict=True)]
            carried += handed if _rounds(fold) else handed[:1]
        last = (affine(-(-self.whole // size)),)
        body.append(For(self.of.block, (affine(0),), last, 1, SERIAL, tuple(inner), tuple(carried)))
        if self.whole < self.end:
            known = self._added(body, known, self._rest(body, units))
        state: list[Operand] = []
        for carry, fold, sums in zip(self.loop.carried, self.folds, known, strict=True):
            total = sums[0]
            if _rounds(fold):
                total = self.of.fresh(carry.result)
                body.append(Total(total, carry.dtype, *sums))
            state.append(total)
        return state

    def _added(
        self, body: list[Node], totals: Sequence[tuple[str, str]], parts: Sequence[Operand]
    ) -> list[tuple[str, str]]:
        """Add what a block folded, `parts`, to `totals`, each a sum and its error."""
        results: list[tuple[str, str]] = []
        for fold, carry, (total, error), part in zip(
            self.folds, self.loop.carried, totals, parts, strict=True
        ):
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
    return Constant(_reduction(fold).identity(fold.dtype), fold.dtype)


def is_identity(operand: Operand, fold: Fold) -> bool:
    """Whether `operand` is the value from which `fold` begins."""
    return isinstance(operand, Constant) and repr(operand.value) == repr(identity(fold).value)
