"""Derivatives of functions as a whole: Jacobians, Hessians and their products with vectors.

Each calls ``func(*inputs)`` on the tape and differentiates what it returns, eagerly or inside a jitted
function, where the derivative becomes part of the trace. `inputs` and the function's result are a Tensor or a
tuple of Tensors. Without `create_graph` the results are constants to every other gradient. With `strict` an
output or derivative that does not depend on an input is an error, without it zeros.

Semantics: ``torch.autograd.functional``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..arguments.errors import check_public
from ..array.creation import zeros_like
from ..base.errors import DomainError, GradientError
from ..ir.dtypes import is_differentiable
from ..tape.modes import enable_grad
from ..tensors.tensor import Tensor
from .functional_parts import (
    Gradients,
    Tensors,
    as_tuple,
    basis,
    call,
    filled,
    gradients,
    independent,
    prepared,
    released,
    require_one_element,
    rows,
    scalar,
    stacked,
    unpacked,
    vectors,
)

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

Func = Callable[..., Any]


def vjp(
    func: Func, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The outputs of `func`, and the product of `v` with its Jacobian: ``v @ J``.

    `v` has the structure and shapes of the outputs and may be None where that is one tensor of one element.
    The product has the structure and shapes of `inputs`.

    Example:
        >>> import tracejit as tj
        >>> x = tj.tensor([1.0, 2.0])
        >>> tj.autograd.functional.vjp(lambda x: x * x, x, tj.tensor([1.0, 10.0]))
        (tensor([1., 4.]), tensor([ 2., 40.]))

    Raises ShapeError for a `v` of other shapes, DTypeError for what is not a Tensor, GradientError as
    `strict` says. Semantics: ``torch.autograd.functional.vjp``.
    """
    with enable_grad():
        many_in, tensors = as_tuple(inputs, "inputs", "vjp")
        own = prepared(tensors, "vjp", create_graph=create_graph)
        many_out, outputs = call(func, own, "vjp", strict=strict)
        seeds = None
        if v is None:
            require_one_element(outputs, "vjp", "the result of the function")
        else:
            seeds = vectors(v, outputs, "vjp", many=many_out, create_graph=create_graph)
        cotangents = gradients(outputs, own, seeds, create_graph=create_graph)
        product = filled(cotangents, own, strict=strict, create_graph=create_graph, name="vjp", of="output")
        return _results(outputs, many_out, product, many_in, create_graph)


