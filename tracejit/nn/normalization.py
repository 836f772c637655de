"""Layer normalization."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..array.operands import cast, floating, promoted, reshaped, run
from ..array.statistics import root
from ..base.errors import ShapeError
from ..ir.types import as_shape, normalize_axes, remove_axes
from ..tensors.tensor import Tensor


def layer_norm(
    x: Any, normalized_shape: int | Sequence[int], weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Tensor:
    """`x` with mean 0 and variance 1 over its last axes, times `weight`, plus `bias`.

    `normalized_shape` is the shape of those axes, of `weight` and of `bias`. The variance is that of the
    population, with `eps` added.

    Example:
        >>> import tracejit as tj
        >>> tj.nn.layer_norm([[1.0, 3.0], [5.0, 5.0]], 2)
        tensor([[-0.999995,  0.999995],
                [ 0.      ,  0.      ]])

    Raises ShapeError. Semantics: ``torch.nn.functional.layer_norm``.
    """
    shape = as_shape("layer_norm", normalized_shape, "normalized_shape")
    operands = [floating(x), *(parameter for parameter in (weight, bias) if parameter is not None)]
    x, *rest = promoted(*operands)
    if not shape or x.shape[-len(shape) :] != shape:
        raise ShapeError(
            f"layer_norm: the last axes of x must be normalized_shape {shape}, got x of {x.shape}"
        )
    for tensor in rest:
        if tensor.shape != shape:
            name = "bias" if weight is None or tensor is not rest[0] else "weight"
            raise ShapeError(f"layer_norm: expected a {name} of shape {shape}, got {tensor.shape}")
    axes = tuple(range(x.ndim - len(shape), x.ndim))
    row = remove_axes(x.shape, axes, keepdims=True)
    centred = run("sub", x, reshaped(run("mean", x, axes=axes), row))
    variance = reshaped(run("mean", run("square", centred), axes=axes), row)
    result = run("div", centred, run("sqrt", run("add", variance, eps)))
    if weight is not None:
        result = run("mul", result, rest[0])
    return result if bias is None else run("add", result, rest[-1])


def normalize(x: Any, p: float = 2.0, axis: Any = 1, eps: float = 1e-12) -> Tensor:
    """`x` over its `p`-norm along `axis` (an int or several), or over `eps` where the norm is smaller.

    The gradient at a vector of zeros is the cotangent over `eps`, that of the norm itself being 0 there.

    Example:
        >>> import tracejit as tj
        >>> tj.nn.normalize([[3.0, 4.0], [0.0, 0.0]])
        tensor([[0.6, 0.8],
                [0. , 0. ]])

    Raises AxisError. Semantics: ``torch.nn.functional.normalize``.
    """
    x = floating(x)
    axes = normalize_axes("normalize", axis, x.ndim)
    length = _norm(x, float(p), axes)
    small = run("lt", length, eps)
    divisor = run("where", small, eps, length)
    return run("div", x, reshaped(divisor, remove_axes(x.shape, axes, keepdims=True)))


def _norm(x: Tensor, p: float, axes: tuple[int, ...]) -> Tensor:
    """The `p`-norm over `axes`, with gradient 0 at vectors of zeros."""
    if p == 2.0:
        return root(run("sum", run("square", x), axes=axes))
    size = run("abs", x)
    if p == 1.0:
        return run("sum", size, axes=axes)
    if math.isinf(p):
        return run("max" if p > 0 else "min", size, axes=axes)
    if p == 0.0:
        return run("sum", cast(run("ne", x, 0.0), x.dtype), axes=axes)
    return run("vector_norm", x, axes=axes, ord=p)
