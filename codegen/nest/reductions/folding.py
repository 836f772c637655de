"""Folds of groups of vectors along the last dimension: accumulators side by side, which are folded by halves;
of long lines, block by block (`totals.py`).

That order does not depend on how many copies of the code there are (`ScheduleParameters.copies`): with fewer
than accumulators, these are in memory; or they are as few, where the order changes no result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...llvm.emitter import Reg
from ...llvm.loops import Bound
from ...lowering.loop_nest import SHORT_BODY, Member, body_cost
from ..interleaving import side_by_side
from ..writing.element import ElementPass, Places, RowValues
from .totals import LONG, FoldStep, Totals, add_blocks

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
    if copies > nest.copies and not nest.in_registers:
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
