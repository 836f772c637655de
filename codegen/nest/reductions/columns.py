"""Folds of columns as kernels in the loop form: the algorithm is that of rows, a loop along each column in
each stage. Lanes lie along the columns, which are scheduled as the elements of a map. Long sums of floats are
added up in blocks (the pass `block`)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...llvm.target import Target
from ...loops.affine import affine, variable
from ...loops.clocks import clocked
from ...loops.nodes import INTERLEAVED, LANES, SERIAL, TASKS, Call, For, If, InRange, Kernel, Node, Poll
from ...loops.passes import Step, scheduled
from ...loops.passes.parallelize import FIRST, STOP
from ...loops.passes.rfactor import Factoring
from ...loops.passes.unroll import COPY
from ...loops.passes.vectorize import LANE, side_by_side
from ...loops.rewriting import replaced, with_places
from ...lowering.loop_nest import Memory, Nest
from ..elements import index_of
from ..maps import known_ranges, lines, task_of_line
from ..tasks import task_count, vector_block
from .chunked import OWN, ChunkWriter
from .rows import FoldBuilder, algorithm, polls_in_dim, streamed_last
from .totals import LONG, LONG_COLUMN, is_float_sum


def adds_blocks(nest: Nest) -> bool:
    """Whether `nest` has sums of floats along columns that are so long that they are added up in blocks."""
    most = LONG if nest.reads_across or nest.transposed else LONG_COLUMN
    sums = any(member.is_reduction and is_float_sum(member.instruction) for member in nest.members)
    return sums and math.prod(nest.sizes[nest.parallel :]) > most


@clocked("schedule")
def schedule_of(nest: Nest, streamed: frozenset[Memory] = frozenset()) -> list[Step]:
    """The schedule of columns: vectors of them, in groups, and tasks."""
    dim, steps = nest.parallel - 1, list[Step]()
    j, group, tasks = index_of(dim), nest.lanes * nest.unroll, task_count(nest)
    if tasks > 1:
        steps.append(("parallelize", (index_of(0), group * vector_block(nest) if dim == 0 else 1)))
    polls_in = polls_in_dim(nest)
    polls: list[Step] = [] if polls_in is None else [("poll", (index_of(polls_in),))]
    if polls_in is not None and polls_in > dim:
        steps, polls = [*steps, *polls], []
    steps.append(("vectorize", (j, nest.lanes)))
    if adds_blocks(nest):
        steps.append(("block", (index_of(nest.parallel), LONG)))
    steps += task_of_line(nest, j) if dim == 0 and tasks > 1 else lines(nest, j)
    steps += [*polls, ("normalize", ())]
    if streamed:
        steps.append(("stream", tuple(sorted({f"b{memory.buffer}" for memory in streamed}))))
    return steps


def column_kernel(
    nest: Nest, sizes: Sequence[int], target: Target, streamed: frozenset[Memory] = frozenset()
) -> Kernel:
    """The kernel that the schedule of columns makes of their algorithm; it is built at once, but for the
    parts of windows. Rows that are transposed, a lane for each, are columns of a block of them."""
    schedule = schedule_of(nest, streamed)
    if known_ranges(nest):
        return scheduled(algorithm(nest, sizes, target), schedule)
    terms = LONG if adds_blocks(nest) else math.prod(nest.sizes)
    built = ColumnBuilder(nest, target, Factoring(0, 1, 1, terms)).kernel(sizes)
    return streamed_last(built, schedule)


class ColumnBuilder(FoldBuilder):
    """Builds the loops around columns."""

    def tasks(self, body: tuple[Node, ...]) -> tuple[Node, ...]:
        nest, dim = self.nest, self.nest.parallel - 1
        if dim:
            return self.tasks_of_one(self._columns(body), dim)
        if self.chunked is not None and not nest.serial:
            return (self._vectors_in_chunks(self.chunked, body),)
        tasks = task_count(nest)
        if tasks == 1:
            return self._columns(body)
        ends = (affine(0),), (affine(tasks),)
        return (For(FIRST, *ends, 1, TASKS, self._columns(body, in_tasks=True), end=STOP),)

    def _columns(self, body: tuple[Node, ...], *, in_tasks: bool = False) -> tuple[Node, ...]:
        """`body` for all columns of the last parallel dimension, or of those that are some tasks: groups of
        vectors, single ones, and lanes that fill none."""
        nest, dim = self.nest, self.nest.parallel - 1
        index, extent, lanes = self.dims[dim], nest.sizes[dim], nest.lanes
        group = lanes * nest.unroll
        whole, vectors = extent // group * group, extent // lanes * lanes
        j, slots = variable(index), self._slots()
        shared = self._in_lanes(body)
        single = with_places(shared, slots, lambda at: side_by_side(at, LANE, lanes))
        parts: list[tuple[int, int, int, tuple[Node, ...]]] = []
        if whole and nest.unroll > 1:
            copied = replaced(single, index, j.plus(variable(COPY, lanes)))
            copied = with_places(copied, slots, lambda at: side_by_side(at, COPY, nest.unroll, LANE, lanes))
            copied = self._lanes(copied, lanes)
            copies = (affine(0),), (affine(nest.unroll),)
            parts.append((0, whole, group, (For(COPY, *copies, 1, INTERLEAVED, copied),)))
        elif whole:
            parts.append((0, whole, group, self._lanes(single, lanes)))
        if whole < vectors:
            parts.append((whole, vectors, lanes, self._lanes(single, lanes)))
        if vectors < extent:
            parts.append((vectors, extent, extent - vectors, self._lanes(single, extent - vectors)))
        stop = variable(STOP, group)
        polls = (Poll(),) if dim == polls_in_dim(nest) else ()
        nodes: list[Node] = []
        for first, last, step, inner in parts:
            inner = (*inner, *polls)
            ends = (affine(last),)
            if in_tasks and first == 0:
                nodes.append(For(index, (variable(FIRST, group),), (stop, *ends), step, SERIAL, inner))
                continue
            loops: tuple[Node, ...] = (For(index, (affine(first),), ends, step, SERIAL, inner),)
            if last - first == step:
                loops = replaced(inner, index, affine(first))
            nodes += [If((InRange(stop.plus(-last)),), loops)] if in_tasks else loops
        return tuple(nodes)

    def _slots(self) -> set[str]:
        """The memory of values that columns keep."""
        return {f"s{1 + number}" for number in range(len(self.nest.scratch_sizes))}

    def _in_lanes(self, body: tuple[Node, ...]) -> tuple[Node, ...]:
        """`body` for the column that a lane has."""
        index = self.dims[self.nest.parallel - 1]
        body = replaced(body, index, variable(index).plus(variable(LANE)))
        return replaced(body, OWN, variable(LANE)) if self.chunked and self.chunked.private else body

    def _vectors_in_chunks(self, chunked: ChunkWriter, body: tuple[Node, ...]) -> For:
        """`body` for all columns in each chunk: vectors, and in the last one lanes that fill none."""
        nest, index = self.nest, self.dims[0]
        extent, lanes = nest.sizes[0], nest.lanes
        vectors, slots = extent // lanes * lanes, self._slots()
        single = with_places(self._in_lanes(body), slots, lambda at: side_by_side(at, LANE, lanes))
        whole = self._lanes(single, lanes)
        rest: tuple[Node, ...] = ()
        if vectors < extent:
            rest = replaced(self._lanes(single, extent - vectors), index, affine(vectors))
        return chunked.tasks(
            lambda first, ends: (
                For(index, (first,), (*ends, affine(vectors)), lanes, SERIAL, (*whole, *chunked.polls())),
                *chunked.in_last_chunk(rest),
            )
        )  # fmt: skip

    def _lanes(self, body: tuple[Node, ...], count: int) -> tuple[Node, ...]:
        """`body` in the first `count` lanes; before and behind it what is transposed (`transposed_rows`)."""
        nest, lanes = (
            self.nest,
            For(LANE, (affine(0),), (affine(count),), 1, LANES, body, width=self.nest.lanes),
        )
        sizes = count, nest.sizes[-1], nest.lanes
        into = [
            self._transposed("transpose_rows", memory, own, sizes) for own, memory in nest.transposed.reads
        ]
        out = [
            self._transposed("transpose_columns", own, memory, sizes)
            for own, memory in nest.transposed.writes
        ]
        return (*into, lanes, *out)

    def _transposed(self, callee: str, source: Memory, target: Memory, sizes: tuple[int, ...]) -> Call:
        """Call of an instruction that turns a block of rows."""
        places = [
            (self.buffer(memory), self.index(memory).without(self.dims[-1]), by)
            for memory in (source, target)
            for by in [memory.strides[-2 if (memory.buffer or 0) >= 0 else -1]]
        ]
        return Call(callee, tuple(places), sizes)
