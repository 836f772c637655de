"""Folding loops: over dimensions, and over groups of vectors along the last one with accumulators side by
side, which are folded by halves. Long lines are folded block by block (`totals.py`).

That order does not depend on how many copies of the code there are (`ScheduleParameters.copies`): with fewer
than accumulators, these are in memory; or they are as few, where the order changes no result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ...llvm.emitter import Reg
from ...llvm.loops import Bound
from ...loops.interleaving import side_by_side
from ...lowering.loop_nest import SHORT_BODY, Member, body_cost
from ..writing.element import ElementPass, Places, RowValues
from .totals import LONG, FoldStep, Run, Totals, add_blocks, is_float_sum

if TYPE_CHECKING:
    from ..writing.nest_writer import NestWriter


def fold_groups(
    writer: NestWriter,
    plan: ElementPass,
    row: RowValues,
    places: Places,
    state: list[Reg],
    first: Bound,
    stop: Bound,
) -> list[Reg]:
    """Fold by `plan` from `first` to `stop`, which are whole groups, into `state`."""
    nest, folds = writer.nest, plan.folds
    copies = nest.unroll
    if copies > nest.copies:
        if all(member.in_any_order for member in folds):
            copies = nest.copies
        elif body_cost(plan.members) > SHORT_BODY:
            return _in_memory(writer, plan, row, places, state, first, stop)
    last = len(nest.sizes) - 1

    def group(index: Reg, inner: list[Reg]) -> Sequence[Reg]:
        here = writer.advance(places, last, index)
        out: list[Reg] = []

        def write(copy: int) -> None:
            mine = inner[copy * len(folds) : (copy + 1) * len(folds)]
            out.extend(plan.run(here, row, copy, None, mine, fold_mask=None))

        side_by_side(writer.w, copies, write)
        return out

    accumulators = state + _identities(writer, folds) * (copies - 1)
    accumulators = writer.w.loop(first, stop, nest.lanes * copies, group, accumulators, nonempty=True)
    return _by_halves(writer, folds, accumulators)


def line_of(
    writer: NestWriter,
    plan: ElementPass,
    row: RowValues,
    totals: Totals,
    groups: tuple[Bound, Bound, int],
    *,
    rest: bool,
) -> FoldStep:
    """Step that folds a line: the elements of `groups`, bounds and how many lie between them at most, and the
    `rest` of the last dimension, which fills no group."""
    nest, (first, stop, most) = writer.nest, groups
    last = len(nest.sizes) - 1
    whole = nest.sizes[last] // writer.group * writer.group

    def run(places: Places, state: list[Reg]) -> list[Reg]:
        if most:
            state = fold_groups(writer, plan, row, places, state, first, stop)
        return writer.rest_of_line(plan, row, places, state, whole) if rest else state

    def run_long(places: Places, state: list[Reg]) -> list[Reg]:
        def block(*bounds: Bound) -> list[Reg]:
            return fold_groups(writer, plan, row, places, totals.identities, *bounds)

        state = add_blocks(writer.w, totals, state, (first, stop), LONG * writer.group, block)
        if not rest:
            return state
        return totals.add(state, writer.rest_of_line(plan, row, places, totals.identities, whole))

    return FoldStep(run, -(-most // writer.group) + rest, run_long)


def _in_memory(
    writer: NestWriter,
    plan: ElementPass,
    row: RowValues,
    places: Places,
    state: list[Reg],
    first: Bound,
    stop: Bound,
) -> list[Reg]:
    """`fold_groups` with accumulators in memory: vector after vector is folded into the one whose turn it
    is."""
    nest, folds, w = writer.nest, plan.folds, writer.w
    last, group = len(nest.sizes) - 1, nest.lanes * nest.unroll
    kept = [w.slot(reg.dtype, group) for reg in state]

    def at(slot: str, total: Reg, place: Reg | int) -> str:
        return w.offset(slot, total.dtype, place)

    for copy in range(nest.unroll):
        for slot, start in zip(kept, _identities(writer, folds) if copy else state, strict=True):
            w.store(start, at(slot, start, copy * nest.lanes))

    def vector(index: Reg, _: list[Reg]) -> Sequence[Reg]:
        turn = w.and_(index, group - 1)
        slots = [at(slot, reg, turn) for slot, reg in zip(kept, state, strict=True)]
        mine = [w.load(slot, reg.dtype, nest.lanes) for slot, reg in zip(slots, state, strict=True)]
        here = writer.advance(places, last, index)
        for slot, total in zip(slots, plan.run(here, row, 0, None, mine, fold_mask=None), strict=True):
            w.store(total, slot)
        return ()

    w.loop(first, stop, nest.lanes, vector, nonempty=True)
    accumulators = [
        w.load(at(slot, reg, copy * nest.lanes), reg.dtype, nest.lanes)
        for copy in range(nest.unroll)
        for slot, reg in zip(kept, state, strict=True)
    ]
    return _by_halves(writer, folds, accumulators)


def _identities(writer: NestWriter, folds: Sequence[Member]) -> list[Reg]:
    return [writer.identity(member, writer.nest.lanes) for member in folds]


def _by_halves(writer: NestWriter, folds: Sequence[Member], accumulators: Sequence[Reg]) -> list[Reg]:
    """Fold the accumulators of several copies, which stand behind one another, pairwise to those of one."""
    size = len(folds)
    parts = [accumulators[i : i + size] for i in range(0, len(accumulators), size or 1)] or [[]]
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=True)
        parts = [
            [writer.combine(m, a, b) for m, a, b in zip(folds, items, other, strict=True)]
            for items, other in pairs
        ]
    return list(parts[0])


def fold_loops(
    writer: NestWriter, totals: Totals, step: FoldStep, dim: int, stop: int, places: Places
) -> list[Reg]:
    """Run `step` in loops over the dimensions from `dim` up to `stop`; returns the accumulators."""
    if not totals.sums or _terms(writer, step, dim, stop) <= step.short:
        return _plain(writer, step.run, dim, stop, places, totals.identities)
    return totals.finish(_blocks(writer, totals, step, dim, stop, places, totals.start))


def _terms(writer: NestWriter, step: FoldStep, dim: int, stop: int) -> int:
    """Number of terms that an accumulator takes in the loops from `dim` on."""
    return step.terms * math.prod(writer.extent(inner)[2] for inner in range(dim, stop))


def _plain(writer: NestWriter, run: Run, dim: int, stop: int, places: Places, state: list[Reg]) -> list[Reg]:
    """Loops that hand the accumulators on."""
    if dim == stop:
        return run(places, state)
    first, last, _ = writer.extent(dim)
    return _loop(writer, run, dim, stop, places, state, (first, last))


def _loop(
    writer: NestWriter, run: Run, dim: int, stop: int, places: Places, state: list[Reg],
    bounds: tuple[Bound, Bound],
) -> list[Reg]:  # fmt: skip
    def body(index: Reg, state: list[Reg]) -> Sequence[Reg]:
        out = _plain(writer, run, dim + 1, stop, writer.advance(places, dim, index), state)
        writer.let_signals_in(dim)
        return out

    return writer.w.loop(*bounds, 1, body, state, nonempty=isinstance(bounds[0], Reg))


def _blocks(
    writer: NestWriter, totals: Totals, step: FoldStep, dim: int, stop: int, places: Places, state: list[Reg]
) -> list[Reg]:
    """Loops that hand totals on, around blocks."""
    if _terms(writer, step, dim, stop) <= LONG:
        return totals.add(state, _plain(writer, step.run, dim, stop, places, totals.identities))
    if dim == stop:
        assert step.run_long is not None
        return step.run_long(places, state)
    first, last, _ = writer.extent(dim)
    size = LONG // _terms(writer, step, dim + 1, stop)
    if size > 1:
        return add_blocks(
            writer.w, totals, state, (first, last), size,
            lambda *bounds: _loop(writer, step.run, dim, stop, places, totals.identities, bounds),
        )  # fmt: skip

    def body(index: Reg, state: list[Reg]) -> Sequence[Reg]:
        out = _blocks(writer, totals, step, dim + 1, stop, writer.advance(places, dim, index), state)
        writer.let_signals_in(dim)
        return out

    return writer.w.loop(first, last, 1, body, state, nonempty=isinstance(first, Reg))


def totals_of(writer: NestWriter, folds: Sequence[Member], lanes: int) -> Totals:
    """The totals of `folds`."""
    w = writer.w
    identities = [writer.identity(member, lanes) for member in folds]
    combine = [_combining(writer, member) for member in folds]
    sums = [is_float_sum(member.instruction) for member in folds]
    return Totals(w, identities, combine, sums)


def _combining(writer: NestWriter, member: Member) -> Callable[[Reg, Reg], Reg]:
    return lambda total, block: writer.combine(member, total, block)
