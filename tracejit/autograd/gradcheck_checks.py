"""The single checks of ``tj.autograd.gradcheck``; each raises GradcheckError where derivatives are wrong."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.records import record
from ..ir.dtypes import is_complex
from ..tensors.tensor import Tensor, wrap
from .functional_parts import gradients
from .gradcheck_jacobians import (
    Array,
    Func,
    GradcheckError,
    analytical_jacobians,
    batched_jacobians,
    directions,
    forward_derivatives,
    numerical_derivatives,
    numerical_jacobians,
    parts_of,
    pulled_back,
)


@record
class Check:
    """One function to check: its arguments, its outputs there, and how near is near enough."""

    func: Func
    inputs: tuple[Any, ...]
    outputs: tuple[Tensor, ...]
    eps: float
    atol: float
    rtol: float
    nondet_tol: float

    @property
    def indices(self) -> list[int]:
        """The positions of the inputs that require grad."""
        return [
            i for i, input_ in enumerate(self.inputs) if isinstance(input_, Tensor) and input_.requires_grad
        ]

    @property
    def tensors(self) -> list[Tensor]:
        return [self.inputs[i] for i in self.indices]

    @property
    def differentiable(self) -> list[int]:
        """The positions of the outputs that require grad."""
        return [i for i, output in enumerate(self.outputs) if output.requires_grad]


def _near(got: Any, want: Any, check: Check, scale: float = 1.0) -> bool:
    return np.allclose(got, want, rtol=check.rtol, atol=check.atol * scale)


def _mismatch(i: int, j: int, numerical: Any, analytical: Any, how: str = "backward") -> GradcheckError:
    by = "" if how == "backward" else f" (computed with {how} mode)"
    return GradcheckError(
        f"Jacobian{by} mismatch for output {i} with respect to input {j},\nnumerical:\n{numerical}\n"
        f"analytical:\n{analytical}\n"
    )


def check_no_gradient(check: Check) -> None:
    """Raise GradcheckError if an output depends on an input although no output requires grad."""
    for index in check.indices:
        jacobians = numerical_jacobians(check.func, check.inputs, index, check.outputs, check.eps)
        for i, numerical in enumerate(jacobians):
            if np.abs(numerical).max(initial=0.0) > check.atol:
                raise GradcheckError(
                    f"no output requires grad, so the numerical gradient is expected to be zero, but "
                    f"output {i} depends on input {index}:\n{numerical}"
                )


def check_backward(check: Check) -> None:
    """Every entry of the Jacobians, twice."""
    numerical = [
        numerical_jacobians(check.func, check.inputs, index, check.outputs, check.eps)
        for index in check.indices
    ]
    for i, position in enumerate(check.differentiable):
        output = check.outputs[position]
        analytical = analytical_jacobians(output, check.tensors)
        again = analytical_jacobians(output, check.tensors)
        for j, array in enumerate(analytical):
            if not _near(array, numerical[j][position], check):
                raise _mismatch(i, j, numerical[j][position], array)
        for first, second in zip(analytical, again, strict=True):
            _check_reentrant(first, second, check.nondet_tol)


def _check_reentrant(first: Array, second: Array, tolerance: float) -> None:
    if not np.allclose(first, second, rtol=0.0, atol=tolerance, equal_nan=True):
        raise GradcheckError(
            "Backward is not reentrant: running it twice with the same input and grad_output gives different "
            "values, although the analytical gradient matches the numerical one. The tolerance for "
            f"nondeterminism was nondet_tol={tolerance}, the largest difference is "
            f"{np.abs(first - second).max()}"
        )


def check_backward_fast(check: Check) -> None:
    """``v @ J @ u`` for one random v per output and u per input, twice."""
    rng = np.random.default_rng(0)
    units = [_unit(rng, tensor) for tensor in check.tensors]
    weights = [_drawn(rng, check.outputs[i]) for i in check.differentiable]
    moved = [
        numerical_derivatives(check.func, check.inputs, index, unit, check.outputs, check.eps)
        for index, unit in zip(check.indices, units, strict=True)
    ]
    for i, (position, weight) in enumerate(zip(check.differentiable, weights, strict=True)):
        output = check.outputs[position]
        analytical = pulled_back(output, check.tensors, weight)
        again = pulled_back(output, check.tensors, weight)
        for j, (unit, array) in enumerate(zip(units, analytical, strict=True)):
            got, want = np.vdot(array, unit).real, np.vdot(weight, moved[j][position]).real
            # the tolerance of a sum of entries of J with these weights
            if not _near(got, want, check, max(1.0, float(np.abs(unit).sum() * np.abs(weight).sum()))):
                raise _fast_mismatch(check, i, j, got, want)
        for first, second in zip(analytical, again, strict=True):
            _check_reentrant(first, second, check.nondet_tol)


def _unit(rng: np.random.Generator, like: Tensor) -> Array:
    drawn = _drawn(rng, like)
    length = float(np.sqrt((np.abs(drawn) ** 2).sum()))
    return drawn / length if length else drawn


def _drawn(rng: np.random.Generator, like: Tensor) -> Array:
    drawn = rng.uniform(0.0, 1.0, like.shape)
    return drawn + 1j * rng.uniform(0.0, 1.0, like.shape) if is_complex(like.dtype) else drawn


def _fast_mismatch(
    check: Check, i: int, j: int, got: Any, want: Any, how: str = "backward"
) -> GradcheckError:
    """The error of a comparison in fast mode, with what the slow mode would have compared."""
    position = check.differentiable[i]
    numerical = numerical_jacobians(check.func, check.inputs, check.indices[j], check.outputs, check.eps)
    analytical = analytical_jacobians(check.outputs[position], check.tensors)[j]
    text = (
        f"{_mismatch(i, j, want, got, how)}\nThese are sums over the Jacobian with random weights "
        f"(fast_mode). The Jacobians themselves:\nnumerical:\n{numerical[position]}\n"
        f"analytical:\n{analytical}\n"
        f"The largest difference of an entry is {np.abs(numerical[position] - analytical).max(initial=0.0)}."
    )
    if _near(analytical, numerical[position], check):
        text += " Entry by entry they agree: the check would have passed with fast_mode=False."
    return GradcheckError(text)


def check_forward(check: Check, fast_mode: bool) -> None:
    """Forward derivatives along every element of the inputs, or along one random direction."""
    rng = np.random.default_rng(1)
    for j, (index, x) in enumerate(zip(check.indices, check.tensors, strict=True)):
        along = [_unit(rng, x)] if fast_mode else list(directions(x))
        derivatives = forward_derivatives(check.func, check.inputs, check.tensors, j, along)
        moved = [
            numerical_derivatives(check.func, check.inputs, index, direction, check.outputs, check.eps)
            for direction in along
        ]
        for i, position in enumerate(check.differentiable):
            analytical = np.array([parts_of(items[i]) for items in derivatives])
            numerical = np.array([parts_of(items[position]) for items in moved])
            if not _near(analytical, numerical, check):
                if fast_mode:
                    raise _fast_mismatch(check, i, j, analytical, numerical, "forward")
                raise _mismatch(i, j, numerical, analytical, "forward")


def check_zero_cotangents(check: Check) -> None:
    """Zeros in, zeros out: a backward that forgets to multiply by its gradient shows here."""
    outputs = [check.outputs[i] for i in check.differentiable]
    zeros = [wrap(np.zeros(output.shape, output.dtype)) for output in outputs]
    partials = gradients(outputs, tuple(check.tensors), zeros, create_graph=False, retain_graph=True)
    for position, tensor in zip(check.indices, partials, strict=True):
        if tensor is not None and np.any(tensor.detach().numpy() != 0):
            raise GradcheckError(
                f"backward is not multiplied by grad_output: with zeros, input {position} gets "
                f"{tensor.detach()!r}"
            )


def check_dtypes(check: Check) -> None:
    """Gradients have the dtypes of their inputs."""
    for i in check.differentiable:
        seed = wrap(np.ones(check.outputs[i].shape, check.outputs[i].dtype))
        partials = gradients(
            (check.outputs[i],), tuple(check.tensors), (seed,), create_graph=False, retain_graph=True
        )
        for position, x, tensor in zip(check.indices, check.tensors, partials, strict=True):
            if tensor is not None and tensor.dtype != x.dtype:
                raise GradcheckError(
                    f"the gradient of output {i} has dtype {tensor.dtype.name}, and input {position} "
                    f"{x.dtype.name}"
                )


def check_batched(check: Check) -> None:
    """Many cotangents in one backward pass give what a loop over them gives."""
    for i, position in enumerate(check.differentiable):
        output = check.outputs[position]
        loop, together = analytical_jacobians(output, check.tensors), batched_jacobians(output, check.tensors)
        for j, (array, other) in enumerate(zip(loop, together, strict=True)):
            if not _near(other, array, check):
                raise GradcheckError(
                    f"batched gradients (is_grads_batched=True) of output {i} with respect to input {j} "
                    f"differ from a loop:\nloop:\n{array}\nbatched:\n{other}\n"
                )


def check_undefined(check: Check) -> None:
    """An output left out of a backward pass counts as one whose gradient is zeros."""
    outputs = [check.outputs[i] for i in check.differentiable]
    rng = np.random.default_rng(2)
    seeds = [wrap(np.asarray(rng.uniform(0.5, 1.0, output.shape), output.dtype)) for output in outputs]
    inputs = tuple(check.tensors)
    for left_out in range(len(outputs) if len(outputs) > 1 else 0):
        kept = [i for i in range(len(outputs)) if i != left_out]
        zeroed = [
            wrap(np.zeros_like(seed.numpy())) if i == left_out else seed for i, seed in enumerate(seeds)
        ]
        without = gradients(
            [outputs[i] for i in kept],
            inputs,
            [seeds[i] for i in kept],
            create_graph=False,
            retain_graph=True,
        )
        with_zeros = gradients(outputs, inputs, zeroed, create_graph=False, retain_graph=True)
        for position, tensor, other in zip(check.indices, without, with_zeros, strict=True):
            first = 0.0 if tensor is None else tensor.detach().numpy()
            second = 0.0 if other is None else other.detach().numpy()
            if not np.allclose(first, second, rtol=check.rtol, atol=check.atol, equal_nan=True):
                raise GradcheckError(
                    f"backward must handle undefined gradients of outputs as zeros: without one for output "
                    f"{left_out}, input {position} gets\n{first}\nand with zeros\n{second}"
                )
