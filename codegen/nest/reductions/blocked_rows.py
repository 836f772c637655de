"""Rows in blocks as kernels in the loop form (`nest.row_blocks` says which): what each row of a block is
folded to lies in memory of the kernel's own, and the ops of the row level take a lane for each row.

    for i in 0:96 step 8 {
      for r in 0:8 { fold row i + r  store w[r] }
      for l in 0:8 lanes 8 { load w[l]  store b1[i + l] }
    }

Rows that fill no block are done one by one.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....ir.dtypes import SHORT_NAME
from ....ir.graph import Value
from ...llvm.target import Target
from ...loops.affine import affine, variable
from ...loops.nodes import LANES, SERIAL, TASKS, For, If, InRange, Kernel, Load, Node, Operand, Store
from ...loops.passes import Step
from ...loops.passes.parallelize import FIRST, STOP
from ...loops.passes.rfactor import Factoring
from ...loops.passes.vectorize import LANE
from ...loops.rewriting import replaced
from ...lowering.loop_nest import Leaf, Memory, Nest
from ..elements import index_of
from ..row_blocks import blocked_tasks, rows_at_a_time
from . import rows
from .chunked import OWN
from .rows import FoldBuilder, StagePlan, streamed_last
from .totals import LONG

#: The index of a row in its block.
ROW = "r"


def schedule_of(nest: Nest, streamed: frozenset[Memory] = frozenset()) -> list[Step]:
    """The schedule of rows in blocks. No pass makes the blocks, which are built."""
    parallel: Step = ("parallelize", (index_of(0), rows_at_a_time(nest) if nest.parallel == 1 else 1))
    return [parallel, *rows.schedule_of(nest, streamed)[1:]]


def blocked_kernel(
    nest: Nest, sizes: Sequence[int], target: Target, streamed: frozenset[Memory] = frozenset()
) -> Kernel:
    """The kernel of rows in blocks."""
    schedule, factoring = schedule_of(nest, streamed), Factoring(nest.lanes, nest.unroll, nest.copies, LONG)
    return streamed_last(BlockBuilder(nest, target, factoring).kernel(sizes), schedule)


class BlockBuilder(FoldBuilder):
    """Builds the statements of a block of rows, and of one row."""

    def __init__(self, nest: Nest, target: Target, factoring: Factoring) -> None:
        super().__init__(nest, target, factoring)
        self.ahead, self.block, self.of = (), rows_at_a_time(nest), factoring
        #: Memory of the values of the row level, a row after the other.
        self.slots: dict[Value, str] = {}

    def operand(self, source: Leaf | Value) -> Operand:
        if isinstance(source, Value) and source not in self.names:
            name, dtype = self.name("x"), SHORT_NAME[source.dtype]
            self.nodes.append(Load((name,), dtype, self.slots[source], variable(ROW)))
            self.names[source] = name
        return super().operand(source)

    def tasks(self, body: tuple[Node, ...]) -> tuple[Node, ...]:
        nest, dim, block = self.nest, self.nest.parallel - 1, self.block
        extent, index = nest.sizes[dim], self.dims[dim]
        whole, some = extent // block * block, self._block()
        ends = (affine(whole),), (affine(extent),)
        if self.chunked is not None:
            body = replaced(body, OWN, affine(0))
        rest = (For(index, *ends, 1, SERIAL, body),) if whole < extent else ()
        if dim:
            loop = For(index, (affine(0),), ends[0], block, SERIAL, some)
            return self.tasks_of_one((loop, *rest), dim)
        if self.chunked is not None:
            chunked = self.chunked
            return (
                chunked.tasks(
                    lambda first, stops: (
                        For(index, (first,), (*stops, *ends[0]), block, SERIAL, (*some, *chunked.polls())),
                        *chunked.in_last_chunk(rest),
                    )
                ),
            )
        first, stop = variable(FIRST, block), variable(STOP, block)
        loop = For(index, (first,), (stop, *ends[0]), block, SERIAL, some)
        last = (If((InRange(stop.plus(-extent)),), rest),) if rest else ()
        tasks = affine(blocked_tasks(nest))
        return (For(FIRST, (affine(0),), (tasks,), 1, TASKS, (loop, *last), end=STOP),)

    def _block(self) -> tuple[Node, ...]:
        """The statements of a block: stage after stage what is known of its rows, and passes over them."""
        nest, nodes = self.nest, list[Node]()
        plans = [StagePlan(nest, stage, self.by_value, self.stored) for stage in range(nest.stages)]
        #: The last stage before or in which a value is read.
        last = {value: stage for stage, plan in enumerate(plans) for value in plan.row_values}
        for member in nest.members:
            for source in member.operands if member.row_level and not member.is_reduction else ():
                if isinstance(source, Value):
                    last[source] = max(member.stage - 1, last.get(source, -1))
        last |= {w.source: nest.stages for w in nest.writes if w.row_level and isinstance(w.source, Value)}
        self._begin()
        level: list[Value] = []
        for stage, plan in enumerate(plans):
            for member in nest.members:
                if member.row_level and not member.is_reduction and member.stage == stage:
                    self.compute(member)
                    level.append(member.value)
            if plan:
                self._keep([value for value in level if last.get(value, -1) >= stage])
                nodes += self._lanes()
                nodes.append(self._rows(stage, plan))
                level = []
                self._begin()
        self.store([write for write in nest.writes if write.row_level], nest.members)
        return (*nodes, *self._lanes())

    def _begin(self) -> None:
        """Begin statements that know nothing of those before."""
        self.nodes, self.names, self.held = [], {}, {}

    def _keep(self, values: Sequence[Value]) -> None:
        """Store `values` of each row, which others read."""
        for value in values:
            self.slots[value] = self.of.memory(SHORT_NAME[value.dtype], self.block)
            self.nodes.append(Store(self.slots[value], variable(ROW), (self.names[value],)))

    def _lanes(self) -> tuple[Node, ...]:
        """The statements since `_begin`, with a lane for each row."""
        if not self.nodes:
            return ()
        index, lane, size = self.dims[self.nest.parallel - 1], variable(LANE), affine(self.block)
        body = replaced(replaced(tuple(self.nodes), ROW, lane), index, variable(index).plus(lane))
        if self.chunked is not None:
            body = replaced(body, OWN, lane)
        return (For(LANE, (affine(0),), (size,), 1, LANES, body, width=self.block),)

    def _rows(self, stage: int, plan: StagePlan) -> Node:
        """The pass of `stage` over each row."""
        self._begin()
        for value in plan.row_values:
            self.operand(value)
        self.fold_stage(stage)
        self._keep([fold.value for fold in plan.folds])
        index = self.dims[self.nest.parallel - 1]
        body = replaced(tuple(self.nodes), index, variable(index).plus(variable(ROW)))
        return For(ROW, (affine(0),), (affine(self.block),), 1, SERIAL, body)
