"""What the forward of a ``tj.autograd.Function`` tells its backward."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from ..eager.tensor import Tensor
from ..ir.errors import GradientError
from ..pytree import tree_leaves
from ..tape.engine import connected
from ..tape.functions import FunctionNode, SavedTensor


class FunctionCtx:
    """What ``forward`` tells ``backward``: the `ctx` of both. Attributes may be set on it freely.

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
        #: Per argument of forward, whether a gradient for it is needed.
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
        """What was given to ``save_for_backward``, each in its place in the graph.

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
        """Let go of what was saved."""
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
