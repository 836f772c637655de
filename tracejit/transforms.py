"""``grad`` and ``value_and_grad``: functions to functions. Semantics: ``jax.grad``.

They run the function on the tape. Under ``jit`` the tape records traced tensors, so the gradient becomes part
of the trace; nested, the inner gradient is itself recorded.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .dispatch import apply
from .ir.dtypes import is_float
from .ir.errors import DTypeError, GradientError, TracejitError
from .ir.registry import OPS
from .pytree import flatten, leaf_paths, tree_map
from .state import STATE
from .tape.backward import run_backward, seed
from .tape.nodes import Node
from .tensor import Tensor, as_array, wrap


def value_and_grad(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """A function that returns ``(fun(*args), gradient)``.

    `argnums` says which positional arguments (pytrees of floating tensors) to differentiate; the gradient has
    their structure, a tuple where `argnums` is a sequence. With `has_aux`, `fun` returns ``(value, aux)`` and
    the result is ``((value, aux), gradient)``.

    Example:
        >>> import tracejit as tj
        >>> tj.value_and_grad(lambda x: (x * x).sum())(tj.tensor([1.0, 2.0]))
        (tensor(5.), tensor([2., 4.]))

    Raises GradientError unless `fun` returns a floating scalar, DTypeError for arguments that are not
    floating. Semantics: ``jax.value_and_grad``.
    """
    single = isinstance(argnums, int)
    positions: tuple[int, ...] = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    for position in positions:
        if not isinstance(position, int):
            raise TracejitError(f"grad: argnums must be an integer or a sequence of them, got {argnums!r}")
    name = getattr(fun, "__name__", "function")

    @functools.wraps(fun)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        trees = [_argument(name, args, position) for position in positions]
        if len({position % len(args) for position in positions}) < len(positions):
            raise TracejitError(f"grad of {name}: argnums {argnums} names an argument twice")
        leaves, structure = flatten(trees)
        paths = leaf_paths(trees)
        outer = STATE.recording, STATE.blocked
        STATE.recording, STATE.blocked = True, False
        try:
            inputs = [_differentiable(name, leaf, path) for leaf, path in zip(leaves, paths, strict=True)]
            chosen = structure.unflatten(inputs)
            full = list(args)
            for position, tree in zip(positions, chosen, strict=True):
                full[position] = tree
            value, aux = _split_aux(name, fun(*full, **kwargs), has_aux=has_aux)
            gradients, again = _gradients(name, value, inputs)
        finally:
            STATE.recording, STATE.blocked = outer
        if not STATE.recording or STATE.blocked:  # under no_grad the results are constants, too
            again, gradients = False, [one.detach() for one in gradients]
        value = value if again else value.detach()
        aux = aux if again else tree_map(_detached, aux)
        result = structure.unflatten(gradients)
        gradient = result[0] if single else tuple(result)
        return ((value, aux) if has_aux else value), gradient

    return wrapped


def grad(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """A function that returns the gradient of `fun`. See `value_and_grad`.

    Example:
        >>> import tracejit as tj
        >>> tj.grad(tj.grad(lambda x: x**3))(2.0)
        tensor(12.)

    Semantics: ``jax.grad``.
    """
    both = value_and_grad(fun, argnums, has_aux)

    @functools.wraps(fun)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        value, gradient = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return wrapped


def stop_gradient(x: Any) -> Any:
    """`x` as a constant to every gradient: the same values, in a pytree of the same structure.

    Example:
        >>> import tracejit as tj
        >>> tj.grad(lambda x: x * tj.stop_gradient(x))(3.0)
        tensor(3.)

    Semantics: ``jax.lax.stop_gradient``.
    """
    return tree_map(_detached, x)


def _argument(name: str, args: tuple[Any, ...], position: int) -> Any:
    if not -len(args) <= position < len(args):
        raise TracejitError(
            f"grad of {name}: argnums {position}, but it was called with {len(args)} arguments"
        )
    return args[position]


def _differentiable(name: str, leaf: Any, path: str) -> Tensor:
    """A tensor of its own for an input, connected to whatever computed the leaf."""
    tensor = leaf if isinstance(leaf, Tensor) else wrap(as_array(leaf))
    if not is_float(tensor.dtype):
        raise DTypeError(
            f"grad of {name}: only floating inputs can be differentiated, got {tensor.type} "
            f"at argument {path}"
        )
    if tensor._requires_grad:  # an outer gradient follows it: a node of its own, so that paths stay apart
        connected: Tensor = apply(OPS["reshape"], (tensor,), {"shape": tensor.shape})
        return connected
    return wrap(tensor._data).requires_grad_()


def _split_aux(name: str, outcome: Any, *, has_aux: bool) -> tuple[Tensor, Any]:
    aux = None
    if has_aux:
        if not isinstance(outcome, tuple) or len(outcome) != 2:
            raise GradientError(f"grad of {name}: with has_aux the function must return (value, aux)")
        outcome, aux = outcome
    if isinstance(outcome, (int, float, np.ndarray, np.generic)):
        outcome = wrap(as_array(outcome))
    if not isinstance(outcome, Tensor) or outcome.shape != () or not is_float(outcome.dtype):
        given = outcome.type if isinstance(outcome, Tensor) else type(outcome).__name__
        raise GradientError(
            f"grad of {name}: the function must return a floating scalar, got {given}; sum or mean it"
        )
    return outcome, aux


def _gradients(name: str, value: Tensor, inputs: list[Tensor]) -> tuple[list[Tensor], bool]:
    """The gradients, and whether they stay differentiable: something else in the graph is tracked."""
    again = _tracks_more(value, inputs)
    found: list[Tensor | None] = [None] * len(inputs)
    if value._requires_grad:
        found = run_backward(
            [value], [seed(value, None)], retain_graph=again, create_graph=again, targets=inputs
        )
    filled = [
        apply(OPS["full"], (), {"value": 0.0, "shape": one.shape, "dtype": one.dtype}) if g is None else g
        for one, g in zip(inputs, found, strict=True)
    ]
    return filled, again


def _tracks_more(value: Tensor, inputs: list[Tensor]) -> bool:
    """Whether the graph behind `value` reaches leaves other than `inputs`."""
    if any(one._node is not None for one in inputs):
        return True
    own = {id(one) for one in inputs}
    seen: set[int] = set()
    stack: list[Any] = [value._node]
    while stack:
        place = stack.pop()
        if place is None:
            continue
        node: Node = place.node
        if id(node) in seen:
            continue
        seen.add(id(node))
        for parent in node.parents:
            if isinstance(parent, Tensor):
                if id(parent) not in own:
                    return True
            else:
                stack.append(parent)
    return False


def _detached(leaf: Any) -> Any:
    return leaf.detach() if isinstance(leaf, Tensor) else leaf
