"""The node of a ``tj.autograd.Function``, and what such a function saves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..eager.tensor import Tensor, wrap
from ..ir.errors import GradientError, ShapeError
from ..ir.types import broadcastable
from ..location import user_location
from ..state import STATE
from .engine import connected, standing_for
from .hooks import Cotangents
from .nodes import IsNeeded, Node, Output
from .recording import memory_of
from .saved import Packed, modified_in_place, unpacked

if TYPE_CHECKING:
    from ..autograd.context import FunctionCtx


class SavedTensor:
    """A tensor that a Function saved: its value, its place in the graph, and the count of writes to it.

    An output of the function itself is saved as its number, so that the graph does not hold itself alive.
    """

    __slots__ = ("data", "memory", "output", "place", "version")

    def __init__(self, tensor: Tensor, output: int | None) -> None:
        self.place = None
        if output is None:
            self.place = tensor if tensor._requires_grad and tensor._node is None else tensor._node
        self.output = output
        self.data = data = tensor._data
        if isinstance(data, np.ndarray):
            hooks = STATE.saved_hooks
            if STATE.tracer is not None:
                self.place = tensor  # a capture of the trace: the user's own object says where it is read
            elif hooks is not None:
                self.data = Packed(data, hooks)
        self.memory = memory_of(tensor)
        self.version = self.memory[0]

    def tensor(self, node: FunctionNode | None) -> Tensor:
        """The saved tensor, in its place in the graph."""
        if self.memory[0] != self.version:
            name = "a function" if node is None else node.name()
            raise modified_in_place(f"a tensor that {name} saved for backward", self.memory, self.version)
        data = unpacked(self.data)
        if self.output is not None:
            return wrap(data) if node is None else connected(data, Output(node, self.output))
        if isinstance(self.place, Tensor):
            if self.place._data is data:
                return self.place
            return standing_for(self.place, data) if isinstance(self.data, Packed) else wrap(data)
        return wrap(data) if self.place is None else connected(data, self.place)


class FunctionNode(Node):
    """The node of a ``tj.autograd.Function``: its backward is the user's."""

    __slots__ = ("ctx", "function", "outputs")

    several = True

    def __init__(
        self, function: Any, ctx: FunctionCtx, arguments: Sequence[Any], outputs: Sequence[Any]
    ) -> None:
        self.function, self.ctx = function, ctx
        self.parents = tuple(
            [
                (argument._node or argument)
                if isinstance(argument, Tensor) and argument._requires_grad
                else None
                for argument in arguments
            ]
        )
        self.types = tuple(
            [
                (argument.shape, argument.dtype) if isinstance(argument, Tensor) else None
                for argument in arguments
            ]
        )
        #: Per output: (shape, dtype) of a tensor, None for another value.
        self.outputs = tuple(
            [(output.shape, output.dtype) if isinstance(output, Tensor) else None for output in outputs]
        )
        self.hooks = self.location = None
        if STATE.tracer is not None:
            self.location = STATE.tracer.location
        elif STATE.anomaly is not None:
            self.location = user_location()

    def name(self) -> str:
        return f"{self.function.__name__}Backward"

    @property
    def count(self) -> int:
        return len(self.outputs)

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """What the function saved for backward."""
        return self.ctx.saved_tensors

    def pull(self, engine: Cotangents, cotangents: Any, is_needed: IsNeeded) -> Sequence[Any]:
        ctx = self.ctx
        needed = tuple(
            [parent is not None and (is_needed is None or is_needed(parent)) for parent in self.parents]
        )
        ctx.needs_input_grad = needed
        incoming: list[Tensor | None] = []
        for index, output in enumerate(self.outputs):
            cotangent = cotangents[index]
            if cotangent is not None:
                incoming.append(engine.as_gradient(cotangent))
            elif output is not None and ctx.materializes:
                incoming.append(engine.as_gradient(zeros(engine, *output)))
            else:
                incoming.append(None)
        results = self.function.backward(ctx, *incoming)
        gradients = list(results) if isinstance(results, tuple) else [results]
        return [
            None if gradient is None or not need else engine.from_gradient(gradient)
            for gradient, need in zip(
                checked_gradients(self.name(), self.types, gradients), needed, strict=True
            )
        ]

    def free(self) -> None:
        self.ctx.free()


def zeros(engine: Cotangents, shape: Any, dtype: Any) -> Any:
    """The cotangent of an output that nothing used; an output may be of any dtype."""
    return engine.namespace.full(value=dtype.type(0).item(), shape=shape, dtype=dtype)


def checked_gradients(name: str, types: Sequence[Any], gradients: list[Any]) -> list[Any]:
    """What the backward `name` returned: one gradient per argument, of its shape, None where there is none.

    `types` has (shape, dtype) for tensor arguments, None for others.
    """
    count = len(types)
    while len(gradients) > count and gradients[-1] is None:
        gradients.pop()
    if len(gradients) != count:
        raise GradientError(
            f"function {name} returned an incorrect number of gradients: expected {count}, one per argument "
            f"of forward, got {len(gradients)}"
        )
    for position, (gradient, type_) in enumerate(zip(gradients, types, strict=True)):
        if gradient is None:
            continue
        if not isinstance(gradient, Tensor):
            raise GradientError(
                f"function {name}: expected a tensor or None as gradient {position}, got "
                f"{type(gradient).__name__}"
            )
        if type_ is None:
            raise GradientError(
                f"function {name} returned a gradient different from None at position {position}, but that "
                "argument of forward was no tensor"
            )
        if not broadcastable(type_[0], gradient.shape):
            raise ShapeError(
                f"function {name} returned an invalid gradient at index {position}: got shape "
                f"{gradient.shape}, expected a shape compatible with {tuple(type_[0])}"
            )
    return gradients
