"""Passes over elements: the members that one stage of a nest computes at each element (or vector of
elements), in order, and where they go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from ....ir.graph import Value
from ...llvm.emitter import Reg
from ...loops.columns import put_columns, read_columns
from ...loops.lines import ask_for, begins_line
from ...lowering.loop_nest import Leaf, Member, Memory, Nest, Write
from ...maths import MathsWriter
from ...maths.divisors import Divisor, quotient
from ..divisors import divisors, is_division
from .columns import neighbouring_reads, neighbouring_writes

#: Location of each access at the current place of the loops: a pointer, or for iotas a number.
Places = dict[Memory, "str | Reg"]


class NestContext(Protocol):
    """Interface of the nest's writer for a pass."""

    nest: Nest
    w: MathsWriter
    members: dict[Value, Member]
    reload: dict[Value, Memory]
    #: Checks of windows whose outcome is known.
    known: Mapping[tuple[Memory, int], bool]
    #: The accesses whose next row is asked for: the first one in the second stage, and so on.
    ahead: tuple[Memory, ...]
    #: The results whose whole vectors are stored past the cache.
    streaming: frozenset[Memory]

    def read(self, leaf: Leaf, places: Places, copy: int, mask: Reg | None, *, row_level: bool) -> Reg: ...
    def put(
        self, value: Reg, memory: Memory, places: Places, copy: int, mask: Reg | None, *, row_level: bool
    ) -> None: ...
    def emit(self, member: Member, operands: list[Reg]) -> Reg: ...
    def identity(self, member: Member, lanes: int) -> Reg: ...
    def combine(self, member: Member, accumulator: Reg, value: Reg) -> Reg: ...
    def write_out(self, write: Write, value: Reg, places: Places, copy: int, mask: Reg | None) -> None: ...


class RowValues:
    """Values known at the row level, their splats, and leaves read there."""

    def __init__(self) -> None:
        self.values: dict[Value, Reg] = {}
        self.splats: dict[Value, Reg] = {}
        self.leaves: dict[tuple[Leaf, int], Reg] = {}
        #: Inverted divisors of elements, by what they invert.
        self.divisors: dict[Leaf | Value, Divisor] = {}


