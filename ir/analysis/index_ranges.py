"""Interval analysis of the integers in loops and branches. Indices that it proves to be inside of an array
are not checked at run time.

Counters begin with a number and go on by a number, for as many steps as a scan has; a while loop's condition
bounds its counter. What else goes from step to step is guessed to stay where it begins, and widened where it
does not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from ..dataflow import increment
from ..dtypes import BOOL, INT64
from ..graph import Function, Instruction, Value
from ..registry import Kind

#: The least and the largest number; None where that is not known.
Interval: TypeAlias = tuple[int | None, int | None]
UNKNOWN: Final[Interval] = (None, None)
#: Numbers beyond may wrap around.
_LIMIT: Final = 1 << 60
#: Number of times that the step of a loop is analyzed for carries that change.
_ROUNDS: Final = 3
#: Number of ops before a loop that are followed to the definition of an operand.
_DEPTH: Final = 4


def index_ranges(instruction: Instruction, defs: Mapping[Value, Instruction]) -> dict[Value, Interval]:
    """The intervals of the integers in the regions of a control flow op; `defs` has what makes operands."""
    ranges = _Ranges()
    ranges.control(instruction, [_interval(operand, defs) for operand in instruction.operands])
    return ranges.intervals


def most_steps(instruction: Instruction, defs: Mapping[Value, Instruction]) -> dict[Instruction, int | None]:
    """The most steps that each ``while`` loop can have at a time, of a control flow op and of those in it;
    None where that is not known. `defs` has what makes operands."""
    ranges = _Ranges()
    ranges.control(instruction, [_interval(operand, defs) for operand in instruction.operands])
    return ranges.steps


def _interval(value: Value, defs: Mapping[Value, Instruction], depth: int = 0) -> Interval:
    """The interval of the integers of an operand, also if loop nests compute them."""
    definition = defs.get(value)
    if definition is None or value.dtype is not INT64 or depth > _DEPTH:
        return UNKNOWN
    if definition.op.kind.traits.control:
        return UNKNOWN
    operands = [_interval(operand, defs, depth + 1) for operand in definition.operands]
    ranges = _Ranges()
    if len(definition.regions) == 1:  # a loop nest
        results = ranges.region(definition.regions[0], operands)
        return results[definition.results.index(value)]
    ranges.intervals.update(zip(definition.operands, operands, strict=True))
    return ranges.computed(definition)


def _known(low: int | None, high: int | None) -> Interval:
    return (
        low if low is not None and low > -_LIMIT else None,
        high if high is not None and high < _LIMIT else None,
    )


def _either(x: Interval, y: Interval) -> Interval:
    """The hull of two intervals."""
    low = None if x[0] is None or y[0] is None else min(x[0], y[0])
    high = None if x[1] is None or y[1] is None else max(x[1], y[1])
    return low, high


class _Ranges:
    """Intervals of the values of regions, as far as they are known."""

    def __init__(self) -> None:
        self.intervals: dict[Value, Interval] = {}
        #: The most steps of each while loop.
        self.steps: dict[Instruction, int | None] = {}

    def of(self, value: Value) -> Interval:
        interval = self.intervals.get(value, UNKNOWN)
        return (0, 1) if value.dtype is BOOL and interval is UNKNOWN else interval

    def region(self, function: Function, params: Sequence[Interval]) -> list[Interval]:
        """The intervals of the results of a region, whose parameters are in `params`."""
        for param, interval in zip(function.params, params, strict=True):
            self.intervals[param] = interval
        for step in function.body:
            if step.op.kind.traits.control:
                results = self.control(step, [self.of(operand) for operand in step.operands])
            else:
                computes = step.results[0].dtype is INT64 or step.op.name in _TESTS
                results = [self.computed(step)] if computes else [UNKNOWN]
            for result, interval in zip(step.results, results, strict=False):
                self.intervals[result] = interval
        return [self.of(result) for result in function.results]

    def control(self, instruction: Instruction, operands: list[Interval]) -> list[Interval]:
        """The intervals of the results of a control flow op on operands in such intervals."""
        kind = instruction.op.kind
        if kind is Kind.SWITCH:
            results = [self.region(region, operands[1:]) for region in instruction.regions]
            merged = results[0]
            for others in results[1:]:
                merged = [_either(x, y) for x, y in zip(merged, others, strict=True)]
            return merged
        if kind is Kind.SCAN or kind is Kind.WHILE:
            return self._loop(instruction, operands)
        for region in instruction.regions:
            self.region(region, [UNKNOWN] * len(region.params))
        return [UNKNOWN] * len(instruction.results)

    def _loop(self, loop: Instruction, operands: list[Interval]) -> list[Interval]:
        count, body = loop.attrs["carries"], loop.regions[-1]
        state = [self._counter(loop, carry, operands) or operands[carry] for carry in range(count)]
        for round_ in range(_ROUNDS + 1):
            params = [*state, *operands[count:]]
            if loop.op.kind is Kind.WHILE:
                # in the last test a counter is at its bound
                tested = [(interval[0], None) if i < count else interval for i, interval in enumerate(params)]
                self.region(loop.regions[0], tested)
            results = self.region(body, params)
            changed = False
            for carry in range(count):
                if self._counter(loop, carry, operands) is not None:
                    continue
                wider = _either(state[carry], results[carry])
                if wider != state[carry]:
                    state[carry], changed = (wider if round_ < _ROUNDS - 1 else UNKNOWN), True
            if not changed:
                break
        if loop.op.kind is Kind.WHILE:
            self._note_steps(loop, operands)
        return [
            _either(operands[carry], results[carry]) if carry < count else interval
            for carry, interval in enumerate(results)
        ]

    def _note_steps(self, loop: Instruction, operands: list[Interval]) -> None:
        """Note the most steps of a while loop on `operands`, beside those on other ones."""
        steps, before = self._most_steps(loop, operands), self.steps.get(loop, 0)
        self.steps[loop] = None if steps is None or before is None else max(steps, before)

    def _most_steps(self, loop: Instruction, operands: list[Interval]) -> int | None:
        """The most steps of a while loop: as many as a counter that its condition bounds allows."""
        most: list[int] = []
        for carry in range(loop.attrs["carries"]):
            each, low = increment(loop.regions[1], carry), operands[carry][0]
            high = self._bound(loop, carry, operands)
            if each is not None and each > 0 and low is not None and high is not None:
                most.append(max((high - low) // each + 1, 0))
        return min(most, default=None)

    def _counter(self, loop: Instruction, carry: int, operands: list[Interval]) -> Interval | None:
        """The interval of a counter at the beginnings of steps, or None for another carry."""
        each = increment(loop.regions[-1], carry)
        if each is None:
            return None
        low, high = operands[carry]
        steps = loop.attrs["length"] if loop.op.kind is Kind.SCAN else self._most_steps(loop, operands)
        last = None if steps is None else each * (max(steps, 1) - 1)
        bound = self._bound(loop, carry, operands) if loop.op.kind is Kind.WHILE and each > 0 else None
        if each < 0:
            return _known(None if low is None or last is None else low + last, high)
        if bound is None and high is not None and last is not None:
            bound = high + last
        return _known(low, bound)

    def _bound(self, loop: Instruction, carry: int, operands: list[Interval]) -> int | None:
        """The largest number of a counter for which a while loop goes on."""
        condition, count = loop.regions[0], loop.attrs["carries"]
        tests, bounds = [condition.results[0]], list[int]()
        while tests:
            test = condition.defs.get(tests.pop())
            if test is None:
                continue
            if test.op.name in ("bitwise_and", "logical_and"):  # all of them hold
                tests += test.operands
            if test.op.name != "lt" or test.operands[0] is not condition.params[carry]:
                continue
            high, bound = None, test.operands[1]
            if bound in condition.params[count:]:
                high = operands[condition.params.index(bound)][1]
            elif bound in condition.defs and condition.defs[bound].op.name == "full":
                high = int(condition.defs[bound].attrs["value"])
            if high is not None:
                bounds.append(high - 1)
        return min(bounds, default=None)

    def computed(self, step: Instruction) -> Interval:
        """The interval of an integer that an op computes."""
        name, attrs = step.op.name, step.attrs
        if name == "full":
            return _known(int(attrs["value"]), int(attrs["value"]))
        if name == "iota":
            return _known(0, max(attrs["shape"][attrs["axis"]] - 1, 0))
        if step.op.kind is Kind.VIEW or name in ("cast", "copy"):
            return self.of(step.operands[0]) if step.operands[0].dtype in (INT64, BOOL) else UNKNOWN
        if name == "where":
            return _either(self.of(step.operands[1]), self.of(step.operands[2]))
        if name in _TESTS:
            x, y = map(self.of, step.operands)
            return (0, 0) if _TESTS[name](x, y) else UNKNOWN
        if name not in _RULES:
            return UNKNOWN
        return _known(*_RULES[name](*[self.of(operand) for operand in step.operands]))


def _add(x: Interval, y: Interval) -> Interval:
    return (
        None if x[0] is None or y[0] is None else x[0] + y[0],
        None if x[1] is None or y[1] is None else x[1] + y[1],
    )


def _neg(x: Interval) -> Interval:
    return (None if x[1] is None else -x[1]), (None if x[0] is None else -x[0])


def _mul(x: Interval, y: Interval) -> Interval:
    if x[0] is None or x[1] is None or y[0] is None or y[1] is None:
        return UNKNOWN
    products = [a * b for a in (x[0], x[1]) for b in (y[0], y[1])]
    return min(products), max(products)


def _maximum(x: Interval, y: Interval) -> Interval:
    lows = [low for low in (x[0], y[0]) if low is not None]
    return (max(lows) if lows else None), (None if x[1] is None or y[1] is None else max(x[1], y[1]))


def _remainder(x: Interval, y: Interval) -> Interval:
    """Python's remainder has the sign of the divisor."""
    return (0, y[1] - 1) if y[0] is not None and y[0] > 0 and y[1] is not None else UNKNOWN


