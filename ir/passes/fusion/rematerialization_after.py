"""Values that cost less to compute again than to write and read: a centred row, a mask, a scaled difference.

A group's value that another group reads becomes members of that group, too, where the few cheap ops behind it
read no more memory than the value has. It then need not exist in memory.

Which groups read a value is known only after fusion. `fusion/rematerialization_before.py` comes before it,
for reductions over different axes of what follows from small arrays: there, far more work costs less than
memory does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...graph import Function, Instruction, Substitution, Value, distinct_types
from ...machine import machine
from ...registry import Kind
from .groups import Unit
from .inlining import Reads

#: Cycles per vector that all ops behind a value may cost together.
MOST_CYCLES: Final = 6.0
#: What is so many times smaller than the value is read for next to nothing.
SMALL: Final = 8


def least_bytes() -> int:
    """Smaller values stay in a near cache."""
    return 2 * machine().l1_bytes


def repeat_cheap(
    function: Function, reads: Reads, units: Sequence[Unit]
) -> tuple[Function, Reads, Sequence[Unit]]:
    """*Requires*: `units` of `function`'s instructions, and its `reads`, as for `outline`. *Ensures*: the
    same results, and units of the same instructions and copies of some, before who reads them."""
    least = least_bytes()
    results = [result for unit in units for member in unit.members for result in member.results]
    if all(type_.nbytes < least for type_ in distinct_types(results)):
        return function, reads, units
    return _Repeating(function, reads, units).run()


class _Repeating:
    def __init__(self, function: Function, reads: Reads, units: Sequence[Unit]) -> None:
        self.function, self.reads, self.units = function, reads, units
        self.group_of = {
            result: number
            for number, unit in enumerate(units)
            for member in unit.members
            for result in member.results
        }
        self.params = set(function.params)
        #: Who reads a value, through views or not.
        self.readers: dict[Value, list[Instruction]] = {}
        for unit in units:
            for member in unit.members:
                for value in self._read(member):
                    self.readers.setdefault(value, []).append(member)
        #: By group and original, the copies, which come right after their originals.
        self.copies: dict[tuple[int, Instruction], Instruction] = {}
        self.after: dict[Instruction, list[Instruction]] = {}
        self.changed: dict[Instruction, Instruction] = {}

    def run(self) -> tuple[Function, Reads, Sequence[Unit]]:
        kept = {self.reads.source(result)[0] for result in self.function.results}
        for number, unit in enumerate(self.units):
            for member in list(unit.members) if unit.domain is not None else ():
                if member.op.kind is Kind.ELEMENTWISE and member.result not in kept:
                    self._consider(number, member)
        if not self.changed:
            return self.function, self.reads, self.units
        body: list[Instruction] = []
        for instruction in self.function.body:
            body += [self.changed.get(instruction, instruction), *self.after.get(instruction, ())]
        unread = self._unread(body)
        function = self.function
        function = Function(
            function.name,
            function.params,
            tuple([instruction for instruction in body if instruction not in unread]),
            function.results,
        )
        for unit in self.units:
            for member in unit.members:
                if member in self.changed and member in unit.own:
                    unit.own[self.changed[member]] = unit.own[member]
            now = [self.changed.get(member, member) for member in unit.members]
            unit.members = [instruction for instruction in now if instruction not in unread]
        return function, Reads(function), [unit for unit in self.units if unit.members]

    def _unread(self, body: Sequence[Instruction]) -> set[Instruction]:
        """The originals that nobody reads any more."""
        copied = {original.result for _, original in self.copies}
        read, unread = set(self.function.results), set()
        for instruction in reversed(body):
            if instruction.results and instruction.results[0] in copied and instruction.result not in read:
                unread.add(instruction)
            else:
                read.update(instruction.operands)
        return unread

    def _read(self, member: Instruction) -> list[Value]:
        return list(dict.fromkeys([self.reads.source(operand)[0] for operand in member.operands]))

    def _consider(self, number: int, member: Instruction) -> None:
        """Copy what is behind `member`'s result to the groups that read it, if it is worth that for all."""
        value = member.result
        readers = [
            instruction
            for instruction in self.readers.get(value, ())
            if self.group_of[instruction.results[0]] != number
        ]
        if not readers or value.type.nbytes < least_bytes():
            return
        behind = self._behind(number, member)
        if behind is None:
            return
        by_group: dict[int, list[Instruction]] = {}
        for reader in readers:
            by_group.setdefault(self.group_of[reader.results[0]], []).append(reader)
        if not all(self._gains(value, behind, group, some) for group, some in by_group.items()):
            return
        for group, some in by_group.items():
            self._copy(value, behind, group, some)

    def _behind(self, number: int, member: Instruction) -> list[Instruction] | None:
        """The members of the group that make `member`'s result from what is in memory, in order; None where
        they are dear, or read each other through views."""
        behind: set[Instruction] = set()
        stack, cost = [member], 0.0
        while stack:
            instruction = stack.pop()
            if instruction in behind:
                continue
            behind.add(instruction)
            cost += instruction.op.cost
            if cost > MOST_CYCLES:
                return None
            for operand in instruction.operands:
                source, _ = self.reads.source(operand)
                definition = self.reads.defs.get(source)
                if self.group_of.get(source) != number or definition is None:
                    continue
                if source.type.nbytes * SMALL <= member.result.type.nbytes:
                    continue  # a row's: it is in memory then
                if definition.op.kind is not Kind.ELEMENTWISE or operand is not source:
                    return None
                stack.append(definition)
        return sorted(behind, key=self.units[number].members.index)

    def _gains(self, value: Value, behind: list[Instruction], group: int, readers: list[Instruction]) -> bool:
        """Whether `readers` of one group read `value` as it is, and what is behind it is not more memory."""
        unit = self.units[group]
        if unit.domain is None:
            return False
        for reader in readers:
            if not reader.op.kind.traits.fusable:
                return False
            as_it_is = [
                operand is value for operand in reader.operands if self.reads.source(operand)[0] is value
            ]
            if not all(as_it_is) or (
                reader.op.kind is Kind.ELEMENTWISE and reader.result.shape != value.shape
            ):
                return False
        own = {instruction.result for instruction in behind}
        read = {each for member in unit.members for each in self._read(member)}
        more = 0
        for source in {each for member in behind for each in self._read(member)} - own - read:
            if source.type.nbytes * SMALL > value.type.nbytes:
                if source not in self.params:
                    return False  # it would have to live longer
                more += source.type.nbytes
        return more <= value.type.nbytes

    def _copy(self, value: Value, behind: list[Instruction], group: int, readers: list[Instruction]) -> None:
        unit, table = self.units[group], Substitution()
        place = unit.own_of(readers[0])  # they read the value as it is
        for instruction in behind:
            if (group, instruction) not in self.copies:
                operands, fresh = table.all(instruction.operands), Value(instruction.result.type)
                copy = instruction.replace(operands=operands, results=(fresh,))
                self.copies[group, instruction] = copy
                self.after.setdefault(instruction, []).append(copy)
                unit.members.append(copy)
                unit.put(copy, place, place)
            table[instruction.result] = self.copies[group, instruction].result
        only = Substitution({value: table[value]})
        for reader in readers:
            self.changed[reader] = only.apply(self.changed.get(reader, reader))
