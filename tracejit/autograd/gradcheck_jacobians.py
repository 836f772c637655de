"""Jacobians for ``tj.autograd.gradcheck``: by differences, by backward passes, by forward derivatives.

A Jacobian here is an ndarray with a row per element of the input and a column per element of the output, as
PyTorch prints it; a complex element counts as two, its real and its imaginary part. The functions are called
as the user wrote them, with the user's own tensors, whose elements are moved in memory and put back: so a
function may read them through a closure as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..array.creation import zeros_like
from ..base.errors import GradientError, TracejitError
from ..ir.dtypes import is_complex, real_dtype
from ..tensors.tensor import Tensor, wrap
from .functional_parts import Gradients, basis, batched_gradients, gradients

Array = np.ndarray[Any, Any]
Func = Callable[..., Any]


class GradcheckError(TracejitError, RuntimeError):
    """Derivatives are wrong; raised by ``gradcheck`` and ``gradgradcheck``.

    Example:
        >>> import tracejit as tj
        >>> wrong = tj.custom_grad(lambda x, save: (x * x, lambda ct, saved: ct))
        >>> try:
        ...     tj.autograd.gradcheck(wrong, tj.tensor(0.3, requires_grad=True))
        ... except tj.autograd.GradcheckError as error:
        ...     print(str(error).splitlines()[0])
        autograd.gradcheck: Jacobian mismatch for output 0 with respect to input 0,
    """


def outputs_of(func: Func, inputs: Sequence[Any]) -> tuple[Tensor, ...]:
    """The outputs of `func` as a tuple of tensors."""
    result = func(*inputs)
    outputs = tuple(result) if isinstance(result, (tuple, list)) else (result,)
    for position, output in enumerate(outputs):
        if not isinstance(output, Tensor):
            raise GradientError(
                "gradcheck: the function must return a Tensor or a tuple of Tensors, but output "
                f"{position} is {type(output).__name__}"
            )
    return outputs


# -- real and imaginary parts ---------------------------------------------------------------------


def parts_of(array: Array) -> Array:
    """The elements in a line, a complex one as its real and its imaginary part."""
    line = np.ascontiguousarray(array).ravel()
    return line.view(line.real.dtype) if is_complex(line.dtype) else line


def directions(tensor: Tensor) -> Array:
    """The unit tensors of the shape and dtype of `tensor` along a new first axis; of a complex one in the
    real and in the imaginary direction of each element, in turns."""
    units = basis(tensor).numpy()
    return np.stack([units, 1j * units], 1).reshape(-1, *tensor.shape) if is_complex(tensor.dtype) else units


def _count(tensor: Tensor) -> int:
    return 2 * tensor.size if is_complex(tensor.dtype) else tensor.size


# -- numerical ------------------------------------------------------------------------------------


@contextmanager
def _moved(tensor: Tensor, step: Any) -> Iterator[None]:
    """Add `step` to the value in `tensor`'s memory for the ``with`` block."""
    memory = tensor.detach().numpy()
    before = memory.copy()
    memory[...] = before + step
    try:
        yield
    finally:
        memory[...] = before


def _evaluated(func: Func, inputs: Sequence[Any], like: Sequence[Tensor], what: str) -> list[Array]:
    """Copies of the outputs, which must have the shapes and dtypes of `like`."""
    outputs = outputs_of(func, inputs)
    if len(outputs) != len(like):
        raise GradcheckError(
            f"gradcheck: the function returned {len(like)} outputs, but {len(outputs)} when {what}"
        )
    for position, (tensor, other) in enumerate(zip(outputs, like, strict=True)):
        if tensor.type != other.type:
            raise GradcheckError(
                f"gradcheck: output {position} of the function has shape and dtype {other.type}, but "
                f"{tensor.type} when {what}; they must not depend on the values"
            )
    return [output.detach().numpy().copy() for output in outputs]


