"""Python integers of a trace whose numbers are known, since Python code asked for them on this path.

    y = tj.zeros(n - w + 1)       # a shape: the trace goes on with 91, say
    for i in range(n - w + 1):    # 91 steps, then

A path is for calls in which its decisions come out as in the trace, so that these numbers are constants
behind them: loops have known lengths, and indices are known to lie inside. Sums and differences tell their
operands, too: arithmetic on 64 bits wraps around, so each number but one gives the last.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ..ir.dtypes import INT64
from ..ir.graph import Value
from ..ir.registry import Op

#: Depth to which what an integer was computed from is followed.
_DEPTH: Final = 8


def _wrapped(number: int) -> int:
    """`number` as an integer of 64 bits."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


class Integers:
    """The known integers of one trace."""

    def __init__(self) -> None:
        self.known: dict[Value, int] = {}
        self._definitions: dict[Value, tuple[str, Sequence[Any]]] = {}
        #: Numbers of steps of loops, by their counters, which go from 0.
        self.counts: dict[Value, int] = {}

    def define(self, result: Value, op: Op, operands: Sequence[Any]) -> None:
        """Note that the Python number `result` is `op` of `operands`."""
        if result.dtype is INT64 and op.name in _FORWARD:
            self._definitions[result] = op.name, operands

    def definition(self, value: Value) -> tuple[str, Sequence[Any]]:
        """The op, and the operands, that the Python number `value` is; an empty name where it is no such."""
        return self._definitions.get(value, ("", ()))

    def learn(self, value: Value, number: int) -> None:
        """`value` is `number`; so are known the operands from which that follows."""
        while value not in self.known:
            self.known[value] = number
            name, operands = self.definition(value)
            numbers = [self.number(operand) for operand in operands]
            if name not in _BACKWARD or numbers.count(None) != 1:
                return
            place = numbers.index(None)
            number = _wrapped(_BACKWARD[name](number, place, numbers[1 - place] if operands[1:] else 0))
            value = operands[place]

    def number(self, value: Any, depth: int = 0) -> int | None:
        """The number that `value` is on this path, None where that is not known."""
        if type(value) is int:
            return value
        if type(value) is not Value or value in self.known:
            return self.known.get(value)
        if not self.known or depth == _DEPTH or value not in self._definitions:
            return None
        name, operands = self._definitions[value]
        numbers = [self.number(operand, depth + 1) for operand in operands]
        if None in numbers:
            return None
        number = self.known[value] = _wrapped(_FORWARD[name](*numbers))
        return number


_FORWARD: Final[dict[str, Any]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "neg": lambda x: -x,
}
#: The operand at a place, by the result and the other operand.
_BACKWARD: Final[dict[str, Any]] = {
    "add": lambda result, place, other: result - other,
    "sub": lambda result, place, other: other - result if place else result + other,
    "neg": lambda result, place, other: -result,
}
