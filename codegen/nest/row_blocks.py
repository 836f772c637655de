"""Row blocking: several rows at a time, so that values of the row level are computed in vectors.

A row nest folds each row to scalars, and what follows from those (the logarithm of a sum of exponentials, the
residual of a regression) would be scalar code: for short rows, most of the time. Here a stage runs over a
block of rows, one after the other, and what each was folded to lies side by side in memory of the stack. The
ops of the row level are then vector code, a lane for each row, and the next stage's rows read their numbers
there. A block is small enough to stay in the first cache from one stage to the next. Rows that fill no block
are done one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from ...base.machine import machine
from ...ir.dtypes import SHORT_NAME
from ...ir.graph import Value
from ..llvm.emitter import BITS, Reg, constant
from ..llvm.loops import Bound
from ..lowering.loop_nest import Leaf, Memory, Nest, NestConstant, Window, Write, memories_of
from .writing.element import ElementPass, NestContext, Places, RowValues
from .writing.storing import folded

#: Cycles that the row level costs for each row at the least.
LEAST_CYCLES: Final = 8.0


def rows_at_a_time(nest: Nest) -> int:
    """Number of rows of `nest` in a block; 1 where they are done one by one."""
    if not nest.row_lanes or not nest.parallel or nest.split is not None or nest.kept:
        return 1
    level = [member for member in nest.members if member.row_level and not member.is_reduction]
    cost = sum(member.instruction.cost for member in level)
    sources = [source for member in level for source in member.operands]
    sources += [write.source for write in nest.writes if write.row_level]
    if cost < LEAST_CYCLES or any(isinstance(source, Window) for source in sources):
        return 1
    read = {
        memory
        for member in nest.members
        for source in member.operands
        if not member.row_level or member.is_reduction
        for memory in memories_of(source)
        if memory.buffer is not None and memory.strides[-1] and memory.strides[nest.parallel - 1]
    }
    length = 1
    for size in nest.sizes[nest.parallel :]:
        length *= size
    nbytes = nest.lanes * length * sum(_bits(memory) for memory in read) // 8
    fits = nbytes <= machine().l1_bytes // 2 and nest.sizes[nest.parallel - 1] >= nest.lanes
    return nest.lanes if fits else 1


def _bits(memory: Memory) -> int:
    return 8 if memory.dtype == "bool" else BITS[memory.dtype]


class BlockWriter(NestContext, Protocol):
    """Interface of the nest's writer for blocks of rows."""

    def advance(self, places: Places, dim: int, index: Reg) -> Places: ...
    def point(self, places: Places, copies: int, mask: Reg | None) -> None: ...
    def broadcast_rows(self, plan: ElementPass, rows: list[RowValues]) -> None: ...
    def fold_row(self, plan: ElementPass, row: RowValues, places: Places) -> list[Reg]: ...
    def planned(self, stage: int) -> ElementPass | None: ...
    def fold_into(
        self, write: Write, value: Reg, load: Callable[[Memory], Reg], store: Callable[[Reg, Memory], None]
    ) -> None: ...


def write_rows(writer: BlockWriter, block: int, places: Places, first: Bound, stop: Bound) -> None:
    """The rows from `first` up to `stop` of the last parallel dimension: blocks of `block`, then the rest."""
    w, dim = writer.w, writer.nest.parallel - 1
    count = w.sub(stop, first) if isinstance(stop, Reg) else w.sub(constant(stop, "i64"), first)
    whole = w.add(w.mul(w.integer("sdiv", count, block), block), first)
    rows = _Block(writer, block)

    def some(index: Reg, _: list[Reg]) -> Sequence[Reg]:
        rows.write(places, index)
        return ()

    def one(index: Reg, _: list[Reg]) -> Sequence[Reg]:
        writer.point(writer.advance(places, dim, index), 1, None)
        return ()

    w.loop(first, whole, block, some)
    w.loop(whole, stop, 1, one)