class ElementPass:
    """Pass of one stage over elements: the members it computes at each, in order, and where they go."""

    def __init__(
        self, writer: NestContext, stage: int, folds: list[Member], writes: list[Write], keeps: list[Value]
    ) -> None:
        self.writer = writer
        self.stage = stage
        self.folds = folds
        self.writes = writes
        #: Writes of neighbouring columns, by the write of the first of them.
        self.neighbours = neighbouring_writes(writer.nest, writes)
        self.keeps = keeps
        self.ahead = writer.ahead[stage - 1 : stage] if stage else ()
        self.row_values: list[Value] = []
        needed: set[Value] = set()
        read: dict[Memory, None] = {}
        stack: list[Leaf | Value] = [operand for fold in folds for operand in fold.operands]
        stack += [write.source for write in writes]
        stack += keeps
        while stack:
            source = stack.pop()
            if isinstance(source, Memory):
                read[source] = None
            if not isinstance(source, Value) or source in needed:
                continue
            needed.add(source)
            member = writer.members[source]
            if member.row_level:
                self.row_values.append(source)
            elif not self._reads_back(member):
                stack += member.operands
        #: Columns that are read together, by each of them.
        self.columns = neighbouring_reads(writer.nest, read)
        #: Contiguous reads whose lines are asked for, each with how many vectors of it are read at once.
        self.asked = {memory: 1 for memory in read if self._is_asked_for(memory)}
        for columns in self.columns.values():
            if stage == 0 and not writer.nest.asked.isdisjoint(columns):
                self.asked[columns[0]] = len(columns)
        self.members = [m for m in writer.nest.members if m.value in needed and not m.row_level]
        #: Values of the row level that elements are divided by.
        self.divided_by = divisors(self.members) & set(self.row_values)

    def _is_asked_for(self, memory: Memory) -> bool:
        nest = self.writer.nest
        dim = nest.vector_dim
        return self.stage == 0 and memory in nest.asked and dim is not None and memory.strides[dim] == 1

    def _reads_back(self, member: Member) -> bool:
        writer = self.writer
        return member.stage < self.stage and member.value in writer.reload

    def run(
        self,
        places: Places,
        row: RowValues,
        copy: int,
        mask: Reg | None,
        state: Sequence[Reg],
        *,
        fold_mask: Reg | None,
    ) -> list[Reg]:
        """Write the code of one vector; returns the accumulators after it."""
        writer, w = self.writer, self.writer.w
        values: dict[Value, Reg] = {}
        leaves: dict[Leaf, Reg] = {}

        def read(source: Leaf | Value) -> Reg:
            if isinstance(source, Value):
                value = values.get(source)
                if value is None:
                    value = row.splats.get(source) or row.values[source]
                return value
            if source not in leaves:
                columns = self.columns.get(source) if isinstance(source, Memory) else None
                if columns is None:
                    leaves[source] = writer.read(source, places, copy, mask, row_level=False)
                else:
                    place = places[columns[0]]
                    assert isinstance(place, str)
                    lanes, dtype, count = writer.nest.lanes, columns[0].dtype, len(columns)
                    place = w.offset(place, dtype, count * copy * lanes)
                    values_read = read_columns(w, dtype, count, place, lanes, mask)
                    leaves.update(zip(columns, values_read, strict=True))
            return leaves[source]

        for member in self.members:
            w.for_ops(member.instruction.origins)
            if self._reads_back(member):
                values[member.value] = self._back(member.value, places, copy, mask)
            else:
                values[member.value] = self._computed(
                    member, [read(operand) for operand in member.operands], row
                )
        for memory in self.ahead if mask is None else ():
            self._fetch_ahead(memory, places, copy)
        for memory, count in self.asked.items() if mask is None else ():
            place = places[memory]
            assert isinstance(place, str)
            for number in range(count):
                ask_for(w, memory.dtype, place, (count * copy + number) * writer.nest.lanes, write=False)
        for value in self.keeps:
            w.for_ops(writer.members[value].instruction.origins)
            writer.put(values[value], writer.nest.kept[value], places, copy, mask, row_level=False)
        others = {write for columns in self.neighbours.values() for write in columns[1:]}
        for write in self.writes:
            if write in others:
                continue
            source = write.source
            w.for_ops(writer.members[source].instruction.origins if isinstance(source, Value) else ())
            together = self.neighbours.get(write)
            if together is None:
                writer.write_out(write, read(source), places, copy, mask)
            else:
                place = places[write.memory]
                assert isinstance(place, str)
                stored = [read(column.source) for column in together]
                before = len(stored) * copy * writer.nest.lanes
                put_columns(
                    w, stored, w.offset(place, write.memory.dtype, before), writer.nest.lanes, mask,
                    past_cache=write.memory in writer.streaming, asked=write.memory in writer.nest.asked,
                    before=before,
                )  # fmt: skip
        out = []
        for member, accumulator in zip(self.folds, state, strict=True):
            w.for_ops(member.instruction.origins)
            element = w.splat(read(member.operands[0]), accumulator.lanes)
            if fold_mask is not None:
                element = w.select(fold_mask, element, writer.identity(member, element.lanes))
            out.append(writer.combine(member, accumulator, element))
        w.for_ops(())
        return out

    def _computed(self, member: Member, operands: list[Reg], row: RowValues) -> Reg:
        if is_division(member):
            divisor = row.divisors.get(member.operands[1])
            if divisor is not None:
                x, y = operands
                return quotient(self.writer.w, x, y, divisor)
        return self.writer.emit(member, operands)

    def _fetch_ahead(self, memory: Memory, places: Places, copy: int) -> None:
        """Ask for what the next row will read here, a line at a time."""
        nest, place = self.writer.nest, places[memory]
        assert isinstance(place, str)
        elements = copy * nest.lanes
        if begins_line(memory.dtype, elements):
            row = memory.strides[nest.parallel - 1]
            self.writer.w.prefetch(
                self.writer.w.offset(place, memory.dtype, elements + row), near=len(self.writer.ahead) == 1
            )

    def _back(self, value: Value, places: Places, copy: int, mask: Reg | None) -> Reg:
        """A value of an earlier stage, from scratch or from where it was written."""
        memory = self.writer.reload[value]
        nest, w = self.writer.nest, self.writer.w
        place = places[memory]
        assert isinstance(place, str)
        dim = nest.vector_dim
        lanes = nest.lanes if dim is not None else 1
        scratch = memory.buffer is not None and memory.buffer < 0
        stride = 1 if scratch or dim is None else memory.strides[dim]
        mask = None if scratch and nest.pads_scratch else mask
        return w.gather(
            w.offset(place, memory.dtype, copy * lanes * stride), memory.dtype, stride, lanes, mask
        )
