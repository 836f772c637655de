"""Losses of a prediction and a target of the same shape, and how losses are reduced."""

from __future__ import annotations

from typing import Any

from ..array.operands import floating, promoted, run
from ..base.errors import DomainError, ShapeError
from ..ir.types import broadcastable
from ..tensors.tensor import Tensor
from .activations import log_sigmoid

_REDUCTIONS = ("mean", "sum", "none")


def check_reduction(name: str, reduction: Any, *, more: tuple[str, ...] = ()) -> None:
    """Raise DomainError unless `reduction` is "mean", "sum", "none" or one of `more`."""
    allowed = (*_REDUCTIONS, *more)
    if reduction not in allowed:
        choices = f"{', '.join(map(repr, allowed[:-1]))} or {allowed[-1]!r}"
        raise DomainError(f"{name}: reduction must be {choices}, got {reduction!r}")


def reduced(losses: Tensor, reduction: str) -> Tensor:
    """`losses` summed up as `reduction` says."""
    if reduction == "none":
        return losses
    return run(reduction, losses, axes=tuple(range(losses.ndim)))


def _pair(name: str, x: Any, target: Any, *others: Any) -> list[Tensor]:
    """`x`, `target` and `others` as floating tensors of one dtype, the first two of one shape."""
    operands = [
        operand if type(operand) in (int, float) else floating(operand) for operand in (x, target, *others)
    ]
    if type(operands[0]) in (int, float):
        operands[0] = floating(operands[0])
    result = promoted(*operands)
    if result[1].shape not in (result[0].shape, ()):
        raise ShapeError(
            f"{name}: x and target must have one shape, got {result[0].shape} and {result[1].shape}; "
            "reshape or broadcast one of them first"
        )
    return result


def mse_loss(x: Any, target: Any, reduction: str = "mean") -> Tensor:
    """The squared difference of `x` and `target`; their mean, sum or each, as `reduction` says.

    Both have one shape, or the target is a number.

    Example:
        >>> import tracejit as tj
        >>> tj.nn.mse_loss([1.0, 2.0], [1.0, 4.0])
        tensor(2.)

    Raises ShapeError, and DomainError for another `reduction`. Semantics: ``torch.nn.functional.mse_loss``,
    without broadcasting.
    """
    check_reduction("mse_loss", reduction)
    x, target = _pair("mse_loss", x, target)
    return reduced(run("square", run("sub", x, target)), reduction)


def l1_loss(x: Any, target: Any, reduction: str = "mean") -> Tensor:
    """The absolute difference of `x` and `target`, with slope 0 where they are equal.

    Example:
        >>> import tracejit as tj
        >>> tj.nn.l1_loss([1.0, 2.0], [1.0, 4.0], reduction="sum")
        tensor(2.)

    Shapes, reductions and errors as in ``mse_loss``. Semantics: ``torch.nn.functional.l1_loss``.
    """
    check_reduction("l1_loss", reduction)
    x, target = _pair("l1_loss", x, target)
    return reduced(run("abs", run("sub", x, target)), reduction)


def huber_loss(x: Any, target: Any, reduction: str = "mean", delta: float = 1.0) -> Tensor:
    """Half the square of the difference d where that is up to `delta`, and delta (|d| - delta / 2) beyond.

    Example:
        >>> import tracejit as tj
        >>> tj.nn.huber_loss([0.5, 3.0], 0.0, reduction="none")
        tensor([0.125, 2.5  ])

    Shapes, reductions and errors as in ``mse_loss``, and DomainError unless `delta` is positive.
    Semantics: ``torch.nn.functional.huber_loss``.
    """
    check_reduction("huber_loss", reduction)
    if not delta > 0:
        raise DomainError(f"huber_loss: delta must be positive, got {delta}")
    x, target = _pair("huber_loss", x, target)
    difference = run("sub", x, target)
    # with c = clip(d), c (d - c/2) is d^2/2 inside and delta (|d| - delta/2) outside, where d^2 may overflow
    limited = run("clip", difference, -delta, delta)
    return reduced(run("mul", limited, run("sub", difference, run("mul", limited, 0.5))), reduction)


#: The limits of PyTorch's BCELoss: of the logarithms, and of what the gradient divides by.
_LOWEST_LOG = -100.0
_SMALLEST_DIVISOR = 1e-12


