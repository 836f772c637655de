"""Folds along rows as kernels in the loop form: one loop along each row in each stage, and between them what
follows of what was folded. The pass `rfactor` writes these loops in lanes, with accumulators side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ....ir.dtypes import SHORT_NAME
from ....ir.graph import Value
from ...llvm.target import Target
from ...loops.affine import Affine, affine, variable
from ...loops.clocks import clocked
from ...loops.nodes import (
    SERIAL,
    TASKS,
    Alloc,
    Carry,
    Fold,
    For,
    Invert,
    Kernel,
    Load,
    Node,
    Operand,
    Poll,
    Prefetch,
    Store,
    unit_of,
)
from ...loops.passes import Step, scheduled, step_text
from ...loops.passes.parallelize import FIRST, STOP
from ...loops.passes.rfactor import Factoring
from ...lowering.loop_nest import Leaf, Member, Memory, Nest, Write
from ..divisors import divisors, pays
from ..elements import ElementBuilder, index_of
from ..prefetch import fetched_ahead
from ..tasks import polling_dim, task_count
from .chunked import CHUNK, OWN, ChunkWriter
from .totals import LONG


def algorithm(nest: Nest, sizes: Sequence[int], target: Target) -> Kernel:
    """The loops of rows, or of columns, as `nest` says them, over buffers of `sizes`."""
    return FoldBuilder(nest, target, None).kernel(sizes)


@clocked("schedule")
def schedule_of(nest: Nest, streamed: frozenset[Memory] = frozenset()) -> list[Step]:
    """The schedule of rows: a row is a task, and each stage is factored."""
    steps: list[Step] = []
    if nest.parallel:
        steps.append(("parallelize", (index_of(0), 1)))
    polls_in = polls_in_dim(nest)
    if polls_in is not None:
        steps.append(("poll", (index_of(polls_in),)))
    if 0 not in nest.sizes:
        line = index_of(nest.parallel)
        steps.append(("rfactor", (line, nest.lanes, nest.unroll, nest.copies, LONG)))
    if streamed:
        steps.append(("stream", tuple(sorted({f"b{memory.buffer}" for memory in streamed}))))
    return steps


def row_kernel(
    nest: Nest, sizes: Sequence[int], target: Target, streamed: frozenset[Memory] = frozenset()
) -> Kernel:
    """The kernel that the schedule of rows makes of their algorithm. It is built at once, with the loops that
    the passes would write: that takes half of the time."""
    schedule, factoring = schedule_of(nest, streamed), Factoring(nest.lanes, nest.unroll, nest.copies, LONG)
    return streamed_last(FoldBuilder(nest, target, factoring).kernel(sizes), schedule)


def streamed_last(kernel: Kernel, schedule: Sequence[Step]) -> Kernel:
    """`kernel`, which was built with the loops of `schedule`, after the pass that streams."""
    at_once = [step for step in schedule if step[0] != "stream"]
    built = kernel.with_schedule(tuple([step_text(*step) for step in at_once]))
    return scheduled(built, schedule[len(at_once) :])


def polls_in_dim(nest: Nest) -> int | None:
    """The loop around rows or columns, or along them, that lets signals in."""
    return polling_dim(nest.sizes, 1, nest.cycles / max(1, task_count(nest))) if nest.parallel else None


class StagePlan:
    """The work of one stage at each element of a row: what is folded, stored and kept, and the members that
    are computed for that."""

    def __init__(
        self, nest: Nest, stage: int, by_value: Mapping[Value, Member], stored: Mapping[Value, Memory]
    ) -> None:
        self.folds = [member for member in nest.members if member.is_reduction and member.stage == stage]
        self.writes = [write for write in nest.writes if not write.row_level and write.stage == stage]
        self.keeps = [value for value in nest.kept if by_value[value].stage == stage]
        #: Values of the row level that are read, and those that are read back from memory.
        self.row_values: list[Value] = []
        self.back: dict[Value, Memory] = {}
        sources: dict[Leaf | Value, None] = {}
        stack: list[Leaf | Value] = [operand for fold in self.folds for operand in fold.operands]
        stack += [*[write.source for write in self.writes], *self.keeps]
        while stack:
            source = stack.pop()
            if source in sources:
                continue
            sources[source] = None
            if isinstance(source, Value):
                member = by_value.get(source)
                if member is None or member.row_level:
                    self.row_values.append(source)
                elif member.stage < stage and source in stored:
                    self.back[source] = stored[source]
                else:
                    stack += member.operands
        self.leaves = [source for source in sources if not isinstance(source, Value)]
        self.members = [m for m in nest.members if m.value in sources and not m.row_level]

    def __bool__(self) -> bool:
        return bool(self.folds or self.writes or self.keeps)


def stored_values(nest: Nest) -> dict[Value, Memory]:
    """The values of elements that lie in memory once they are computed."""
    stored = dict(nest.kept)
    for write in nest.writes:
        if isinstance(write.source, Value) and not write.row_level and write.fold is None:
            stored.setdefault(write.source, write.memory)
    return stored


class FoldBuilder(ElementBuilder):
    """Builds the statements of a row, or of a column, and the loops around it: with a `factoring` those that
    the schedule makes."""

    def __init__(self, nest: Nest, target: Target, factoring: Factoring | None) -> None:
        super().__init__(nest)
        #: Whether numbers that a whole row is divided by are inverted.
        self.inverts = pays(nest, wide_tables=target.wide_tables)
        self.reads_once = True
        self.ahead = fetched_ahead(nest)
        self.by_value = {member.value: member for member in nest.members}
        self.stored = stored_values(nest)
        self.factoring = factoring
        self.chunked = ChunkWriter(self) if nest.chunks is not None else None

    @clocked("algorithm")
    def kernel(self, sizes: Sequence[int]) -> Kernel:
        """The kernel, over buffers of `sizes`."""
        nest = self.nest
        for value, memory in nest.known.items():
            self._read_back(value, memory)
        for stage in range(nest.stages):
            self._row_level(stage)
            self.fold_stage(stage)
        self.store([write for write in nest.writes if write.row_level], nest.members)
        # of columns each has memory of its own, and vectors of them side by side
        alike = 1 if nest.row_lanes or self.factoring is not None else nest.lanes * nest.unroll
        slots = [
            Alloc(f"s{1 + number}", dtype, affine(count // alike))
            for number, (dtype, count) in enumerate(nest.scratch_sizes)
        ]
        body = tuple(self.nodes)
        if self.factoring is None:
            body = self.loops(body, range(nest.parallel))
        else:
            body, slots = self.tasks(body), [*self.factoring.allocs, *slots]
        return Kernel(nest.name, self.buffers(sizes, nest.members), (*slots, *body))

    def tasks(self, body: tuple[Node, ...]) -> tuple[Node, ...]:
        """`body` for each row, the outermost loop as tasks."""
        return self.tasks_of_one(body, self.nest.parallel)

    def tasks_of_one(self, body: tuple[Node, ...], dims: int) -> tuple[Node, ...]:
        """`body` in loops over the first `dims` dimensions, the outermost one as tasks of one index."""
        nest, polls_in = self.nest, polls_in_dim(self.nest)
        for dim in reversed(range(dims)):
            lo, hi = (affine(0),), (affine(nest.sizes[dim]),)
            polls = (Poll(),) if dim == polls_in else ()
            first, stop = (variable(FIRST),), (variable(STOP),)
            inner = (lo, hi) if dim else (first, stop)
            if dim == 0 and self.chunked is not None:
                return (self._in_chunks(self.chunked, (*body, *polls)),)
            body = (For(self.dims[dim], *inner, 1, SERIAL, (*body, *polls)),)
            if dim == 0:
                body = (For(FIRST, lo, hi, 1, TASKS, body, end=STOP),)
        return body

    def _in_chunks(self, chunked: ChunkWriter, row: tuple[Node, ...]) -> For:
        """`row` for the rows of each chunk."""
        dim, extent = self.dims[0], affine(self.nest.sizes[0])
        return chunked.tasks(
            lambda first, ends: (
                For(dim, (first,), (*ends, extent), 1, SERIAL, (*row, *chunked.polls())),
            )
        )  # fmt: skip

    def store(self, writes: Sequence[Write], members: Iterable[Member]) -> None:
        super().store([write for write in writes if write.fold is None], members)
        for write in writes:
            if write.fold is not None:
                assert self.chunked is not None
                self.chunked.fold(write)

    def _row_level(self, stage: int) -> None:
        """Compute what is known before `stage` of each row."""
        for member in self.nest.members:
            if member.row_level and not member.is_reduction and member.stage == stage:
                self.compute(member)

    def fold_stage(self, stage: int) -> None:
        """Pass over the elements of a row."""
        nest, plan = self.nest, StagePlan(self.nest, stage, self.by_value, self.stored)
        if not plan:
            return
        if self.inverts:
            divided_by = divisors(plan.members) & set(plan.row_values)
            for value in [value for value in plan.row_values if value in divided_by]:
                self.inverses[value] = self.name("d")
                dtype = SHORT_NAME[value.dtype]
                self.nodes.append(Invert(self.inverses[value], dtype, self.names[value]))
        begin = {fold.value: self.chunked.beginning(fold) for fold in plan.folds} if self.chunked else {}
        around, held, names = self.nodes, self.held, dict(self.names)
        self.nodes, self.held = [], {}
        self.read_together(plan.leaves)
        self.asked = nest.asked if stage == 0 else frozenset()
        for member in plan.members:
            if member.value in plan.back:
                self._read_back(member.value, plan.back[member.value])
            else:
                self.compute(member)
        for memory in self.ahead[stage - 1 : stage] if stage else ():
            index = self.index(memory).plus(memory.strides[nest.parallel - 1])
            self.nodes.append(Prefetch(self.buffer(memory), index, len(self.ahead) == 1))
        for value in plan.keeps:
            memory = nest.kept[value]
            origins = next(member.instruction.origins for member in plan.members if member.value == value)
            self.nodes.append(
                Store(self.buffer(memory), self.index(memory), (self.names[value],), origins=origins)
            )
        self.store(plan.writes, plan.members)
        if len(nest.sizes) == nest.parallel:  # a row of one element
            for fold in plan.folds:
                names[fold.value] = self.name("f")
                self._fold_into(names[fold.value], fold, self._beginning(fold, begin.get(fold.value)))
            self.nodes, self.held, self.inverses = [*around, *self.nodes], held, {}
            self.names = {**self.names, **names}
            return
        carried = [self._fold(member, begin.get(member.value)) for member in plan.folds]
        loop = self._loops(tuple(self.nodes), tuple(carried))
        at_once = self.factoring is not None and 0 not in nest.sizes
        factored = self.factoring.factored(loop) if self.factoring and at_once else [loop]
        self.nodes, self.held, self.inverses = [*around, *factored], held, {}
        results = [(fold.value, carry.result) for fold, carry in zip(plan.folds, loop.carried, strict=True)]
        self.names = {**self.names, **names, **dict(results)}

    def _loops(self, body: tuple[Node, ...], carried: tuple[Carry, ...]) -> For:
        """The loops over the reduced dimensions, each of which hands on what the one inside does."""
        nest = self.nest
        polls_in = None if self.factoring is None else polls_in_dim(nest)
        for dim in reversed(range(nest.parallel, len(nest.sizes))):
            inner = carried
            if dim > nest.parallel:
                names = [self.name("t") for _ in carried]
                inner = tuple([
                    Carry(c.name, c.dtype, name, c.following, c.result)
                    for c, name in zip(carried, names, strict=True)
                ])  # fmt: skip
            polls = (Poll(),) if dim == polls_in else ()
            loop = For(
                self.dims[dim], (affine(0),), (affine(nest.sizes[dim]),), 1, SERIAL, (*body, *polls), inner
            )
            if dim > nest.parallel:
                carried = tuple([
                    Carry(name, c.dtype, c.first, c.result, self.name("r"))
                    for c, name in zip(carried, names, strict=True)
                ])  # fmt: skip
                body = (loop,)
        return loop

    def index(self, memory: Memory) -> Affine:
        nest = self.nest
        if memory.buffer is not None and memory.buffer < 0 and not nest.row_lanes:
            group = nest.lanes * nest.unroll
            memory = Memory(
                memory.buffer, memory.dtype, tuple([by // group for by in memory.strides]), memory.offset
            )
        index, pitch = super().index(memory), nest.pitches.get(memory)
        if pitch is None or self.chunked is None:
            return index
        index = index.plus(variable(CHUNK, pitch))
        return index.plus(variable(OWN)) if memory in self.chunked.private else index

    def _read_back(self, value: Value, memory: Memory) -> None:
        """Read an element that an earlier stage computed."""
        name, dtype = self.name("x"), SHORT_NAME[value.dtype]
        self.nodes.append(Load((name,), dtype, self.buffer(memory), self.index(memory)))
        self.names[value] = name

    def _fold(self, member: Member, begin: str | None) -> Carry:
        """Fold one element more; what the loop hands on, which begins with `begin` or the identity."""
        before, after, result = (self.name(prefix) for prefix in "tfr")
        self._fold_into(after, member, before)
        dtype = SHORT_NAME[member.value.dtype]
        return Carry(before, dtype, self._beginning(member, begin), after, result)

    def _fold_into(self, name: str, member: Member, before: Operand) -> None:
        """Name what `before` is with one element more folded in."""
        dtype, instruction = SHORT_NAME[member.value.dtype], member.instruction
        operand = self.operand(member.operands[0])
        self.nodes.append(Fold(name, dtype, instruction.op, before, operand, instruction.origins))

    def _beginning(self, member: Member, begin: str | None) -> Operand:
        """`begin`, or the identity of a fold."""
        return unit_of(member.instruction.op, SHORT_NAME[member.value.dtype]) if begin is None else begin
