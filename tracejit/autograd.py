"""Eager autograd for users: ``backward`` and ``grad``. Semantics: ``torch.autograd``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .backward import run_backward, seed
from .ir.errors import GradientError
from .modes import enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from .tensor import Tensor

Tensors = Tensor | Sequence[Tensor]

__all__ = ["backward", "enable_grad", "grad", "graph_of", "is_grad_enabled", "no_grad", "set_grad_enabled"]


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (tuple, list)) else [value]


def _seeds(roots: list[Tensor], gradients: Any) -> list[Tensor]:
    given = [None] * len(roots) if gradients is None else _as_list(gradients)
    if len(given) != len(roots):
        raise GradientError(f"expected {len(roots)} gradients, one per output, got {len(given)}")
    for root in roots:
        if not root.requires_grad:
            raise GradientError(
                f"a tensor of shape {root.shape} does not require grad and has no grad_fn, so nothing can be "
                "differentiated; call requires_grad_() on an input before computing it"
            )
    return [seed(root, gradient) for root, gradient in zip(roots, given, strict=True)]


def backward(
    tensors: Tensors,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensors | None = None,
) -> None:
    """Add the gradients of `tensors` to the ``grad`` of the leaves they were computed from.

    `grad_tensors` are the cotangents, needed where a tensor has more than one element. `retain_graph` keeps
    the graph for another call (default: as `create_graph`); `create_graph` records the gradients themselves.
    With `inputs`, only those accumulate.

    Example:
        >>> import tracejit as tj
        >>> x = tj.tensor([1.0, 2.0], requires_grad=True)
        >>> tj.autograd.backward((x * x).sum())
        >>> x.grad
        tensor([2., 4.])
    """
    roots = _as_list(tensors)
    seeds = _seeds(roots, grad_tensors)
    retain = create_graph if retain_graph is None else retain_graph
    if inputs is None:
        run_backward(roots, seeds, retain_graph=retain, create_graph=create_graph)
        return
    targets = _as_list(inputs)
    found = run_backward(roots, seeds, retain_graph=retain, create_graph=create_graph, targets=targets)
    for target, gradient in zip(targets, found, strict=True):
        if gradient is not None:
            target.grad = gradient if target.grad is None else target.grad + gradient


def grad(
    outputs: Tensors,
    inputs: Tensors,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool = False,
) -> tuple[Tensor | None, ...]:
    """The gradients of `outputs` with respect to `inputs`, without touching any ``grad``.

    Example:
        >>> import tracejit as tj
        >>> x = tj.tensor(3.0, requires_grad=True)
        >>> (g,) = tj.autograd.grad(x**3, x, create_graph=True)
        >>> tj.autograd.grad(g, x)
        (tensor(18.),)

    Raises GradientError where an input is not used, unless `allow_unused` (then it is None).
    """
    roots, targets = _as_list(outputs), _as_list(inputs)
    retain = create_graph if retain_graph is None else retain_graph
    found = run_backward(
        roots, _seeds(roots, grad_outputs), retain_graph=retain, create_graph=create_graph, targets=targets
    )
    for position, gradient in enumerate(found):
        if gradient is None and not allow_unused:
            raise GradientError(
                f"input {position} was not used to compute the outputs; pass allow_unused=True to get None"
            )
    return tuple(found)


def graph_of(tensor: Tensor) -> Any:
    """The graph behind an eager `tensor`: its Function and leaves. See ``tracejit.livegraph``."""
    from .livegraph import graph_of as build  # needs only be loaded by those who look

    return build(tensor)


def _method(
    self: Tensor,
    gradient: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensors | None = None,
) -> None:
    """Add this tensor's gradients to the ``grad`` of the leaves. See ``tj.autograd.backward``."""
    backward(self, gradient, retain_graph, create_graph, inputs)


Tensor.backward = _method  # type: ignore[assignment,method-assign]
