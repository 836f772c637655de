"""What loops hand from step to step: variables taken apart, and what may turn out about them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..array.operands import filled
from ..control.carry import as_tensor
from ..eager.tensor import Tensor
from ..ir.records import record
from ..ir.types import TensorType
from .iterations import Steps
from .rewriting import Statement
from .variables import Content, Variables


class BecomesFloat(Exception):
    """A Python integer that a loop carries becomes a float."""

    def __init__(self, position: int) -> None:
        self.position = position


class IsWritten(Exception):
    """A variable's tensor is written in place, and stays the variable's."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor


@record(eq=False)
class LoopStatement:
    """A loop that is to be traced: its body, a function of the step's item or of nothing; for a ``while``,
    its test; for a ``for``, its steps."""

    statement: Statement
    variables: Variables
    body: Callable[..., Any]
    steps: Steps | None = None
    test: Callable[[], Any] | None = None


class Carry:
    """A variable that steps hand on: its value before the loop, or by the first step's end."""

    def __init__(self, name: str, content: Content, *, exclusive: bool) -> None:
        self.name, self.content, self.exclusive = name, content, exclusive
        #: Of each leaf, the tensor of the caller's that stays the variable's, None for one that is handed on.
        self.held: list[Tensor | None] = []


def zero_of(leaf: Any, is_number: bool) -> Any:
    """A zero of the type of `leaf`, which is a Python number or not."""
    if not isinstance(leaf, (Tensor, np.ndarray, np.generic)):
        return type(leaf)(0)
    if is_number:
        return 0 if leaf.dtype.kind == "i" else 0.0
    return filled(0, leaf.shape, leaf.dtype)


def as_tensor_type(leaf: Any) -> TensorType:
    """The type of a leaf as a tensor."""
    return leaf.type if isinstance(leaf, Tensor) else as_tensor(leaf).type


def shown(value: Any) -> str:
    """`value` in a few words."""
    text = repr(value) if not isinstance(value, Tensor) else f"a tensor of type {value.type}"
    return text if len(text) < 60 else f"a {type(value).__name__}"
