"""Helpers of the functional derivatives: arguments as tuples, inputs that belong to one call, gradients where
some outputs have none, and rows of a Jacobian.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..array.creation import zeros_like
from ..array.joining import stack
from ..base.errors import DTypeError, GradientError, ShapeError
from ..ir.dtypes import is_differentiable
from ..tensors.tensor import Tensor, wrap
from ..transforms.grad import differentiating, name_of
from .passes import grad

Tensors = tuple[Tensor, ...]
Gradients = tuple[Tensor | None, ...]


def as_tuple(value: Any, what: str, name: str) -> tuple[bool, Tensors]:
    """Whether `value` is a tuple, and its tensors; `what` it is and the function's `name` are for errors."""
    many = isinstance(value, tuple)
    tensors = value if many else (value,)
    for position, tensor in enumerate(tensors):
        if not isinstance(tensor, Tensor):
            where = f", but the value at index {position} is" if many else ", got"
            raise DTypeError(
                f"{name}: the {what} must be a Tensor or a tuple of Tensors{where} {type(tensor).__name__}"
            )
    return many, tensors


def call(func: Callable[..., Any], inputs: Tensors, name: str, *, strict: bool) -> tuple[bool, Tensors]:
    """Whether `func` of `inputs` returns a tuple, and its outputs; with `strict` all must require grad."""
    with differentiating(f"{name} of {name_of(func)}"):
        outcome = func(*inputs)
    many, outputs = as_tuple(outcome, "result of the function", name)
    for position, output in enumerate(outputs):
        if strict and not output.requires_grad:
            raise GradientError(
                f"{name}: output {position} of the function does not require gradients; in strict mode every "
                "output must be computed from the inputs in a differentiable way"
            )
    return many, outputs


def scalar(func: Callable[..., Any], inputs: Tensors, name: str, *, strict: bool) -> Tensor:
    """The only output of `func`, of one element."""
    many, outputs = call(func, inputs, name, strict=strict)
    if many:
        raise GradientError(
            f"{name}: the function must return a single Tensor, got a tuple of {len(outputs)}"
        )
    if outputs[0].size != 1:
        raise GradientError(
            f"{name}: the Tensor that the function returns must have a single element, got shape "
            f"{outputs[0].shape}; sum it, or take jacobian"
        )
    return outputs[0]


def prepared(inputs: Tensors, name: str, *, create_graph: bool) -> Tensors:
    """Tensors of this call alone that require grad, with the values of `inputs`.

    With `create_graph` they stay connected to what computed `inputs`, and under a trace to the traced value;
    without it they are constants to every outer gradient.
    """
    tensors = []
    for position, input_ in enumerate(inputs):
        if not is_differentiable(input_.dtype):
            raise DTypeError(
                f"{name}: only floating inputs can be differentiated, got {input_.type} as input {position}"
            )
        own = input_.reshape(input_.shape) if create_graph else input_.detach()
        tensors.append(own if own.requires_grad else own.requires_grad_())
    return tuple(tensors)


def vectors(v: Any, like: Tensors, name: str, *, many: bool, create_graph: bool) -> Tensors:
    """`v` as a tuple of tensors with the shapes of `like`, which was a tuple if `many`."""
    _, tensors = as_tuple(v, "vector v", name)
    if len(tensors) != len(like):
        expected = f"a tuple of {len(like)} tensors" if many else "a single tensor"
        raise ShapeError(f"{name}: expected v to be {expected}, got {len(tensors)}")
    for position, (tensor, other) in enumerate(zip(tensors, like, strict=True)):
        if tensor.shape != other.shape:
            raise ShapeError(
                f"{name}: entry {position} of v must have shape {other.shape}, got {tensor.shape}"
            )
    return tuple(tensor if create_graph else tensor.detach() for tensor in tensors)


def require_one_element(like: Tensors, name: str, what: str) -> None:
    """v may be left out only where `like`, the tensors it goes with, is one tensor of one element."""
    if len(like) != 1 or like[0].size != 1:
        raise GradientError(
            f"{name}: v can be None only where {what} is a single Tensor of one element; pass v with "
            f"{'shape' if len(like) == 1 else 'shapes'} {', '.join(str(tensor.shape) for tensor in like)}"
        )


