"""Jacobians as a whole: ``jacrev``, ``jacfwd`` and ``hessian``. Semantics: JAX.

Each maps a product with the Jacobian (``vjp``, ``linearize``) over a basis with ``vmap``: one batched pass,
whatever the number of rows or columns.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec

from ..array.diagonals import eye
from ..array.manipulation import moveaxis
from ..array.operands import as_tensor, reshaped, sliced
from ..base.errors import DTypeError
from ..ir.dtypes import is_differentiable, is_real_floating
from ..pytree import flatten, leaf_paths
from ..tensors.tensor import Tensor
from .grad import (
    check_complex,
    check_real,
    checked_argnums,
    chosen_arguments,
    name_of,
    scalar_result,
    transform,
    value_and_gradient,
    with_arguments,
)
from .vjp_jvp import linearize, vjp
from .vmap import over_units

P = ParamSpec("P")


@transform
def jacrev(
    fun: Callable[P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[P, Any]:
    """A function that returns the Jacobian of `fun`, row by row in reverse mode: for few results.

    The Jacobian is a tree as the result is; in each of its leaves stands a tree as the argument is (a tuple
    of such where `argnums` is a sequence), with leaves of shape ``result.shape + argument.shape``. With
    `has_aux`, `fun` returns ``(result, aux)``, and the function ``(jacobian, aux)``.

    Example:
        >>> import tracejit as tj
        >>> tj.jacrev(lambda x: x * x.sum())(tj.tensor([1.0, 2.0]))
        tensor([[4., 1.],
                [2., 5.]])

    With `holomorphic`, arguments and results are complex, and so are the derivatives.

    Raises DTypeError for arguments and results that are not floating, for complex results, and for real ones
    with `holomorphic`. Semantics: ``jax.jacrev``.
    """
    positions = checked_argnums("jacrev", argnums)
    label = f"jacrev of {name_of(fun)}"

    def wrapped(*args: P.args, **kwargs: P.kwargs) -> Any:
        chosen = chosen_arguments(label, args, positions, argnums)
        if holomorphic:
            check_complex(label, chosen)
        value, pullback, *aux = vjp(_of(fun, args, positions, kwargs), *chosen, has_aux=has_aux)
        outputs, structure = flatten(value)
        _check_floating(label, value, outputs)
        if holomorphic:
            check_complex(label, value, "results")
        else:
            check_real(label, value, "results", "tj.vjp")
        leaves, inner = over_units(label, pullback, structure.unflatten(_basis(outputs)))
        rows = inner.unflatten(leaves)
        inputs, inner = flatten(rows if not isinstance(argnums, int) else rows[0])
        blocks, start = [], 0
        for output in outputs:
            parts = [sliced(input_, 0, start, output.size) for input_ in inputs]
            blocks.append(
                inner.unflatten([reshaped(part, (*output.shape, *part.shape[1:])) for part in parts])
            )
            start += output.size
        jacobian = structure.unflatten(blocks)
        return (jacobian, aux[0]) if has_aux else jacobian

    return wrapped


@transform
def jacfwd(
    fun: Callable[P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[P, Any]:
    """A function that returns the Jacobian of `fun`, column by column in forward mode: for few arguments.

    Arguments and result are as of `jacrev`.

    Example:
        >>> import tracejit as tj
        >>> tj.jacfwd(lambda x: tj.stack([tj.sin(x), tj.cos(x)]))(0.0)
        tensor([1., 0.])

    Raises as `jacrev`, and for complex arguments; `fun` must be made of operations that can be
    differentiated twice. Semantics: ``jax.jacfwd``.
    """
    positions = checked_argnums("jacfwd", argnums)
    label = f"jacfwd of {name_of(fun)}"

    def wrapped(*args: P.args, **kwargs: P.kwargs) -> Any:
        chosen = chosen_arguments(label, args, positions, argnums)
        if holomorphic:
            check_complex(label, chosen)
        else:
            check_real(label, chosen, "inputs", "tj.jvp")
        value, pushforward, *aux = linearize(_of(fun, args, positions, kwargs), *chosen, has_aux=has_aux)
        outputs, structure = flatten(value)
        _check_floating(label, value, outputs)
        if holomorphic:
            check_complex(label, value, "results")
        leaves, outer = flatten(tuple(chosen))
        inputs = [as_tensor(leaf) for leaf in leaves]
        columns, _ = over_units(label, pushforward, *outer.unflatten(_basis(inputs)))
        columns = [moveaxis(column, 0, -1) for column in columns]
        inner = flatten(chosen[0])[1] if isinstance(argnums, int) else outer
        blocks = []
        for output, column in zip(outputs, columns, strict=True):
            parts, start = [], 0
            for input_ in inputs:
                part = sliced(column, output.ndim, start, input_.size)
                parts.append(reshaped(part, (*output.shape, *input_.shape)))
                start += input_.size
            blocks.append(inner.unflatten(parts))
        jacobian = structure.unflatten(blocks)
        return (jacobian, aux[0]) if has_aux else jacobian

    return wrapped


def hessian(
    fun: Callable[P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[P, Any]:
    """A function that returns the second derivatives of `fun`: ``jacfwd(jacrev(fun))``.

    For a scalar of one tensor, a tensor of shape ``x.shape + x.shape``; for trees, as `jacrev` nests them,
    twice.

    Example:
        >>> import tracejit as tj
        >>> tj.hessian(lambda x: x[0] ** 2 * x[1])(tj.tensor([1.0, 2.0]))
        tensor([[4., 2.],
                [2., 0.]])

    Raises as `jacfwd`. Semantics: ``jax.hessian``.
    """
    return jacfwd(jacrev(fun, argnums, has_aux, holomorphic), argnums, has_aux, holomorphic)


def _of(
    fun: Callable[..., Any], args: tuple[Any, ...], positions: tuple[int, ...], kwargs: dict[str, Any]
) -> Callable[..., Any]:
    """`fun` as a function of the arguments at `positions` alone."""

    @functools.wraps(fun)
    def chosen(*values: Any) -> Any:
        return fun(*with_arguments(args, positions, values), **kwargs)

    return chosen


def _check_floating(label: str, value: Any, outputs: Sequence[Tensor]) -> None:
    for path, output in zip(leaf_paths(value), outputs, strict=True):
        if not is_differentiable(output.dtype):
            raise DTypeError(
                f"{label}: results must be floating, got {output.type} at {path or 'the root'}; return it "
                "with has_aux=True, or convert it with astype"
            )


def _basis(tensors: Sequence[Tensor]) -> list[Tensor]:
    """One unit vector for each element of all `tensors`, in front: for a tensor, its part of each."""
    total = sum(tensor.size for tensor in tensors)
    basis, start = [], 0
    for tensor in tensors:
        units = eye(total, tensor.size, k=-start, dtype=tensor.dtype)
        basis.append(reshaped(units, (total, *tensor.shape)))
        start += tensor.size
    return basis


def jacobian(fun: Callable[P, Any], argnums: int | Sequence[int] = 0) -> Callable[P, Any]:
    """`jacrev` under the name that HIPS autograd has for it, whose `argnum` is taken, too.

    Example:
        >>> import tracejit as tj
        >>> tj.jacobian(lambda x: x * x)(tj.tensor([1.0, 2.0]))
        tensor([[2., 0.],
                [0., 4.]])

    Semantics: ``autograd.jacobian`` of HIPS autograd.
    """
    return jacrev(fun, argnums)


@transform
def elementwise_grad(fun: Callable[P, Any], argnum: int = 0) -> Callable[P, Any]:
    """A function that returns the gradient of the sum of the elements that `fun` returns.

    That is the derivative of each element by its argument, for a function that works element by element.

    Example:
        >>> import tracejit as tj
        >>> tj.elementwise_grad(tj.square)(tj.tensor([1.0, 2.0]))
        tensor([2., 4.])

    Raises DTypeError for arguments that are not floating. Semantics: ``autograd.elementwise_grad`` of HIPS
    autograd.
    """

    both = value_and_gradient(fun, argnum, False, False, _elements, with_value=False)

    def gradient(*args: P.args, **kwargs: P.kwargs) -> Any:
        return both(*args, **kwargs)[1]

    return gradient


def _elements(label: str, outcome: Any, holomorphic: bool) -> Tensor:
    """The function's result as a floating tensor; other results raise the errors of `grad`."""
    value = as_tensor(outcome)
    return value if is_real_floating(value.dtype) else scalar_result(label, value.sum(), holomorphic)