def numerical_derivatives(
    func: Func, inputs: Sequence[Any], index: int, direction: Array, outputs: Sequence[Tensor], eps: float
) -> list[Array]:
    """Difference quotients (f(x + eps d) - f(x - eps d)) / 2 eps of each output, for `direction` d of input
    `index`."""
    tensor: Tensor = inputs[index]
    what = f"input {index} is moved by {eps}"
    step = (eps * direction).astype(tensor.dtype)
    with _moved(tensor, step):
        above = _evaluated(func, inputs, outputs, what)
    with _moved(tensor, -step):
        below = _evaluated(func, inputs, outputs, what)
    return [
        (high.astype(np.result_type(high, np.float64)) - low) / (2 * eps)
        for high, low in zip(above, below, strict=True)
    ]


def numerical_jacobians(
    func: Func, inputs: Sequence[Any], index: int, outputs: Sequence[Tensor], eps: float
) -> list[Array]:
    """Jacobian of each output with respect to input `index`, by differences."""
    rows = [
        numerical_derivatives(func, inputs, index, unit, outputs, eps) for unit in directions(inputs[index])
    ]
    return [
        np.array([parts_of(row[position]) for row in rows], np.float64).reshape(
            _count(inputs[index]), _count(output)
        )
        for position, output in enumerate(outputs)
    ]


# -- analytical -----------------------------------------------------------------------------------


def pulled_back(output: Tensor, inputs: Sequence[Tensor], cotangent: Array) -> list[Array]:
    """The gradients of `inputs` for `cotangent`, zeros for None. The graph is kept."""
    seed = wrap(np.asarray(cotangent, output.dtype).reshape(output.shape))
    partials = gradients((output,), tuple(inputs), (seed,), create_graph=False, retain_graph=True)
    return [
        _checked(tensor, x, position)
        for position, (tensor, x) in enumerate(zip(partials, inputs, strict=True))
    ]


def _checked(gradient: Tensor | None, x: Tensor, position: int) -> Array:
    if gradient is None:
        return np.zeros(x.shape, x.dtype)
    if gradient.shape != x.shape:
        raise GradcheckError(
            f"gradcheck: the analytical gradient of input {position} has the incorrect shape "
            f"{gradient.shape}; the input has {x.shape}"
        )
    return gradient.detach().numpy()


def analytical_jacobians(output: Tensor, inputs: Sequence[Tensor]) -> list[Array]:
    """Jacobian of `output` with respect to each input, by one backward pass per element of it."""
    columns = [pulled_back(output, inputs, unit) for unit in directions(output)]
    return [
        np.array([parts_of(column[position]) for column in columns], real_dtype(x.dtype))
        .reshape(_count(output), _count(x))
        .T
        for position, x in enumerate(inputs)
    ]


def batched_jacobians(output: Tensor, inputs: Sequence[Tensor]) -> list[Array]:
    """The analytical Jacobians of `output`, computed in one batched backward pass of all cotangents."""
    cotangents = wrap(directions(output))
    stacked: Gradients = batched_gradients(output, tuple(inputs), cotangents, create_graph=False)
    return [
        np.zeros((_count(x), _count(output)))
        if tensor is None
        else parts_of(tensor.detach().numpy()).reshape(_count(output), _count(x)).T
        for tensor, x in zip(stacked, inputs, strict=True)
    ]


def forward_derivatives(
    func: Func, inputs: Sequence[Any], targets: Sequence[Tensor], index: int, directions: Sequence[Array]
) -> list[list[Array]]:
    """Derivative along each direction of ``targets[index]``, of each output that requires grad.

    The gradient is linear in the cotangent u, and its derivative with respect to u, applied to a direction,
    is the forward derivative along it.
    """
    outputs = [output for output in outputs_of(func, inputs) if output.requires_grad]
    seeds = tuple(zeros_like(output, requires_grad=True) for output in outputs)
    back = gradients(outputs, tuple(targets), seeds, create_graph=True)[index]
    x = targets[index]
    derivatives = []
    for direction in directions:
        seed = wrap(np.asarray(direction, x.dtype).reshape(x.shape))
        parts = gradients((back,), seeds, (seed,), create_graph=False, retain_graph=True)
        derivatives.append(
            [_checked(part, y, i) for i, (part, y) in enumerate(zip(parts, outputs, strict=True))]
        )
    return derivatives
