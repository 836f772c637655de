"""Outlining: turns groups of instructions into ``fusion`` instructions with regions.

Inline instructions (affine views, uniform constants, iotas) are copied into every region that reads
through them. Where something other than a fusion needs an inline value in memory, a fusion of its own
writes it out, just before its first reader.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterable, Sequence

from ...access import element_strides, resolve
from ...effects import has_effect
from ...graph import Function, Instruction, Substitution, Value
from ...kinds import ViewReads
from ...machine import machine
from ...ops.fusion import FUSION
from ...types import contiguous_strides
from .groups import Unit
from .inlining import is_inline, sources


def reads_strided(reader: Instruction, operand: Value, defs: dict[Value, Instruction]) -> bool:
    """Whether `reader` takes `operand` as a strided view of memory; see `ViewReads`."""
    views = reader.op.kind.traits.reads_views
    if views is None:
        return False
    source, access = resolve(operand, defs)
    definition = defs.get(source)
    if definition is not None and is_inline(definition, defs):
        return False
    if views is ViewReads.ANY:
        return True
    strides, _ = element_strides(access, contiguous_strides(source.shape), len(operand.shape))
    if views is ViewReads.STRETCHES:
        row = operand.shape[-1] * operand.dtype.itemsize if operand.shape else 0
        return row >= machine().line_bytes and strides[-1] == 1 and min(strides) >= 0
    (rows, columns), (by_row, by_column) = operand.shape[-2:], strides[-2:]
    if min(strides) < 0:
        return False
    row_major = (by_column == 1 or columns == 1) and (by_row >= columns or rows == 1)
    column_major = (by_row == 1 or rows == 1) and (by_column >= rows or columns == 1)
    return row_major or column_major


def outline(function: Function, units: Sequence[Unit]) -> Function:
    """Rebuild `function` from `units`, in any order.

    *Requires*: no dependency cycle among units. *Ensures*: the same results, producers first.
    """
    return _Outliner(function, units).run()


class _Outliner:
    def __init__(self, function: Function, units: Sequence[Unit]) -> None:
        self.function = function
        self.units = units
        self.defs = {result: instruction for instruction in function.body for result in instruction.results}
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
        self._find_readers()
        for number in self._ordered():
            unit = self.units[number]
            members = sorted(unit.members, key=self.order.__getitem__)
            if unit.domain is not None:
                outputs = [member.result for member in members if member.result in self.read_outside]
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
        table = Substitution()
        for operand in reader.operands:
            if operand not in self.present and reads_strided(reader, operand, self.defs):
                table[operand] = self._view(operand)
            else:
                self._write_out(operand)
        return table.apply(reader)

    def _view(self, value: Value) -> Value:
        """`value` through views of its own."""
        for instruction in self._inline_closure([value]):
            if instruction.result not in self.views:
                copy = Value(instruction.result.type)
                operands = tuple(self.views.get(operand, operand) for operand in instruction.operands)
                self._emit(instruction.replace(operands=operands, results=(copy,)))
                self.views[instruction.result] = copy
        return self.views[value]

    def _write_out(self, value: Value) -> None:
        """Emit the fusion that writes an inline value to memory."""
        if is_inline(self.defs.get(value), self.defs) and value not in self.present:
            self._emit(self._fusion([], [value], Unit(0, value.shape)))

    def _find_readers(self) -> None:
        """Fill `read_outside`: the values of groups that something beyond the group reads."""
        for number, unit in enumerate(self.units):
            for member in unit.members:
                for operand in member.operands:
                    for source, _ in sources(operand, self.defs):
                        if self.unit_of.get(source) != number:
                            self.read_outside.add(source)
        for result in self.function.results:
            self.read_outside.update(source for source, _ in sources(result, self.defs))

    def _ordered(self) -> list[int]:
        """Unit numbers, producers first, otherwise near program order."""
        waiting: list[int] = []
        users: dict[int, list[int]] = {}
        first = [min(self.order[member] for member in unit.members) for unit in self.units]
        before = self._effects_before()
        ready: list[tuple[int, int]] = []
        for number, unit in enumerate(self.units):
            producers = {
                self.unit_of.get(source, number)
                for member in unit.members
                for operand in (*member.operands, *before.get(member, ()))
                for source, _ in sources(operand, self.defs)
            } - {number}
            waiting.append(len(producers))
            for producer in producers:
                users.setdefault(producer, []).append(number)
            if not producers:
                heapq.heappush(ready, (first[number], number))
        result: list[int] = []
        while ready:
            _, number = heapq.heappop(ready)
            result.append(number)
            for user in users.get(number, ()):
                waiting[user] -= 1
                if not waiting[user]:
                    heapq.heappush(ready, (first[user], user))
        assert len(result) == len(self.units), "fusion must not make a cycle"
        return result

    def _effects_before(self) -> dict[Instruction, tuple[Value, ...]]:
        """For each instruction with an effect but the first, the results of the one before it."""
        effects = [instruction for instruction in self.function.body if has_effect(instruction)]
        return {later: earlier.results for earlier, later in itertools.pairwise(effects)}

    def _inline_closure(self, values: Iterable[Value]) -> list[Instruction]:
        """The inline instructions through which `values` are read, in program order."""
        closure: set[Instruction] = set()
        stack = list(values)
        while stack:
            definition = self.defs.get(stack.pop())
            if definition is not None and is_inline(definition, self.defs) and definition not in closure:
                closure.add(definition)
                stack.extend(definition.operands)
        return sorted(closure, key=self.order.__getitem__)

    def _fusion(self, members: list[Instruction], outputs: list[Value], unit: Unit) -> Instruction:
        """A fusion instruction whose results are `outputs` and whose region computes them afresh, over the
        domain of `unit`."""
        reads = [operand for member in members for operand in member.operands]
        inline = self._inline_closure([*reads, *outputs])
        body = sorted([*inline, *members], key=self.order.__getitem__)
        inside = {result for instruction in body for result in instruction.results}
        inputs = list(
            dict.fromkeys(
                operand for instruction in body for operand in instruction.operands if operand not in inside
            )
        )
        table = Substitution({input_: Value(input_.type, f"p{i}") for i, input_ in enumerate(inputs)})
        copies: list[Instruction] = []
        for instruction in body:
            fresh = tuple(Value(result.type) for result in instruction.results)
            copies.append(instruction.replace(operands=table.all(instruction.operands), results=fresh))
            for old, new in zip(instruction.results, fresh, strict=True):
                table[old] = new
        region = Function(
            "fusion", tuple(table[input_] for input_ in inputs), tuple(copies), table.all(tuple(outputs))
        )
        location = members[-1].location if members else inline[-1].location
        levels = tuple([unit.level(instruction) for instruction in body])
        attrs = {"domain": unit.domain, "axes": unit.axes or (), "levels": levels}
        return Instruction(FUSION, tuple(inputs), attrs, tuple(outputs), location, (region,))
