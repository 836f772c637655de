"""``grad`` and ``value_and_grad``: functions to functions. Semantics: ``jax.grad``.

They run the function on the tape. Under ``jit`` the tape records traced tensors, so the gradient becomes part
of the trace; nested, the inner gradient is itself recorded.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from types import MethodType
from typing import Any, ParamSpec, TypeVar, cast

import numpy as np

from ..backward.backward import ones_like, run_backward
from ..backward.engine import connected
from ..base.errors import DTypeError, GradientError, TracejitError
from ..dispatch.dispatch import apply
from ..ir.dtypes import is_complex, is_differentiable, is_real_floating
from ..ir.registry import OPS
from ..provided import HANDED_ON
from ..pytree import flatten, leaf_paths, tree_map
from ..sending import Sendable
from ..state import STATE
from ..tape.liveness import requires_outer_grad, retire, transform_input
from ..tensors.tensor import Tensor, as_array, wrap

#: A transform: it keeps its own signature, by which type checkers find that of its results.
Make = TypeVar("Make", bound=Callable[..., Callable[..., Any]])


class TransformedFunction(Sendable):
    """The function that a transform makes of a function, and of options."""

    # An instance's own ``__call__``, found through the class: what the transform made, no frame around it.
    __slots__ = ("__call__", "__dict__", "__weakref__")
    __call__: Callable[..., Any]

    def __init__(self, transform: Any, *args: Any, **options: Any) -> None:
        fun, *others = args or (options["fun"],)
        named = {name: value for name, value in options.items() if name != "fun"}
        self.__call__ = transform.__wrapped__(HANDED_ON()(fun), *others, **named)
        functools.update_wrapper(self, fun)
        self.transform = transform.__name__
        self._arguments = (transform, *args), options

    def of(self, fun: Callable[..., Any]) -> TransformedFunction:
        """Apply this transform to another function."""
        (transform, *args), options = self._arguments
        if args:
            return TransformedFunction(transform, fun, *args[1:], **options)
        return TransformedFunction(transform, **{**options, "fun": fun})

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<{self.transform} of {getattr(self, '__qualname__', self.__wrapped__)}>"  # type: ignore[attr-defined]

    def _making(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return self._arguments


def transform(make: Make) -> Make:
    """`make`, which makes a function of its first argument, ``fun``, and of options; its results pickle."""

    @functools.wraps(make)
    def call(*args: Any, **kwargs: Any) -> Callable[..., Any]:
        return TransformedFunction(call, *args, **kwargs)

    return cast(Make, call)


P = ParamSpec("P")
R = TypeVar("R")


@transform
def value_and_grad(
    fun: Callable[P, R],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[P, tuple[R, Any]]:
    """A function that returns ``(fun(*args), gradient)``.

    `argnums` says which positional arguments (pytrees of floating tensors) to differentiate; the gradient has
    their structure, a tuple where `argnums` is a sequence. With `has_aux`, `fun` returns ``(value, aux)`` and
    the result is ``((value, aux), gradient)``.

    Example:
        >>> import tracejit as tj
        >>> tj.value_and_grad(lambda x: (x * x).sum())(tj.tensor([1.0, 2.0]))
        (tensor(5.), tensor([2., 4.]))

    Arguments may be complex: the gradient by a + ib is df/da - i df/db. With `holomorphic`, the arguments and
    the scalar are complex, and the gradient is the complex derivative, if there is one.

    Raises GradientError unless `fun` returns a floating scalar, DTypeError for arguments that are not
    floating, and for those and results that `holomorphic` does not fit. Semantics: ``jax.value_and_grad``.
    """
    return value_and_gradient(fun, argnums, has_aux, holomorphic, scalar_result)


def value_and_gradient(
    fun: Callable[..., Any],
    argnums: int | Sequence[int],
    has_aux: bool,
    holomorphic: bool,
    result_of: Callable[[str, Any, bool], Tensor],
    *,
    with_value: bool = True,
) -> Callable[..., tuple[Any, Any]]:
    """`value_and_grad`, of the sum of the elements of ``result_of(label, value, holomorphic)``. The value is
    None unless `with_value`."""
    positions = checked_argnums("grad", argnums)
    single = isinstance(argnums, int)
    label = f"grad of {name_of(fun)}"

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        trees = chosen_arguments(label, args, positions, argnums)
        leaves, structure = flatten(trees[0] if single else trees)
        if holomorphic:
            check_complex(label, trees)
        with recording():
            own = OwnInputs(label, leaves, trees)
            with own as inputs:
                own_trees = structure.unflatten(inputs)
                full = with_arguments(args, positions, (own_trees,) if single else own_trees)
                outcome = fun(*full, **kwargs)
            value, aux = split_aux(label, outcome, has_aux=has_aux)
            value = result_of(label, value, holomorphic)
            gradients, again = _gradients(value, aux, own.places)
            if not with_value:
                value = None
        if STATE.blocked:  # under no_grad the results are constants, too
            value, aux, gradients = tree_map(_detached, (value, aux, gradients))
        else:
            if with_value:
                value = released_leaf(value)
            if has_aux:
                aux = released(aux)
            if again:
                gradients = released(gradients)
        gradient = structure.unflatten(gradients)
        if not single:
            gradient = tuple(gradient)
        return ((value, aux) if has_aux else value), gradient

    return wrapped


@transform
def grad(
    fun: Callable[P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[P, Any]:
    """A function that returns the gradient of `fun`. See `value_and_grad`.

    Example:
        >>> import tracejit as tj
        >>> tj.grad(tj.grad(lambda x: x**3))(2.0)
        tensor(12.)

    Semantics: ``jax.grad``.
    """
    both = value_and_gradient(fun, argnums, has_aux, holomorphic, scalar_result, with_value=False)

    def wrapped(*args: P.args, **kwargs: P.kwargs) -> Any:
        value, gradient = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return wrapped


def stop_gradient(x: R) -> R:
    """`x` as a constant to every gradient: the same values, in a pytree of the same structure.

    Example:
        >>> import tracejit as tj
        >>> tj.grad(lambda x: x * tj.stop_gradient(x))(3.0)
        tensor(3.)

    Semantics: ``jax.lax.stop_gradient``.
    """
    constant: R = tree_map(_detached, x)
    return constant


# -- what the transforms share --------------------------------------------------------------------


def name_of(fun: Any) -> str:
    """The name of the function in messages."""
    name: str = getattr(fun, "__name__", "function")
    return name


def check_complex(label: str, trees: Any, what: str = "inputs") -> None:
    """Raise DTypeError unless the leaves of `trees` are complex, as holomorphic derivatives need them."""
    for leaf, path in zip(flatten(trees)[0], leaf_paths(trees), strict=True):
        dtype = leaf.dtype if isinstance(leaf, Tensor) else as_array(leaf).dtype
        if not is_complex(dtype):
            raise DTypeError(
                f"{label}: holomorphic=True needs complex {what}, got dtype {dtype.name} at "
                f"{path or 'the root'}"
            )


def check_real(label: str, trees: Any, what: str, instead: str) -> None:
    """Raise DTypeError where a leaf of `trees` is complex and no holomorphic derivative was asked for."""
    for position, leaf in enumerate(flatten(trees)[0]):
        dtype = leaf.dtype if isinstance(leaf, Tensor) else as_array(leaf).dtype
        if is_complex(dtype):
            path = leaf_paths(trees)[position]
            raise DTypeError(
                f"{label}: {what} must be real, got dtype {dtype.name} at {path or 'the root'}; pass "
                f"holomorphic=True for a holomorphic function, and use {instead} for others"
            )


def checked_argnums(transform: str, argnums: Any) -> tuple[int, ...]:
    """`argnums` as a tuple. Raises TracejitError where it holds something else than integers."""
    positions = tuple(argnums) if isinstance(argnums, Iterable) else (argnums,)
    if not all(isinstance(position, int) for position in positions):
        raise TracejitError(f"{transform}: argnums must be an integer or a sequence of them, got {argnums!r}")
    return positions


def chosen_arguments(
    label: str, args: tuple[Any, ...], positions: tuple[int, ...], argnums: Any
) -> list[Any]:
    """The arguments at `positions`. Raises TracejitError where there is none, or one is named twice."""
    for position in positions:
        if not -len(args) <= position < len(args):
            raise TracejitError(f"{label}: argnums {position}, but it was called with {len(args)} arguments")
    if len(positions) > 1 and len({position % len(args) for position in positions}) < len(positions):
        raise TracejitError(f"{label}: argnums {argnums} names an argument twice")
    return [args[position] for position in positions]


def with_arguments(args: tuple[Any, ...], positions: tuple[int, ...], chosen: Sequence[Any]) -> list[Any]:
    """`args` with those at `positions` replaced."""
    full = list(args)
    for position, tree in zip(positions, chosen, strict=True):
        full[position] = tree
    return full


class recording:
    """Context manager: the tape records, whatever the user had switched."""

    __slots__ = ("_outer",)

    def __enter__(self) -> None:
        self._outer = STATE.recording, STATE.blocked
        STATE.recording, STATE.blocked = True, False

    def __exit__(self, *exc: object) -> None:
        STATE.recording, STATE.blocked = self._outer


class differentiating:
    """Context manager: the transform `label` runs its function in this thread, whose tensors warn where a
    gradient is lost."""

    __slots__ = ("_label", "_outer")

    def __init__(self, label: str) -> None:
        self._label = label

    def __enter__(self) -> None:
        self._outer = STATE.differentiating
        STATE.differentiating = self._label

    def __exit__(self, *exc: object) -> None:
        STATE.differentiating = self._outer


class OwnInputs:
    """Context manager: the transform `label` runs its function, on its own tensor for each of the `leaves` of
    `trees`.

    The function may write them in place: the gradient follows, and the caller's arrays stay as they are.
    `places` are the same tensors as they came in. Raises DTypeError for leaves that are not floating.
    """

    __slots__ = ("_running", "places")

    def __init__(self, label: str, leaves: Sequence[Any], trees: Any) -> None:
        self._running = differentiating(label)
        self.places = own_inputs(label, leaves, trees)

    def __enter__(self) -> list[Tensor]:
        self._running.__enter__()
        return [connected(place._data, place._node) for place in self.places]

    def __exit__(self, *exc: object) -> None:
        self._running.__exit__(*exc)
        retire(self.places)


def own_inputs(label: str, leaves: Sequence[Any], trees: Any) -> list[Tensor]:
    """The tensors of `OwnInputs`, connected to what computed them where an outer derivative follows it."""
    inputs = []
    tracer = STATE.tracer
    for position, leaf in enumerate(leaves):
        tensor = leaf if isinstance(leaf, Tensor) else wrap(as_array(leaf))
        if not is_differentiable(tensor._data.dtype):
            raise DTypeError(
                f"{label}: only floating inputs can be differentiated, got {tensor.type} at argument "
                f"{leaf_paths(trees)[position]}"
            )
        # under a trace the user's tensor is the capture, not ours
        inputs.append(transform_input(tensor._data if tracer is None else tracer.lift(tensor), tensor))
    return inputs


def split_aux(label: str, outcome: Any, *, has_aux: bool) -> tuple[Any, Any]:
    """The function's result as (value, aux)."""
    if not has_aux:
        return outcome, None
    if not isinstance(outcome, tuple) or len(outcome) != 2:
        raise GradientError(f"{label}: with has_aux the function must return (value, aux)")
    return outcome


