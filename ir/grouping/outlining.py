"""Outlining: turns groups of instructions into ``fusion`` instructions with regions.

What a group computes and reads alone moves into its region as it is. Inline instructions (affine views,
uniform constants, iotas) are copied into every region that reads through them. Where something other than a
fusion needs an inline value in memory, a fusion of its own writes it out, just before its first reader.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterable, Sequence

from ...base.machine import machine
from ..access import element_strides, resolve
from ..dataflow import has_effect
from ..graph import Function, Instruction, Substitution, Value
from ..kinds import ViewReads
from ..ops.fusion import EACH, FUSION, READ
from ..registry import OPS, Access, Kind
from ..types import contiguous_strides
from .groups import Unit
from .inlining import Reads


def reads_strided(reader: Instruction, operand: Value, reads: Reads) -> bool:
    """Whether `reader` takes `operand` as a strided view of memory; see `ViewReads`."""
    views = reader.op.kind.traits.reads_views
    in_loop = reader.op.kind in (Kind.SCAN, Kind.WHILE)
    if views is None and not (in_loop and operand not in reader.operands[: reader.attrs["carries"]]):
        return False
    source, access = reads.source(operand)
    if access is None or source in reads.inline:
        return False
    if views is ViewReads.ANY:
        return True
    strides, _ = element_strides(access, contiguous_strides(source.shape), len(operand.shape))
    if in_loop:  # a loop reads arrays that lie together: steps, or all but the first
        own = contiguous_strides(operand.shape)
        return all(
            size == 1 or stride == by for size, stride, by in zip(operand.shape, strides, own, strict=True)
        )
    if views is ViewReads.STRETCHES:
        row = operand.shape[-1] * operand.dtype.itemsize if operand.shape else 0
        return row >= machine().line_bytes and strides[-1] == 1 and min(strides) >= 0
    (rows, columns), (by_row, by_column) = operand.shape[-2:], strides[-2:]
    if min(strides) < 0:
        return False
    if not (by_row and by_column) and (by_row or by_column):
        return True  # one line, which is repeated
    row_major = (by_column == 1 or columns == 1) and (by_row >= columns or rows == 1)
    column_major = (by_row == 1 or rows == 1) and (by_column >= rows or columns == 1)
    return row_major or column_major


def lies_alike(source: Value, access: Access, view: Value) -> bool:
    """Whether `view`, which is `source` read by `access`, is the whole of it in the order of its memory."""
    strides, offset = element_strides(access, contiguous_strides(source.shape), len(view.shape))
    return (
        offset == 0
        and view.type.size == source.type.size
        and all(
            size == 1 or stride == own
            for size, stride, own in zip(view.shape, strides, contiguous_strides(view.shape), strict=True)
        )
    )


def outline(function: Function, reads: Reads, units: Sequence[Unit]) -> Function:
    """Rebuild `function`, of which `reads` are, from `units`, in any order.

    *Requires*: no dependency cycle among units. *Ensures*: the same results, producers first.
    """
    return _Outliner(function, reads, units).run()


def effects_before(function: Function) -> dict[Instruction, tuple[Value, ...]]:
    """Map each instruction with an effect, except the first, to the results of the one before it."""
    if not any(op.effect or op.regions is not None for op in function.ops):
        return {}
    effects = [instruction for instruction in function.body if has_effect(instruction)]
    return {later: earlier.results for earlier, later in itertools.pairwise(effects)}


def producers_first(first: Sequence[int], producers: Sequence[set[int]]) -> list[int]:
    """Numbers of groups in an order in which each comes behind its `producers`, otherwise near that of the
    `first` instructions in them. *Requires*: no cycle."""
    waiting = [len(numbers) for numbers in producers]
    users: dict[int, list[int]] = {}
    for number, numbers in enumerate(producers):
        for producer in numbers:
            users.setdefault(producer, []).append(number)
    ready = [(first[number], number) for number, count in enumerate(waiting) if not count]
    heapq.heapify(ready)
    result: list[int] = []
    while ready:
        _, number = heapq.heappop(ready)
        result.append(number)
        for user in users.get(number, ()):
            waiting[user] -= 1
            if not waiting[user]:
                heapq.heappush(ready, (first[user], user))
    assert len(result) == len(producers), "groups must not make a cycle"
    return result


class _Outliner:
    def __init__(self, function: Function, reads: Reads, units: Sequence[Unit]) -> None:
        self.function, self.reads, self.units = function, reads, units
        self.order = {instruction: position for position, instruction in enumerate(function.body)}
        self.unit_of = {
            result: number
            for number, unit in enumerate(units)
            for member in unit.members
            for result in member.results
        }
        self.body: list[Instruction] = []
        self.present: set[Value] = set(function.params)
        self.read_outside: set[Value] = set()
        #: Copies of views for readers that take strided memory; the views themselves may be written out too.
        self.views: dict[Value, Value] = {}

    def run(self) -> Function:
        for number in self._ordered():
            unit = self.units[number]
            members = unit.members
            if len(members) > 1:
                members = sorted(members, key=self.order.__getitem__)
            if unit.domain is not None:
                results = [member.results[0] for member in members]
                outputs = [result for result in results if result in self.read_outside]
                self._emit(self._fusion(members, outputs, unit))
                continue
            for member in members:
                self._emit(self._provided(member))
        for result in self.function.results:
            self._write_out(result)
        return Function(self.function.name, self.function.params, tuple(self.body), self.function.results)

    def _emit(self, instruction: Instruction) -> None:
        self.body.append(instruction)
        self.present.update(instruction.results)

    def _provided(self, reader: Instruction) -> Instruction:
        """A single instruction with its inline operands available: as strided views, or in memory."""
        if self.present.issuperset(reader.operands):
            return reader
        table = Substitution()
        for operand in reader.operands:
            if operand not in self.present and reads_strided(reader, operand, self.reads):
                table[operand] = self._view(operand)
            else:
                self._write_out(operand)
        return table.apply(reader)

    def _view(self, value: Value) -> Value:
        """`value` through views of its own."""
        chain: list[Instruction] = []
        while value not in self.views and (view := self.reads.inline.get(value)) is not None:
            chain.append(view)
            (value,) = view.operands
        copy = self.views.get(value, value)
        for view in reversed(chain):
            operands, copy = (copy,), Value(view.results[0].type)
            self._emit(view.replace(operands=operands, results=(copy,)))
            self.views[view.results[0]] = copy
        return copy

    def _write_out(self, value: Value) -> None:
        """Emit the fusion that writes an inline value to memory, or a reshape if its source has the same
        layout."""
        if value in self.present or value not in self.reads.inline:
            return
        source, access = resolve(value, self.reads.defs)
        if source in self.present and lies_alike(source, access, value):
            location = self.reads.inline[value].location
            self._emit(Instruction(OPS["reshape"], (source,), {"shape": value.shape}, (value,), location))
        else:
            self._emit(self._fusion([], [value], Unit(0, value.shape)))

    def _find_readers(self) -> list[set[int]]:
        """The numbers of the groups that each group reads or comes behind. Fills `read_outside`: the values
        of groups that something beyond the group reads."""
        producers: list[set[int]] = []
        before = effects_before(self.function)
        source_of, unit_of, inline = self.reads.source, self.unit_of, self.reads.inline
        read_outside = self.read_outside
        for number, unit in enumerate(self.units):
            numbers: set[int] = set()
            for member in unit.members:
                for operand in member.operands:
                    source = source_of(operand)[0] if operand in inline else operand
                    producer = unit_of.get(source)
                    if producer != number:
                        read_outside.add(source)
                        if producer is not None:
                            numbers.add(producer)
                if before:
                    numbers |= {unit_of[result] for result in before.get(member, ()) if result in unit_of}
            numbers.discard(number)
            producers.append(numbers)
        self.read_outside.update(source_of(result)[0] for result in self.function.results)
        return producers

    def _ordered(self) -> list[int]:
        """Unit numbers, producers first, otherwise near program order."""
        first = [min([self.order[member] for member in unit.members]) for unit in self.units]
        return producers_first(first, self._find_readers())

    def _inline_closure(self, values: Iterable[Value]) -> list[Instruction]:
        """The inline instructions through which `values` are read, in program order."""
        inline, closure = self.reads.inline, set[Instruction]()
        stack = [value for value in values if value in inline]
        while stack:
            definition = inline[stack.pop()]
            if definition not in closure:
                closure.add(definition)
                stack += [operand for operand in definition.operands if operand in inline]
        return sorted(closure, key=self.order.__getitem__)

    def _fusion(self, members: list[Instruction], outputs: list[Value], unit: Unit) -> Instruction:
        """A fusion instruction whose results are `outputs` and whose region computes them, over the domain of
        `unit`. What is computed there and read there alone moves into the region as it is."""
        through = self.reads.inline
        read = [operand for member in members for operand in member.operands if operand in through]
        inline = self._inline_closure([*read, *outputs]) if read or not members else []
        body = sorted([*inline, *members], key=self.order.__getitem__) if inline else members
        renamed = {*outputs, *[instruction.results[0] for instruction in inline]}
        inputs: list[Value] = []
        moved: set[Value] = set()
        inside: dict[Value, Value] = {}
        region: list[Instruction] = []
        for instruction in body:
            operands, results = instruction.operands, instruction.results
            stays = moved.issuperset(operands)
            if not stays:
                for operand in operands:
                    if operand not in moved and operand not in inside:
                        inside[operand] = Value(operand.type, f"p{len(inputs)}")
                        inputs.append(operand)
                operands = tuple([inside.get(operand, operand) for operand in operands])
            if results[0] in renamed:
                stays, results = False, (Value(results[0].type),)
                inside[instruction.results[0]] = results[0]
            else:
                moved.add(results[0])
            if not stays:
                op, attrs, location = instruction.op, instruction.attrs, instruction.location
                instruction = Instruction(op, operands, attrs, results, location, instruction.regions)
            region.append(instruction)
        params = tuple([inside[value] for value in inputs])
        results = tuple([inside[output] for output in outputs])
        location = members[-1].location if members else inline[-1].location
        attrs = {"domain": unit.domain, "axes": unit.axes or (), "levels": self._levels(body, inline, unit)}
        fused = Function("fusion", params, tuple(region), results)
        return Instruction(FUSION, tuple(inputs), attrs, tuple(outputs), location, (fused,))

    def _levels(self, body: list[Instruction], inline: list[Instruction], unit: Unit) -> tuple[str, ...]:
        """The levels of a group's instructions, of which those in `inline` are read through."""
        read = set(inline)
        if not unit.own and unit.axes is None:
            return tuple([READ if instruction in read else EACH for instruction in body])
        return tuple([READ if instruction in read else unit.level(instruction) for instruction in body])
