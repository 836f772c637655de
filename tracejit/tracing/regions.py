"""Regions under a trace: Functions that belong to an op, traced from Python, with explicit captures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias, cast

import numpy as np

from ..base.errors import GradientError, TraceError
from ..dispatch.dispatch import apply
from ..generator import Generator
from ..ir.builder import Builder
from ..ir.dataflow import silent
from ..ir.dtypes import BOOL, is_differentiable
from ..ir.graph import Function, Instruction, Value
from ..ir.interpreter import interpret, run_instruction
from ..ir.registry import OPS, Attrs, Op, check_attrs
from ..ir.transforms.differentiation import has_choice, pull_regions
from ..ir.types import TensorType
from ..location import user_location
from ..state import STATE
from ..tape.hooks import Cotangents
from ..tape.nodes import IsNeeded, Node, Output, refuse_gradients
from ..tape.recording import versions_of
from ..tensors.tensor import Array, Tensor, as_array, wrap
from .branches import needed_for
from .merged_arrays import OUTDATED, MergedArrays
from .tracer import Tracer, as_value, tracing

_STOP_GRADIENT = OPS["stop_gradient"]
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
        # a call may run the region any number of times
        self.no_draws = _NO_DRAWS_IN_LOOPS if repeats else ""
        self.merged_arrays = MergedArrays()
        #: Values of merged arrays that may not be read any more.
        self._outdated: set[Value] = set()
        #: Values of the parent to the parameters that stand for them here.
        self.captured: dict[Value, Value] = {}
        #: Integers of the parent that are known to the constants that stand for them here.
        self._constants: dict[Value, Value] = {}
        #: The tensors that they were, in their place in the graph.
        self.holders: dict[Value, Tensor] = {}

    def lift(self, value: Any) -> Any:
        if isinstance(value, Tensor) and isinstance(value._data, Value) and value._data in self._owned:
            return value._data
        if isinstance(value, Value) and value in self._owned:
            return value
        if self._outdated and getattr(value, "_data", value) in self._outdated:
            raise TraceError(OUTDATED)
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

    def outdate(self, value: Value) -> None:
        """Note that the memory which has `value` is written: merged arrays that may be it are not read any
        more. Raises TraceError if it is a merged array itself."""
        outdated = self.merged_arrays.outdated_by(value)
        self._outdated.update(outdated)
        self._owned.difference_update(outdated)

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


def note_written(tracer: Tracer, value: Any) -> None:
    """A tensor of `value` is written in place, which may stand for the memory of a captured array."""
    while isinstance(tracer, RegionTracer):
        tracer.outdate(value)
        outer = next((outer for outer, inner in tracer.captured.items() if inner is value), None)
        if outer is None or tracer.parent is None:
            return
        tracer, value = tracer.parent, outer
    tracer.written += [
        holder
        for holder, symbol in tracer.captures.values()
        if symbol is value and isinstance(holder, np.ndarray)
    ]


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
    for value, symbol in [*zip(outer, tracer.params, strict=True), *tracer.captured.items()]:
        if value is not None and symbol in tracer.narrowed:
            low, high = tracer.narrowed[symbol]
            bounds = parent.narrowed.get(value, (low, high))
            parent.narrowed[value] = (max(low, bounds[0]), min(high, bounds[1]))
    return results


class RegionNode(Node):
    """The node of an op with regions: differentiated by the rule of its record."""

    __slots__ = ("attrs", "chooses", "op", "regions", "results", "saved")

    several = True

    def __init__(
        self,
        op: Op,
        attrs: Attrs,
        regions: tuple[Function, ...],
        operands: Sequence[Tensor],
        results: Sequence[Tensor],
    ) -> None:
        self.op, self.attrs, self.regions, self.results = op, attrs, regions, len(results)
        self.chooses = has_choice(regions)
        self.parents = tuple(
            [(operand._node or operand) if operand._requires_grad else None for operand in operands]
        )
        self.types = tuple([(operand.shape, operand.dtype) for operand in operands])
        traced = STATE.tracer is not None
        # symbols; what is concrete under a trace is a capture, whose holder says where it is read
        inputs = [
            operand if traced and not isinstance(operand._data, Value) else operand._data
            for operand in operands
        ]
        self.memories = [] if traced else versions_of(operands)
        self.saved: tuple[list[Any], list[Any]] | None = (inputs, [result._data for result in results])
        self.hooks = None
        self.location = None if STATE.tracer is None else STATE.tracer.location

    @property
    def count(self) -> int:
        return self.results

    def name(self) -> str:
        return "".join(part.capitalize() for part in self.op.name.split("_")) + "Backward"

    def pull(self, engine: Cotangents, cotangents: Any, is_needed: IsNeeded) -> Sequence[Any]:
        self.check_saved()
        assert self.saved is not None
        inputs = [engine.operand(self, i, data) for i, data in enumerate(self.saved[0])]
        outputs = [engine.output(self, i, data) for i, data in enumerate(self.saved[1])]
        incoming = [*cotangents, *[None] * (len(outputs) - len(cotangents))]
        present = [cotangent for cotangent in incoming if cotangent is not None]
        behind_choice = self.chooses or engine.behind_choice is engine
        function, positions = self._pullback([cotangent is not None for cotangent in incoming], behind_choice)
        parts = replay(function, [*inputs, *outputs, *present])
        outgoing: list[Any] = [None] * len(self.parents)
        for position, part in zip(positions, parts, strict=True):
            outgoing[position] = part._data if isinstance(part, Tensor) and not engine.tensors else part
        return outgoing

    def describe_saved(self, position: int) -> str:
        return f"operand {position} of {self.op.name}, of shape {self.types[position][0]},"

    def _pullback(self, present: Sequence[bool], behind_choice: bool) -> tuple[Function, list[int]]:
        """The gradient rule as a Function of the operands, the results and the cotangents that there are; and
        which operands its results are for."""
        assert self.saved is not None
        assert self.op.regions is not None
        if self.op.regions.pull is None:
            raise GradientError(f"{self.op.name}: no gradient")
        b = Builder()
        operands = tuple([b.parameter(TensorType(dtype, shape)) for shape, dtype in self.types])
        results = tuple([b.parameter(TensorType(result.dtype, result.shape)) for result in self.saved[1]])
        cotangents = [
            b.parameter(result.type) if flag else None for flag, result in zip(present, results, strict=True)
        ]
        instruction = Instruction(self.op, operands, self.attrs, results, self.location, self.regions)
        parts = pull_regions(b, instruction, cotangents, behind_choice)
        tracked = [(i, part) for i, part in enumerate(parts) if self.parents[i] is not None]
        there = {i: part for i, part in tracked if part is not None}
        return b.finish("pullback", list(there.values())), list(there)

    def free(self) -> None:
        self.saved = self.memories = None


#: ``(op, operands, attrs, regions) -> results``.
AppliesRegions: TypeAlias = Callable[[Op, Sequence[Tensor], Attrs, tuple[Function, ...]], list[Tensor]]


def apply_with_regions(
    op: Op, operands: Sequence[Tensor], attrs: Attrs, regions: tuple[Function, ...]
) -> list[Tensor]:
    """`op`, in the running trace or, where there is none, by its meaning on arrays.

    Recorded on the tape where an operand requires grad.
    """
    tracer = STATE.tracer
    if tracer is None:
        assert op.regions is not None
        # copies: what the meaning hands on may be the memory of an operand
        arrays = op.regions.run(interpret, regions, [as_array(operand) for operand in operands], attrs)
        results = [wrap(np.array(array)) for array in arrays]
    else:
        if not tracer.pinned_location:
            tracer.location = user_location()
        values = tuple([tracer.lift(operand) for operand in operands])
        results = [wrap(value) for value in tracer.append(op, values, attrs, regions=regions)]
        if STATE.blocked:  # constants to any later gradient of the trace
            results = [
                apply(OPS["stop_gradient"], (result,), {}) if is_differentiable(result.dtype) else result
                for result in results
            ]
    if STATE.recording and any(
        isinstance(operand, Tensor) and operand._requires_grad for operand in operands
    ):
        tensors = [
            operand if isinstance(operand, Tensor) else wrap(as_array(operand)) for operand in operands
        ]
        node = RegionNode(op, attrs, regions, tensors, results)
        for index, result in enumerate(results):
            if is_differentiable(result.dtype):
                result._node, result._requires_grad = Output(node, index), True
    return results


def apply_to_tensors(op: Op, operands: Sequence[Any], attrs: Attrs) -> Any:
    """`op`, which owns no regions now, on tensors and arrays: its result, or a list of several."""
    tensors = [operand if isinstance(operand, Tensor) else wrap(as_array(operand)) for operand in operands]
    if STATE.tracer is None:
        check_attrs(op, attrs)
        op.infer(tuple([TensorType(tensor.dtype, tensor.shape) for tensor in tensors]), attrs)
    results = apply_with_regions(op, tensors, attrs, ())
    return results if len(results) > 1 else results[0]


def replay(function: Function, arguments: Sequence[Tensor], *, located: bool = False) -> list[Tensor]:
    """The results of `function` on Tensors, op by op, so that they are traced and recorded.

    With `located`, what is traced has the source lines of `function`.
    """
    tracer = STATE.tracer
    outer = tracer is not None and tracer.pinned_location
    try:
        return _replayed(function, arguments, tracer if located else None)
    finally:
        if tracer is not None:
            tracer.pinned_location = outer


def _replayed(function: Function, arguments: Sequence[Tensor], tracer: Tracer | None) -> list[Tensor]:
    values = dict(zip(function.params, arguments, strict=True))
    for instruction in function.body:
        if tracer is not None:
            tracer.location, tracer.pinned_location = instruction.location, True
        operands = [values[operand] for operand in instruction.operands]
        if instruction.op is _STOP_GRADIENT and isinstance(operands[0], Tensor):
            outputs = [operands[0].detach()]  # which the tape does not follow at all
        elif instruction.op.regions is not None:
            outputs = apply_with_regions(instruction.op, operands, instruction.attrs, instruction.regions)
        elif len(instruction.results) > 1:
            assert STATE.tracer is not None
            lifted = tuple([STATE.tracer.lift(operand) for operand in operands])
            outputs = [
                wrap(value) for value in STATE.tracer.append(instruction.op, lifted, instruction.attrs)
            ]
            name = instruction.op.name
            refuse_gradients(
                name, outputs, operands, f"{name}: there is no gradient of an op with several results"
            )
        else:
            outputs = [apply(instruction.op, operands, instruction.attrs)]
        values.update(zip(instruction.results, outputs, strict=True))
    return [values[result] for result in function.results]