def binary_cross_entropy(x: Any, target: Any, weight: Any = None, reduction: str = "mean") -> Tensor:
    """-(t log x + (1 - t) log(1 - x)) for probabilities `x` and targets t, times `weight`.

    Logarithms are at least -100, and the slope in x is (x - t) / max(x (1 - x), 1e-12), so that both stay
    finite at 0 and 1. NaN for `x` outside [0, 1]. ``binary_cross_entropy_with_logits`` is more precise.

    Example:
        >>> import tracejit as tj
        >>> tj.nn.binary_cross_entropy([0.5, 0.0], [1.0, 1.0], reduction="none")
        tensor([  0.69314718, 100.        ])

    Shapes, reductions and errors as in ``mse_loss``. Semantics: ``torch.nn.functional.binary_cross_entropy``.
    """
    check_reduction("binary_cross_entropy", reduction)
    x, target, *weights = _weighted("binary_cross_entropy", x, target, weight)
    edge = run("lt", run("mul", x, run("sub", 1.0, x)), _SMALLEST_DIVISOR)
    detached = x.detach()
    inner = run("where", edge, detached, x)
    positive = run("mul", target, _limited_log("log", inner, 0.0))
    negative = run("mul", run("sub", 1.0, target), _limited_log("log1p", run("neg", inner), -1.0))
    losses = run("neg", run("add", positive, negative))
    # near 0 and 1 a term that is 0 and has the slope wanted there
    slope = run("div", run("sub", detached, target.detach()), _SMALLEST_DIVISOR)
    losses = run("add", losses, run("where", edge, run("mul", slope, run("sub", x, detached)), 0.0))
    return reduced(run("mul", losses, weights[0]) if weights else losses, reduction)


def _limited_log(op: str, x: Tensor, pole: float) -> Tensor:
    """`op` (log or log1p) of `x`, at least -100, without a warning at its `pole`."""
    at_pole = run("eq", x, pole)
    logarithm = run(op, run("where", at_pole, pole + 1.0, x))
    low = run("logical_or", at_pole, run("lt", logarithm, _LOWEST_LOG))
    return run("where", low, _LOWEST_LOG, logarithm)


def _weighted(name: str, x: Any, target: Any, *weights: Any) -> list[Tensor]:
    """`x`, `target` and those of `weights` that are not None; the last must broadcast to `x`."""
    x, target, *rest = _pair(name, x, target, *(weight for weight in weights if weight is not None))
    for tensor in rest:
        if not broadcastable(tensor.shape, x.shape):
            raise ShapeError(f"{name}: a weight of shape {tensor.shape} does not broadcast to x of {x.shape}")
    return [x, target, *rest]


def binary_cross_entropy_with_logits(
    x: Any, target: Any, weight: Any = None, reduction: str = "mean", pos_weight: Any = None
) -> Tensor:
    """``binary_cross_entropy`` of sigmoid(x), without overflow or loss of precision.

    `pos_weight` multiplies the part of the positive class; it and `weight` broadcast to `x`.

    Example:
        >>> import tracejit as tj
        >>> tj.nn.binary_cross_entropy_with_logits([0.0, 500.0], [1.0, 0.0], reduction="none")
        tensor([  0.69314718, 500.        ])

    Shapes, reductions and errors as in ``mse_loss``.
    Semantics: ``torch.nn.functional.binary_cross_entropy_with_logits``.
    """
    name = "binary_cross_entropy_with_logits"
    check_reduction(name, reduction)
    x, target, *rest = _weighted(name, x, target, weight, pos_weight)
    positive = log_sigmoid(x)
    if pos_weight is not None:
        # 1 + (pos_weight - 1) t
        positive = run("mul", positive, run("add", run("mul", run("sub", rest[-1], 1.0), target), 1.0))
    losses = run("sub", run("mul", run("sub", 1.0, target), x), positive)
    return reduced(losses if weight is None else run("mul", losses, rest[0]), reduction)


def kl_div(x: Any, target: Any, reduction: str = "mean", log_target: bool = False) -> Tensor:
    """t (log t - x) for logarithms `x` of probabilities and probabilities t, 0 where t is 0.

    With `log_target`, the target holds logarithms too. `reduction` may also be ``batchmean``: the sum over
    the length of the first axis, which is the divergence of Kullback and Leibler per row.

    Example:
        >>> import tracejit as tj
        >>> tj.nn.kl_div(tj.log(tj.tensor([[0.5, 0.5]])), [[1.0, 0.0]], reduction="batchmean")
        tensor(0.69314718)

    Shapes, reductions and errors as in ``mse_loss``. Semantics: ``torch.nn.functional.kl_div``.
    """
    check_reduction("kl_div", reduction, more=("batchmean",))
    x, target = _pair("kl_div", x, target)
    if reduction == "batchmean" and x.ndim == 0:
        raise ShapeError("kl_div: reduction 'batchmean' needs a first axis, and x has rank 0")
    if log_target:
        losses = run("mul", run("exp", target), run("sub", target, x))
    else:
        none = run("eq", target, 0.0)
        entropy = run("mul", target, run("log", run("where", none, 1.0, target)))
        losses = run("sub", entropy, run("mul", target, x))
    if reduction == "batchmean":
        return run("div", reduced(losses, "sum"), float(x.shape[0]))
    return reduced(losses, reduction)
