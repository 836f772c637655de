"""Split reductions (rfactor), which have little or nothing parallel outside them: column sums of a tall
array, sums of everything.

The outermost reduced dimension is cut into chunks, which are the tasks. Each chunk folds into partial results
of its own; these are then folded in the chunks' order, so that results do not depend on the number of
threads. A stage that reads what an earlier one folded begins when that is known. So a split nest is several
nests, one after the other, whose rows and columns are written as those of any other nest:

- the elements of a stage: chunks, as tasks, and in each the columns and its iterations; they read operands
  and earlier totals, and write partial results, and elements;
- their rest, what fills no chunk, as the last task;
- the totals of a stage: columns, and in each the chunks; they read partial results, and write totals and what
  follows from them.

Of many columns a chunk is walked some rows at a time, all columns of them (`chunked`): memory in order,
partial results in the first cache.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Mapping, Sequence

from ....base.machine import machine
from ....base.records import record
from ....ir.dtypes import SHORT_NAME
from ....ir.graph import Value
from ....ir.types import Shape
from ...llvm.target import Target
from ...loops.affine import affine, variable
from ...loops.clocks import clocked
from ...loops.nodes import SERIAL, TASKS, Alloc, For, If, InRange, Kernel, Node
from ...loops.passes import scheduled, step_text
from ...loops.passes.parallelize import FIRST, STOP
from ...loops.passes.rfactor import Factoring
from ...loops.phases import workspace_bytes
from ...lowering.loop_nest import (
    Accumulator,
    Chunks,
    Leaf,
    Member,
    Memory,
    Nest,
    Write,
    placed,
)
from ..elements import ElementBuilder
from ..row_blocks import rows_at_a_time
from .blocked_rows import BlockBuilder
from .columns import ColumnBuilder, adds_blocks
from .moments import FIRST_ROWS, Moments
from .rows import FoldBuilder
from .totals import LONG, LONG_COLUMN, is_float_sum


def workspace_of(nest: Nest) -> int:
    """The bytes of the memory that the phases of a split nest share; 0 for others."""
    return workspace_bytes(Phases(nest, 0).shared) if nest.split is not None else 0


@clocked("algorithm")
def split_kernel(
    nest: Nest, sizes: Sequence[int], target: Target, streamed: frozenset[Memory] = frozenset()
) -> Kernel:
    """The kernel of a split nest."""
    phases = Phases(nest, len(sizes))
    writer = PhaseWriter(nest, sizes, target, streamed, phases.shared)
    at_end = phases.finishes_with_totals()
    totals = [stage for stage in range(nest.stages) if phases.folds(stage)]
    for stage in range(nest.stages):
        for chunks, rest in phases.elements_of(stage):
            writer.write_tasks(chunks, rest, is_last=stage == nest.stages - 1)
        if stage in totals:
            writer.write(phases.totals_of(stage, finishes=at_end and stage == totals[-1]), terms=1)
    if not at_end and any(write.row_level for write in nest.writes):
        writer.write(phases.finish())
    return writer.kernel()


@record
class _Walk:
    """A way through the elements of a split nest: the first iteration of the reduced dimension, and how many;
    `outer` iterations around it, each `step` further on; and the places of partial results, `pitch` elements
    apart there, from chunk `chunk` on."""

    first: int
    count: int
    outer: int | None = None
    step: int = 0
    pitched: bool = True
    chunk: int = 0


class Phases:
    """The nests of a split nest, and the memory that they share, in buffers from number `buffers` on."""

    def __init__(self, nest: Nest, buffers: int) -> None:
        assert nest.split is not None
        self.nest, self.split, self.buffers, self.dim = nest, nest.split, buffers, nest.parallel
        extent, size, block = nest.sizes[self.dim], self.split.size, self.split.block
        #: Whether chunks are walked in blocks, and the iterations that fill no block, or no chunk.
        self.blocked = block < size
        self.rest = extent % block if self.blocked else extent - self.split.chunks * size
        self.parts = self.split.chunks + (self.rest > 0 and not self.blocked)
        #: Elements of a row or column in one iteration.
        self.inner = math.prod(nest.sizes[self.dim + 1 :])
        self.columns = nest.sizes[: self.dim]
        self.moments = Moments(nest) if nest.moments else None
        self.shared: list[Alloc] = []
        seconds = nest.moments
        folds = [m for m in nest.members if m.is_reduction and m.value not in seconds]
        folds += self.moments.folds if self.moments else []
        near = self.moments.near.values() if self.moments else ()
        #: Partial results, and the errors of long sums, by chunks and columns.
        self.partial = {value: self._share(value, self.parts) for value in [*[m.value for m in folds], *near]}
        most = LONG if nest.reads_across else LONG_COLUMN // 2
        long = self.blocked and size > most * block
        sums = [fold.value for fold in folds if long and is_float_sum(fold.instruction)]
        self.errors = {value: self._share(value, self.parts) for value in sums}
        #: The stage behind whose elements the value of a row or column is known.
        self.known = {
            member.value: self._known_after(member.stage - (not member.is_reduction))
            for member in nest.members
            if member.row_level and (member.is_reduction or member.stage)
        }
        #: Memory of the ones that another phase reads.
        self.totals = {value: self._share(value, 1) for value in self._read_later()}
        #: Elements that a stage writes, which later ones read back.
        self.stored: dict[Value, Write] = {}
        for write in nest.writes:
            if isinstance(write.source, Value) and not write.row_level:
                self.stored.setdefault(write.source, write)

    def _share(self, value: Value, count: int) -> Memory:
        """Memory of `count` numbers like `value` for each column; by chunks and columns."""
        dtype, line = SHORT_NAME[value.dtype], machine().line_bytes // value.dtype.itemsize
        pitch = -(-math.prod(self.columns) // line) * line
        number = self.buffers + len(self.shared)
        self.shared.append(Alloc(f"b{number}", dtype, affine(pitch * count), shared=True))
        return Memory(number, dtype, (pitch, 1), 0)

    def _known_after(self, stage: int) -> int:
        return 0 if self.moments and stage == 1 else stage

    def folds(self, stage: int) -> list[Member]:
        """The reductions that are known behind the elements of `stage`."""
        return [m for m in self.nest.members if m.is_reduction and self.known[m.value] == stage]

    def _read_later(self) -> list[Value]:
        """The values of rows or columns that another phase reads than the one in which they are known."""
        later, finished = dict[Value, None](), self.nest.stages - 1
        readers: list[tuple[int, Sequence[Leaf | Value]]] = []
        for member in self.nest.members:
            of_rows = member.row_level and not member.is_reduction
            readers.append((self.known.get(member.value, -1) if of_rows else -1, member.operands))
        at_end = self._known_after(finished) if self.finishes_with_totals() else -1
        readers += [(at_end if w.row_level else -1, (w.source,)) for w in self.nest.writes]
        for phase, operands in readers:
            for operand in operands:
                if isinstance(operand, Value) and self.known.get(operand, phase) != phase:
                    later[operand] = None
        return list(later)

    def finishes_with_totals(self) -> bool:
        """Whether nothing passes over the elements behind the last totals."""
        last = self.nest.stages - 1
        return any(m.is_reduction and m.stage == last for m in self.nest.members)

    # -- nests ------------------------------------------------------------------------------------

    def elements_of(self, stage: int) -> list[tuple[Nest, Nest | None]]:
        """The nests that pass over the elements of `stage`: chunks, and what fills none."""
        nest, split = self.nest, self.split
        writes = [write for write in nest.writes if not write.row_level and write.stage == stage]
        folds = [m for m in nest.members if m.is_reduction and m.stage == stage]
        if self._known_after(stage) != stage or not (folds or writes):
            return []
        members, moments = nest.members, self.moments if stage == 0 else None
        behind = nest.sizes[self.dim] - self.rest
        chunks = _Walk(0, split.size, split.chunks, split.size)
        rest = _Walk(behind, self.rest, pitched=not self.blocked, chunk=0 if self.blocked else split.chunks)
        passes: list[tuple[Nest, Nest | None]] = []
        if moments is not None:
            first = self._beginning(moments, stage, chunks)
            apart = rest.count > 0 and rest.pitched
            passes.append((first, self._beginning(moments, stage, rest) if apart else None))
            members, folds = [*members, *moments.distances], [*folds, *moments.folds]
        if self.blocked:
            chunks = _Walk(0, split.block, behind // split.block, split.block, pitched=False)
        whole = self._pass(chunks, stage, members, folds, writes)
        return [*passes, (whole, self._pass(rest, stage, members, folds, writes) if rest.count else None)]

    def _beginning(self, moments: Moments, stage: int, walk: _Walk) -> Nest:
        """The nest that finds numbers near the means, from the first iterations of each chunk."""
        count = min(FIRST_ROWS, walk.count, self.split.block)
        walk = _Walk(walk.first, count, walk.outer, walk.step, walk.pitched, walk.chunk)
        members = [*self.nest.members, *moments.beginning(count * self.inner)]
        found = [member for member in members if member.value in moments.near.values()]
        return self._pass(walk, stage, members, found, ())

    def _pass(
        self, walk: _Walk, stage: int, members: Sequence[Member], results: Sequence[Member],
        writes: Sequence[Write],
    ) -> Nest:  # fmt: skip
        """The nest that walks as `walk` says, stores or folds `results` into partial ones, and makes
        `writes`."""
        nest, dim, parts = self.nest, self.dim, (1,) if self.columns else ()
        sizes = (*self.columns, walk.count, *nest.sizes[dim + 1 :])
        sizes = sizes if walk.outer is None else (walk.outer, *sizes)

        def place(memory: Memory) -> Memory:
            by, offset = memory.strides, memory.offset + walk.first * memory.strides[dim]
            strides = by if walk.outer is None else (walk.step * by[dim], *by)
            return Memory(memory.buffer, memory.dtype, strides, offset)

        def shared(memory: Memory, *, by_chunk: bool) -> Memory:
            pitch = memory.strides[0] if by_chunk and walk.pitched else 0
            strides: tuple[int, ...] = parts if walk.outer is None else (pitch, *parts)
            offset = walk.chunk * pitch
            strides += (0,) * (len(sizes) - len(strides))
            return Memory(memory.buffer, memory.dtype, strides, offset)

        known = {
            value: shared(memory, by_chunk=False)
            for value, memory in self.totals.items() if self.known[value] < stage
        }  # fmt: skip
        here = {result.value for result in results}
        near = [value for value in (self.moments.near.values() if self.moments else ()) if value not in here]
        known |= {value: shared(self.partial[value], by_chunk=True) for value in near}
        stored = {value: write.memory for value, write in self.stored.items() if write.stage < stage}
        sources = [result.value for result in results] + [write.source for write in writes]
        own_members = set(map(id, nest.members))
        chosen = needed(
            members, sources, known, stored, place, lambda m: 0 if id(m) in own_members else m.stage
        )
        own = [Write(placed(stored_at(w.source, stored), place), place(w.memory), False, 0) for w in writes]
        accumulators: dict[Write, Accumulator] = {}
        pitches = {known[value]: self.partial[value].strides[0] for value in near if not walk.pitched}
        for result in results:
            memory = shared(self.partial[result.value], by_chunk=True)
            write = Write(result.value, memory, True, 0, None if walk.pitched else result.instruction)
            if not walk.pitched:
                error = self.errors.get(result.value)
                behind = None if error is None else shared(error, by_chunk=True)
                accumulators[write] = Accumulator(memory, behind, math.prod(self.columns))
                pitch = self.partial[result.value].strides[0]
                pitches |= {place_of: pitch for place_of in (memory, behind) if place_of is not None}
            own.append(write)
        read = {operand for member in chosen for operand in member.operands}
        blocks = Chunks(self.split.chunks, self.split.size // self.split.block)
        return Nest(
            nest.name, sizes, dim + (walk.outer is not None), nest.lanes, chosen, own, stages_of(chosen),
            row_lanes=nest.row_lanes, unroll=nest.unroll, copies=nest.copies,
            cycles=nest.cycles * math.prod(sizes) / math.prod(nest.sizes), serial=walk.outer is None,
            known={value: memory for value, memory in known.items() if value in read},
            chunks=None if walk.pitched else blocks, accumulators=accumulators, pitches=pitches,
            asked=frozenset(map(place, nest.asked)),
        )  # fmt: skip

    def totals_of(self, stage: int, *, finishes: bool) -> Nest:
        """The nest that folds the partial results of `stage`; if it `finishes`, it writes the results of rows
        and columns, too."""
        members = [
            Member(m.instruction, (self.part(m.value),), True, 0)
            for m in self.folds(stage) if m.value not in self.nest.moments
        ]  # fmt: skip
        members += self.moments.totals(self) if self.moments and stage == 0 else []
        writes = [
            Write(value, self._row(memory, 1), True, 0)
            for value, memory in self.totals.items() if self.known[value] == stage
        ]  # fmt: skip
        return self._rows(stage, members, writes, (*self.columns, self.parts), finishes=finishes)

    def finish(self) -> Nest:
        """The nest that writes the results of rows and columns."""
        return self._rows(self.nest.stages, [], [], self.columns, finishes=True)

    def part(self, value: Value) -> Memory:
        """The partial results for `value`, along columns and chunks."""
        memory = self.partial[value]
        strides = (1, memory.strides[0]) if self.columns else (memory.strides[0],)
        return Memory(memory.buffer, memory.dtype, strides, 0)

    def _row(self, memory: Memory, step: int) -> Memory:
        """`memory`, of which each column has one number, along columns and chunks."""
        strides = (step,) if self.columns else ()
        return Memory(memory.buffer, memory.dtype, (*strides, 0), memory.offset)

    def _rows(
        self, stage: int, members: Sequence[Member], writes: Sequence[Write], sizes: Shape, *, finishes: bool
    ) -> Nest:
        """The nest of rows or columns that computes `members` and what follows from them, and makes
        `writes`."""
        nest, dims = self.nest, len(sizes)

        def place(memory: Memory) -> Memory:
            at = self._row(memory, memory.strides[0] if self.columns else 0)
            return Memory(at.buffer, at.dtype, at.strides[:dims], at.offset)

        own = list(writes)
        if finishes:
            last = [write for write in nest.writes if write.row_level]
            own += [Write(placed(w.source, place), place(w.memory), True, 0) for w in last]
        made = {member.value for member in members}
        rows = [m for m in nest.members if m.row_level and not m.is_reduction and m.value not in made]
        every = [*members, *rows]
        known = {
            value: Memory(memory.buffer, memory.dtype, self._row(memory, 1).strides[:dims], 0)
            for value, memory in self.totals.items() if self.known[value] != stage
        }  # fmt: skip
        in_rows = set(map(id, rows))
        chosen = needed(
            every, [write.source for write in own], known, {}, place,
            lambda m: max(0, m.stage - stage) if id(m) in in_rows else m.stage,
            lambda m: id(m) in in_rows,
        )  # fmt: skip
        chosen = sorted(chosen, key=lambda m: m.stage)
        read = {operand for member in chosen for operand in member.operands} | {write.source for write in own}
        return Nest(
            nest.name, sizes, len(self.columns), nest.lanes if self.columns else 1, chosen, own,
            stages_of(chosen), unroll=nest.unroll if self.columns else 1, serial=True,
            known={value: memory for value, memory in known.items() if value in read},
        )  # fmt: skip


def stages_of(members: Iterable[Member]) -> int:
    """The number of stages of `members`."""
    return 1 + max([member.stage + member.is_reduction for member in members], default=0)


def stored_at(source: Leaf | Value, stored: Mapping[Value, Memory]) -> Leaf | Value:
    """The memory in which `source` is `stored`, or itself."""
    return stored.get(source, source) if isinstance(source, Value) else source


def needed(
    members: Sequence[Member], sources: Iterable[Leaf | Value], known: Container[Value],
    stored: Mapping[Value, Memory], place: Callable[[Memory], Memory], stage_of: Callable[[Member], int],
    is_placed: Callable[[Member], bool] = lambda _: True,
) -> list[Member]:  # fmt: skip
    """The `members` that `sources` need of those that are not `known` or `stored`, each in the stage that
    ``stage_of`` gives, its accesses where `place` puts them."""
    by_value = {member.value: member for member in members}
    chosen: set[Value] = set()
    stack = list(sources)
    while stack:
        source = stack.pop()
        if isinstance(source, Value) and not any(source in some for some in (chosen, known, stored)):
            chosen.add(source)
            stack += by_value[source].operands
    return [
        Member(
            m.instruction,
            tuple([placed(stored_at(o, stored), place) for o in m.operands]) if is_placed(m) else m.operands,
            m.row_level, stage_of(m),
        )
        for m in members if m.value in chosen
    ]  # fmt: skip


class PhaseWriter:
    """Writes the loops of the phases of `nest` one behind the other, over the memory `allocs`."""

    def __init__(
        self, nest: Nest, sizes: Sequence[int], target: Target, streamed: frozenset[Memory],
        allocs: Iterable[Alloc],
    ) -> None:  # fmt: skip
        self.nest, self.sizes, self.target, self.streamed = nest, sizes, target, streamed
        self.allocs, self.body = list(allocs), list[Node]()
        self.buffers = ElementBuilder(nest).buffers(sizes, nest.members)
        self.schedule: tuple[str, ...] = ()
        #: Numbers of the names that there are, and the memory of phases.
        self.count, self.memories = 0, set[str]()

    def kernel(self) -> Kernel:
        """The kernel of the phases that were written."""
        return Kernel(self.nest.name, self.buffers, (*self.allocs, *self.body), schedule=self.schedule)

    def statements(self, nest: Nest, terms: int | None = None, rest: tuple[Node, ...] = ()) -> list[Node]:
        """The statements of `nest`, whose sums are added up by so many `terms`; the last rows of its last
        chunk are `rest`."""
        terms = _terms(nest) if terms is None else terms
        factoring = Factoring(0, 1, 1, terms)
        kind: type[FoldBuilder] = ColumnBuilder if nest.parallel else FoldBuilder
        if nest.row_lanes:
            factoring = Factoring(nest.lanes, nest.unroll, nest.copies, terms)
            in_blocks_of_rows = nest.chunks is not None and rows_at_a_time(nest) > 1
            kind = BlockBuilder if in_blocks_of_rows else FoldBuilder
        factoring.memories = self.memories
        builder = kind(nest, self.target, factoring)
        builder.count = self.count
        if builder.chunked is not None:
            builder.chunked.rest = rest
        kernel = builder.kernel(self.sizes)
        self.count = builder.count
        self.allocs += [node for node in kernel.body if isinstance(node, Alloc)]
        return [node for node in kernel.body if not isinstance(node, Alloc)]

    def write(self, nest: Nest, terms: int | None = None) -> None:
        """Write the loops of `nest`."""
        self.body += self.statements(nest, terms)

    def write_tasks(self, chunks: Nest, rest: Nest | None, *, is_last: bool) -> None:
        """Write the chunks of a stage, and what fills none; in the last stage stores may go past the
        cache."""
        others = () if rest is None else tuple(self.statements(rest))
        (loop,) = self.statements(chunks, rest=others)
        assert isinstance(loop, For)
        if rest is not None and chunks.chunks is None:
            loop = _with_last_task(loop, others)
        phase = Kernel(self.nest.name, self.buffers, (loop,))
        if self.streamed and is_last:
            step = "stream", tuple(sorted({f"b{memory.buffer}" for memory in self.streamed}))
            phase = scheduled(phase, [step])
            self.schedule = (*self.schedule, step_text(*step))
        self.body += phase.body


def _terms(nest: Nest) -> int:
    """The terms of a sum that are added up one after the other."""
    return LONG if nest.row_lanes or adds_blocks(nest) else math.prod(nest.sizes)


def _with_last_task(loop: For, nodes: tuple[Node, ...]) -> For:
    """The tasks of `loop`, and `nodes` as one more behind them."""
    (inner,), (tasks,) = loop.body, loop.hi
    assert isinstance(inner, For)
    some = For(inner.index, inner.lo, (*inner.hi, tasks), inner.step, SERIAL, inner.body)
    last = If((InRange(variable(STOP).plus(tasks, -1).plus(-1)),), nodes)
    return For(FIRST, loop.lo, (tasks.plus(1),), 1, TASKS, (some, last), end=STOP)