def released(results: Any, *, create_graph: bool) -> Any:
    """The tensors in nested tuples, outside the graph unless `create_graph`."""
    if isinstance(results, tuple):
        return tuple(released(result, create_graph=create_graph) for result in results)
    return results if create_graph else results.detach()


def unpacked(results: tuple[Any, ...], many: bool) -> Any:
    """A tuple for who gave a tuple, its only entry for who gave a tensor."""
    return results if many else results[0]


# -- gradients ------------------------------------------------------------------------------------


def gradients(
    outputs: Sequence[Tensor | None],
    inputs: Tensors,
    grad_outputs: Sequence[Tensor] | None = None,
    *,
    create_graph: bool,
    retain_graph: bool | None = None,
) -> Gradients:
    """``autograd.grad`` of those `outputs` that have a gradient; None for inputs that nothing reaches."""
    cotangents = [None] * len(outputs) if grad_outputs is None else list(grad_outputs)
    pairs = [
        (output, cotangent)
        for output, cotangent in zip(outputs, cotangents, strict=True)
        if output is not None and output.requires_grad
    ]
    targets = [input_ for input_ in inputs if input_.requires_grad]
    if not pairs or not targets:
        return (None,) * len(inputs)
    following = iter(
        grad(
            [tensor for tensor, _ in pairs],
            targets,
            [cotangent for _, cotangent in pairs],
            retain_graph=retain_graph,
            create_graph=create_graph,
            allow_unused=True,
        )
    )
    return tuple(next(following) if input_.requires_grad else None for input_ in inputs)


def batched_gradients(
    output: Tensor, inputs: Tensors, grad_outputs: Tensor, *, create_graph: bool
) -> Gradients:
    """The gradients for each cotangent along the first axis of `grad_outputs`, stacked; the graph is kept."""
    return grad(
        output,
        inputs,
        grad_outputs,
        retain_graph=True,
        create_graph=create_graph,
        allow_unused=True,
        is_grads_batched=True,
    )


def basis(tensor: Tensor) -> Tensor:
    """The unit tensors of the shape and dtype of `tensor`, along a new first axis."""
    return wrap(np.eye(tensor.size, dtype=tensor.dtype).reshape(tensor.size, *tensor.shape))


def rows(output: Tensor, inputs: Tensors, *, create_graph: bool, vectorize: bool) -> list[Gradients]:
    """Gradients of each element of `output` with respect to `inputs`, None where there is no path."""
    if not output.requires_grad:
        return [(None,) * len(inputs)] * output.size
    if not vectorize or output.size == 0:
        return [
            gradients((output,), inputs, (unit,), create_graph=create_graph, retain_graph=True)
            for unit in basis(output)
        ]
    together = batched_gradients(output, inputs, basis(output), create_graph=create_graph)
    return [
        tuple(None if tensor is None else tensor[element] for tensor in together)
        for element in range(output.size)
    ]


def stacked(parts: Sequence[Tensor], outer: Tensor, inner: Tensor, *, axis: int = 0) -> Tensor:
    """The block of a Jacobian, ``outer.shape + inner.shape``, from what belongs to each element of one side.

    `axis` 0: rows, one per element of `outer`. `axis` -1: columns, one per element of `inner`.
    """
    shape = (*outer.shape, *inner.shape)
    if not parts:
        return wrap(np.zeros(shape, outer.dtype))
    return stack(list(parts), axis=axis).reshape(shape)


def filled(
    partials: Gradients, like: Tensors, *, strict: bool, create_graph: bool, name: str, of: str
) -> Tensors:
    """Zeros of the shapes of `like` for missing gradients; with `strict` an error that says what is missing.

    `of` is what was differentiated, such as "output".
    """
    full = []
    for position, (tensor, other) in enumerate(zip(partials, like, strict=True)):
        if strict and tensor is None:
            raise independent(name, f"the {of} of the function", position)
        if strict and create_graph and tensor is not None and not tensor.requires_grad:
            raise independent(
                name, f"the derivative of the {of} of the function", position, "create_graph=True"
            )
        full.append(zeros_like(other) if tensor is None else tensor)
    return tuple(full)


def independent(name: str, what: str, position: int, when: str = "") -> GradientError:
    """The error of strict mode for `what` does not depend on input `position`."""
    return GradientError(
        f"{name}: {what} is independent of input {position}, which strict mode"
        + (f" with {when}" if when else "")
        + " does not allow; with strict=False the result is zeros"
    )