def released(tree: Any) -> Any:
    """`tree` without the graph that this transform recorded, except where an outer derivative follows it.
    Under a trace the trace still knows how it was computed, so that a gradient of the trace passes."""
    return tree_map(released_leaf, tree)


def released_leaf(leaf: Any) -> Any:
    """`released` of a tensor, and other leaves as they are."""
    if not isinstance(leaf, Tensor) or requires_outer_grad(leaf):
        return leaf
    return wrap(leaf._data) if leaf.is_traced else leaf.detach()


# -- steps of value_and_grad ----------------------------------------------------------------------


def scalar_result(label: str, outcome: Any, holomorphic: bool = False) -> Tensor:
    """The function's result as a floating tensor of rank 0. Raises GradientError for anything else."""
    if type(outcome) is not Tensor and isinstance(outcome, (int, float, complex, np.ndarray, np.generic)):
        outcome = wrap(as_array(outcome))
    if isinstance(outcome, Tensor) and outcome._data.shape == ():
        if holomorphic:
            check_complex(label, outcome, "results")
            return outcome
        if is_real_floating(outcome._data.dtype):
            return outcome
        check_real(label, outcome, "the result", "tj.vjp")
    if not isinstance(outcome, Tensor) or outcome.shape != () or not is_real_floating(outcome.dtype):
        got = outcome.type if isinstance(outcome, Tensor) else type(outcome).__name__
        raise GradientError(f"{label}: the function must return a floating scalar, got {got}; sum or mean it")
    return outcome


def _gradients(value: Tensor, aux: Any, inputs: list[Tensor]) -> tuple[list[Tensor], bool]:
    """The gradients of `value`, and whether they are recorded, as an outer derivative follows it."""
    again = requires_outer_grad(value)
    kept = again or (
        aux is not None
        and any(isinstance(leaf, Tensor) and requires_outer_grad(leaf) for leaf in flatten(aux)[0])
    )
    gradients: list[Tensor | None] = [None] * len(inputs)
    if value._requires_grad:
        gradients = run_backward(
            [value],
            [ones_like(value)],
            retain_graph=kept,
            create_graph=again,
            targets=inputs,
            boundary=inputs,
        )
    filled = [
        apply(OPS["full"], (), {"value": 0.0, "shape": x.shape, "dtype": x.dtype}) if g is None else g
        for x, g in zip(inputs, gradients, strict=True)
    ]
    return filled, again


def _detached(leaf: Any) -> Any:
    return leaf.detach() if isinstance(leaf, Tensor) else leaf
