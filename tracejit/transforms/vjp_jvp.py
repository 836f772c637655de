"""Products with Jacobians: ``vjp``, ``jvp``, ``linearize`` and ``hvp``. Semantics: JAX.

All run the function on the tape. Forward mode has no rules of its own: ``u @ J`` is linear in `u`, and its
derivative with respect to `u`, along a tangent `t`, is ``J @ t``. So `jvp` is the vjp of the vjp. Under a
trace the passes drop what only the detour needed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar, overload

import numpy as np

from ..array.operands import as_tensor, cast, filled
from ..backward.backward import Reach, run_backward
from ..base.errors import DTypeError, GradientError, ShapeError, TracejitError
from ..ir.dtypes import default_dtype, is_differentiable
from ..provided import HANDED_ON
from ..pytree import TreeDef, flatten, leaf_paths, tree_map
from ..state import STATE
from ..tape.liveness import requires_outer_grad, retire, transform_input
from ..tensors.tensor import Tensor
from .grad import OwnInputs, grad, name_of, own_inputs, recording, released, released_leaf, split_aux

R = TypeVar("R")

_NUMBERS = (Tensor, np.ndarray, np.generic, bool, int, float, complex)


@overload
def vjp(
    fun: Callable[..., R], *primals: Any, has_aux: Literal[False] = ...
) -> tuple[R, Callable[..., tuple[Any, ...]]]: ...
@overload
def vjp(fun: Callable[..., Any], *primals: Any, has_aux: bool) -> Any: ...
def vjp(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """``fun(*primals)``, and the function that multiplies cotangents with its Jacobian: ``u -> u @ J``.

    The function takes one cotangent, in the structure and shapes of the result, and returns a tuple with a
    gradient for each of `primals`, in their structures. It may be called again, differentiated, and mapped.
    The cotangents of results that are not floating do not count. With `has_aux`, `fun` returns
    ``(result, aux)``, and so there are three results, the last of them aux.

    Example:
        >>> import tracejit as tj
        >>> value, pullback = tj.vjp(lambda x, y: x * tj.sin(y), 3.0, 0.0)
        >>> value, pullback(1.0)
        (tensor(0.), (tensor(0.), tensor(3.)))

    Raises DTypeError for primals that are not floating, ShapeError for a cotangent that does not fit.
    Semantics: ``jax.vjp``.
    """
    label = f"vjp of {name_of(fun)}"
    run = _Recorded(label, fun, _kept(primals), has_aux)

    def pullback(*several: Any) -> Any:
        if len(several) != 1:
            raise ShapeError(
                f"{label}: expected one cotangent, of the structure {run.structure}, got {len(several)}; put "
                "those of several results into a tuple"
            )
        (cotangents,) = several
        seeds = fitted(label, "cotangent", cotangents, run.structure, run.outputs)
        again = run.tracked or any(map(requires_outer_grad, seeds))
        with recording():
            products = run.pulled(seeds, again=again)
        return run.primals.unflatten(map(released_leaf, products) if again else products)

    value = run.result()
    return (value, pullback, run.aux) if has_aux else (value, pullback)


@overload
def linearize(
    fun: Callable[..., R], *primals: Any, has_aux: Literal[False] = ...
) -> tuple[R, Callable[..., R]]: ...
@overload
def linearize(fun: Callable[..., Any], *primals: Any, has_aux: bool) -> Any: ...
def linearize(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """``fun(*primals)``, and the function that multiplies its Jacobian with tangents: ``t -> J @ t``.

    The function takes a tangent for each of `primals`, in their structures and shapes, and returns one in the
    structure of the result. `fun` runs once, however often that function is called. With `has_aux`, `fun`
    returns ``(result, aux)``, and there are three results, the last of them aux.

    Example:
        >>> import tracejit as tj
        >>> value, pushforward = tj.linearize(tj.sin, tj.tensor([0.0, tj.pi]))
        >>> pushforward(tj.tensor([1.0, 1.0])), pushforward(tj.tensor([0.0, 2.0]))
        (tensor([ 1., -1.]), tensor([ 0., -2.]))

    Raises DTypeError for primals that are not floating, ShapeError for tangents that do not fit. Semantics:
    ``jax.linearize``.
    """
    run = _Linear(f"linearize of {name_of(fun)}", fun, _kept(primals), has_aux)
    value = run.result()
    return (value, run.pushed, run.aux) if has_aux else (value, run.pushed)


@overload
def jvp(fun: Callable[..., R], primals: Any, tangents: Any, has_aux: Literal[False] = ...) -> tuple[R, R]: ...
@overload
def jvp(fun: Callable[..., Any], primals: Any, tangents: Any, has_aux: bool) -> Any: ...
def jvp(fun: Callable[..., Any], primals: Any, tangents: Any, has_aux: bool = False) -> Any:
    """``fun(*primals)``, and the product of its Jacobian with `tangents`: ``J @ t``.

    `primals` and `tangents` are tuples or lists of the same structure and shapes. The tangent of the result
    has its structure and shapes, and is zero where it is not floating. With `has_aux`, `fun` returns
    ``(result, aux)``, and there are three results, the last of them aux.

    Example:
        >>> import tracejit as tj
        >>> tj.jvp(lambda x, y: x * y, (3.0, 4.0), (1.0, 0.0))
        (tensor(12.), tensor(4.))

    Raises DTypeError for primals that are not floating, ShapeError for tangents that do not fit. `fun` must
    be made of operations that can be differentiated twice. Semantics: ``jax.jvp``.
    """
    label = f"jvp of {name_of(fun)}"
    _check_sequences(label, primals, tangents)
    run = _Linear(label, fun, tuple(primals), has_aux)
    tangent = run.pushed(*tangents)
    value = run.result()
    return (value, tangent, run.aux) if has_aux else (value, tangent)


def hvp(fun: Callable[..., Any], primals: Any, tangents: Any) -> Any:
    """The product of the Hessian of `fun` at `primals` with `tangents`: ``H @ t``, without the Hessian.

    `primals` and `tangents` are tuples or lists of the same structure and shapes; `fun` returns a floating
    scalar. The product has the structure of the one primal or, where there are several, is a tuple with an
    entry for each. As a Hessian is symmetric, it is the gradient of ``t @ gradient``: two backward passes.

    Example:
        >>> import tracejit as tj
        >>> x, v = tj.tensor([1.0, 2.0]), tj.tensor([1.0, 0.0])
        >>> tj.hvp(lambda x: x[0] ** 2 * x[1], (x,), (v,))
        tensor([4., 2.])

    Raises GradientError unless `fun` returns a floating scalar, otherwise as `jvp`. Semantics: what
    ``jax.jvp(jax.grad(fun), primals, tangents)[1]`` gives for one primal.
    """
    label = f"hvp of {name_of(fun)}"
    _check_sequences(label, primals, tangents)
    leaves, structure = flatten(tuple(primals))
    like = own_inputs(label, leaves, tuple(primals))
    directions = fitted(label, "tangent", tuple(tangents), structure, like)
    slope = grad(fun, tuple(range(len(primals))))
    product = vjp(slope, *structure.unflatten(leaves))[1](structure.unflatten(directions))
    return product[0] if len(primals) == 1 else product


# -- what is recorded -----------------------------------------------------------------------------


def _kept(primals: tuple[Any, ...]) -> tuple[Any, ...]:
    """`primals`, for what is called later: until then the caller may write his arrays."""
    if STATE.tracer is not None:
        return primals
    kept: tuple[Any, ...] = tree_map(lambda x: x.copy() if isinstance(x, np.ndarray) else x, primals)
    return kept


class _Recorded:
    """A function, run on the tape on tensors of its own."""

    def __init__(self, label: str, fun: Callable[..., Any], primals: tuple[Any, ...], has_aux: bool) -> None:
        self.label = label
        leaves, self.primals = flatten(primals)
        with recording():
            own = OwnInputs(label, leaves, primals)
            with own as inputs:
                outcome = HANDED_ON()(fun)(*self.primals.unflatten(inputs))
            self.inputs = own.places
            value, aux = split_aux(label, outcome, has_aux=has_aux)
        results, self.structure = flatten(value)
        self.outputs = [_output(label, value, position, leaf) for position, leaf in enumerate(results)]
        #: Whether an outer gradient follows the results.
        self.tracked = any(map(requires_outer_grad, self.outputs))
        self.aux = released(aux) if has_aux else None
        #: The graph from the outputs back to the inputs.
        self.reach = Reach()

    def result(self) -> Any:
        """The function's result."""
        return self.structure.unflatten(map(released_leaf, self.outputs))

    def pulled(self, cotangents: Sequence[Tensor], *, again: bool) -> list[Tensor]:
        """The cotangents of the inputs, for those of the outputs; recorded where `again`."""
        gradients = _gradients(
            self.outputs, cotangents, self.inputs, again=again, boundary=self.inputs, reach=self.reach
        )
        return [_zeros(input_) if g is None else g for input_, g in zip(self.inputs, gradients, strict=True)]