def jvp(
    func: Func, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The outputs of `func`, and the product of its Jacobian with `v`: ``J @ v``.

    `v` has the structure and shapes of `inputs` and may be None where that is one tensor of one element. The
    product has the structure and shapes of the outputs. It is the derivative of ``u @ J`` with respect to
    `u`, so `func` must be made of operations that can be differentiated twice.

    Example:
        >>> import tracejit as tj
        >>> x = tj.tensor([1.0, 2.0])
        >>> tj.autograd.functional.jvp(lambda x: x.prod(), x, tj.tensor([1.0, 0.0]))
        (tensor(2.), tensor(2.))

    Raises as `vjp`. Semantics: ``torch.autograd.functional.jvp``.
    """
    with enable_grad():
        _, own, vector = _inputs_and_vector(inputs, v, "jvp", create_graph)
        many_out, outputs = call(func, own, "jvp", strict=strict)
        seeds, back = _backward_in_seeds(outputs, own)
        for position, tensor in enumerate(back):
            if strict and (tensor is None or not tensor.requires_grad):
                raise independent("jvp", "the output of the function", position)
        tangents = gradients(back, seeds, vector, create_graph=create_graph)
        for position, tensor in enumerate(tangents):
            if strict and tensor is None:
                raise GradientError(
                    f"jvp: output {position} of the function is independent of the inputs, which strict mode "
                    "does not allow; with strict=False the result is zeros"
                )
        product = filled(tangents, outputs, strict=strict, create_graph=create_graph, name="jvp", of="output")
        return _results(outputs, many_out, product, many_out, create_graph)


def vhp(
    func: Func, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Tensor, Any]:
    """The scalar output of `func`, and the product of `v` with its Hessian: ``v @ H``.

    `v` and the product have the structure and shapes of `inputs`. It costs one backward pass over the
    gradient; `hvp` costs two.

    Example:
        >>> import tracejit as tj
        >>> x = tj.tensor([1.0, 2.0])
        >>> tj.autograd.functional.vhp(lambda x: (x**3).sum(), x, tj.tensor([1.0, 1.0]))
        (tensor(9.), tensor([ 6., 12.]))

    Raises GradientError unless `func` returns one tensor of one element; otherwise as `vjp`. Semantics:
    ``torch.autograd.functional.vhp``.
    """
    with enable_grad():
        many, own, vector = _inputs_and_vector(inputs, v, "vhp", create_graph)
        output, slope = _gradient(func, own, "vhp", strict=strict)
        products = gradients(slope, own, vector, create_graph=create_graph)
        product = filled(products, own, strict=strict, create_graph=create_graph, name="vhp", of="jacobian")
        return _results((output,), False, product, many, create_graph)


def hvp(
    func: Func, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Tensor, Any]:
    """The scalar output of `func`, and the product of its Hessian with `v`: ``H @ v``.

    As `vhp`, which gives the same numbers at less cost where the Hessian is symmetric.

    Example:
        >>> import tracejit as tj
        >>> x = tj.tensor([1.0, 2.0])
        >>> tj.autograd.functional.hvp(lambda x: (x**3).sum(), x, tj.tensor([1.0, 1.0]))
        (tensor(9.), tensor([ 6., 12.]))

    Raises as `vhp`. Semantics: ``torch.autograd.functional.hvp``.
    """
    with enable_grad():
        many, own, vector = _inputs_and_vector(inputs, v, "hvp", create_graph)
        output, slope = _gradient(func, own, "hvp", strict=strict)
        full = tuple(
            zeros_like(x) if gradient is None else gradient for x, gradient in zip(own, slope, strict=True)
        )
        seeds, back = _backward_in_seeds(full, own)
        for position, tensor in enumerate(back):
            if strict and (tensor is None or not tensor.requires_grad):
                raise independent("hvp", "the jacobian of the function", position)
        products = gradients(back, seeds, vector, create_graph=create_graph)
        product = filled(products, own, strict=strict, create_graph=create_graph, name="hvp", of="jacobian")
        return _results((output,), False, product, many, create_graph)


def jacobian(
    func: Func,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The derivatives of every element of the outputs of `func` with respect to every element of `inputs`.

    For a Tensor in and out a Tensor of shape ``output.shape + input.shape``. A tuple of inputs gives a tuple
    of these, a tuple of outputs a tuple of what each output gives. `strategy` "reverse-mode" takes a backward
    pass per element of the outputs, all at once with `vectorize`; "forward-mode" one per element of the
    inputs, through `func`'s derivative taken twice.

    Example:
        >>> import tracejit as tj
        >>> tj.autograd.functional.jacobian(lambda x: x * x.sum(), tj.tensor([1.0, 2.0]))
        tensor([[4., 1.],
                [2., 5.]])

    Raises DomainError for another `strategy`, GradientError for `strict` with "forward-mode" or `vectorize`
    and as `strict` says, DTypeError for what is not a floating Tensor. Semantics:
    ``torch.autograd.functional.jacobian``, where "forward-mode" needs `vectorize` and refuses `create_graph`.
    """
    _check_strategy("jacobian", "strategy", strategy, strict=strict, vectorize=vectorize)
    with enable_grad():
        many_in, tensors = as_tuple(inputs, "inputs", "jacobian")
        own = prepared(tensors, "jacobian", create_graph=create_graph)
        many_out, outputs = call(func, own, "jacobian", strict=strict)
        if strategy == "forward-mode":
            blocks = _by_columns(outputs, own, create_graph=create_graph)
        else:
            blocks = tuple(
                _by_rows(position, output, own, create_graph=create_graph, strict=strict, vectorize=vectorize)
                for position, output in enumerate(outputs)
            )
        nested = tuple(unpacked(row, many_in) for row in blocks)
        return released(unpacked(nested, many_out), create_graph=create_graph)


def hessian(
    func: Func,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The second derivatives of the scalar that `func` returns.

    For a Tensor in, a Tensor of shape ``input.shape + input.shape``; for a tuple, a tuple of tuples whose
    entry ``[i][j]`` has shape ``inputs[i].shape + inputs[j].shape``. It is the `jacobian` of the gradient;
    the last two arguments are that function's `vectorize` and `strategy`.

    Example:
        >>> import tracejit as tj
        >>> tj.autograd.functional.hessian(lambda x: x[0] ** 2 * x[1], tj.tensor([1.0, 2.0]))
        tensor([[4., 2.],
                [2., 0.]])

    Raises GradientError unless `func` returns one tensor of one element; otherwise as `jacobian`. Semantics:
    ``torch.autograd.functional.hessian``.
    """
    _check_strategy(
        "hessian", "outer_jacobian_strategy", outer_jacobian_strategy, strict=strict, vectorize=vectorize
    )
    many, _ = as_tuple(inputs, "inputs", "hessian")

    def slope(*own: Tensor) -> Any:
        _, partials = _gradient(func, own, "hessian", strict=strict)
        full = tuple(
            zeros_like(x) if tensor is None else tensor for x, tensor in zip(own, partials, strict=True)
        )
        return unpacked(full, many)

    return jacobian(slope, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)


# -- steps ----------------------------------------------------------------------------------------


def _results(
    outputs: Tensors, many_out: bool, product: Tensors, many: bool, create_graph: bool
) -> tuple[Any, Any]:
    first = unpacked(released(outputs, create_graph=create_graph), many_out)
    return first, unpacked(released(product, create_graph=create_graph), many)


def _inputs_and_vector(
    inputs: Any, v: Any, name: str, create_graph: bool
) -> tuple[bool, Tensors, Tensors | None]:
    """Whether the inputs are a tuple, tensors of their own for them, and `v` to go with them."""
    many, tensors = as_tuple(inputs, "inputs", name)
    own = prepared(tensors, name, create_graph=create_graph)
    if v is None:
        require_one_element(own, name, "the input")
        return many, own, None
    return many, own, vectors(v, own, name, many=many, create_graph=create_graph)


def _gradient(func: Func, inputs: Tensors, name: str, *, strict: bool) -> tuple[Tensor, Gradients]:
    """The scalar output, and its gradient as part of the graph."""
    output = scalar(func, inputs, name, strict=strict)
    partials = gradients((output,), inputs, create_graph=True)
    for position, tensor in enumerate(partials):
        if strict and tensor is None:
            raise independent(name, "the output of the function", position)
        if strict and tensor is not None and not tensor.requires_grad:
            raise independent(name, "the jacobian of the function", position)
    return output, partials


def _backward_in_seeds(outputs: Tensors, inputs: Tensors) -> tuple[Tensors, Gradients]:
    """Cotangents u of `outputs`, and ``u @ J`` as a function of u.

    It is linear in u, so that its derivative, ``J``, does not depend on the value of u: zeros serve.
    """
    seeds = tuple(zeros_like(output, requires_grad=is_differentiable(output.dtype)) for output in outputs)
    return seeds, gradients(outputs, inputs, seeds, create_graph=True)


def _check_strategy(name: str, argument: str, strategy: str, *, strict: bool, vectorize: bool) -> None:
    if strategy not in ("forward-mode", "reverse-mode"):
        raise DomainError(
            f'{name}: expected {argument} to be "forward-mode" or "reverse-mode", got {strategy!r}'
        )
    if strict and strategy == "forward-mode":
        raise GradientError(
            f'{name}: strict=True and {argument}="forward-mode" are not supported together; use '
            '"reverse-mode", which sees what each output depends on'
        )
    if strict and vectorize:
        raise GradientError(
            f"{name}: strict=True and vectorize=True are not supported together; leave one of them out"
        )


def _by_rows(
    position: int, output: Tensor, inputs: Tensors, *, create_graph: bool, strict: bool, vectorize: bool
) -> Tensors:
    """The blocks of one output, one backward pass per element."""
    by_row = rows(output, inputs, create_graph=create_graph, vectorize=vectorize)
    if strict:
        for row in by_row:
            _check_row(position, row, create_graph)
    return tuple(
        stacked([zeros_like(x) if row[i] is None else row[i] for row in by_row], output, x)  # type: ignore[misc]
        for i, x in enumerate(inputs)
    )


def _check_row(position: int, row: Gradients, create_graph: bool) -> None:
    for i, tensor in enumerate(row):
        if tensor is None:
            raise independent("jacobian", f"output {position} of the function", i)
        if create_graph and not tensor.requires_grad:
            raise independent(
                "jacobian", f"the jacobian of output {position} of the function", i, "create_graph=True"
            )


def _by_columns(outputs: Tensors, inputs: Tensors, *, create_graph: bool) -> tuple[Tensors, ...]:
    """The blocks of all outputs, one derivative along each element of the inputs."""
    seeds, back = _backward_in_seeds(outputs, inputs)
    blocks: list[Tensors] = []
    for x, tensor in zip(inputs, back, strict=True):
        columns = [
            gradients((tensor,), seeds, (unit,), create_graph=create_graph, retain_graph=True)
            for unit in basis(x)
        ]
        blocks.append(
            tuple(
                stacked(
                    [zeros_like(y) if column[i] is None else column[i] for column in columns],  # type: ignore[misc]
                    y,
                    x,
                    axis=-1,
                )
                for i, y in enumerate(outputs)
            )
        )
    return tuple(zip(*blocks, strict=True))


check_public(globals(), __all__, "autograd.functional.")
