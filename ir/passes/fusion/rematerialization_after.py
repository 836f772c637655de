"""Values that cost less to compute again than to write and read: a centred row, a mask, a scaled difference.

A group's value that another group reads becomes members of that group, too, where the few cheap ops behind it
read no more memory than the value has. It then need not exist in memory. What a value may cost follows from
how far it goes: one that leaves the second cache before it is read, as what the forward part of a gradient
keeps for the backward part does, is worth what the machine takes to write and read it in memory. Values that
follow from the same ops share what these cost.

Which groups read a value is known only after fusion. `fusion/rematerialization_before.py` comes before it,
for reductions over different axes of what follows from small arrays: there, far more work costs less than
memory does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from ....base.machine import machine
from ....base.records import record
from ...graph import Function, Instruction, Substitution, Value, distinct_types
from ...grouping.groups import Unit
from ...grouping.inlining import Reads
from ...registry import Kind

#: Cycles per vector that all ops behind a value may cost together where it stays in the second cache.
MAX_CYCLES: Final = 6.0
#: A source with this many times fewer elements than the value costs next to nothing to read.
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


def saved_cycles(distance: int, groups: int) -> float:
    """The limit of cycles per vector for computing a value again in each of the `groups` that read it. It is
    each group's share of writing a line once and reading it once per group, where `distance` bytes are
    accessed between the value's group and the first of these."""
    if distance <= machine().l2_bytes:
        return MAX_CYCLES
    near = distance <= machine().l3_bytes
    per_cycle = machine().l3_bytes_per_cycle if near else machine().bytes_per_cycle
    return max(MAX_CYCLES, (1 + 1 / groups) * machine().line_bytes / per_cycle)


