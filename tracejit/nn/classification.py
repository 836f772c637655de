"""Losses of class scores: the classes stand along axis 1 (axis 0 of a single sample), as in PyTorch."""

from __future__ import annotations

import math
from typing import Any

from ..array.indexing.taking import take_along_axis
from ..array.manipulation import expand_dims, squeeze
from ..array.operands import as_tensor, cast, floating, promoted, reshaped, run
from ..base.errors import DomainError, DTypeError, ShapeError
from ..ir.dtypes import INT64, is_real_floating
from ..ir.types import remove_axes
from ..tensors.tensor import Tensor
from .activations import less_maximum, log_softmax
from .layers import bounded
from .losses import check_reduction, reduced


def nll_loss(
    log_probs: Any, target: Any, weight: Any = None, ignore_index: int = -100, reduction: str = "mean"
) -> Tensor:
    """Minus the element of `log_probs` at the class `target`, times the `weight` of that class.

    `log_probs` is (N, C), (N, C, ...) or (C,), `target` integers of shape (N,), (N, ...) or (); `weight` is
    (C,). Samples whose target is `ignore_index` count 0. ``mean`` divides by the summed weights of the
    targets, so that it is NaN where all are ignored.

    Example:
        >>> import tracejit as tj
        >>> tj.nn.nll_loss([[-0.5, -1.0], [-2.0, -0.1]], [0, 0])
        tensor(1.25)

    Raises OutOfBoundsError for a target outside [0, C), DTypeError unless targets are integers, ShapeError,
    and DomainError for another `reduction`. Semantics: ``torch.nn.functional.nll_loss``.
    """
    check_reduction("nll_loss", reduction)
    scores = floating(log_probs)
    classes = _class_axis("nll_loss", scores)
    target = _targets("nll_loss", scores, target, classes)
    scores, weights = _weights("nll_loss", scores, weight, classes)
    places, valid, share = _chosen("nll_loss", target, weights, scores, classes, ignore_index)
    losses = run("neg", _picked(scores, places, classes))
    return _averaged(run("where", valid, run("mul", losses, share), 0.0), share, reduction)


