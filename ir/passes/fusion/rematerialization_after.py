"""Values that cost less to compute again than to write and read: a centred row, a mask, a scaled difference.

A group's value that another group reads becomes members of that group, too, where the few cheap ops behind it
read no more memory than the value has. It then need not exist in memory.

Which groups read a value is known only after fusion. `fusion/rematerialization_before.py` comes before it,
for reductions over different axes of what follows from small arrays: there, far more work costs less than
memory does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from ...graph import Function, Instruction, Substitution, Value
from ...registry import Kind
from .inlining import sources

#: The members of a group (True) or one instruction (False).
Group: TypeAlias = tuple[list[Instruction], bool]

#: Smaller values stay in a near cache.
LEAST_BYTES: Final = 1 << 16
#: Cycles per vector that all ops behind a value may cost together.
MOST_CYCLES: Final = 6.0
#: What is so many times smaller than the value is read for next to nothing.
SMALL: Final = 8


def repeat_cheap(function: Function, groups: Sequence[Group]) -> tuple[Function, list[Group]]:
    """*Requires*: `groups` of `function`'s instructions, as for `outline`. *Ensures*: the same results, and
    groups of the same instructions and copies of some, before who reads them."""
    return _Repeating(function, groups).run()


class _Repeating:
    def __init__(self, function: Function, groups: Sequence[Group]) -> None:
        self.function = function
        self.groups = [(list(members), grouped) for members, grouped in groups]
        self.defs = {result: instruction for instruction in function.body for result in instruction.results}
        self.group_of = {
            result: number
            for number, (members, _) in enumerate(groups)
            for member in members
            for result in member.results
        }
        self.params = set(function.params)
        #: Who reads a value, through views or not.
        self.readers: dict[Value, list[Instruction]] = {}
        for members, _ in groups:
            for member in members:
                for value in self._read(member):
                    self.readers.setdefault(value, []).append(member)
        #: By group and original, the copies, which come right after their originals.
        self.copies: dict[tuple[int, Instruction], Instruction] = {}
        self.after: dict[Instruction, list[Instruction]] = {}
        self.changed: dict[Instruction, Instruction] = {}

    def run(self) -> tuple[Function, list[Group]]:
        kept = {source for result in self.function.results for source, _ in sources(result, self.defs)}
        for number, (members, grouped) in enumerate(self.groups):
            for member in list(members) if grouped else ():
                if member.op.kind is Kind.ELEMENTWISE and member.result not in kept:
                    self._consider(number, member)
        if not self.changed:
            return self.function, self.groups
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
        groups = []
        for members, grouped in self.groups:
            now = [self.changed.get(member, member) for member in members]
            groups.append(([instruction for instruction in now if instruction not in unread], grouped))
        return function, [group for group in groups if group[0]]

    def _unread(self, body: Sequence[Instruction]) -> set[Instruction]:
        """The originals that nobody reads any more."""
        copied = {original.result for _, original in self.copies}
        read, found = set(self.function.results), set()
        for instruction in reversed(body):
            if instruction.results and instruction.results[0] in copied and instruction.result not in read:
                found.add(instruction)
            else:
                read.update(instruction.operands)
        return found

    def _read(self, member: Instruction) -> list[Value]:
        return list(dict.fromkeys(value for each in member.operands for value, _ in sources(each, self.defs)))

    def _source(self, operand: Value) -> Value:
        return next(source for source, _ in sources(operand, self.defs))

    def _consider(self, number: int, member: Instruction) -> None:
        """Copy what is behind `member`'s result to the groups that read it, if it is worth that for all."""
        value = member.result
        readers = [
            instruction
            for instruction in self.readers.get(value, ())
            if self.group_of[instruction.results[0]] != number
        ]
        if not readers or value.type.nbytes < LEAST_BYTES:
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
        found: dict[Instruction, None] = {}
        stack, cost = [member], 0.0
        while stack:
            instruction = stack.pop()
            if instruction in found:
                continue
            found[instruction] = None
            cost += instruction.op.cost
            if cost > MOST_CYCLES:
                return None
            for operand in instruction.operands:
                for source, _ in sources(operand, self.defs):
                    definition = self.defs.get(source)
                    if self.group_of.get(source) != number or definition is None:
                        continue
                    if source.type.nbytes * SMALL <= member.result.type.nbytes:
                        continue  # a row's: it is in memory then
                    if definition.op.kind is not Kind.ELEMENTWISE or operand is not source:
                        return None
                    stack.append(definition)
        members = self.groups[number][0]
        return sorted(found, key=members.index)

    def _gains(self, value: Value, behind: list[Instruction], group: int, readers: list[Instruction]) -> bool:
        """Whether `readers` of one group read `value` as it is, and what is behind it is not more memory."""
        members, grouped = self.groups[group]
        if not grouped:
            return False
        for reader in readers:
            if not reader.op.kind.traits.fusable:
                return False
            as_it_is = [operand is value for operand in reader.operands if self._source(operand) is value]
            if not all(as_it_is) or (
                reader.op.kind is Kind.ELEMENTWISE and reader.result.shape != value.shape
            ):
                return False
        own = {instruction.result for instruction in behind}
        read = {each for member in members for each in self._read(member)}
        more = 0
        for source in {each for member in behind for each in self._read(member)} - own - read:
            if source.type.nbytes * SMALL > value.type.nbytes:
                if source not in self.params:
                    return False  # it would have to live longer
                more += source.type.nbytes
        return more <= value.type.nbytes

    def _copy(self, value: Value, behind: list[Instruction], group: int, readers: list[Instruction]) -> None:
        table = Substitution()
        for instruction in behind:
            if (group, instruction) not in self.copies:
                operands, fresh = table.all(instruction.operands), Value(instruction.result.type)
                copy = Instruction(
                    instruction.op, operands, instruction.attrs, (fresh,), instruction.location
                )
                self.copies[group, instruction] = copy
                self.after.setdefault(instruction, []).append(copy)
                self.groups[group][0].append(copy)
            table[instruction.result] = self.copies[group, instruction].result
        only = Substitution({value: table[value]})
        for reader in readers:
            self.changed[reader] = only.apply(self.changed.get(reader, reader))