@record(eq=False)
class _Candidate:
    """A value that may be computed again."""

    value: Value
    #: The instructions that compute it from values in memory, in order.
    behind: list[Instruction]
    #: The instructions that read it, by the numbers of their groups.
    readers: dict[int, list[Instruction]]
    #: Cycles per vector that each of these groups saves.
    saved: float


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
        #: The instructions that read a value, through views or not.
        self.readers: dict[Value, list[Instruction]] = {}
        for unit in units:
            for member in unit.members:
                for value in self._read(member):
                    self.readers.setdefault(value, []).append(member)
        #: The copies by group and original; they come right after their originals.
        self.copies: dict[tuple[int, Instruction], Instruction] = {}
        self.after: dict[Instruction, list[Instruction]] = {}
        self.changed: dict[Instruction, Instruction] = {}
        self.touched: dict[int, set[Value]] = {}

    def run(self) -> tuple[Function, Reads, Sequence[Unit]]:
        kept = {self.reads.source(result)[0] for result in self.function.results}
        for number, unit in enumerate(self.units):
            candidates: dict[tuple[int, ...], list[_Candidate]] = {}
            for candidate in self._candidates(number, unit, kept) if unit.domain is not None else ():
                candidates.setdefault(tuple(candidate.readers), []).append(candidate)
            for of_same_readers in candidates.values():
                for candidate in _worth(of_same_readers):
                    for group, readers in candidate.readers.items():
                        self._copy(candidate, group, readers)
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
        """The originals that no instruction reads any more."""
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

    def _candidates(self, number: int, unit: Unit, kept: set[Value]) -> list[_Candidate]:
        """The values of a group that all groups that read them could compute."""
        read_elsewhere: dict[Instruction, dict[int, list[Instruction]]] = {}
        for member in unit.members:
            if member.op.kind is not Kind.ELEMENTWISE or member.result in kept:
                continue
            by_group: dict[int, list[Instruction]] = {}
            for reader in self.readers.get(member.result, ()):
                group = self.group_of[reader.results[0]]
                if group != number:
                    by_group.setdefault(group, []).append(reader)
            if by_group and member.result.type.nbytes >= least_bytes():
                read_elsewhere[member] = by_group
        saved = {
            member: saved_cycles(self._distance(number, min(by_group)), len(by_group))
            for member, by_group in read_elsewhere.items()
        }
        most = sum(saved.values())
        candidates = []
        for member, by_group in read_elsewhere.items():
            behind = self._behind(number, member, most)
            if behind is not None and all(
                self._can_compute(member.result, behind, group, readers)
                for group, readers in by_group.items()
            ):
                candidates.append(_Candidate(member.result, behind, by_group, saved[member]))
        return candidates

    def _distance(self, first: int, last: int) -> int:
        """The bytes that the groups with numbers from `first` to `last` read and write; fewer if these are
        more than the last cache holds."""
        touched: set[Value] = set()
        nbytes = 0
        for number in range(first, last + 1):
            new = self._touched(number) - touched
            touched |= new
            nbytes += sum([value.type.nbytes for value in new])
            if nbytes > machine().l3_bytes:
                break
        return nbytes

    def _touched(self, number: int) -> set[Value]:
        """The values that a group has in memory: what it reads of others, and what others read of it."""
        touched = self.touched.get(number)
        if touched is not None:
            return touched
        results = {result for member in self.units[number].members for result in member.results}
        read = {value for member in self.units[number].members for value in self._read(member)}
        written = [
            result
            for result in results
            if result not in self.readers
            or any(self.group_of[reader.results[0]] != number for reader in self.readers[result])
        ]
        touched = self.touched[number] = (read - results - self.reads.inline.keys()).union(written)
        return touched

    def _behind(self, number: int, member: Instruction, most: float) -> list[Instruction] | None:
        """The members of the group that compute `member`'s result from values in memory, in order; None where
        they cost more than `most` cycles, or read each other through views."""
        behind: set[Instruction] = set()
        stack, cost = [member], 0.0
        while stack:
            instruction = stack.pop()
            if instruction in behind:
                continue
            behind.add(instruction)
            cost += instruction.cost
            if cost > most:
                return None
            for operand in instruction.operands:
                source, _ = self.reads.source(operand)
                definition = self.reads.defs.get(source)
                if self.group_of.get(source) != number or definition is None:
                    continue
                if source.type.size * SMALL <= member.result.type.size:
                    continue  # a row's: it is in memory then
                if definition.op.kind is not Kind.ELEMENTWISE or operand is not source:
                    return None
                stack.append(definition)
        return sorted(behind, key=self.units[number].members.index)

    def _can_compute(
        self, value: Value, behind: list[Instruction], group: int, readers: list[Instruction]
    ) -> bool:
        """Whether all `readers` of one group read `value` itself, and recomputing it reads no more memory
        than it has."""
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
            if source.type.size * SMALL > value.type.size and not self._is_constant(source):
                if source not in self.params:
                    return False  # it would have to live longer
                more += source.type.nbytes
        return more <= value.type.nbytes

    def _is_constant(self, source: Value) -> bool:
        """Whether nothing is read for `source`."""
        definition = self.reads.inline.get(source)
        return definition is not None and definition.op.kind is Kind.CREATION

    def _copy(self, candidate: _Candidate, group: int, readers: list[Instruction]) -> None:
        unit, table = self.units[group], Substitution()
        place = unit.own_of(readers[0])  # they read the value as it is
        for instruction in candidate.behind:
            if (group, instruction) not in self.copies:
                operands, fresh = table.all(instruction.operands), Value(instruction.result.type)
                copy = instruction.replace(operands=operands, results=(fresh,))
                self.copies[group, instruction] = copy
                self.after.setdefault(instruction, []).append(copy)
                unit.members.append(copy)
                unit.put(copy, place, place)
            table[instruction.result] = self.copies[group, instruction].result
        only = Substitution({candidate.value: table[candidate.value]})
        for reader in readers:
            self.changed[reader] = only.apply(self.changed.get(reader, reader))


def _worth(candidates: list[_Candidate]) -> list[_Candidate]:
    """The `candidates`, values of one group that the same groups read, that are worth computing again: the
    cheapest ones, as many as save most, without those that cost more than they save by ops of their own."""
    behind: set[Instruction] = set()
    chosen: list[_Candidate] = []
    saved = most = 0.0
    ordered = sorted(candidates, key=lambda candidate: sum(each.cost for each in candidate.behind))
    for count, candidate in enumerate(ordered, 1):
        saved += candidate.saved - sum(each.cost for each in candidate.behind if each not in behind)
        behind.update(candidate.behind)
        if saved >= most:
            chosen, most = ordered[:count], saved
    uses = Counter(instruction for candidate in chosen for instruction in candidate.behind)
    for candidate in reversed(chosen):
        if sum(each.cost for each in candidate.behind if uses[each] == 1) > candidate.saved:
            chosen = [each for each in chosen if each is not candidate]
            uses.subtract(candidate.behind)
    return chosen
