"""Hooks: what users attach to tensors and nodes to see or change gradients, and what these may ask.
Semantics: PyTorch's.

Hooks of a tensor that was computed live with the output of its node; those of a leaf with the leaf, which
stands for its AccumulateGrad node too.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from ..base.errors import GradientError, ShapeError
from ..ir.registry import Strength
from ..tensors.tensor import Tensor


class Cotangents(Protocol):
    """The representation of cotangents in one backward pass: ndarrays, or Tensors."""

    tensors: bool
    namespace: Any
    strength: Strength

    def operand(self, node: Any, position: int, saved: Any) -> Any:
        """The saved operand at `position` as a Tensor in its place in the graph."""

    def pull_values(
        self, pull: Any, cotangent: Any, inputs: Sequence[Any], out: Any, node: Any
    ) -> Sequence[Any] | None:
        """The results of `pull` on traced values without Tensors around them; None where a value is not
        traced."""

    def output(self, node: Any, index: int, data: Any) -> Tensor:
        """A saved output of `node`, connected to the node again."""

    def as_tensor(self, cotangent: Any) -> Tensor:
        """A cotangent as hooks and users see it."""

    def from_tensor(self, tensor: Tensor, like: Tensor | None = None) -> Any:
        """The result of a hook or of a user's backward as a cotangent of the dtype of `like`."""

    def as_gradient(self, cotangent: Any) -> Tensor:
        """A cotangent as PyTorch's interface has it, where it is the conjugate."""

    def from_gradient(self, gradient: Tensor, like: Tensor | None = None) -> Any:
        """The cotangent that `as_gradient` gives `gradient` of, in the dtype of `like`."""

    def zeros(self, shape: Any, dtype: Any) -> Any:
        """The cotangent of something that nothing depends on."""

    def fit(self, cotangent: Any, shape: Any, dtype: Any) -> Any:
        """`cotangent` with the shape and dtype of what it belongs to: the transpose of broadcasting."""

    def accumulate(self, tensor: Tensor, cotangent: Any) -> None:
        """Add `cotangent` into ``tensor.grad``."""


HookDict = dict[int, Callable[..., Any]]
_IDS = itertools.count()


class RemovableHandle:
    """Takes a hook away again: by ``remove()``, or at the end of a ``with`` block.

    Example:
        >>> import tracejit as tj
        >>> x = tj.tensor(2.0, requires_grad=True)
        >>> handle = x.register_hook(lambda gradient: 10 * gradient)
        >>> (x * x).backward()
        >>> handle.remove()
        >>> (x * x).backward()
        >>> x.grad
        tensor(44.)
    """

    __slots__ = ("_hooks", "id")

    def __init__(self, hooks: HookDict, fn: Callable[..., Any]) -> None:
        if not callable(fn):
            raise GradientError(f"a hook must be callable, got {type(fn).__name__}")
        self._hooks = hooks
        self.id = next(_IDS)
        hooks[self.id] = fn

    def remove(self) -> None:
        """Take the hook away. Doing it again changes nothing."""
        self._hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


class Hooks:
    """The hooks of a node, or of a leaf."""

    __slots__ = ("accumulated", "end", "metadata", "post", "pre", "retained", "tensor")

    def __init__(self) -> None:
        #: Hooks of each output, called with its gradient.
        self.tensor: dict[int, HookDict] = {}
        #: Tensor of each output whose ``grad`` keeps the gradient.
        self.retained: dict[int, weakref.ref[Tensor]] = {}
        self.pre: HookDict = {}
        self.post: HookDict = {}
        #: Hooks of a leaf, called with it after accumulation.
        self.accumulated: HookDict = {}
        self.metadata: dict[Any, Any] = {}
        #: The AccumulateGrad of a leaf, while somebody holds it.
        self.end: weakref.ref[Any] | None = None


def hooks_of_leaf(leaf: Tensor) -> Hooks:
    """The hooks of `leaf`, made when first asked for."""
    hooks: Hooks | None = leaf._hooks
    if hooks is None:
        hooks = leaf._hooks = Hooks()
    return hooks


def hooks_of(tensor: Tensor) -> tuple[Hooks, int]:
    """The hooks of the node or leaf of `tensor`, and the number of its output; 0 for a leaf."""
    place = tensor._node
    if place is None:
        return hooks_of_leaf(tensor), 0
    return place.node.own_hooks(), getattr(place, "index", 0)


# -- what Tensor offers -------------------------------------------------------------------------------


