"""Traced masks: which two are the same, and which are those of the indices between two ends.

Both are read from the trace, backwards from the masks to the ops that computed them, through loops to the
values around them.
"""

from __future__ import annotations

import itertools
from typing import Any

from ...ir.dtypes import INT64
from ...ir.graph import Instruction, Value
from ...ir.registry import Kind
from ...state import STATE
from ...tensors.tensor import Tensor, wrap
from ..operands import run


class _Trace:
    """The instructions of the running trace and of those around it, last ones first."""

    def __init__(self) -> None:
        tracer, bodies = STATE.tracer, []
        self._outer: dict[Value, Value] = {}
        self._producers: dict[Value, Instruction] = {}
        while tracer is not None:
            bodies.append(reversed(tracer.body))
            self._outer.update({inner: value for value, inner in getattr(tracer, "captured", {}).items()})
            tracer = tracer.parent
        self._body = itertools.chain(*bodies)

    def source(self, value: Value) -> Value:
        """The value that `value` is a capture of; itself where it is none."""
        while value in self._outer:
            value = self._outer[value]
        return value

    def producer(self, value: Value) -> Instruction | None:
        """The instruction whose result `value` is."""
        while value not in self._producers and (instruction := next(self._body, None)) is not None:
            self._producers.update(dict.fromkeys(instruction.results, instruction))
        return self._producers.get(value)

    def same(self, first: Value, second: Value) -> bool:
        """Whether two values are one, or computed alike."""
        first, second = self.source(first), self.source(second)
        if first is second or first.type != second.type:
            return first is second
        maker, other = self.producer(first), self.producer(second)
        return (
            maker is not None
            and other is not None
            and (maker.op, maker.attrs) == (other.op, other.attrs)
            and len(maker.operands) == len(other.operands)
            and not (maker.results[1:] or maker.regions or maker.op.kind is Kind.HOST)
            and all(map(self.same, maker.operands, other.operands))
        )

    def made_by(self, value: Value, name: str) -> tuple[Value, ...] | None:
        """The operands of the op `name`, where `value` is what that gives."""
        maker = self.producer(self.source(value))
        return tuple(maker.operands) if maker is not None and maker.op.name == name else None

    def number(self, value: Value) -> Value | None:
        """The number that is broadcast to the line `value`."""
        operands = self.made_by(value, "broadcast")
        return operands[0] if operands is not None and not operands[0].type.shape else None


def symbol_of(mask: Tensor) -> Value:
    """The symbol of `mask` in the running trace."""
    return mask._data if isinstance(mask._data, Value) else STATE.tracer.lift(mask)


def is_same(mask: Tensor, other: Tensor) -> bool:
    """Whether two masks are one value, or have been computed in the same way of the same values."""
    return _Trace().same(symbol_of(mask), symbol_of(other))


def between(extent: int, start: Any, stop: Any) -> Tensor:
    """The mask of the indices from `start` on and before `stop`, either of which may be None, of `extent`."""
    places = run("iota", shape=(extent,), axis=0, dtype=INT64)
    parts = [run("lt", places, stop)] if stop is not None else []
    if start is not None:
        parts.insert(0, run("ge", places, start))
    return parts[0] if len(parts) == 1 else run("logical_and", *parts)


def ends_of(mask: Tensor) -> tuple[Any, Any] | None:
    """The ends between which `mask` holds, if `between` made it: integers of any size, or None."""
    trace, value = _Trace(), symbol_of(mask)
    parts = trace.made_by(value, "logical_and") or (value,)
    ends: dict[str, Tensor] = {}
    for part in parts:
        for name in ("ge", "lt"):
            operands = trace.made_by(part, name)
            number = operands and trace.made_by(operands[0], "iota") is not None and trace.number(operands[1])
            if number:
                ends[name] = wrap(number)
    return (ends.get("ge"), ends.get("lt")) if len(ends) == len(parts) and mask.ndim == 1 else None
