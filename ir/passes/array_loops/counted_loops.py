"""Conversion of while loops that count up or down to a number into scans, whose number of steps is known.

i = 0
while i < 1000:                 for i in range(1000):
    ...                             ...
    i = i + 1
"""

from __future__ import annotations

from typing import Final

from ...dataflow import increment
from ...graph import Function, Instruction, Value
from ...ops.control_flow.definitions import SCAN
from ...registry import Kind
from ..loops.control_flow import map_regions

#: The equivalent comparison with exchanged operands, by comparison.
_EXCHANGED: Final = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


def count_loops(function: Function) -> Function:
    """*Requires*: valid IR. *Ensures*: the same results; a while loop is a scan where its condition is that a
    counter, which begins with a number and to which each step adds one, has not passed a number."""
    if not function.has_control:
        return function
    function = map_regions(function, count_loops)
    numbers = {
        instruction.result: int(instruction.attrs["value"])
        for instruction in function.body
        if instruction.op.name == "full"
        and not instruction.result.shape
        and instruction.result.dtype.kind == "i"
    }
    body, changed = [], False
    for instruction in function.body:
        length = _steps(instruction, numbers) if instruction.op.kind is Kind.WHILE else None
        if length is not None:
            attrs = {"carries": instruction.attrs["carries"], "slices": 0, "length": length, "reverse": False}
            instruction = Instruction(
                SCAN, instruction.operands, attrs, instruction.results, instruction.location,
                instruction.regions[1:],
            )  # fmt: skip
            changed = True
        body.append(instruction)
    if not changed:
        return function
    return Function(function.name, function.params, tuple(body), function.results)


def _steps(loop: Instruction, numbers: dict[Value, int]) -> int | None:
    """Trip count of a while loop, if it is known."""
    condition = loop.regions[0]
    test = next((step for step in condition.body if step.results[0] is condition.results[0]), None)
    return None if test is None else _steps_by(test, loop, numbers)


def most_steps(loop: Instruction, numbers: dict[Value, int]) -> int | None:
    """A number of steps that a while loop has at most, None where no such is known: its condition holds as
    long as one of its parts does. `numbers` are the values of operands, or what they are at least."""
    condition = loop.regions[0]
    producers = {step.results[0]: step for step in condition.body}
    tests, counts = [condition.results[0]], list[int]()
    for value in tests:  # which grows
        test = producers.get(value)
        if test is not None and test.op.name in ("logical_and", "bitwise_and"):
            tests += test.operands
        elif test is not None and test.op.name == "switch" and _is_false_unless_taken(test):
            tests.append(test.operands[0])
        elif test is not None and (count := _steps_by(test, loop, numbers)) is not None:
            counts.append(count)
    return min(counts, default=None)


def _is_false_unless_taken(switch: Instruction) -> bool:
    """Whether a truth value that a conditional gives is False where its test is: ``test and value``."""
    region = switch.regions[0]
    result = region.results[0]
    given = dict(zip(region.params, switch.operands[1:], strict=True))
    return given.get(result) is switch.operands[0] or any(
        step.op.name == "full" and step.result is result and not step.attrs["value"]
        for step in region.body
        if step.results
    )


def _steps_by(test: Instruction, loop: Instruction, numbers: dict[Value, int]) -> int | None:
    """Trip count of a while loop with the condition `test`, if it is known."""
    condition, body = loop.regions
    if test.op.name not in _EXCHANGED:
        return None
    inner = {
        step.result: int(step.attrs["value"])
        for step in condition.body
        if step.op.name == "full" and not step.result.shape and step.result.dtype.kind == "i"
    }
    for param, operand in zip(condition.params, loop.operands, strict=True):
        if operand in numbers and condition.params.index(param) >= loop.attrs["carries"]:
            inner[param] = numbers[operand]
    x, y = test.operands
    comparison, counter, bound = (test.op.name, x, y) if y in inner else (_EXCHANGED[test.op.name], y, x)
    if bound not in inner or counter not in condition.params[: loop.attrs["carries"]]:
        return None
    carry = condition.params.index(counter)
    first, each = numbers.get(loop.operands[carry]), increment(body, carry)
    if first is None or not each or (each > 0) != (comparison in ("lt", "le")):
        return None
    stop = inner[bound] + (comparison == "le") - (comparison == "ge")
    return len(range(first, stop, each))