def register_hook(self: Tensor, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
    """Call ``hook(grad)`` whenever the gradient of this tensor is computed, once per backward.

    `hook` may return another gradient, of the same shape, which is used instead. Hooks run in the order of
    registration. Returns a handle whose ``remove()`` takes the hook away.

    Example:
        >>> import tracejit as tj
        >>> x = tj.tensor([1.0, 2.0], requires_grad=True)
        >>> handle = x.register_hook(lambda grad: grad * 2)
        >>> (x * 3).sum().backward()
        >>> x.grad
        tensor([6., 6.])

    Raises GradientError on a tensor that does not require grad. Semantics: ``torch.Tensor.register_hook``.
    """
    if not self._requires_grad:
        raise GradientError(
            "cannot register a hook on a tensor that doesn't require gradient: none reaches it; "
            + (
                "inside a jitted function use tj.autograd.Function"
                if self.is_traced
                else "call requires_grad_() on it first, or on what it is computed from"
            )
        )
    hooks, index = hooks_of(self)
    return RemovableHandle(hooks.tensor.setdefault(index, {}), hook)


def register_post_accumulate_grad_hook(self: Tensor, hook: Callable[[Tensor], None]) -> RemovableHandle:
    """Call ``hook(tensor)`` each time ``backward`` has added to the ``grad`` of this leaf.

    Raises GradientError on tensors that are no leaves or do not require grad. Semantics:
    ``torch.Tensor.register_post_accumulate_grad_hook``.
    """
    if not self._requires_grad:
        raise GradientError(
            "cannot register a hook on a tensor that doesn't require gradient: none reaches it; call "
            "requires_grad_() on it first"
        )
    if self._node is not None:
        raise GradientError(
            "post accumulate grad hooks cannot be registered on non-leaf tensors: their grad is not "
            "accumulated; use register_hook"
        )
    return RemovableHandle(hooks_of_leaf(self).accumulated, hook)


def retain_grad(self: Tensor) -> None:
    """Keep this tensor's gradient in its ``grad`` although it is no leaf. Leaves do so anyway.

    Raises GradientError on a tensor that does not require grad. Semantics: ``torch.Tensor.retain_grad``.
    """
    if not self._requires_grad:
        raise GradientError(
            "can't retain_grad on a tensor that has requires_grad=False: no gradient reaches it; call "
            "requires_grad_() on it first, or on what it is computed from"
        )
    if self._node is not None:
        hooks, index = hooks_of(self)
        hooks.retained[index] = weakref.ref(self)


def move_retained(tensor: Tensor, place: Any) -> None:
    """The tensor is about to belong to `place`: its ``retain_grad`` goes with it."""
    if tensor.retains_grad:
        hooks, index = hooks_of(tensor)
        del hooks.retained[index]
        place.node.own_hooks().retained[getattr(place, "index", 0)] = weakref.ref(tensor)


# -- running them -------------------------------------------------------------------------------------


def run_tensor_hooks(hooks: Hooks, index: int, cotangent: Any, engine: Cotangents) -> Any:
    """`cotangent` after the hooks of output `index`; kept where its tensor retains its grad."""
    for hook in tuple(hooks.tensor.get(index, {}).values()):
        gradient = engine.as_gradient(cotangent)
        returned = hook(gradient)
        if returned is not None:
            cotangent = engine.from_gradient(_checked(hook, returned, gradient), gradient)
    kept = hooks.retained.get(index)
    tensor = None if kept is None else kept()
    if tensor is not None:
        engine.accumulate(tensor, cotangent)
    return cotangent


def run_pre_hooks(hooks: Hooks, cotangents: list[Any], engine: Cotangents) -> list[Any]:
    """The cotangents of a node's outputs after its pre-hooks."""
    for hook in tuple(hooks.pre.values()):
        gradients = tuple(
            [None if cotangent is None else engine.as_gradient(cotangent) for cotangent in cotangents]
        )
        returned = hook(gradients)
        if returned is not None:
            cotangents = _replaced(hook, returned, gradients, "grad_outputs", engine)
    return cotangents


def run_post_hooks(
    hooks: Hooks, parts: Sequence[Any], cotangents: Sequence[Any], engine: Cotangents
) -> Sequence[Any]:
    """The cotangents of a node's operands after its hooks."""
    outputs = tuple(
        [None if cotangent is None else engine.as_gradient(cotangent) for cotangent in cotangents]
    )
    for hook in tuple(hooks.post.values()):
        gradients = tuple([None if part is None else engine.as_gradient(part) for part in parts])
        returned = hook(gradients, outputs)
        if returned is not None:
            parts = _replaced(hook, returned, gradients, "grad_inputs", engine)
    return parts


def _replaced(
    hook: Any, returned: Any, gradients: tuple[Any, ...], what: str, engine: Cotangents
) -> list[Any]:
    values = (returned,) if isinstance(returned, Tensor) else returned
    if not isinstance(values, (tuple, list)) or len(values) != len(gradients):
        count = len(values) if isinstance(values, (tuple, list)) else type(returned).__name__
        raise GradientError(
            f"hook {_name(hook)!r} returned an incorrect number of {what}: expected {len(gradients)}, "
            f"got {count}"
        )
    return [
        None if new is None else engine.from_gradient(_checked(hook, new, old), old)
        for new, old in zip(values, gradients, strict=True)
    ]


def _checked(hook: Any, returned: Any, gradient: Tensor | None) -> Tensor:
    """The value that a hook returned, if it may replace `gradient`, which is None where there was none."""
    if not isinstance(returned, Tensor):
        kind = type(returned).__name__
        raise GradientError(f"hook {_name(hook)!r} must return None or a tensor, got {kind}")
    if gradient is not None and returned.shape != gradient.shape:
        raise ShapeError(
            f"hook {_name(hook)!r} has changed the size of value: expected {gradient.shape}, "
            f"got {returned.shape}"
        )
    return returned


def _name(hook: Any) -> str:
    return getattr(hook, "__name__", type(hook).__name__)
