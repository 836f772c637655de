"""Split reductions (rfactor), which have little or nothing parallel outside them: column sums of a tall
array, sums of everything.

The outermost reduced dimension is cut into chunks, which are the tasks. Each chunk folds into partial results
of its own; these are then folded in the chunks' order, so that results do not depend on the number of
threads. A stage that reads what an earlier one folded begins when that is known. Column nests walk a chunk
some rows at a time, all columns of them: memory in order, partial results in the first cache.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from ....base.machine import machine
from ...llvm.emitter import Reg, constant
from ...llvm.function import Code, Declarations, FunctionCode
from ...llvm.loops import Bound
from ...lowering.exits import LONG_CYCLES, poll_or_return
from ...lowering.kernel import signature
from ...lowering.loop_nest import Member, Memory, Nest, Split, Write
from ...lowering.parallel_for import context_of, fold_parts, part_of, run_tasks, take_context, task_signature
from ...maths import MathsWriter
from ...maths.support import add_compensated, compensated
from ..tasks import polling_dim
from ..writing.element import ElementPass, Places, RowValues
from ..writing.nest_writer import NestWriter
from ..writing.storing import past_cache
from .folding import fold_loops, line_of, totals_of
from .partials import Partials
from .totals import LONG, column_step

#: Rows of a column nest that are walked before the next ones.
BLOCK_ROWS: Final = 8


def split_of(nest: Nest) -> Split | None:
    """Choose how to split the reductions of `nest` into chunks (rfactor); None for nests that are no
    reductions, little work or parallel as they are."""
    folds = [member for member in nest.members if member.is_reduction]
    least = machine().parallel_cycles
    if not folds or 0 in nest.sizes or len(nest.sizes) == nest.parallel or nest.cycles <= least:
        return None
    extent, unit, block = nest.sizes[nest.parallel], 1, 1
    if nest.row_lanes:
        if nest.parallel:
            return None
        if len(nest.sizes) == 1:
            unit = nest.lanes * nest.unroll
            extent = extent // unit * unit
    else:
        if nest.turned or nest.parallel != 1 or nest.sizes[0] * 8 * len(folds) > machine().l1_bytes:
            # its columns are tasks enough, and partial results would not stay in cache
            return None
        block = BLOCK_ROWS if nest.sizes[0] > nest.lanes * nest.unroll else extent
    most = min(
        machine().chunks, int(nest.cycles / machine().task_cycles), extent // (unit * min(block, BLOCK_ROWS))
    )
    if most < 2:
        return None
    size = -(-extent // (most * unit)) * unit
    return Split(-(-extent // size), size, block)


def workspace_of(nest: Nest) -> int:
    """Bytes of the workspace of a split nest, 0 for others."""
    return Partials(nest, 0).nbytes if nest.split is not None else 0


class SplitWriter(NestWriter):
    """Writes the functions of one split nest: per stage a task, which works on chunks, and one function that
    has them run and folds what they give."""

    def __init__(
        self,
        nest: Nest,
        declarations: Declarations,
        buffers: int,
        streamed: frozenset[Memory] = frozenset(),
    ) -> None:
        super().__init__(nest, declarations, streamed)
        assert nest.split is not None
        self.split, self.declarations, self.buffers = nest.split, declarations, buffers
        self.layout = Partials(nest, buffers)
        #: The iterations of the outermost reduced dimension that are being written, and how many at most.
        self.bounds: tuple[Reg, Reg, int] | None = None
        self.chunks = self.split.chunks + self.split.has_rest(nest)
        cycles = nest.cycles / self.split.chunks
        sizes = (*nest.sizes[: nest.parallel], self.split.size, *nest.sizes[nest.parallel + 1 :])
        self.polls_in = polling_dim(sizes, nest.parallel, cycles) if nest.row_lanes else None
        #: Whether signals are let in after some blocks of rows, of columns.
        self.polls_in_blocks = not nest.row_lanes and cycles > LONG_CYCLES

    def code(self) -> Code:
        """The code of ``@name(ptr %b0, ..., i64 %begin, i64 %end)`` and of its tasks."""
        nest, tasks = self.nest, list[FunctionCode]()
        whole = MathsWriter(self.declarations)
        context = context_of(whole, self.buffers + 1)
        finish = any(write.row_level for write in nest.writes)
        for stage in range(nest.stages):
            folds, writes = self._work(stage)
            if (folds or writes) and self.is_walked(stage):
                name = f"{nest.name}_p{stage}"
                tasks.append(self._chunks(f"{name}_task", stage))
                run_tasks(whole, name, self.chunks, context=context)
            if folds:
                self.w = whole
                self._combine(folds, finish=finish and stage == nest.stages - 1)
        if finish and not self._work(nest.stages - 1)[0]:  # not before all is read that results may overwrite
            self.w = whole
            self._each_column(self._bases(), self._finish)
        whole.ret()
        return [*tasks, whole.function(signature(nest.name, self.buffers + 1), "nounwind")]

    def is_walked(self, stage: int) -> bool:
        """Whether the elements are passed over for `stage`, where it has something to do."""
        return True

    def _work(self, stage: int) -> tuple[list[Member], list[Write]]:
        folds = [member for member in self.nest.members if member.is_reduction and member.stage == stage]
        return folds, [write for write in self.nest.writes if not write.row_level and write.stage == stage]

    def _accesses(self) -> list[Memory]:
        return [*super()._accesses(), *self.layout.total.values(), *self.layout.apart]

    # -- chunks -----------------------------------------------------------------------------------

    def _chunks(self, name: str, stage: int) -> FunctionCode:
        """The task that runs `stage` on a range of chunks."""
        self.w = w = MathsWriter(self.declarations)
        take_context(w, self.buffers + 1)
        bases = self._bases()

        def chunk(index: Reg, _: list[Reg]) -> Sequence[Reg]:
            self._chunk(stage, index, self._of_chunk(bases, index))
            return ()

        def chunks(streaming: frozenset[Memory]) -> None:
            self.streaming = streaming
            w.loop(Reg("%begin", "i64"), Reg("%end", "i64"), 1, chunk, nonempty=True)

        last = stage == self.nest.stages - 1
        past_cache(w, bases, self.streamed if last else frozenset(), chunks)
        self.streaming = frozenset()
        w.ret()
        return w.function(task_signature(name), "nounwind")

    def _of_chunk(self, places: Places, index: Reg) -> Places:
        """`places` with the partial results of one chunk."""
        moved = dict(places)
        for memory, apart in self.layout.apart.items():
            place = places[memory]
            assert isinstance(place, str)
            moved[memory] = self.w.offset(place, memory.dtype, self.w.mul(index, apart))
        return moved

    def _chunk(self, stage: int, index: Reg, places: Places) -> None:
        w, split, nest = self.w, self.split, self.nest
        extent = nest.sizes[nest.parallel]
        if nest.row_lanes and len(nest.sizes) == 1:
            extent = extent // (nest.lanes * nest.unroll) * nest.lanes * nest.unroll
        first, stop = part_of(w, index, split.size, extent)
        if nest.row_lanes:
            if not split.has_rest(nest):
                self._fold_chunk(stage, places, (first, stop))
                return
            w.when(w.lt(index, split.chunks), lambda: self._fold_chunk(stage, places, (first, stop)))
            w.when(w.ge(index, split.chunks), lambda: self._fold_chunk(stage, places, None))
            return
        folds, _ = self._work(stage)

        def block(row: Reg, _: list[Reg]) -> Sequence[Reg]:
            self.bounds = (row, w.min(w.add(row, split.block), stop), split.block)
            self._each_column(places, lambda at, copies, mask: self._rows(stage, at, copies, mask))
            return ()

        if folds:
            self._each_column(places, lambda *at: self.begin(stage, (first, stop), *at))
        if not folds or not self.layout.sums:
            w.loop(first, stop, split.block, block, nonempty=True)
            return

        def blocks(index: Reg, _: list[Reg]) -> Sequence[Reg]:
            w.loop(index, w.min(w.add(index, LONG * split.block), stop), split.block, block, nonempty=True)
            self._each_column(places, lambda *at: self._add_blocks(stage, *at))
            if self.polls_in_blocks:
                poll_or_return(w)
            return ()

        w.loop(first, stop, LONG * split.block, blocks, nonempty=True)

    def begin(
        self, stage: int, bounds: tuple[Reg, Reg], places: Places, copies: int, mask: Reg | None
    ) -> None:
        """Set the partial results of a group of columns to the identity, for the rows of a chunk between
        `bounds`."""
        for member in self._work(stage)[0]:
            identity = self.identity(member, self.nest.lanes)
            self.clear(identity, self.layout.partial[member], places, copies, mask)

    def clear(self, identity: Reg, memory: Memory, places: Places, copies: int, mask: Reg | None) -> None:
        """Set the partial results at `memory` to the identity."""
        for place in (memory, *self.layout.sums.get(memory, ())):
            for copy in range(copies):
                self.save(identity, place, places, copy, mask)

    def _add_blocks(self, stage: int, places: Places, copies: int, mask: Reg | None) -> None:
        """Add what some blocks of rows sum to, of a group of columns, to the chunk's totals."""
        w = self.w
        for memory in self._accumulators(self.planned_in(stage)):
            for copy in range(copies if memory in self.layout.sums else 0):
                parts = (memory, *self.layout.sums[memory])
                term, total, error = (self.read(part, places, copy, mask, row_level=True) for part in parts)
                sums = w.const(0.0, term), *add_compensated(w, total, error, term)
                for place, value in zip(parts, sums, strict=True):
                    self.save(value, place, places, copy, mask)

    def sum_of_chunk(self, memory: Memory, places: Places, copy: int, mask: Reg | None) -> Reg:
        """Value that a chunk folded, for the partial result at `memory`."""
        sums = self.layout.sums.get(memory, (memory,))
        parts = [self.read(sum_, places, copy, mask, row_level=True) for sum_ in sums]
        return compensated(self.w, *parts) if len(parts) > 1 else parts[0]

    def save(self, value: Reg, memory: Memory, places: Places, copy: int, mask: Reg | None) -> None:
        self.put(value, memory, places, copy, mask, row_level=True)

    def known_rows(self, stage: int, copies: int, places: Places, mask: Reg | None) -> list[RowValues]:
        """Row values: the results that earlier stages folded, and the row-level ops that follow from them."""
        rows = [RowValues() for _ in range(copies)]
        for member, memory in self.layout.total.items():
            if member.stage < stage:
                for copy, row in enumerate(rows):
                    row.values[member.value] = self.read(memory, places, copy, mask, row_level=True)
        for before in range(stage + 1):
            self._row_members(before, rows, places, mask)
        return rows

    def planned_in(self, stage: int) -> ElementPass:
        """Pass over a chunk in `stage`: what it does at each element."""
        folds, writes = self._work(stage)
        return ElementPass(self, stage, folds, writes, [])

    def _rows(self, stage: int, places: Places, copies: int, mask: Reg | None) -> None:
        """Fold one group of columns over some rows of a chunk into its partial results."""
        nest = self.nest
        rows = self.known_rows(stage, copies, places, mask)
        plan = self.planned_in(stage)
        self.broadcast_rows(plan, rows)
        partial = self._accumulators(plan)
        more = [memory.dtype for memory in partial[len(plan.folds) :]]
        totals = totals_of(self, plan.folds, nest.lanes, copies, more)

        def innermost(at: Places, state: list[Reg]) -> list[Reg]:
            out: list[Reg] = []
            for copy, row in enumerate(rows):
                mine = state[copy * len(partial) : (copy + 1) * len(partial)]
                out += plan.run(at, row, copy, mask, mine, fold_mask=None)
            return out

        own = [(copy, memory) for copy in range(copies) for memory in partial]
        before = [self.read(memory, places, copy, mask, row_level=True) for copy, memory in own]
        # where what a block of rows folds to is one term
        apart = bool(self.layout.sums) or nest.reads_across
        out = fold_loops(
            self, totals, column_step(nest, innermost), nest.parallel, len(nest.sizes), places,
            None if apart else before,
        )  # fmt: skip
        if apart:
            out = [fold(*both) for fold, *both in zip(totals.combine, before, out, strict=True)]
        for (copy, memory), value in zip(own, out, strict=True):
            self.save(value, memory, places, copy, mask)

    def _accumulators(self, plan: ElementPass) -> list[Memory]:
        """The partial results that a pass folds to."""
        partial = [self.layout.partial[member] for member in (*plan.folds, *plan.seconds)]
        return [*partial, *self.layout.away.values()] if plan.seconds else partial

    def extent(self, dim: int) -> tuple[Bound, Bound, int]:
        if dim != self.nest.parallel or self.bounds is None:
            return super().extent(dim)
        return self.bounds

    def _fold_chunk(self, stage: int, places: Places, bounds: tuple[Reg, Reg] | None) -> None:
        """A chunk with the lanes along the last reduced dimension; without `bounds`, the elements of the
        only dimension that fill no group."""
        nest = self.nest
        (row,) = self.known_rows(stage, 1, places, None)
        folds = [member for member in nest.members if member.is_reduction and member.stage == stage]
        writes = [write for write in nest.writes if not write.row_level and write.stage == stage]
        plan = ElementPass(self, stage, folds, writes, [])
        self.broadcast_rows(plan, [row])
        if len(nest.sizes) > 1:
            self.bounds = None if bounds is None else (*bounds, self.split.size)
            folded = self.fold_row(plan, row, places)
        else:
            totals, groups = (
                totals_of(self, folds, nest.lanes),
                (0, 0, 0) if bounds is None else (*bounds, self.split.size),
            )
            line = line_of(self, plan, row, totals, groups, rest=bounds is None)
            folded = self.across_lanes(plan, fold_loops(self, totals, line, 0, 0, places))
        for member, total in zip(folds, folded, strict=True):
            self.save(total, self.layout.partial[member], places, 0, None)

    # -- what chunks found ------------------------------------------------------------------------

    def _each_column(self, places: Places, body: object) -> None:
        """Call ``body(places, copies, mask)`` for each group of columns, or once where there are none."""
        nest, w = self.nest, self.w
        assert callable(body)
        if nest.row_lanes:
            body(places, 1, None)
            return
        extent, group = nest.sizes[0], self.group
        call = body

        def columns(copies: int) -> object:
            def one(index: Reg, _: list[Reg]) -> Sequence[Reg]:
                call(self.advance(places, 0, index), copies, None)
                return ()

            return one

        whole, vectors = extent // group * group, extent // nest.lanes * nest.lanes
        for first, stop, step, copies in ((0, whole, group, nest.unroll), (whole, vectors, nest.lanes, 1)):
            loop = columns(copies)
            assert callable(loop)
            w.loop(first, stop, step, loop)
        if vectors < extent:
            mask = w.tail_mask(extent - vectors, nest.lanes)
            call(self.advance(places, 0, constant(vectors, "i64")), 1, mask)

    def folded_by_chunk(
        self, member: Member, chunk: Reg, rows: list[RowValues], places: Places, copy: int, mask: Reg | None
    ) -> Reg:
        """Value that one chunk folded for `member`'s result; `rows` are what earlier stages folded."""
        return self.sum_of_chunk(self.layout.partial[member], places, copy, mask)

    def finished(self, member: Member, total: Reg) -> Reg:
        """The result of a reduction, of what all chunks folded."""
        return total

    def _combine(self, folds: list[Member], *, finish: bool) -> None:
        """Fold the chunks' partial results, in their order; with `finish`, write what follows from them."""
        w, places = self.w, self._bases()

        def column(at: Places, copies: int, mask: Reg | None) -> None:
            rows = self.known_rows(folds[0].stage, copies, at, mask) if self.nest.moments else []
            if self.nest.row_lanes:
                return self._combine_rows(folds, at, finish=finish)
            zero = constant(0, "i64")
            own = [(copy, member) for copy in range(copies) for member in folds]
            first = [self.folded_by_chunk(member, zero, rows, at, copy, mask) for copy, member in own]

            def chunk(index: Reg) -> Iterator[Reg]:
                here = self._of_chunk(at, index)
                for copy, member in own:
                    yield self.folded_by_chunk(member, index, rows, here, copy, mask)

            def combine(number: int, total: Reg, value: Reg) -> Reg:
                return self.combine(own[number][1], total, value)

            totals = fold_parts(w, self.chunks, first, chunk, combine)
            for (copy, member), total in zip(own, totals, strict=True):
                self.save(self.finished(member, total), self.layout.total[member], at, copy, mask)

            if finish:
                self._finish(at, copies, mask)

        self._each_column(places, column)

    def _combine_rows(self, folds: list[Member], places: Places, *, finish: bool) -> None:
        """Fold the chunks' partial results where each chunk folds to scalars."""
        w, totals = self.w, totals_of(self, folds, 1)

        def chunk(index: Reg, state: list[Reg]) -> Sequence[Reg]:
            here = self._of_chunk(places, index)
            return totals.add(
                state, [self.sum_of_chunk(self.layout.partial[fold], here, 0, None) for fold in folds]
            )

        state = w.loop(0, self.chunks, 1, chunk, totals.start)
        for member, total in zip(folds, totals.finish(state), strict=True):
            self.save(total, self.layout.total[member], places, 0, None)
        if finish:
            self._finish(places, 1, None)

    def _finish(self, places: Places, copies: int, mask: Reg | None) -> None:
        """Compute what follows from the totals, and write row-level results."""
        nest = self.nest
        rows = self.known_rows(nest.stages, copies, places, mask)
        for write in nest.writes:
            if write.row_level:
                for copy, row in enumerate(rows):
                    value = self._row_source(write.source, row, places, copy, mask)
                    self.save(value, write.memory, places, copy, mask)
