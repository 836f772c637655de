"""``gradcheck`` and ``gradgradcheck``: are derivatives what differences say they are?

Semantics: ``torch.autograd.gradcheck``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..base.errors import ArgumentError, DomainError, GradientError
from ..base.user_code import user_stacklevel
from ..ir.dtypes import is_complex
from ..tensors.tensor import Tensor, wrap
from .functional_parts import gradients
from .gradcheck_checks import (
    Check,
    check_backward,
    check_backward_fast,
    check_batched,
    check_dtypes,
    check_forward,
    check_no_gradient,
    check_undefined,
    check_zero_cotangents,
)
from .gradcheck_jacobians import GradcheckError, outputs_of


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Whether the gradients of `func` at `inputs` agree with central differences of width `eps`.

    `inputs` are a Tensor or a tuple, in which anything may stand beside tensors; those that require grad are
    checked, and should be float64 or complex128 (a warning says so). Each entry must satisfy ``|analytical -
    numerical| <= atol + rtol * |numerical|``, where complex elements count as their two parts. Outputs, a
    Tensor or a tuple, that do not require grad are left out; where no output does, the differences must be
    zero.

    - `nondet_tol`: by how much two backward passes over the same graph may differ.
    - `check_undefined_grad`: of several outputs, one without a gradient must count as one with zeros.
    - `check_grad_dtypes`: gradients must have the dtypes of their inputs.
    - `check_batched_grad`: ``is_grads_batched`` must give what a loop gives.
    - `check_forward_ad`: forward derivatives (the gradient differentiated in its cotangent) agree too.
    - `fast_mode`: compare ``v @ J @ u`` for random v and u instead of every entry of J.
    - `masked`: for sparse tensors, which do not exist here: only None and False.

    Example:
        >>> import tracejit as tj
        >>> x = tj.tensor([0.5, 1.5], requires_grad=True)
        >>> tj.autograd.gradcheck(lambda x: tj.exp(x) * x, (x,))
        True

    Raises GradcheckError where something disagrees, or returns False without `raise_exception`; GradientError
    where there is nothing to check and for arguments that exclude each other. Semantics:
    ``torch.autograd.gradcheck``.
    """
    if not (check_forward_ad or check_backward_ad):
        raise GradientError("gradcheck: expected check_forward_ad or check_backward_ad to be True")
    if check_batched_grad and not check_backward_ad:
        raise GradientError("gradcheck: check_batched_grad=True requires check_backward_ad=True")
    if masked:
        raise GradientError("gradcheck: masked=True is about sparse tensors, and tensors here are dense")
    if not eps > 0:
        raise DomainError(f"gradcheck: expected eps > 0, got {eps}")
    arguments = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    _check_inputs(arguments)
    check = Check(func, arguments, outputs_of(func, arguments), eps, atol, rtol, nondet_tol)
    try:
        if not check.differentiable:
            check_no_gradient(check)
            return True
        if check_forward_ad:
            check_forward(check, fast_mode)
        if check_backward_ad:
            (check_backward_fast if fast_mode else check_backward)(check)
            check_zero_cotangents(check)
            if check_grad_dtypes:
                check_dtypes(check)
            if check_batched_grad:
                check_batched(check)
            if check_undefined_grad:
                check_undefined(check)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Whether the second derivatives of `func` at `inputs` agree with differences of its gradients.

    The function checked takes `inputs` and `grad_outputs`, one per output that requires grad, to the
    gradients; it is given to `gradcheck`, whose arguments the rest are. Without `grad_outputs`, numbers from
    -1 to 1 that are the same at each call, strided in memory with `gen_non_contig_grad_outputs`.
    `check_fwd_over_rev` and `check_rev_over_rev` are its forward and backward checks.

    Example:
        >>> import tracejit as tj
        >>> x = tj.tensor([0.5, 1.5], requires_grad=True)
        >>> tj.autograd.gradgradcheck(lambda x: tj.exp(x) * x, (x,))
        True

    Raises as `gradcheck`, and GradientError where the gradients do not depend on anything. Semantics:
    ``torch.autograd.gradgradcheck``.
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise GradientError("gradgradcheck: expected check_fwd_over_rev or check_rev_over_rev to be True")
    arguments = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    if not arguments:
        raise ArgumentError("gradgradcheck: inputs must hold at least one tensor")
    if grad_outputs is None:
        outputs = [output for output in outputs_of(func, arguments) if output.requires_grad]
        cotangents = _cotangents(outputs, strided=gen_non_contig_grad_outputs)
    else:
        many = isinstance(grad_outputs, (tuple, list))
        cotangents = tuple(grad_outputs) if many else (grad_outputs,)

    def slopes(*args: Any) -> tuple[Tensor, ...]:
        count = len(args) - len(cotangents)
        outputs = [output for output in outputs_of(func, args[:count]) if output.requires_grad]
        if len(outputs) != len(cotangents):
            raise GradientError(
                f"gradgradcheck: expected {len(outputs)} grad_outputs, one per output that requires grad, "
                f"got {len(cotangents)}"
            )
        targets = tuple(
            argument for argument in args[:count] if isinstance(argument, Tensor) and argument.requires_grad
        )
        results = gradients(outputs, targets, args[count:], create_graph=True)
        return tuple(tensor for tensor in results if tensor is not None)

    return gradcheck(
        slopes,
        arguments + cotangents,
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
        masked=masked,
    )


# -- arguments ------------------------------------------------------------------------------------


def _cotangents(outputs: Sequence[Tensor], *, strided: bool) -> tuple[Tensor, ...]:
    rng = np.random.default_rng(0)
    cotangents = []
    for output in outputs:
        array = np.asarray(rng.uniform(-1, 1, output.shape), output.dtype)
        if is_complex(output.dtype):
            array = array + np.asarray(1j * rng.uniform(-1, 1, output.shape), output.dtype)
        if strided:
            array = np.stack([array, array], axis=-1)[..., 0]
        cotangents.append(wrap(array).requires_grad_())
    return tuple(cotangents)


def _check_inputs(inputs: tuple[Any, ...]) -> None:
    requires_grad = False
    for position, input_ in enumerate(inputs):
        if not isinstance(input_, Tensor) or not input_.requires_grad:
            continue
        requires_grad = True
        if input_.is_traced:
            raise GradientError(
                "gradcheck: input values must be known, and in a jitted function they are not; "
                "call gradcheck outside, on the jitted function"
            )
        if input_.dtype not in (np.float64, np.complex128):
            warnings.warn(
                f"gradcheck: input #{position} requires gradient and is not a double precision floating "
                f"point tensor but {input_.dtype.name}; differences of width eps will likely be too coarse "
                "for the check to pass",
                stacklevel=user_stacklevel(),
            )
        _check_memory(input_, position)
    if not requires_grad:
        raise GradientError(
            "gradcheck: expected at least one input tensor to require gradient, but none has "
            "requires_grad=True"
        )


def _check_memory(tensor: Tensor, position: int) -> None:
    memory = tensor.detach().numpy()
    if memory.size and any(
        size > 1 and stride == 0 for size, stride in zip(memory.shape, memory.strides, strict=True)
    ):
        raise GradientError(
            f"gradcheck: input {position} has a dimension of stride 0, so its elements cannot be moved "
            "one by one; pass x.copy()"
        )
    if not memory.flags.writeable:
        raise GradientError(
            f"gradcheck: the memory of input {position} is read-only, so its elements cannot be moved; pass "
            "x.copy()"
        )