def _floor_divide(x: Interval, y: Interval) -> Interval:
    if y[0] is None or y[0] != y[1] or y[0] <= 0:
        return UNKNOWN
    return (None if x[0] is None else x[0] // y[0]), (None if x[1] is None else x[1] // y[0])


def _is_below(x: Interval, y: Interval) -> bool:
    """Whether all numbers of `x` are below all of `y`."""
    return x[1] is not None and y[0] is not None and x[1] < y[0]


def _is_at_most(x: Interval, y: Interval) -> bool:
    """Whether no number of `x` is above one of `y`."""
    return x[1] is not None and y[0] is not None and x[1] <= y[0]


#: Tests, by when they are false for all numbers of two intervals.
_TESTS: Final[dict[str, Callable[[Interval, Interval], bool]]] = {
    "eq": lambda x, y: _is_below(x, y) or _is_below(y, x),
    "lt": lambda x, y: _is_at_most(y, x),
    "gt": _is_at_most,
}
_RULES: Final[dict[str, Callable[..., Interval]]] = {
    "add": _add,
    "sub": lambda x, y: _add(x, _neg(y)),
    "neg": _neg,
    "mul": _mul,
    "maximum": _maximum,
    "minimum": lambda x, y: _neg(_maximum(_neg(x), _neg(y))),
    "remainder": _remainder,
    "floor_divide": _floor_divide,
}
