"""Writer of a scheduled nest as an LLVM function.

The function takes the buffers' pointers and a range of tasks: iterations of the outermost parallel loop,
or blocks of vectors where that loop carries the lanes. Loops run over the outer parallel dimensions, then,
per stage, over the reduced ones. Whole vectors come first, then a masked remainder.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ....ir.dtypes import SHORT_NAME
from ....ir.graph import Value
from ...llvm.emitter import Reg, constant
from ...llvm.function import Code, Declarations
from ...llvm.loops import Bound
from ...lowering.exits import poll_or_return
from ...lowering.kernel import signature
from ...lowering.loop_nest import Leaf, Member, Memory, Nest, NestConstant, Window, Write, memories_of
from ...lowering.packing import OpWriter
from ...maths import MathsWriter
from ...maths.divisors import divisor_of
from ..divisors import pays
from ..reductions.folding import fold_loops, line_of, totals_of
from ..reductions.totals import column_step
from ..row_blocks import rows_at_a_time, write_rows
from ..tasks import polling_dim, task_count, vector_block
from ..turned_rows import turn_in, turn_out
from ..window import Interior, read_window, write_line, write_range
from .element import ElementPass, Places, RowValues
from .prefetch import fetched_ahead
from .storing import folded, past_cache, put, write_out

#: Expensive ops are written in place so many times in a nest, remainders and all, and called from then on.
INLINED_USES = 12


class NestWriter:
    """Writes the function of one nest."""

    def __init__(
        self, nest: Nest, declarations: Declarations, streamed: frozenset[Memory] = frozenset()
    ) -> None:
        self.nest = nest
        self.w = MathsWriter(declarations)
        #: The writer of ops that the writers of one function share: it calls what is written often.
        self.ops: OpWriter | None = None
        #: Writes past the cache, and those among them that the code being written makes.
        self.streamed, self.streaming = streamed, frozenset[Memory]()
        #: Known outcomes of windows' checks, and the loops' indices, where code is being written.
        self.interior, self.at = Interior(nest), dict[int, Reg]()
        self.known: Mapping[tuple[Memory, int], bool] = {}
        pad = nest.lanes if nest.pads_scratch else 0
        self.scratch = [self.w.slot(dtype, count + pad) for dtype, count in nest.scratch_sizes]
        self.members = {member.value: member for member in nest.members}
        self.folded_alone = nest.folded_alone
        #: Rows that are worked on together.
        self.block = rows_at_a_time(nest)
        #: Scratch that every block of rows uses.
        self.blocks = {scratch for scratch, _ in (*nest.turned.reads, *nest.turned.writes)}
        #: Elements of the vectors that are handled together.
        self.group = nest.lanes * nest.unroll
        self.ahead = fetched_ahead(nest) if self.block == 1 else ()
        tasks = max(1, task_count(nest))
        self.polls_in = polling_dim(nest.sizes, 1, nest.cycles / tasks) if nest.parallel else None
        #: Memories from which full-level values of earlier stages can be read back.
        self.reload: dict[Value, Memory] = dict(nest.kept)
        for write in nest.writes:
            if isinstance(write.source, Value) and not write.row_level and write.fold is None:
                self.reload.setdefault(write.source, write.memory)

    def write(self, buffers: int, name: str = "") -> Code:
        """The code of ``@name(ptr %b0, ..., i64 %begin, i64 %end)``; the nest's name if none is given."""
        nest, w = self.nest, self.w
        self.ops = OpWriter(nest.name, w, INLINED_USES, self.folded_alone)
        if 0 not in nest.sizes or len(nest.sizes) > nest.parallel:
            places = self._bases()
            past_cache(w, places, self.streamed, lambda streaming: self._tasks(places, streaming))
        w.ret()
        return [w.function(signature(name or nest.name, buffers), "nounwind"), *self.ops.functions]

    def _tasks(self, places: Places, streaming: frozenset[Memory] = frozenset()) -> None:
        self.streaming = streaming
        self._outer(0, places, Reg("%begin", "i64"), Reg("%end", "i64"))

    # -- places -----------------------------------------------------------------------------------

    def _bases(self) -> Places:
        """Every access at the nest's origin: a pointer, or a number for iotas."""
        places: Places = {}
        for memory in self._accesses():
            if memory.buffer is None:
                places[memory] = constant(memory.offset, memory.dtype)
            else:
                base = f"%b{memory.buffer}" if memory.buffer >= 0 else self.scratch[-memory.buffer - 1]
                places[memory] = self.w.offset(base, memory.dtype, memory.offset)
        return places

    def _accesses(self) -> list[Memory]:
        memories: dict[Memory, None] = {}
        for member in self.nest.members:
            memories.update((memory, None) for operand in member.operands for memory in memories_of(operand))
        for write in self.nest.writes:
            memories[write.memory] = None
            memories.update((memory, None) for memory in memories_of(write.source))
        memories.update((memory, None) for memory in self.nest.kept.values())
        turned = self.nest.turned
        memories.update((memory, None) for _, memory in (*turned.reads, *turned.writes))
        return list(memories)

    def advance(self, places: Places, dim: int, index: Reg) -> Places:
        """`places` with loop dimension `dim` at `index`."""
        w = self.w
        moved: Places = {}
        scaled: dict[int, Reg] = {0: constant(0, "i64"), 1: index}
        for memory, place in places.items():
            stride = memory.strides[dim]
            if stride == 0 or index.text == "0" or (dim < self.nest.parallel and memory in self.blocks):
                moved[memory] = place
                continue
            if stride not in scaled:
                scaled[stride] = w.mul(index, stride)
            if isinstance(place, Reg):
                moved[memory] = w.add(place, w.cast(scaled[stride], memory.dtype))
            else:
                moved[memory] = w.offset(place, memory.dtype, scaled[stride])
        return moved

    # -- parallel loops ---------------------------------------------------------------------------

    def _outer(self, dim: int, places: Places, begin: Reg, end: Reg) -> None:
        nest = self.nest
        if dim == nest.parallel:
            self.point(places, 1, None)
        elif dim == nest.parallel - 1 and self.block > 1:
            first, stop = (begin, end) if dim == 0 else (0, nest.sizes[dim])
            write_rows(self, self.block, places, first, stop)
        elif dim == nest.vector_dim:
            self._vector_loop(dim, places, begin, end)
        elif dim == 0:
            self.w.loop(begin, end, 1, lambda i, _: self._inside(dim, places, i), nonempty=True)
        else:
            self.w.loop(0, nest.sizes[dim], 1, lambda i, _: self._inside(dim, places, i))

    def _inside(self, dim: int, places: Places, index: Reg) -> Sequence[Reg]:
        self.at[dim] = index
        self._outer(dim + 1, self.advance(places, dim, index), index, index)
        self.let_signals_in(dim)
        return ()

    def _vector_loop(self, dim: int, places: Places, begin: Reg, end: Reg) -> None:
        """The loop that carries the lanes, when its dimension is parallel: whole groups, then the rest."""
        nest, w, extent = self.nest, self.w, self.nest.sizes[dim]

        def vectors(first: Bound, stop: Bound, copies: int) -> None:
            def body(index: Reg, _: list[Reg]) -> Sequence[Reg]:
                self.point(self.advance(places, dim, index), copies, None)
                return ()

            w.loop(first, stop, nest.lanes * copies, body)

        if dim != 0 or task_count(nest) == 1:
            write_line(self, dim, vectors, lambda start: self._rest(dim, places, start))
            return
        step, whole = self.group * vector_block(nest), extent // self.group * self.group
        start = w.mul(begin, step)
        stop = w.mul(end, step)
        if whole:
            write_range(self, dim, vectors, (start, w.min(stop, constant(whole, "i64"))))
        if whole < extent:
            w.when(w.ge(stop, extent), lambda: self._rest(dim, places, whole))

    def _rest(self, dim: int, places: Places, start: int) -> None:
        """The elements from `start` on that do not fill a group: single vectors, then a masked one."""
        nest, w = self.nest, self.w
        extent = nest.sizes[dim]
        whole = start + (extent - start) // nest.lanes * nest.lanes

        def body(index: Reg, _: list[Reg]) -> Sequence[Reg]:
            self.point(self.advance(places, dim, index), 1, None)
            return ()

        w.loop(start, whole, nest.lanes, body)
        if whole < extent:
            mask = w.tail_mask(extent - whole, nest.lanes)
            self.point(self.advance(places, dim, constant(whole, "i64")), 1, mask)

    # -- one row (or one group of columns) --------------------------------------------------------

    def point(self, places: Places, copies: int, mask: Reg | None) -> None:
        """Write all stages at one place of the parallel loops."""
        nest, rows = self.nest, [RowValues()]
        turn_in(self.w, nest, places, whole=mask is None)
        for stage in range(nest.stages):
            self._row_members(stage, rows, places, mask)
            self._stage(stage, rows, places, mask)
        for write in nest.writes:
            if write.row_level:
                for copy, row in enumerate(rows):
                    value = self._row_source(write.source, row, places, copy, mask)
                    self.write_out(write, value, places, copy, mask)
        turn_out(self.w, nest, places, whole=mask is None)

    def _row_members(self, stage: int, rows: list[RowValues], places: Places, mask: Reg | None) -> None:
        """Row-level ops that become known before `stage`."""
        for member in self.nest.members:
            if member.row_level and not member.is_reduction and member.stage == stage:
                for copy, row in enumerate(rows):
                    operands = [
                        self._row_source(operand, row, places, copy, mask) for operand in member.operands
                    ]
                    row.values[member.value] = self.emit(member, operands)

    def _row_source(
        self, source: Leaf | Value, row: RowValues, places: Places, copy: int, mask: Reg | None
    ) -> Reg:
        if isinstance(source, Value):
            return row.values[source]
        key = (source, copy)
        if key not in row.leaves:
            row.leaves[key] = self.read(source, places, copy, mask, row_level=True)
        return row.leaves[key]

    def emit(self, member: Member, operands: list[Reg]) -> Reg:
        w, outer = self.w, self.w.origins
        w.for_ops(member.instruction.origins)
        if self.ops is None:
            emit = member.instruction.op.emit
            assert emit is not None
            result: Reg = emit(w, *operands, **member.instruction.attrs)
            if member.value not in self.folded_alone:
                w.rounded(result)
        else:
            result = self.ops.emitted(member.instruction, operands)
        w.for_ops(outer)
        return result

    # -- stages -----------------------------------------------------------------------------------

    def _stage(self, stage: int, rows: list[RowValues], places: Places, mask: Reg | None) -> None:
        """Write one pass over the reduced dimensions: fold this stage's reductions, write its results."""
        nest, plan = self.nest, self.planned(stage)
        if plan is None:
            return
        folds = plan.folds
        self.broadcast_rows(plan, rows)
        if nest.row_lanes:
            rows[0].values.update(
                zip((fold.value for fold in folds), self.fold_row(plan, rows[0], places), strict=True)
            )
            return
        # rows that are turned are columns of a block, which is one vector
        (row,) = rows
        step = column_step(nest, lambda at, state: plan.run(at, row, 0, mask, state, fold_mask=None))
        totals = fold_loops(
            self, totals_of(self, folds, nest.lanes), step, nest.parallel, len(nest.sizes), places
        )
        row.values.update(zip((fold.value for fold in folds), totals, strict=True))

    def planned(self, stage: int) -> ElementPass | None:
        """Pass of `stage` over elements; None where it does nothing."""
        nest = self.nest
        folds = [member for member in nest.members if member.is_reduction and member.stage == stage]
        writes = [write for write in nest.writes if not write.row_level and write.stage == stage]
        keeps = [value for value in nest.kept if self.members[value].stage == stage]
        return ElementPass(self, stage, folds, writes, keeps) if folds or writes or keeps else None

    def broadcast_rows(self, plan: ElementPass, rows: list[RowValues]) -> None:
        """Splat row values that the pass uses in vectors, and invert those that it divides by, once, before
        its loops."""
        lanes = self.nest.lanes if self.nest.vector_dim is not None else 1
        if plan.divided_by and pays(self.nest, wide_tables=self.w.wide_tables):
            for row in rows:
                for value in plan.divided_by:
                    row.divisors[value] = divisor_of(self.w, row.values[value], lanes)
        if not self.nest.row_lanes:
            return
        for value in plan.row_values:
            rows[0].splats[value] = self.w.splat(rows[0].values[value], self.nest.lanes)

    def extent(self, dim: int) -> tuple[Bound, Bound, int]:
        """The first index of a reduced dimension, the one behind the last, and how many there are at most."""
        return 0, self.nest.sizes[dim], self.nest.sizes[dim]

    def let_signals_in(self, dim: int) -> None:
        """Poll for signals at the end of a step of the loop over `dim`, if it is the loop that does."""
        if dim == self.polls_in:
            poll_or_return(self.w)

    def fold_row(self, plan: ElementPass, row: RowValues, places: Places) -> list[Reg]:
        """A pass with the lanes along the last reduced dimension."""
        nest, last = self.nest, len(self.nest.sizes) - 1
        totals = totals_of(self, plan.folds, nest.lanes)
        whole = nest.sizes[last] // self.group * self.group
        line = line_of(self, plan, row, totals, (0, whole, whole), rest=whole < nest.sizes[last])
        return self.across_lanes(plan, fold_loops(self, totals, line, nest.parallel, last, places))

    def rest_of_line(
        self, plan: ElementPass, row: RowValues, places: Places, state: list[Reg], start: int
    ) -> list[Reg]:
        """Fold what is left of the last dimension from `start` on: single vectors, then a masked one."""
        nest, w = self.nest, self.w
        last = len(nest.sizes) - 1
        extent = nest.sizes[last]
        single = start + (extent - start) // nest.lanes * nest.lanes

        def vector(index: Reg, inner: list[Reg]) -> Sequence[Reg]:
            return plan.run(self.advance(places, last, index), row, 0, None, inner, fold_mask=None)

        state = w.loop(start, single, nest.lanes, vector, state)
        if single < extent:
            mask = w.tail_mask(extent - single, nest.lanes)
            here = self.advance(places, last, constant(single, "i64"))
            state = list(plan.run(here, row, 0, mask, state, fold_mask=mask))
        return state

    def identity(self, member: Member, lanes: int) -> Reg:
        reduction = member.instruction.op.reduction
        assert reduction is not None
        dtype = SHORT_NAME[member.value.dtype]
        return constant(reduction.identity(dtype), dtype, lanes)

    def combine(self, member: Member, accumulator: Reg, value: Reg) -> Reg:
        reduction = member.instruction.op.reduction
        assert reduction is not None
        result: Reg = reduction.combine(self.w, accumulator, value)
        return result

    def across_lanes(self, plan: ElementPass, totals: Sequence[Reg]) -> list[Reg]:
        """The vectors that a pass folded, each folded to a scalar."""
        return [self._across_lanes(member, total) for member, total in zip(plan.folds, totals, strict=True)]

    def _across_lanes(self, member: Member, total: Reg) -> Reg:
        self.w.for_ops(member.instruction.origins)
        short = self.nest.copies == 1 and member.in_any_order
        fold = self.w.fold_lanes_in_memory if short else self.w.fold_lanes
        total = fold(total, lambda a, b: self.combine(member, a, b))
        self.w.for_ops(())
        return total

    # -- reading and writing ----------------------------------------------------------------------

    def read(self, leaf: Leaf, places: Places, copy: int, mask: Reg | None, *, row_level: bool) -> Reg:
        """A leaf's elements: a vector along the lanes, or a scalar where it does not vary along them."""
        w, nest = self.w, self.nest
        dim = nest.vector_dim
        vectors = dim is not None and not (row_level and nest.row_lanes)
        lanes = nest.lanes if vectors else 1
        if isinstance(leaf, NestConstant):
            return constant(leaf.value, leaf.dtype, lanes)
        if isinstance(leaf, Window):
            return read_window(self, leaf, places, copy, mask, row_level=row_level)
        stride = leaf.strides[dim] if vectors and dim is not None else 0
        place = places[leaf]
        if isinstance(place, Reg):  # an iota: the address is the value
            if stride == 0:
                return w.splat(place, lanes)
            ramp = w.mul(w.ramp(lanes, leaf.dtype), stride)
            start = w.splat(w.add(place, w.const(copy * lanes * stride, place)) if copy else place, lanes)
            return w.add(start, ramp) if lanes > 1 else start
        if stride == 0:
            return w.splat(w.load(place, leaf.dtype), lanes)
        return w.gather(w.offset(place, leaf.dtype, copy * lanes * stride), leaf.dtype, stride, lanes, mask)

    def write_out(self, write: Write, value: Reg, places: Places, copy: int, mask: Reg | None) -> None:
        """Store the value of a write, or fold it into memory."""
        write_out(self, write, value, places, copy, mask)

    def fold_into(
        self, write: Write, value: Reg, load: Callable[[Memory], Reg], store: Callable[[Reg, Memory], None]
    ) -> None:
        """Fold `value` into the memory of `write`."""
        assert write.fold is not None
        store(folded(self.w, write.fold, load(write.memory), value), write.memory)

    def put(
        self, value: Reg, memory: Memory, places: Places, copy: int, mask: Reg | None, *, row_level: bool
    ) -> None:
        """Store elements: a vector along the lanes, or a scalar where nothing varies along them."""
        put(self, value, memory, places, copy, mask, row_level=row_level, past_cache=memory in self.streaming)