class _Block:
    """The code of one block of rows."""

    def __init__(self, writer: BlockWriter, block: int) -> None:
        self.writer, self.nest, self.block = writer, writer.nest, block
        self.dim = writer.nest.parallel - 1
        #: Values of the row level: a lane for each row, and where they lie in memory.
        self.values: dict[Value, Reg] = {}
        self.slots: dict[Value, str] = {}

    def write(self, places: Places, first: Reg) -> None:
        """The rows from `first` on; `places` are not moved to a row yet."""
        writer, nest = self.writer, self.nest
        here = writer.advance(places, self.dim, first)
        for stage in range(nest.stages):
            for member in nest.members:
                if member.row_level and not member.is_reduction and member.stage == stage:
                    operands = [self._source(operand, here) for operand in member.operands]
                    self._know(member.value, writer.emit(member, operands))
            plan = writer.planned(stage)
            if plan is not None:
                self._stage(plan, here)
        for write in nest.writes:
            if write.row_level:
                value = self._source(write.source, here)
                self._put(value, write.memory, here) if write.fold is None else self._fold(write, value, here)

    def _know(self, value: Value, rows: Reg) -> None:
        self.values[value] = self.writer.w.splat(rows, self.block)

    def _slot(self, value: Value) -> str:
        if value not in self.slots:
            self.slots[value] = self.writer.w.slot(SHORT_NAME[value.dtype], self.block)
        return self.slots[value]

    def _stage(self, plan: ElementPass, places: Places) -> None:
        """Write one stage of each row."""
        writer, w = self.writer, self.writer.w
        for value in plan.row_values:
            w.store(self.values[value], self._slot(value))
        totals = [self._slot(member.value) for member in plan.folds]

        def row(index: Reg, _: list[Reg]) -> Sequence[Reg]:
            row_values = RowValues()
            for value in plan.row_values:
                dtype = SHORT_NAME[value.dtype]
                row_values.values[value] = w.load(w.offset(self._slot(value), dtype, index), dtype)
            writer.broadcast_rows(plan, [row_values])
            folded = writer.fold_row(plan, row_values, writer.advance(places, self.dim, index))
            for member, place, total in zip(plan.folds, totals, folded, strict=True):
                w.store(total, w.offset(place, SHORT_NAME[member.value.dtype], index))
            return ()

        w.loop(0, self.block, 1, row, nonempty=True)
        for member, place in zip(plan.folds, totals, strict=True):
            self.values[member.value] = w.load(place, SHORT_NAME[member.value.dtype], self.block)

    def _source(self, source: Leaf | Value, places: Places) -> Reg:
        if isinstance(source, Value):
            return self.values[source]
        if isinstance(source, NestConstant):
            return constant(source.value, source.dtype, self.block)
        assert isinstance(source, Memory), "rows that read windows are done one by one"
        return self._read(source, places)

    def _read(self, memory: Memory, places: Places) -> Reg:
        w, place, stride = self.writer.w, places[memory], memory.strides[self.dim]
        if isinstance(place, Reg):  # an iota: the address is the value
            return w.add(w.splat(place, self.block), w.mul(w.ramp(self.block, memory.dtype), stride))
        if stride == 0:
            return w.splat(w.load(place, memory.dtype), self.block)
        return w.gather(place, memory.dtype, stride, self.block)

    def _put(self, value: Reg, memory: Memory, places: Places) -> None:
        place = places[memory]
        assert isinstance(place, str)
        self.writer.w.scatter(self.writer.w.splat(value, self.block), place, memory.strides[self.dim])

    def _fold(self, write: Write, value: Reg, places: Places) -> None:
        """Fold the rows' values into memory: all into one element, or each into its own."""
        w, reduction = self.writer.w, write.fold
        assert reduction is not None
        if write.memory.strides[self.dim]:
            self.writer.fold_into(
                write,
                w.splat(value, self.block),
                lambda memory: self._read(memory, places),
                lambda total, memory: self._put(total, memory, places),
            )
            return
        self.writer.fold_into(
            write,
            w.fold_lanes(w.splat(value, self.block), lambda a, b: folded(w, reduction, a, b)),
            lambda memory: w.load(str(places[memory]), memory.dtype),
            lambda total, memory: w.store(total, str(places[memory])),
        )
