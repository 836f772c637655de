"""Regions under a trace: Functions that belong to an op, traced from Python, with explicit captures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, cast

import numpy as np

from ..base.errors import TraceError
from ..generator import Generator
from ..ir.dataflow import silent
from ..ir.dtypes import BOOL
from ..ir.graph import Instruction, Value
from ..ir.interpreter import run_instruction
from ..ir.registry import OPS
from ..ir.types import TensorType
from ..tensors.generator_states import GeneratorState
from ..tensors.tensor import Array, Tensor, wrap
from .branches import needed_for
from .tracer import Tracer, as_value, tracing

_NO_DRAWS_IN_LOOPS: Final = (
    "random.next_key: inside a loop's body it is not known how often the draw will run; make a "
    "key outside with tj.random.next_key(), and tj.random.fold_in the step, or split it and scan "
    "over the keys"
)


class RegionTracer(Tracer):
    """The graph of a region: what it uses of the surrounding trace becomes parameters."""

    is_region = True

    def __init__(self, parent: Tracer, *, repeats: bool = False) -> None:
        super().__init__(parent)
        self.integers.counts = parent.integers.counts
        #: Whether a call may run the region any number of times.
        self.repeats = repeats
        self.no_draws = _NO_DRAWS_IN_LOOPS if repeats else ""
        #: Values of the parent to the parameters that stand for them here.
        self.captured: dict[Value, Value] = {}
        #: Integers of the parent that are known to the constants that stand for them here.
        self._constants: dict[Value, Value] = {}
        #: The tensors that they were, in their place in the graph.
        self.holders: dict[Value, Tensor] = {}
        #: Values whose elements have to lie one after the other in memory, as NumPy has them.
        self.in_order: set[Value] = set()

    def lift(self, value: Any) -> Any:
        if isinstance(value, Tensor) and isinstance(value._data, Value) and value._data in self._owned:
            return value._data
        if isinstance(value, Value) and value in self._owned:
            return value
        data = value._data if isinstance(value, Tensor) else value
        if isinstance(data, Value):
            self.check_current(data)
        assert self.parent is not None
        outer = self.parent.lift(value)
        if not isinstance(outer, Value):
            return outer
        inner = self.captured.get(outer) or self._constants.get(outer)
        if inner is None and (number := self.parent.known_integer(outer)) is not None:
            inner = self._constants[outer] = self.scalar(number, outer.dtype)
            self._weak.add(inner)
            self.integers.learn(inner, number)
        if inner is None:
            inner = self.captured[outer] = Value(outer.type, outer.hint or f"captured{len(self.captured)}")
            self.holders[outer] = value if isinstance(value, Tensor) else wrap(outer)
            self._owned.add(inner)
            if self.parent.is_weak(outer):
                self._weak.add(inner)
        return inner

    def note_order(self, value: Value) -> None:
        if value in self._owned:
            self.in_order.add(value)
            outer = next((outer for outer, inner in self.captured.items() if inner is value), None)
            if outer is None:
                return
            value = outer
        self._around.note_order(value)

    def is_weak(self, value: Value) -> bool:
        return super().is_weak(value) or (value not in self._owned and self._around.is_weak(value))

    @property
    def _around(self) -> Tracer:
        assert self.parent is not None
        return self.parent

    def can_decide(self, value: Value) -> bool:
        if value not in self._owned:
            return self._around.can_decide(value)
        return self._outside(value) is not None

    def decide(self, value: Value) -> Array:
        """The integer `value`, which no step changes: the trace around this one tells those that it comes
        from."""
        if value not in self._owned:
            return self._around.decide(value)
        values: dict[Value, Any] = {}
        for inner, outer in (self._outside(value) or {}).items():
            values[inner] = self._around.decide(outer)
            self.integers.learn(inner, int(values[inner]))
        for instruction in needed_for(value, self._producers(), values):
            run_instruction(instruction, values)
        self.integers.learn(value, int(values[value]))
        return cast(Array, values[value])

    def _producers(self) -> dict[Value, Instruction]:
        return {result: instruction for instruction in self.body for result in instruction.results}

    def _outside(self, value: Value) -> dict[Value, Value] | None:
        """The values here, with those of the trace around, from which alone the integer `value` follows; None
        where it follows from others."""
        outer_of = {inner: outer for outer, inner in self.captured.items()}
        producers, outside, stack = self._producers(), dict[Value, Value](), [value]
        for operand in stack:  # which grows
            if operand in outer_of and self.is_weak(operand) and self._around.can_decide(outer_of[operand]):
                outside[operand] = outer_of[operand]
            elif operand in producers and operand.dtype.kind == "i":
                stack += [source for source in producers[operand].operands if source not in stack]
            else:
                return None
        return outside

    def is_constant(self, value: Value) -> bool:
        assert self.parent is not None
        parent = self.parent
        return any(inner is value and parent.is_constant(outer) for outer, inner in self.captured.items())

    def draw(self, generator: Generator) -> tuple[Value, int]:
        if self.no_draws:
            raise TraceError(self.no_draws)
        assert self.parent is not None
        state, number = self.parent.draw(generator)
        return self.lift(wrap(state)), number

    def generator_words(self, state: GeneratorState, *, inside: bool = False) -> Tensor | None:
        if self.no_draws and not self.repeats:  # of a mapped function
            return None
        if id(state.bits) in self.made_generators:
            return super().generator_words(state, inside=inside)
        return self._around.generator_words(state, inside=True)


def note_written(tracer: Tracer, value: Any) -> None:
    """A tensor of `value` is written in place, which may stand for the memory of a captured array."""
    around: Tracer | None = tracer
    while around is not None:
        around.has_written, around = True, around.parent
    while isinstance(tracer, RegionTracer):
        tracer.outdate(value)
        outer = next((outer for outer, inner in tracer.captured.items() if inner is value), None)
        if outer is None or tracer.parent is None:
            return
        tracer, value = tracer.parent, outer
    tracer.outdate(value)
    tracer.written += [
        holder
        for holder, symbol in tracer.captures.values()
        if symbol is value and isinstance(holder, np.ndarray)
    ]


def written_of(tracer: Tracer) -> list[Array]:
    """The captured arrays that are written through tensors of `tracer` and of those around it."""
    while tracer.parent is not None:
        tracer = tracer.parent
    return tracer.written


def decisions_of(tracer: Tracer | None) -> int:
    """Number of values that `tracer` and those around it were asked for."""
    count = 0
    while tracer is not None:
        count += len(tracer.branches.made) if tracer.branches is not None else 0
        tracer = tracer.parent
    return count


def forget_effects(tracer: Tracer, start: int, end: int) -> None:
    """Take the effects out of the instructions of `tracer` from `start` to `end`, which another part of the
    trace has, too. Each instruction keeps its place, by which decisions are found."""
    for position in range(start, end):
        instruction = tracer.body[position]
        if instruction.op.effect:
            attrs = {"value": True, "shape": (), "dtype": BOOL}
            instruction = Instruction(OPS["full"], (), attrs, instruction.results, instruction.location)
        tracer.body[position] = silent(instruction)


def trace_region(
    tracer: RegionTracer,
    fn: Callable[..., Sequence[Any]],
    types: Sequence[TensorType],
    names: Sequence[str],
    operands: Sequence[Tensor] = (),
    weak: Sequence[bool] = (),
) -> list[Value]:
    """Run `fn` on symbols of `types` in `tracer`; the Values of the results it lists.

    Symbols of `operands` that are Python numbers in the surrounding trace are so here, and those that `weak`
    says.
    """
    parent = tracer.parent
    assert parent is not None
    outer = [operand._data if isinstance(operand._data, Value) else None for operand in operands] or [
        None
    ] * len(types)
    numbers = [value is not None and parent.is_weak(value) for value in outer]
    numbers = [number or (i < len(weak) and weak[i]) for i, number in enumerate(numbers)]
    with tracing(tracer):
        arguments = [
            tracer.argument(type, name, weak=number)
            for type, name, number in zip(types, names, numbers, strict=True)
        ]
        results = [as_value(tracer, result) for result in fn(*arguments)]
        tracer.check_merged()
    for value, symbol in [*zip(outer, tracer.params, strict=True), *tracer.captured.items()]:
        if value is not None and symbol in tracer.narrowed:
            low, high = tracer.narrowed[symbol]
            bounds = parent.narrowed.get(value, (low, high))
            parent.narrowed[value] = (max(low, bounds[0]), min(high, bounds[1]))
    return results
