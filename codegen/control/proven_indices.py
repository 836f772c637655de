"""Checks before a loop that its indices are in bounds in all steps.

An index that grows evenly is computed for the first step and for the second one; it lies inside in all if it
does in the first and in the last, and nothing wraps around on the way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from ...ir.dataflow import increment
from ...ir.graph import Function, Value
from ..llvm.emitter import Reg, constant
from ..maths import MathsWriter

#: More steps, or longer ones, are not looked at: their product could be beyond 64 bits.
_FAR: Final = 1 << 31


def all_inside(
    w: MathsWriter,
    body: Function,
    params: Mapping[Value, Reg],
    carries: int,
    indices: Mapping[Value, int],
    trips: Reg,
) -> Reg:
    """Whether `indices`, with the sizes of their axes, lie inside in all `trips` steps of a loop, from the
    front. `params` has the numbers with which the first step begins."""
    first, second = [_Step(w, body, params, carries, number) for number in (0, 1)]
    holds = w.lt(trips, _FAR)
    for index, size in indices.items():
        start = first.number(index)
        slope = w.sub(second.number(index), start)
        last = w.add(start, w.mul(slope, w.sub(trips, 1)))
        holds = w.and_(holds, _below(w, w.add(slope, _FAR), 2 * _FAR))
        holds = w.and_(holds, w.and_(_below(w, start, size), _below(w, last, size)))
    return holds


def _below(w: MathsWriter, x: Reg, limit: int) -> Reg:
    """Whether `x` is at least 0, and less than `limit`."""
    return w.lt(w.cast(x, "u64"), constant(limit, "u64"))


class _Step:
    """The integers of one step."""

    def __init__(
        self, w: MathsWriter, body: Function, params: Mapping[Value, Reg], carries: int, number: int
    ) -> None:
        self.w = w
        self.defs = {result: step for step in body.body for result in step.results}
        self.numbers = dict(params)
        for carry in range(carries if number else 0):
            each = increment(body, carry)
            if each is not None and body.params[carry] in params:
                self.numbers[body.params[carry]] = w.add(params[body.params[carry]], each * number)

    def number(self, value: Value) -> Reg:
        if value not in self.numbers:
            step = self.defs[value]
            operands = [self.number(operand) for operand in step.operands]
            self.numbers[value] = self._computed(value, operands)
        return self.numbers[value]

    def _computed(self, value: Value, operands: Sequence[Reg]) -> Reg:
        step = self.defs[value]
        if not operands:  # a constant
            return constant(int(step.attrs["value"]), "i64")
        assert step.op.emit is not None
        result: Reg = step.op.emit(self.w, *operands)
        return result
