"""Gradient clipping: as a function of a pytree of gradients, and in place on ``.grad``."""

from __future__ import annotations

import math
from typing import Any

from ..array import abs, clip, max, minimum, sqrt, stack, sum, where, zeros
from ..array.operands import as_tensor
from ..base.errors import DomainError, DTypeError, GradientError
from ..ir.dtypes import FLOATS, default_dtype
from ..pytree import flatten, leaf_paths
from ..tape.modes import no_grad
from ..tensors.tensor import Tensor
from .groups import tensors_of
from .rules import check_number

#: Keeps PyTorch's quotient finite where all gradients are zero.
_EPS = 1e-6


def global_norm(tree: Any) -> Tensor:
    """The Euclidean norm of all elements of a pytree together, in the widest dtype of its leaves.

    Example:
        >>> import tracejit as tj
        >>> tj.optim.global_norm({"w": tj.tensor([3.0, 0.0]), "b": tj.tensor(4.0)})
        tensor(5.)

    Raises DTypeError for leaves that are not floating. Semantics: ``optax.global_norm``.
    """
    return _norm(_floating("global_norm", "tree", tree), 2.0)


def clip_by_global_norm(grads: Any, max_norm: Any) -> tuple[Any, Tensor]:
    """`grads` scaled down to a `global_norm` of `max_norm` where it is larger, and the norm before.

    A norm that is NaN makes all gradients NaN. `max_norm` is a number of at least 0, or a tensor of rank 0.

    Example:
        >>> import tracejit as tj
        >>> tj.optim.clip_by_global_norm([tj.tensor([3.0, 0.0]), tj.tensor(4.0)], 1.0)
        ([tensor([0.6, 0. ]), tensor(0.8)], tensor(5.))

    Raises DTypeError for leaves that are not floating. Semantics: ``optax.clip_by_global_norm``.
    """
    if not isinstance(max_norm, Tensor):
        check_number("clip_by_global_norm", "max_norm", max_norm, at_least=0.0)
    leaves = _floating("clip_by_global_norm", "grads", grads)
    norm = _norm(leaves, 2.0)
    small = norm <= max_norm
    factor = where(small, 1.0, max_norm / where(small, 1.0, norm)).astype(norm.dtype)
    clipped = [leaf * factor.astype(leaf.dtype) for leaf in leaves]
    return flatten(grads)[1].unflatten(clipped), norm


def clip_grad_norm_(
    params: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False
) -> Tensor:
    """Scale the gradients of `params` in place so that their norm together is at most `max_norm`; returns the
    norm before.

    `params` is a tensor, a pytree or an iterable of tensors; those without a gradient are left out.
    `norm_type` is above 0, ``math.inf`` for the largest magnitude.

    Example:
        >>> import tracejit as tj
        >>> w = tj.tensor([1.0, 1.0], requires_grad=True)
        >>> (w * tj.tensor([3.0, 4.0])).sum().backward()
        >>> tj.optim.clip_grad_norm_([w], 1.0)
        tensor(5.)
        >>> w.grad
        tensor([0.59999988, 0.79999984])

    Raises GradientError for a norm that is infinite or NaN, if `error_if_nonfinite`. Semantics:
    ``torch.nn.utils.clip_grad_norm_``, whose factor is ``max_norm / (norm + 1e-6)``.
    """
    check_number("clip_grad_norm_", "max_norm", max_norm, at_least=0.0)
    check_number("clip_grad_norm_", "norm_type", norm_type)
    if not norm_type > 0:
        raise DomainError(f"clip_grad_norm_: norm_type must be above 0, got {norm_type!r}")
    with no_grad():
        grads = _grads("clip_grad_norm_", params)
        norm = _norm(grads, float(norm_type))
        if error_if_nonfinite and not math.isfinite(norm.item()):
            raise GradientError(
                f"clip_grad_norm_: the norm of order {norm_type} of the gradients is {norm.item()}, so they "
                "cannot be clipped; leave error_if_nonfinite out to scale by it nevertheless"
            )
        factor = minimum(max_norm / (norm + _EPS), 1.0)
        for grad in grads:
            grad[...] = grad * factor.astype(grad.dtype)
    return norm


def clip_grad_value_(params: Any, value: float) -> None:
    """Clamp every element of the gradients of `params` to ``[-value, value]``, in place.

    Example:
        >>> import tracejit as tj
        >>> w = tj.tensor([1.0, 1.0], requires_grad=True)
        >>> (w * tj.tensor([3.0, 0.25])).sum().backward()
        >>> tj.optim.clip_grad_value_([w], 0.5)
        >>> w.grad
        tensor([0.5 , 0.25])

    Semantics: ``torch.nn.utils.clip_grad_value_``.
    """
    check_number("clip_grad_value_", "value", value, at_least=0.0)
    with no_grad():
        for grad in _grads("clip_grad_value_", params):
            grad[...] = clip(grad, -value, value)


def _grads(name: str, params: Any) -> list[Tensor]:
    grads = [tensor.grad for tensor in tensors_of(name, params)]
    return [grad for grad in grads if grad is not None]


def _floating(name: str, argument: str, tree: Any) -> list[Tensor]:
    leaves = [as_tensor(leaf) for leaf in flatten(tree)[0]]
    for position, leaf in enumerate(leaves):
        if leaf.dtype not in FLOATS:
            path = leaf_paths(tree)[position] or "the root"
            raise DTypeError(f"{name}: {argument} must be floating, got {leaf.type} at {path}")
    return leaves


def _norm(tensors: list[Tensor], order: float) -> Tensor:
    tensors = [tensor for tensor in tensors if tensor.size]  # nothing has no largest magnitude
    if not tensors:
        return zeros((), dtype=default_dtype())
    if order == math.inf:
        return max(stack([max(abs(tensor)) for tensor in tensors]))
    if order == 2.0:
        return sqrt(sum(stack([sum(tensor * tensor) for tensor in tensors])))
    powers: Tensor = sum(stack([sum(abs(tensor) ** order) for tensor in tensors]))
    return powers ** (1.0 / order)
