"""Straight-line repetitions become loops again, as LLVM's loop reroll pass does it.

A Python loop that is traced step by step leaves the same ops many times over. Where they follow one another,
read what their own step or the last ones computed, and change nothing but positions and constants, a ``scan``
computes the same in the same order, and passes and code generation see one step. It runs on the traced
Function, after gradients: the ops of a backward pass repeat, too, and no sum changes its order.

S. Rocha, R. Petoumenos, Z. Wang, M. Cole, H. Leather, "Loop rolling for code size reduction", CGO 2022.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from ....base.records import record
from ...builder import Builder
from ...graph import Function, Instruction, Location, Substitution, Value
from ...registry import OPS
from ...types import TensorType
from . import MIN_OPS
from .repeated_steps import BasicBlock, Carried, Element, Listed, RepeatedSteps, steps_of
from .repetitions import Repetition, in_order, repetitions
from .step_writer import Constants, Stacked, StepWriter

#: Shorter repetitions stay as they are: compiling each of their steps takes little time.
MIN_STEPS: Final = 8
#: Candidates are looked at until those had so many instructions for each of the function.
_EFFORT: Final = 8
#: Number of times that loops are chosen anew, without those that cost more than they save.
_ROUNDS: Final = 4
#: Values from before the loop, one for each step, are copied to a stack: no larger ones than these.
_MAX_LISTED_BYTES: Final = 1024


@record
class Rerolled:
    """A repetition that became a loop: its line, how many steps, and of how many instructions."""

    location: Location | None
    steps: int
    ops: int

    def __str__(self) -> str:
        where = "" if self.location is None else f" at {self.location}"
        return f"{self.steps} times the same {self.ops} operations{where} are compiled as a loop"


def reroll_loops(function: Function, least_steps: int = MIN_STEPS, least_ops: int = MIN_OPS) -> Function:
    """*Requires*: valid IR. *Ensures*: the same results to the bit; repetitions of at least `least_steps` and
    `least_ops` instructions are loops."""
    rerolling = _Rerolling(function, least_steps, least_ops)
    return rerolling.run() if rerolling.loops else function


def rerolled_loops(function: Function) -> tuple[Rerolled, ...]:
    """The loops that `reroll_loops` makes, in regions too."""
    loops = _Rerolling(function, MIN_STEPS, MIN_OPS).loops
    rerolled = [Rerolled(loop.location, loop.steps.count, len(loop.steps.columns)) for loop in loops]
    for instruction in function.body:
        for region in instruction.regions:
            rerolled += rerolled_loops(region)
    return tuple(rerolled)


@record(eq=False)
class _Loop:
    """A repetition that becomes a loop, with the results of its steps that are read after it."""

    steps: RepeatedSteps
    #: Whether step i has the last but i-th slice of stacks.
    reverse: bool
    #: The stacks of results, by column and number of the result.
    stacks: dict[tuple[int, int], Value]
    #: The results of which the last step's alone is read.
    lasts: list[tuple[int, int]]

    @property
    def location(self) -> Location | None:
        return self.steps.columns[0].template.location


@record(eq=False, frozen=False)
class _Attempt:
    """A candidate, the loop that it becomes, if any, and the effort that it took to tell."""

    candidate: Repetition
    loop: _Loop | None = None
    effort: int = 0


class _Rerolling:
    """One application of the pass."""

    def __init__(self, function: Function, least_steps: int, least_ops: int) -> None:
        self.function = function
        self.least_steps, self.least_ops = least_steps, least_ops
        self.loops: list[_Loop] = []
        candidates = repetitions(function.body, least_steps, least_ops)
        if not candidates:
            return
        places = {result: i for i, instruction in enumerate(function.body) for result in instruction.results}
        self.block = BasicBlock(function.body, places)
        self.last_reads: dict[Value, int] = {
            operand: i for i, instruction in enumerate(function.body) for operand in instruction.operands
        }
        self.last_reads.update(dict.fromkeys(function.results, len(function.body)))
        #: The values that are known not to depend on the parameters.
        self.constants: set[Value] = set()
        self.effort = _EFFORT * len(function.body)
        looks = [_Attempt(candidate) for candidate in in_order(candidates)]
        known = 0
        for _ in range(_ROUNDS):
            self._plan(looks, known)
            loops = {look.candidate: look.loop for look in looks if look.loop is not None}
            costly = self._costly(loops)
            if not costly:
                self.loops = sorted(loops.values(), key=lambda loop: loop.steps.start)
                return
            # what stands before the first one is planned as it was
            known = next(place for place, look in enumerate(looks) if look.candidate in costly)
            looks = [look for look in looks if look.candidate not in costly]

    def _plan(self, looks: Sequence[_Attempt], known: int) -> None:
        """Plan loops that do not overlap, with what each stacks for later ones; the first `known` are."""
        self.block.elements.clear()
        taken: list[RepeatedSteps] = []
        for place, look in enumerate(looks):
            candidate = look.candidate
            if place < known:
                self.effort -= look.effort
            else:
                look.loop, look.effort, before = None, 0, self.effort
                if any(candidate.start < steps.stop and steps.start < candidate.stop for steps in taken):
                    continue
                steps = steps_of(self.block, candidate, self._is_long)
                if steps is not None and self._is_worthwhile(steps):
                    look.loop = self._loop(steps)
                look.effort = before - self.effort
            if look.loop is not None:
                taken.append(look.loop.steps)
                self._note_elements(look.loop)

    def _is_worthwhile(self, steps: RepeatedSteps) -> bool:
        """Whether `steps` compute something, and not of constants alone, which are folded step by step."""
        last = [column.instructions[-1] for column in steps.columns]
        return any(instruction.op.kind.traits.has_kernel for instruction in last) and self._varies(
            [operand for instruction in last for operand in instruction.operands]
        )

    def _varies(self, values: list[Value]) -> bool:
        """Whether some of `values` depend on the parameters: mostly a parameter is near."""
        places, body, constants = self.block.places, self.function.body, self.constants
        seen: set[Value] = set()
        while values:
            value = values.pop()
            place = places.get(value)
            if place is None:
                return True
            if value not in seen and value not in constants:
                seen.add(value)
                values += body[place].operands
        constants |= seen
        return False

    def _costly(self, loops: dict[Repetition, _Loop]) -> list[Repetition]:
        """Select the loops that cost more than they save: by instructions that take stacks apart or build
        them."""
        elements = self.block.elements
        reads: dict[Value, int] = {}
        costly = []
        listed_of: dict[Repetition, set[Listed]] = {}
        for candidate, loop in loops.items():
            listed_of[candidate] = {
                source
                for column in loop.steps.columns
                for source in column.sources
                if isinstance(source, Listed)
            }
        for instruction in self._outside(list(loops.values())):
            if instruction.op.name == "reshape":
                continue
            for operand in instruction.operands:
                if operand in elements:
                    stack = elements[operand][0]
                    reads[stack] = reads.get(stack, 0) + 1
        for listed in listed_of.values():
            for source in listed:
                for value in source.values:
                    if value in elements:
                        stack = elements[value][0]
                        reads[stack] = reads.get(stack, 0) + 1
        for candidate, loop in loops.items():
            steps, listed = loop.steps, listed_of[candidate]
            extra = steps.count * len(listed) + sum(reads.get(stack, 0) for stack in loop.stacks.values())
            large = any(source.values[0].type.nbytes > _MAX_LISTED_BYTES for source in listed)
            if large or 4 * extra > steps.count * len(steps.columns):
                costly.append(candidate)
        return costly

    def _outside(self, loops: Sequence[_Loop]) -> Iterator[Instruction]:
        """The instructions that are in none of `loops`."""
        position = 0
        for loop in sorted(loops, key=lambda loop: loop.steps.start):
            yield from self.function.body[position : loop.steps.start]
            position = loop.steps.stop
        yield from self.function.body[position:]

    def _is_long(self, steps: int, period: int) -> bool:
        if steps < self.least_steps or steps * period < self.least_ops:
            return False
        self.effort -= steps * period
        return self.effort >= 0

    def _loop(self, steps: RepeatedSteps) -> _Loop:
        """The loop for `steps`."""
        sources = {source for column in steps.columns for source in column.sources}
        each = {source.each for source in sources if isinstance(source, Element)}
        loop = _Loop(steps, -1 in each and 1 not in each, {}, [])
        carried: dict[tuple[int, int], int] = {}
        for source in sources:
            if isinstance(source, Carried):
                key = source.slot, source.result
                carried[key] = max(carried.get(key, 0), source.distance)
        for (slot, number), numbers in self._read_after(steps).items():
            instructions = steps.columns[slot].instructions
            type_ = instructions[0].results[number].type
            if numbers[0] >= steps.count - carried.get((slot, number), 0):
                continue  # they are the last carries
            if numbers == [steps.count - 1]:
                loop.lasts.append((slot, number))
                continue
            loop.stacks[slot, number] = Value(type_.with_shape((steps.count, *type_.shape)))
        return loop

    def _note_elements(self, loop: _Loop) -> None:
        """Note the elements of the stacks of `loop`."""
        steps, elements = loop.steps, self.block.elements
        for (slot, number), stack in loop.stacks.items():
            for step, instruction in enumerate(steps.columns[slot].instructions):
                place = steps.count - 1 - step if loop.reverse else step
                elements[instruction.results[number]] = stack, place

    def _read_after(self, steps: RepeatedSteps) -> dict[tuple[int, int], list[int]]:
        """The results that are read after the loop, by column and number: of which steps."""
        read: dict[tuple[int, int], list[int]] = {}
        last_reads, stop = self.last_reads, steps.stop
        for slot, column in enumerate(steps.columns):
            for number in range(len(column.template.results)):
                numbers = [
                    step
                    for step, instruction in enumerate(column.instructions)
                    if last_reads.get(instruction.results[number], -1) >= stop
                ]
                if numbers:
                    read[slot, number] = numbers
        return read

    # -- writing ----------------------------------------------------------------------------------

    def run(self) -> Function:
        function = self.function
        self.b = Builder()
        self.table = Substitution()
        #: Rows of stacks that nothing has read yet: reshapes of their elements.
        self.rows: dict[Value, Instruction] = {}
        position = 0
        for loop in self.loops:
            self._copy(function.body[position : loop.steps.start])
            self._write(loop)
            position = loop.steps.stop
        self._copy(function.body[position:])
        self._compute(function.results)
        results = self.table.all(function.results)
        return Function(function.name, function.params, tuple(self.b.body), results)

    def _copy(self, body: Sequence[Instruction]) -> None:
        elements, rows = self.block.elements, self.rows
        for instruction in body:
            if instruction.op.name == "reshape" and instruction.operands[0] in elements:
                rows[instruction.result] = instruction
                continue
            if instruction.op.name == "concat" and instruction.attrs["axis"] == 0:
                instruction = self._with_stacks(instruction)
            operands = instruction.operands
            if not elements.keys().isdisjoint(operands) or not rows.keys().isdisjoint(operands):
                self._compute(operands)
            self.b.body.append(self.table.apply(instruction))

    def _compute(self, values: Sequence[Value]) -> None:
        """Take those of `values` that are elements of stacks out of them."""
        table, elements, rows = self.table.table, self.block.elements, self.rows
        for value in values:
            if value in table:
                continue
            row = rows.get(value)
            if row is not None:
                self._compute(row.operands)
                self.b.location = row.location
                table[value] = self.b.reshape(self.table[row.operands[0]], shape=value.shape)
            elif value in elements:
                stack, place = elements[value]
                self.b.location = self.function.body[self.block.places[value]].location
                element = self._slice(stack, place, 1, 1)
                table[value] = self.b.reshape(element, shape=value.shape)

    def _slice(self, stack: Value, first: int, count: int, each: int) -> Value:
        """`count` elements of `stack` from `first` on, `each` apart."""
        if first == 0 and each == 1 and count == stack.shape[0]:
            return stack
        rest = stack.shape[1:]
        ones, zeros = (1,) * len(rest), (0,) * len(rest)
        result: Value = self.b.slice(stack, start=(first, *zeros), size=(count, *rest), step=(each, *ones))
        return result

    def _with_stacks(self, concat: Instruction) -> Instruction:
        """`concat` of slices of stacks, where it has their elements one behind the other."""
        rows = [self._row(value) for value in concat.operands]
        operands: list[Value] = []
        start = 0
        for stop in range(1, len(rows) + 1):
            if stop < len(rows) and _follows(rows, start, stop):
                continue
            row = rows[start]
            if row is None or stop - start < self.least_steps:
                operands += concat.operands[start:stop]
            else:
                stack, first = row
                following = rows[start + 1]
                assert following is not None
                self.b.location = concat.location
                operands.append(self._slice(stack, first, stop - start, following[1] - first))
            start = stop
        return concat if len(operands) == len(rows) else concat.replace(operands=tuple(operands))

    def _row(self, value: Value) -> tuple[Value, int] | None:
        """The stack of which `value` is a row, with an axis of size 1 in front, and where."""
        row = self.rows.get(value)
        if row is None or value in self.table.table or value.shape != (1, *row.operands[0].shape):
            return None
        return self.block.elements[row.operands[0]]

    def _write(self, loop: _Loop) -> None:
        writer = StepWriter(loop.steps)
        body = writer.write([*loop.stacks], loop.lasts)
        self._compute([start for start, _ in writer.starts if start is not None])
        self._compute([*writer.invariants])
        self.b.location = loop.location
        starts = [
            self._zeros(type_) if start is None else self.table[start] for start, type_ in writer.starts
        ]
        invariants = [self.table[value] for value in writer.invariants]
        slices = [self._stack(source, loop) for source in writer.slices]
        attrs = {
            "carries": len(starts),
            "slices": len(slices),
            "length": loop.steps.count,
            "reverse": loop.reverse,
        }
        finals = [Value(type_) for _, type_ in writer.starts]
        for value, position in writer.finals.items():
            self.table[value] = finals[position]
        results = (*finals, *loop.stacks.values())
        operands = (*starts, *invariants, *slices)
        self.b.write(Instruction(OPS["scan"], operands, attrs, results, loop.location, (body,)))

    def _zeros(self, type_: TensorType) -> Value:
        zero = type_.dtype.type(0).item()
        result: Value = self.b.full(value=zero, shape=type_.shape, dtype=type_.dtype)
        return result

    def _stack(self, source: Stacked, loop: _Loop) -> Value:
        """The stack of which step i has the i-th slice, or the last but i-th."""
        count = loop.steps.count
        if isinstance(source, Element):
            last = source.first + source.each * (count - 1)
            first, each = (last, -source.each) if loop.reverse else (source.first, source.each)
            return self._slice(source.stack, first, count, each)
        if isinstance(source, Constants):
            rows = source.data[::-1] if loop.reverse else source.data
            data = tuple([element for row in rows for element in row])
            constant: Value = self.b.constant(data=data, shape=(count, *source.shape), dtype=source.dtype)
            return constant
        values = source.values[::-1] if loop.reverse else source.values
        self._compute(values)
        self.b.location = loop.location
        parts = [self.b.reshape(self.table[value], shape=(1, *value.shape)) for value in values]
        stack: Value = self.b.concat(*parts, axis=0)
        return stack


def _follows(rows: Sequence[tuple[Value, int] | None], start: int, stop: int) -> bool:
    """Whether the row at `stop` goes on with those from `start` on: as far away in the same stack."""
    first, before, row = rows[start], rows[stop - 1], rows[stop]
    if first is None or before is None or row is None or row[0] is not first[0]:
        return False
    following = rows[start + 1]
    assert following is not None
    each = following[1] - first[1]
    return each != 0 and row[1] - before[1] == each