class _Linear(_Recorded):
    """A recorded function together with ``u @ J`` as a recorded function of u, whose derivative is ``J``."""

    def __init__(self, label: str, fun: Callable[..., Any], primals: tuple[Any, ...], has_aux: bool) -> None:
        super().__init__(label, fun, primals, has_aux)
        with recording():
            floating = [i for i, output in enumerate(self.outputs) if is_differentiable(output.dtype)]
            #: Linear in them, so that their value does not matter.
            self.seeds = {i: _seed(self.outputs[i]) for i in floating}
            self.slope = _gradients(
                [self.outputs[i] for i in floating],
                list(self.seeds.values()),
                self.inputs,
                again=True,
                boundary=self.inputs,
            )
        retire(self.seeds.values())

    def pushed(self, *tangents: Any) -> Any:
        """The tangent of the result, for tangents of the primals."""
        if len(tangents) != self.primals_count:
            raise ShapeError(
                f"{self.label}: expected {self.primals_count} tangents, one per primal, got {len(tangents)}"
            )
        directions = fitted(self.label, "tangent", tangents, self.primals, self.inputs)
        again = self.tracked or any(map(requires_outer_grad, directions))
        roots = [
            (g, t) for g, t in zip(self.slope, directions, strict=True) if g is not None and g._requires_grad
        ]
        with recording():
            products = _gradients(
                [g for g, _ in roots],
                [t for _, t in roots],
                list(self.seeds.values()),
                again=again,
                boundary=self.inputs,
            )
            by_output = dict(zip(self.seeds, products, strict=True))
            results = [
                _tangent_zeros(output) if by_output.get(i) is None else by_output[i]
                for i, output in enumerate(self.outputs)
            ]
        return self.structure.unflatten(map(released_leaf, results))

    @property
    def primals_count(self) -> int:
        return len(self.primals.shape[2])


