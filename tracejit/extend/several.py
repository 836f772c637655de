"""Ops with several results: what their record says in place of rules per operand, and their node on the
tape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..ir.dtypes import is_differentiable
from ..ir.registry import OPS, Attrs, Op, Regions
from ..ir.types import TensorType
from ..location import user_location
from ..state import STATE
from ..tape.hooks import Cotangents
from ..tape.nodes import IsNeeded, Node, Output
from ..tape.recording import versions_of
from ..tape.saved import Packed, unpacked
from ..tensors.tensor import Tensor
from .pullback import joint_of, no_gradient
from .tables import TABLES


def several_results(name: str) -> Regions:
    """The rules that evaluate and differentiate an op of kind HOST in a graph: all of its results at once."""

    def types(
        operands: tuple[TensorType, ...], attrs: Attrs, regions: tuple[Any, ...]
    ) -> tuple[TensorType, ...]:
        return OPS[name].infer(operands, attrs)

    def run(call: Any, regions: tuple[Any, ...], operands: Sequence[Any], attrs: Attrs) -> Sequence[Any]:
        outcome = OPS[name].eval(*operands, **attrs)
        return outcome if isinstance(outcome, tuple) else (outcome,)

    def pull(b: Any, instruction: Any, cotangents: Sequence[Any]) -> list[Any]:
        results = instruction.results
        incoming = [
            b.full(value=0.0, shape=result.shape, dtype=result.dtype)
            if ct is None and is_differentiable(result.dtype)
            else ct
            for ct, result in zip(cotangents, results, strict=True)
        ]
        operand_types = [operand.type for operand in instruction.operands]
        gradients: list[Any] = _joint(OPS[name])(
            b, tuple(incoming) if len(results) > 1 else incoming[0], instruction.operands,
            tuple(results) if len(results) > 1 else results[0], operand_types, instruction.attrs,
        )  # fmt: skip
        return gradients

    return Regions(types, run, pull)


def _joint(op: Op) -> Any:
    gradient = TABLES.gradients.get(op.name)
    if gradient is None:
        raise no_gradient(op.name)
    return joint_of(op, gradient)


class SeveralNode(Node):
    """The node of a user's op with several results, in eager mode."""

    __slots__ = ("attrs", "inputs", "op", "outputs", "result_types")

    several = True

    def __init__(self, op: Op, operands: Sequence[Tensor], attrs: Attrs, results: Sequence[Tensor]) -> None:
        gradient = TABLES.gradients.get(op.name)
        self.op, self.attrs = op, attrs
        self.parents = tuple(
            [(operand._node or operand) if operand._requires_grad else None for operand in operands]
        )
        self.types = tuple([(operand.shape, operand.dtype) for operand in operands])
        self.result_types = [(result.shape, result.dtype) for result in results]
        bare = [param.lstrip("*") for param in op.params]
        kept = [
            gradient is not None
            and (gradient.save_all_inputs or bare[min(i, len(bare) - 1)] in gradient.inputs_to_save)
            for i in range(len(operands))
        ]
        outs = () if gradient is None else gradient.outputs_to_save
        held = [operand for operand, keep in zip(operands, kept, strict=True) if keep] + [
            results[i] for i in outs
        ]
        self.memories = versions_of(held)
        self.inputs: list[Any] = [
            _packed(operand) if keep else None for operand, keep in zip(operands, kept, strict=True)
        ]
        self.outputs = [_packed(result) if i in outs else None for i, result in enumerate(results)]
        self.hooks = None
        self.location = None if STATE.anomaly is None else user_location()

    @property
    def count(self) -> int:
        return len(self.result_types)

    def name(self) -> str:
        return "".join(part.capitalize() for part in self.op.name.split("_")) + "Backward"

    def pull(self, engine: Cotangents, cotangents: Any, is_needed: IsNeeded) -> Sequence[Any]:
        self.check_saved()
        incoming: list[Any] = []
        for index, type_ in enumerate(self.result_types):
            ct = cotangents[index]
            incoming.append(engine.zeros(*type_) if ct is None and is_differentiable(type_[1]) else ct)
        inputs, outputs = list(map(unpacked, self.inputs)), list(map(unpacked, self.outputs))
        if engine.tensors:
            inputs = [engine.operand(self, i, input_) for i, input_ in enumerate(inputs)]
            outputs = [
                None if output is None else engine.output(self, i, output) for i, output in enumerate(outputs)
            ]
        types = [TensorType(dtype, shape) for shape, dtype in self.types]
        gradients: list[Any] = _joint(self.op)(
            engine.namespace, tuple(incoming), inputs, tuple(outputs), types, self.attrs
        )
        return gradients

    def describe_saved(self, position: int) -> str:
        return f"a tensor that {self.op.name} saved for backward"

    def free(self) -> None:
        self.inputs, self.outputs, self.memories = [], [], None


def _packed(tensor: Tensor) -> Any:
    hooks = STATE.saved_hooks
    return tensor._data if hooks is None else Packed(tensor._data, hooks)


def record_several(op: Op, operands: Sequence[Tensor], attrs: Attrs, results: Sequence[Tensor]) -> None:
    """Make `results` remember that they are `op` of `operands`, where that is to be remembered."""
    if not STATE.recording or not any(operand._requires_grad for operand in operands):
        return
    node = SeveralNode(op, operands, attrs, results)
    for index, result in enumerate(results):
        if is_differentiable(result.dtype):
            result._node, result._requires_grad = Output(node, index), True
