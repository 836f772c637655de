"""Cross-row reductions: row nests whose rows are folded together, too, as for gradients of a scale, a shift
or a bias, and sums of losses.

Rows are cut into chunks, which are the tasks. Each chunk folds its rows into memory of its own (`chunked`),
which stays in the first cache; that is folded in the chunks' order, by a nest of its own, so that results do
not depend on the number of threads. Little work is one chunk, which folds into the results. Sums of many
rows' numbers, as a loss is, are added up with their errors (`totals.py`). Where lanes lie along rows that are
folded to one number, each lane has a number of its own until the chunk is done.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ....base.machine import machine
from ....base.records import record
from ...llvm.target import Target
from ...loops.affine import affine
from ...loops.clocks import clocked
from ...loops.nodes import Alloc, Kernel
from ...loops.phases import workspace_bytes
from ...lowering.loop_nest import Accumulator, Chunks, Member, Memory, Nest, Write
from ..row_blocks import rows_at_a_time
from .split import PhaseWriter
from .totals import LONG, is_float_sum

if TYPE_CHECKING:
    from collections.abc import Iterable

#: Bytes up to which what the only chunk folds into is memory of the task, and not of a workspace.
_OWN_BYTES = 1 << 15


def across_workspace(nest: Nest) -> int:
    """The bytes of the memory that the phases of a nest that folds across rows share; 0 for others."""
    return workspace_bytes(_Layout(nest, 0).shared) if nest.across is not None else 0


@clocked("algorithm")
def across_kernel(
    nest: Nest, sizes: Sequence[int], target: Target, streamed: frozenset[Memory] = frozenset()
) -> Kernel:
    """The kernel of a nest that folds across rows."""
    layout = _Layout(nest, len(sizes))
    writer = PhaseWriter(nest, sizes, target, streamed, [*layout.shared, *layout.own])
    writer.write_tasks(layout.chunks(), None, is_last=True)
    for total in layout.totals():
        writer.write(total, terms=1)
    return writer.kernel()


@record(eq=False)
class _Fold:
    """A write that folds across rows: what each chunk folds it into, and elements from one chunk's to the
    next one's, where there are several."""

    write: Write
    into: Accumulator
    pitches: dict[Memory, int]
    #: Memory of what each of several chunks has when it is done.
    part: Memory | None


class _Layout:
    """Memory of a nest that folds across rows, in buffers from number `buffers` on: what its chunks share, or
    what is the only chunk's own."""

    def __init__(self, nest: Nest, buffers: int) -> None:
        assert nest.across is not None
        self.nest, self.across, self.buffers = nest, nest.across, buffers
        self.shared: list[Alloc] = []
        self.own: list[Alloc] = []
        self.folds = [self._fold(write) for write in nest.writes if write.fold is not None]

    def _fold(self, write: Write) -> _Fold:
        nest, several = self.nest, self.across.chunks > 1
        assert write.fold is not None
        count, result = write.fold.result.type.size, write.memory
        dim = nest.parallel - 1 if nest.row_lanes else nest.vector_dim
        lanes = nest.lanes if not nest.row_lanes else rows_at_a_time(nest) if write.row_level else 1
        apart = dim is not None and lanes > 1 and not result.strides[dim]
        width, long = lanes if apart else 1, self._is_long(write)
        strides = tuple([width * by for by in result.strides])
        pitches: dict[Memory, int] = {}
        part: Memory | None = None
        target: Memory | None = None

        def memory(size: int, steps: tuple[int, ...]) -> Memory:
            line = machine().line_bytes // write.fold.result.dtype.itemsize  # type: ignore[union-attr]
            pitch = -(-size // line) * line
            number = self.buffers + len(self.shared) + len(self.own)
            nbytes = pitch * write.fold.result.dtype.itemsize  # type: ignore[union-attr]
            shared = several or nbytes > _OWN_BYTES
            alloc = Alloc(f"b{number}", result.dtype, affine(pitch * self.across.chunks), shared)
            (self.shared if shared else self.own).append(alloc)
            place = Memory(number, result.dtype, steps, 0)
            pitches[place] = pitch
            return place

        if several or long or width > 1:
            into = memory(count * width, strides)
            error = memory(count * width, strides) if long else None
            if several:
                part = memory(count, result.strides) if width > 1 else into
                target = part if long or width > 1 else None
            else:
                target = Memory(result.buffer, result.dtype, result.strides, 0)
            return _Fold(write, Accumulator(into, error, count, width, target), pitches, part)
        return _Fold(write, Accumulator(result, None, count, 1, None), pitches, None)

    def _is_long(self, write: Write) -> bool:
        """Whether `write` adds up what rows were folded to, of so many that rounding shows (`totals`). What
        whole rows are added to, element by element, is added up one row after the other, as NumPy does,
        unless rows are read across memory: there NumPy adds along it, in pairs."""
        nest = self.nest
        assert write.fold is not None
        sizes = (self.across.size, *nest.sizes[1 : nest.parallel])
        by_dim = zip(sizes, write.memory.strides[: nest.parallel], strict=True)
        terms = math.prod(size for size, by in by_dim if by == 0)
        return (write.row_level or nest.reads_across) and terms > LONG and is_float_sum(write.fold)

    def chunks(self) -> Nest:
        """The nest over the rows of all chunks."""
        nest, moved = self.nest, {fold.write: fold for fold in self.folds}
        writes: list[Write] = []
        accumulators: dict[Write, Accumulator] = {}
        pitches: dict[Memory, int] = {}
        for write in nest.writes:
            fold = moved.get(write)
            if fold is not None:
                write = Write(write.source, fold.into.memory, write.row_level, write.stage, write.fold)
                accumulators[write] = fold.into
                pitches |= fold.pitches
            writes.append(write)
        alike = any(place.width > 1 for place in accumulators.values())
        return Nest(
            nest.name, nest.sizes, nest.parallel, nest.lanes, nest.members, writes, nest.stages,
            kept=nest.kept, scratch_sizes=nest.scratch_sizes, transposed=nest.transposed, cycles=nest.cycles,
            nbytes=nest.nbytes, unroll=1 if alike and not nest.row_lanes else nest.unroll,
            copies=nest.copies, row_lanes=nest.row_lanes, asked=nest.asked,
            chunks=Chunks(self.across.chunks, self.across.size), accumulators=accumulators, pitches=pitches,
        )  # fmt: skip

    def totals(self) -> Iterable[Nest]:
        """The nests that fold what several chunks have into the results."""
        nest = self.nest
        for fold in self.folds:
            if fold.part is None:
                continue
            reduction, part = fold.write.fold, fold.part
            assert reduction is not None
            result, count = fold.write.memory, reduction.result.type.size
            of_one = count == 1
            steps = (fold.pitches[part],) if of_one else (1, fold.pitches[part])
            member = Member(reduction, (Memory(part.buffer, part.dtype, steps, 0),), True, 0)
            write = Write(
                reduction.result, Memory(result.buffer, result.dtype, (0,) if of_one else (1, 0), 0), True, 0
            )
            sizes = (self.across.chunks,) if of_one else (count, self.across.chunks)
            lanes = 1 if of_one else nest.lanes
            yield Nest(nest.name, sizes, len(sizes) - 1, lanes, [member], [write], 1, serial=True)