def _gradients(
    roots: Sequence[Tensor],
    cotangents: Sequence[Tensor],
    targets: Sequence[Tensor],
    *,
    again: bool,
    boundary: Sequence[Tensor],
    reach: Reach | None = None,
) -> list[Tensor | None]:
    """The gradients of `roots` by `targets`, which are not behind `boundary`, the graph kept; None where
    there is no path."""
    if not all(root._requires_grad for root in roots):
        pairs = [(root, ct) for root, ct in zip(roots, cotangents, strict=True) if root._requires_grad]
        roots, cotangents = [root for root, _ in pairs], [ct for _, ct in pairs]
    if not roots:
        return [None] * len(targets)
    return run_backward(
        roots,
        cotangents,
        retain_graph=True,
        create_graph=again,
        targets=targets,
        boundary=boundary,
        reach=reach,
    )


def _output(label: str, value: Any, position: int, leaf: Any) -> Tensor:
    """The leaf of `value` at `position` as a tensor."""
    if not isinstance(leaf, _NUMBERS):
        which = f"{label}: result {leaf_paths(value)[position] or 'value'}"
        if hasattr(leaf, "apply_selected"):  # what a mask selects: an error of its own
            leaf.__array__(asked=which)
        raise GradientError(
            f"{which} has type {type(leaf).__name__}; "
            "expected tensors, arrays and numbers. Return other things with has_aux=True"
        )
    return as_tensor(leaf)


def _zeros(like: Tensor) -> Tensor:
    return filled(0, like.shape, like.dtype)


def _seed(like: Tensor) -> Tensor:
    zeros = _zeros(like)
    return transform_input(zeros._data, zeros)


def _tangent_zeros(like: Tensor) -> Tensor:
    """The tangent of what does not depend on the primals."""
    return filled(0, like.shape, like.dtype if is_differentiable(like.dtype) else default_dtype())


# -- tangents and cotangents ----------------------------------------------------------------------


def _check_sequences(label: str, primals: Any, tangents: Any) -> None:
    for what, sequence in (("primals", primals), ("tangents", tangents)):
        if type(sequence) not in (tuple, list):
            raise TracejitError(
                f"{label}: {what} must be a tuple or list with an entry for each argument, got "
                f"{type(sequence).__name__}"
            )


def fitted(label: str, what: str, tree: Any, structure: TreeDef, like: Sequence[Tensor]) -> list[Tensor]:
    """The leaves of `tree` as tensors of the types of `like`: numbers and other dtypes are converted.

    Raises ShapeError where structure or shapes differ, DTypeError for what is not a number.
    """
    if type(tree) is Tensor and structure.is_leaf:
        data, expected_data = tree._data, like[0]._data
        if data.shape == expected_data.shape and data.dtype is expected_data.dtype:
            return [tree]
    leaves, theirs = flatten(tree)
    if theirs != structure:
        raise ShapeError(f"{label}: the {what} must have the structure {structure}, got {theirs}")
    tensors = []
    for position, (leaf, expected) in enumerate(zip(leaves, like, strict=True)):
        if not isinstance(leaf, _NUMBERS):
            path = leaf_paths(tree)[position] or "the root"
            raise DTypeError(f"{label}: the {what} at {path} has type {type(leaf).__name__}")
        tensor = as_tensor(leaf)
        if tensor._data.shape != expected._data.shape:
            path = leaf_paths(tree)[position] or "the root"
            raise ShapeError(
                f"{label}: the {what} at {path} has shape {tensor.shape}, expected {expected.shape}"
            )
        dtype = expected._data.dtype
        tensors.append(tensor if tensor._data.dtype is dtype else cast(tensor, dtype))
    return tensors
