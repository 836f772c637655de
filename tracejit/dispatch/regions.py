"""Ops with regions on tensors: applied, recorded on the tape, and replayed op by op."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from ..base.errors import GradientError
from ..ir.builder import Builder
from ..ir.dtypes import is_differentiable
from ..ir.graph import Function, Instruction, Value
from ..ir.interpreter import interpret
from ..ir.registry import OPS, Attrs, Op, Strength, check_attrs
from ..ir.transforms.differentiation import choice_in, pull_regions
from ..ir.types import TensorType
from ..location import user_location
from ..state import STATE
from ..tape.hooks import Cotangents
from ..tape.nodes import IsNeeded, Node, Output, refuse_gradients
from ..tape.recording import versions_of
from ..tensors.tensor import Tensor, as_array, wrap
from ..tracing.tracer import Tracer
from .dispatch import apply

_STOP_GRADIENT = OPS["stop_gradient"]


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
        self.chooses = choice_in(regions)
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
        strength = max(self.chooses, engine.strength)
        function, positions = self._pullback([cotangent is not None for cotangent in incoming], strength)
        parts = replay(function, [*inputs, *outputs, *present])
        outgoing: list[Any] = [None] * len(self.parents)
        for position, part in zip(positions, parts, strict=True):
            outgoing[position] = part._data if isinstance(part, Tensor) and not engine.tensors else part
        return outgoing

    def describe_saved(self, position: int) -> str:
        return f"operand {position} of {self.op.name}, of shape {self.types[position][0]},"

    def _pullback(self, present: Sequence[bool], strength: Strength) -> tuple[Function, list[int]]:
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
        parts = pull_regions(b, instruction, cotangents, strength)
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
