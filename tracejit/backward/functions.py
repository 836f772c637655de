"""The node of a ``tj.autograd.Function``, what its forward tells its backward, and what it saves."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base.errors import GradientError, ShapeError
from ..ir.types import broadcastable
from ..location import user_location
from ..pytree import tree_leaves
from ..state import STATE
from ..tape.hooks import Cotangents
from ..tape.nodes import IsNeeded, Node, Output
from ..tape.recording import memory_of
from ..tape.saved import Packed, modified_in_place, unpacked
from ..tensors.tensor import Tensor, wrap
from .engine import connected, standing_for


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
        #: (shape, dtype) of each output that is a tensor, None for another value.
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
        """The tensors that the function saved for backward."""
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
    """The gradients that the backward `name` returned, checked: one per argument, of its shape, or None.

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


class FunctionCtx:
    """The context object `ctx` of ``forward`` and ``backward``. Attributes may be set on it freely.

    Example:
        >>> import tracejit as tj
        >>> class Scaled(tj.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x, factor):
        ...         ctx.factor = factor
        ...         ctx.save_for_backward(x)
        ...         return x**2 * factor
        ...     @staticmethod
        ...     def backward(ctx, ct):
        ...         (x,) = ctx.saved_tensors
        ...         return 2 * x * ctx.factor * ct, None
        >>> x = tj.tensor([1.0, 2.0], requires_grad=True)
        >>> Scaled.apply(x, 10.0).sum().backward()
        >>> x.grad
        tensor([20., 40.])
    """

    def __init__(self, function: Any, needs_input_grad: tuple[bool, ...]) -> None:
        self._function = function
        #: Whether a gradient is needed for each argument of forward.
        self.needs_input_grad = needs_input_grad
        self.materializes = True
        self._to_save: tuple[Tensor | None, ...] = ()
        self._saved: tuple[SavedTensor | None, ...] | None = ()
        self._dirty: tuple[Tensor, ...] = ()
        self._constant: tuple[Tensor, ...] = ()
        self._node: weakref.ref[FunctionNode] | None = None

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep inputs, outputs or other tensors for backward, to be read from ``saved_tensors``."""
        for tensor in tensors:
            if tensor is not None and not isinstance(tensor, Tensor):
                raise GradientError(
                    f"save_for_backward takes tensors and None, got {type(tensor).__name__}; set other "
                    "values as attributes of ctx"
                )
        self._to_save = tensors

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """The tensors given to ``save_for_backward``, each in its place in the graph.

        Raises GradientError once backward has freed it, or where one was modified in place since.
        """
        if self._saved is None:
            raise GradientError(
                "trying to backward through the graph a second time, after its saved values were freed; "
                "compute the result again, or pass retain_graph=True to the first backward. Between steps of "
                "a loop, carry values over with detach()"
            )
        if self._to_save:  # still in forward
            return self._to_save
        node = None if self._node is None else self._node()
        return tuple(
            [None if saved_tensor is None else saved_tensor.tensor(node) for saved_tensor in self._saved]
        )

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Say that forward writes these arguments in place. It must return them, too."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Say that these outputs have no gradient. Those that are not floating have none anyway."""
        self._constant = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether backward gets zeros (True, the default) or None for outputs that were not used."""
        self.materializes = bool(value)

    def keep(self, outputs: list[Any], node: FunctionNode | None) -> None:
        """Save what forward asked for, now that `outputs` are known."""
        self._node = None if node is None else weakref.ref(node)
        numbers = {id(output): index for index, output in enumerate(outputs) if isinstance(output, Tensor)}
        self._saved = tuple(
            [
                None if tensor is None else SavedTensor(tensor, numbers.get(id(tensor)))
                for tensor in self._to_save
            ]
        )
        self._to_save = ()

    def inputs_in_graph(self) -> list[Tensor]:
        """Stand-ins for the arguments that require grad, each in its place in the graph; without values."""
        node = None if self._node is None else self._node()
        if node is None:
            return []
        return [
            place
            if isinstance(place, Tensor)
            else connected(np.broadcast_to(type_[1].type(), type_[0]), place)
            for place, type_ in zip(node.parents, node.types, strict=True)
            if place is not None
        ]

    def free(self) -> None:
        """Release the saved values."""
        if self._saved:
            self._saved = None


def outputs_of(cls: Any, result: Any) -> list[Any]:
    """The values that forward returned, one or several."""
    outputs = list(result) if isinstance(result, tuple) else [result]
    for output in outputs:
        if isinstance(output, (list, tuple, dict)) and any(
            isinstance(leaf, Tensor) for leaf in tree_leaves(output)
        ):
            raise GradientError(
                f"{cls.__name__}: forward must return a tensor or a tuple of them, got a "
                f"{type(output).__name__} with tensors inside, which would get no gradients; return a flat "
                "tuple"
            )
    return outputs