def cross_entropy(
    x: Any,
    target: Any,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Minus the logarithm of softmax(x) at the target class, for scores `x` of any size.

    `x` is (N, C), (N, C, ...) or (C,). `target` holds class indices, as for ``nll_loss``, or in the shape of
    `x` the probability of each class. `label_smoothing` mixes the target with that share of equal
    probabilities. `weight` (C,) multiplies the part of each class; ``mean`` divides by the summed weights of
    the target classes, or for probabilities by the number of samples.

    Example:
        >>> import tracejit as tj
        >>> tj.nn.cross_entropy([[0.0, 500.0], [0.0, 0.0]], [0, 1], reduction="none")
        tensor([500.        ,   0.69314718])

    Errors as in ``nll_loss``. Semantics: ``torch.nn.functional.cross_entropy``.
    """
    check_reduction("cross_entropy", reduction)
    if not 0.0 <= label_smoothing <= 1.0:
        raise DomainError(f"cross_entropy: label_smoothing must be in [0, 1], got {label_smoothing}")
    x, target = floating(x), as_tensor(target)
    classes = _class_axis("cross_entropy", x)
    if target.shape == x.shape and is_real_floating(target.dtype):
        if ignore_index >= 0:
            raise DomainError("cross_entropy: ignore_index has no meaning for targets that are probabilities")
        return _of_probabilities(x, target, weight, classes, reduction, label_smoothing)
    target = _targets("cross_entropy", x, target, classes)
    x, weights = _weights("cross_entropy", x, weight, classes)
    places, valid, share = _chosen("cross_entropy", target, weights, x, classes, ignore_index)
    # log(sum(e^(x - max))) - (x - max) at the class: no pass over all log-probabilities, and no cancellation
    shifted, _, _ = less_maximum("cross_entropy", x, classes, None)
    total = run("log", run("sum", run("exp", shifted), axes=(classes,)))
    losses = run("mul", run("sub", total, _picked(shifted, places, classes)), share)
    if label_smoothing:
        log_probs = run("sub", shifted, expand_dims(total, classes))
        every = run("sum", _by_class(log_probs, weights, classes), axes=(classes,))
        even = run("mul", every, -label_smoothing / x.shape[classes])
        losses = run("add", run("mul", losses, 1.0 - label_smoothing), even)
    return _averaged(run("where", valid, losses, 0.0), share, reduction)


def _of_probabilities(
    x: Tensor, target: Tensor, weight: Any, classes: int, reduction: str, label_smoothing: float
) -> Tensor:
    """``cross_entropy`` where the target is the probability of each class."""
    x, target = promoted(x, target)
    x, weights = _weights("cross_entropy", x, weight, classes)
    target = cast(target, x.dtype)
    if label_smoothing:
        even = label_smoothing / x.shape[classes]
        target = run("add", run("mul", target, 1.0 - label_smoothing), even)
    log_probs = _by_class(log_softmax(x, classes), weights, classes)
    losses = run("neg", run("sum", run("mul", log_probs, target), axes=(classes,)))
    return reduced(losses, reduction)


def _class_axis(name: str, x: Tensor) -> int:
    classes = min(x.ndim - 1, 1)
    if x.ndim == 0 or x.shape[classes] == 0:
        raise ShapeError(
            f"{name}: expected scores of shape (N, C), (N, C, ...) or (C,) with C > 0, got {x.shape}"
        )
    return classes


def _targets(name: str, x: Tensor, target: Any, classes: int) -> Tensor:
    """Class indices `target` in int64."""
    target = as_tensor(target)
    expected = remove_axes(x.shape, (classes,))
    if target.shape != expected:
        hint = (
            f"; use target.reshape({expected})" if target.size == math.prod(expected) and x.ndim > 1 else ""
        )
        raise ShapeError(
            f"{name}: scores of shape {x.shape} need targets of shape {expected}, got {target.shape}{hint}"
        )
    if target.dtype.kind not in "iu":
        if target.size == 0 and is_real_floating(target.dtype):
            return cast(target, INT64)  # an empty list has no dtype of its own
        raise DTypeError(
            f"{name}: targets of shape {target.shape} must be integer class indices, got {target.type}; "
            "convert with target.astype(tj.int64)"
        )
    return cast(target, INT64)


def _weights(name: str, x: Tensor, weight: Any, classes: int) -> tuple[Tensor, Tensor | None]:
    """`x` and the class weights in one dtype."""
    if weight is None:
        return x, None
    x, weights = promoted(x, weight)
    if weights.shape != (x.shape[classes],):
        raise ShapeError(
            f"{name}: expected a weight for each of {x.shape[classes]} classes, got shape {weights.shape}"
        )
    return x, weights


def _chosen(
    name: str, target: Tensor, weights: Tensor | None, x: Tensor, classes: int, ignore_index: int
) -> tuple[Tensor, Tensor, Tensor]:
    """The classes with 0 for those ignored, which are not ignored, and the weight of each sample."""
    valid = run("ne", target, ignore_index)
    places = bounded(name, run("where", valid, target, 0), x.shape[classes], "classes")
    if weights is None:
        return places, valid, cast(valid, x.dtype)
    return places, valid, run("where", valid, run("gather", weights, places, axes=()), 0.0)


def _picked(x: Tensor, places: Tensor, classes: int) -> Tensor:
    """The element at the class of each sample."""
    return squeeze(take_along_axis(x, expand_dims(places, classes), classes), classes)


def _by_class(x: Tensor, weights: Tensor | None, classes: int) -> Tensor:
    """`x` times the weight of each class."""
    if weights is None:
        return x
    column = [1] * x.ndim
    column[classes] = x.shape[classes]
    return run("mul", x, reshaped(weights, tuple(column)))


def _averaged(losses: Tensor, share: Tensor, reduction: str) -> Tensor:
    if reduction != "mean":
        return reduced(losses, reduction)
    return run("div", reduced(losses, "sum"), reduced(share, "sum"))
