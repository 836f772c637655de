"""Plan of the loop that a repetition becomes: the sources of the operands of its steps.

The k-th instruction of all steps is a *column*. A column's operands come from the step itself, from one of
the last few steps (carried), from before the repetition, or, step by step, from a stack of an earlier loop or
a list of values. Its attributes are equal, or are positions of slices and constants, which may change.

Steps that do not fit the others (the first ones read what starts the recurrence, the last ones may differ)
are left out: the plan is for the longest part that fits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Final, TypeAlias

from ....base.records import field, record
from ...dataflow import has_effect
from ...graph import Instruction, Value
from .repetitions import Repetition

#: Number of steps back from which a value may come.
_FURTHEST: Final = 4
#: A repetition of short steps may be one of longer steps: how many of the short ones at most.
_MAX_MERGED: Final = 64
#: Number of times that a plan is tried anew, for fewer or longer steps.
_ATTEMPTS: Final = 6
#: Attributes that may change from step to step.
CHANGING: Final = {"slice": "start", "update": "start", "full": "value", "constant": "data"}
#: Constants that change are listed, up to so many elements.
_MAX_CONSTANTS: Final = 1 << 16


@record
class Inside:
    """The result number `result` of the column `slot`, of the same step."""

    slot: int
    result: int


@record
class Carried:
    """The result number `result` of the column `slot`, of the step `distance` steps before; the first steps
    read `starts`."""

    slot: int
    result: int
    distance: int
    starts: tuple[Value, ...]


@record
class Unchanged:
    """A value from before the repetition."""

    value: Value


@record
class Element:
    """``stack[first + each * step]``."""

    stack: Value
    first: int
    each: int


@record
class Listed:
    """A list of values from before the repetition, one for each step."""

    values: tuple[Value, ...]


Source: TypeAlias = Inside | Carried | Unchanged | Element | Listed


@record(eq=False)
class StepColumn:
    """A column: corresponding instructions of all steps. `template` is that of the first step."""

    instructions: tuple[Instruction, ...]
    sources: tuple[Source, ...]
    #: The values of the attribute that changes, one for each step; empty where none does.
    changing: tuple[Any, ...] = ()

    @property
    def template(self) -> Instruction:
        return self.instructions[0]


@record(eq=False)
class RepeatedSteps:
    """`count` steps of the instructions of a body from `start` on, each of one instruction per column."""

    start: int
    count: int
    columns: tuple[StepColumn, ...]

    @property
    def stop(self) -> int:
        return self.start + self.count * len(self.columns)


class _Merged(Exception):
    """Exception for a plan whose steps are too short: `count` of them make one step."""

    def __init__(self, count: int) -> None:
        self.count = count


class _Unfit(Exception):
    """A column is of no loop."""


@record(eq=False)
class BasicBlock:
    """Straight-line code, with the places of its values and the stacks that they are elements of."""

    body: Sequence[Instruction]
    #: The position at which each value is computed; parameters are not in it.
    places: dict[Value, int]
    #: The stack and the position in it of a value that an earlier loop stacked.
    elements: dict[Value, tuple[Value, int]] = field(default_factory=dict)


def steps_of(
    block: BasicBlock, repetition: Repetition, fits: Callable[[int, int], bool]
) -> RepeatedSteps | None:
    """The loop for `repetition`, as much of it as fits; None where ``fits(steps, period)`` says of what is
    left that it is too short."""
    first, stop, period = repetition.start, repetition.stop, repetition.period
    start = first + _phase(block, first, stop, period)
    count = (stop - start) // period
    for _ in range(_ATTEMPTS):
        if not fits(count, period):
            return None
        try:
            columns, misfits = _columns(block, start, count, period)
        except _Unfit:
            return None
        except _Merged as merged:
            period *= merged.count
            start = first + _phase(block, first, stop, period)
            count = (stop - start) // period
            continue
        if not misfits:
            return RepeatedSteps(start, count, columns)
        skipped, count = _longest_gap(misfits, count)
        start += skipped * period
        first, stop = start, start + count * period
    return None


def _longest_gap(misfits: set[int], count: int) -> tuple[int, int]:
    """The longest run of numbers below `count` without `misfits`, as first and length."""
    edges = [-1, *sorted(misfits), count]
    gaps = [(after - before - 1, before + 1) for before, after in pairwise(edges)]
    length, first = max(gaps, key=lambda gap: gap[0])
    return first, length


def _phase(block: BasicBlock, start: int, stop: int, period: int) -> int:
    """The best place in the period for a step to begin: the one across which the fewest values are carried. A
    product that is carried to its sum counts as much as a whole period, since both are rounded as one
    operation."""
    crossing = [0] * (period + 1)
    everywhere = 0
    reach: dict[tuple[int, int], int] = {}
    middle = start + (stop - start) // period // 2 * period
    weights: dict[tuple[int, int], int] = {}
    for position in range(middle, min(middle + period, stop)):
        instruction = block.body[position]
        for operand in instruction.operands:
            place = block.places.get(operand, -1)
            distance = position - place
            if place < start or distance > _FURTHEST * period:
                continue
            producer = block.body[place]
            key = (place - start) % period, producer.results.index(operand)
            reach[key] = max(reach.get(key, 0), distance)
            if producer.op.name == "mul" and instruction.op.name in ("add", "sub"):
                weights[key] = period
    for key, distance in reach.items():
        weight = weights.get(key, 0) + 1
        whole, rest = divmod(distance, period)
        everywhere += whole * weight
        for boundary in range(key[0] + 1, key[0] + rest + 1):
            crossing[boundary % period] += weight
    least = min(crossing[:period])
    return crossing.index(least)


# -- columns --------------------------------------------------------------------------------------


def _columns(
    block: BasicBlock, start: int, count: int, period: int
) -> tuple[tuple[StepColumn, ...], set[int]]:
    """The columns, and the steps that do not fit."""
    misfits: set[int] = set()
    stop = start + count * period
    columns = []
    for slot in range(period):
        instructions = tuple(block.body[start + slot : stop : period])
        columns.append(_column(block, instructions, start, period, misfits))
        if 2 * len(misfits) > count:
            raise _Unfit
    return tuple(columns), misfits


def _column(
    block: BasicBlock,
    instructions: tuple[Instruction, ...],
    start: int,
    period: int,
    misfits: set[int],
) -> StepColumn:
    """The column of `instructions`, of one op; adds to `misfits` the steps that are not as most of them."""
    model = instructions[len(instructions) // 2]
    if model.regions or has_effect(model):
        raise _Unfit
    count = len(model.results)
    for (
        instruction
    ) in instructions:  # that letters are equal is known by hashes, which may be equal by chance
        if instruction.op is not model.op or len(instruction.results) != count:
            raise _Unfit
    arity = len(model.operands)
    changing = _attributes(instructions, model, misfits)
    for number, result in enumerate(model.results):
        types = [instruction.results[number].type for instruction in instructions]
        if types.count(result.type) < len(types):
            misfits.update([step for step, type_ in enumerate(types) if type_ != result.type])
    others = [step for step, instruction in enumerate(instructions) if len(instruction.operands) != arity]
    if others:
        misfits.update(others)
        return StepColumn(instructions, ())  # these steps are left out before it is used
    sources = []
    for position in range(arity):
        values = tuple([instruction.operands[position] for instruction in instructions])
        sources.append(_source(block, values, start, period, misfits))
    return StepColumn(instructions, tuple(sources), changing)


def _attributes(
    instructions: tuple[Instruction, ...], model: Instruction, misfits: set[int]
) -> tuple[Any, ...]:
    """The values of the attribute that changes, none where there is none; steps of other attributes are
    misfits."""
    attrs = model.attrs
    name = CHANGING.get(model.op.name)
    if name is None:
        if attrs:
            written = repr(attrs)
            exact = "0.0" not in written  # else two that are equal may differ in the sign of a zero
            for step, instruction in enumerate(instructions):
                other = instruction.attrs
                if other is not attrs and not (other == attrs and (exact or repr(other) == written)):
                    misfits.add(step)
        return ()
    others = [each for each in attrs if each != name]
    for each in others:
        expected = attrs[each]
        misfits.update([step for step, other in enumerate(instructions) if other.attrs[each] != expected])
    values = tuple([instruction.attrs[name] for instruction in instructions])
    if name == "start":
        return _positions(values, model, misfits)
    written_values = [repr(value) for value in values]  # 0.0 and -0.0 are two numbers
    if written_values.count(written_values[0]) == len(values):
        return ()
    if len(values) * max(model.result.type.size, 1) > _MAX_CONSTANTS:
        raise _Unfit
    return values


def _positions(starts: tuple[Any, ...], model: Instruction, misfits: set[int]) -> tuple[Any, ...]:
    """The positions of slices, none where they are all the same. Few that do not advance as the others do are
    those of misfits."""
    middle = len(starts) // 2
    others = [step for step, start in enumerate(starts) if len(start) != len(starts[middle])]
    if others:
        misfits.update(others)
        return ()  # these steps are left out before it is used
    axes = changed_axes(starts)
    sizes = model.result.shape if model.op.name == "slice" else model.operands[1].shape
    for axis in axes:
        if sizes[axis] == 0:
            raise _Unfit
        numbers = [start[axis] for start in starts]
        first, each = numbers[middle], numbers[(middle + 1) % len(starts)] - numbers[middle]
        wrong = [step for step, number in enumerate(numbers) if number != first + each * (step - middle)]
        if 4 * len(wrong) < len(starts):
            misfits.update(wrong)
    return starts if axes else ()


def _source(
    block: BasicBlock, values: tuple[Value, ...], start: int, period: int, misfits: set[int]
) -> Source:
    """The source of this operand that fits most steps. Adds the steps that it does not fit to `misfits`."""
    middle = len(values) // 2
    model = values[middle]
    place = block.places.get(model, -1)
    if place < start and values.count(model) == len(values):
        return Unchanged(model)
    if model is values[middle - 1] or model is values[(middle + 1) % len(values)]:
        wrong = {step for step, value in enumerate(values) if value is not model}
        if 2 * len(wrong) > len(values):
            raise _Merged(_period_of(_shifts(block, values, period)))
        misfits.update(wrong)
        if place >= start:  # the first steps compute what all others read
            misfits.update(range((place - start) // period + 1))
        return Unchanged(model)
    if place >= start:
        return _own(block, values, start, period, misfits)
    outside = [block.places.get(value, -1) < start and value.type == model.type for value in values]
    misfits.update([step for step, fits in enumerate(outside) if not fits])
    element = block.elements.get(model)
    following = block.elements.get(values[(middle + 1) % len(values)])
    if element is not None and following is not None and element[0] is following[0]:
        (stack, position), each = element, following[1] - element[1]
        first = position - each * middle
        elements = [block.elements.get(value) for value in values]
        strays = [step for step, other in enumerate(elements) if other != (stack, first + each * step)]
        if 2 * len(strays) < len(values):
            misfits.update(strays)
            return Element(stack, first, each)
    if element is not None:
        stacks = [other and id(other[0]) for other in map(block.elements.get, values)]
        if stacks.count(stacks[middle]) < len(values):
            raise _Merged(_period_of(stacks))
    return Listed(values)


def _own(
    block: BasicBlock, values: tuple[Value, ...], start: int, period: int, misfits: set[int]
) -> Inside | Carried:
    """An operand that the steps compute, or the ones before them."""
    middle = len(values) // 2
    model, places = values[middle], block.places
    place = places[model]
    distance = middle - (place - start) // period
    result = block.body[place].results.index(model)
    expected = place - middle * period
    if distance == 0:  # mostly; the column that computes them was looked at before
        producers = block.body[expected : place + (len(values) - middle) * period : period]
        if [producer.results[result] for producer in producers] == list(values):
            return Inside((place - start) % period, result)
    shifts = _shifts(block, values, period)
    wrong = []
    for step, (shift, value) in enumerate(zip(shifts, values, strict=True)):
        if step < distance:
            fits = shift + step * period < start and value.type == model.type
        else:
            fits = shift == expected and block.body[shift + step * period].results[result] is value
        if not fits:
            wrong.append(step)
    if 2 * len(wrong) > len(values):
        raise _Merged(_period_of(shifts))
    if distance > _FURTHEST:
        raise _Unfit
    misfits.update(wrong)
    slot = (place - start) % period
    return Carried(slot, result, distance, values[:distance]) if distance else Inside(slot, result)


def _shifts(block: BasicBlock, values: tuple[Value, ...], period: int) -> list[int]:
    """The place of the definition of each step's operand, relative to the step."""
    places = block.places
    return [places.get(value, -1) - step * period for step, value in enumerate(values)]


def _period_of(origins: Sequence[int | None]) -> int:
    """The number of steps after which the origins of values repeat. Raises _Unfit where they do not."""
    edge = len(origins) // 4  # the first and the last ones may be different
    rest = origins[edge : len(origins) - edge]
    for count in range(2, min(_MAX_MERGED, len(rest) // 2) + 1):
        if rest[count:] == rest[:-count]:
            return count
    raise _Unfit


def changed_axes(starts: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """The axes along which the positions of slices change from step to step."""
    first = starts[0]
    return tuple([axis for axis in range(len(first)) if any(start[axis] != first[axis] for start in starts)])


def is_affine(numbers: Sequence[int]) -> bool:
    """Whether `numbers` advance by the same number each."""
    each = numbers[1] - numbers[0]
    return all(after - before == each for before, after in pairwise(numbers))
