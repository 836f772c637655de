"""The node of what has no gradient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..eager.tensor import Tensor
from ..ir.dtypes import is_differentiable
from ..ir.errors import GradientError
from ..state import STATE
from .cotangents import Cotangents
from .nodes import IsNeeded, Node, Output


class RefusingNode(Node):
    """Stands for something that has no gradient: an error for those who ask for one."""

    __slots__ = ("message", "results", "title")

    several = True

    def __init__(self, title: str, results: int, operands: Sequence[Any], message: str) -> None:
        tracked = [
            operand if isinstance(operand, Tensor) and operand._requires_grad else None
            for operand in operands
        ]
        self.parents = tuple([None if tensor is None else tensor._node or tensor for tensor in tracked])
        self.types = tuple([None if tensor is None else (tensor.shape, tensor.dtype) for tensor in tracked])
        self.title, self.results, self.message = title, results, message
        self.hooks = None
        self.location = None if STATE.tracer is None else STATE.tracer.location

    @property
    def count(self) -> int:
        return self.results

    def name(self) -> str:
        return self.title

    def pull(self, engine: Cotangents, cotangents: Any, is_needed: IsNeeded) -> Sequence[Any]:
        raise GradientError(self.message)

    def free(self) -> None:
        """Nothing was saved."""


def refuse_gradients(title: str, results: Sequence[Tensor], operands: Sequence[Any], message: str) -> None:
    """Where `operands` require gradients, let a gradient of `results` be the error `message`."""
    if STATE.recording and any(
        isinstance(operand, Tensor) and operand._requires_grad for operand in operands
    ):
        node = RefusingNode(title, len(results), operands, message)
        for index, result in enumerate(results):
            if is_differentiable(result.dtype):
                result._node, result._requires_grad = Output(node, index), True
