"""Affine maps, layer normalization, dropout, tables of vectors, and class indices as vectors."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..array.operands import as_tensor, cast, floating, is_tracing, permuted, promoted, reshaped, run
from ..array.statistics import root
from ..eager.tensor import Tensor
from ..ir.dtypes import INT64, is_real_floating
from ..ir.errors import ConcretizationError, DomainError, DTypeError, OutOfBoundsError, ShapeError
from ..ir.types import as_shape, normalize_axes, remove_axes
from ..random import bernoulli, next_key

__all__ = ["embedding", "layer_norm", "linear", "normalize", "one_hot"]


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


def dropout(x: Any, p: float = 0.5, training: bool = True, *, key: Any = None) -> Tensor:
    """`x` with each element zeroed with probability `p`, and the others divided by 1 - p; so the mean stays.

    Without `training`, `x` itself. The mask is drawn with `key`, or else with a key that each call, jitted or
    not, draws from the default generator (see ``tj.random.next_key``). The gradient is the mask, divided by
    1 - p. `p` and `training` are Python values: under ``jit``, constants or static arguments.

    Example:
        >>> import tracejit as tj
        >>> tj.random.seed(0)
        >>> tj.nn.dropout(tj.ones(6))
        tensor([0., 2., 0., 0., 2., 2.])

    Raises DomainError for a `p` outside [0, 1], DTypeError for a `p` that is no Python number and for an `x`
    that is not floating. Semantics: ``torch.nn.functional.dropout``, with another mask.
    """
    tensor = as_tensor(x)
    if not is_real_floating(tensor.dtype):
        raise DTypeError(f"nn.dropout: expected a floating x, got dtype {tensor.dtype.name}")
    if isinstance(p, bool) or not isinstance(p, (int, float)):
        raise DTypeError(
            f"nn.dropout: expected a Python number for p, got {type(p).__name__}; "
            "under jit, name p in static_argnames"
        )
    if not 0 <= p <= 1:
        raise DomainError(f"nn.dropout: the probability p must be from 0 to 1, got {p}")
    if not training or p == 0:
        return tensor
    # in the dtype of x, which takes as few bits per number as it has
    chance = cast(as_tensor(1.0 - p), tensor.dtype)
    kept = bernoulli(next_key() if key is None else key, chance, tensor.shape)
    scale = 0.0 if p == 1 else 1.0 / (1.0 - p)
    return run("mul", tensor, run("mul", cast(kept, tensor.dtype), scale))


def linear(x: Any, weight: Any, bias: Any = None) -> Tensor:
    """``x @ weight.T + bias`` over the last axis of `x`.

    `x` is (..., in), `weight` (out, in) or (in,), `bias` (out,) or (); the result (..., out) or (...).

    Example:
        >>> import tracejit as tj
        >>> tj.nn.linear([1.0, 2.0], [[1.0, 1.0], [0.0, 3.0]], [0.5, 0.0])
        tensor([3.5, 6. ])

    Raises ShapeError. Semantics: ``torch.nn.functional.linear``.
    """
    x, weight, *rest = promoted(x, weight) if bias is None else promoted(x, weight, bias)
    if x.ndim == 0 or weight.ndim not in (1, 2) or x.shape[-1] != weight.shape[-1]:
        raise ShapeError(
            f"linear: expected x (..., in) and weight (out, in), got shapes {x.shape} and {weight.shape}; "
            "the weight is transposed here, not by the caller"
        )
    out = weight.shape[:-1]
    rows = reshaped(x, (math.prod(x.shape[:-1]), x.shape[-1]))
    columns = permuted(reshaped(weight, (math.prod(out), weight.shape[-1])), (1, 0))
    result = reshaped(run("matmul", rows, columns), x.shape[:-1] + out)
    if not rest:
        return result
    if rest[0].shape != out:
        raise ShapeError(f"linear: expected a bias of shape {out}, got {rest[0].shape}")
    return run("add", result, rest[0])


def bounded(name: str, indices: Tensor, count: int, unit: str) -> Tensor:
    """Integer `indices` in int64, each of which must be in [0, `count`), the number of `unit`.

    Known values are checked here. A traced one below 0 becomes `count`: the gather that it is for refuses
    that, where it would count a negative one from the end.
    """
    data = indices._data
    if isinstance(data, np.ndarray) and not is_tracing() and data.size:
        for extreme in (int(data.min()), int(data.max())):
            if not 0 <= extreme < count:
                raise OutOfBoundsError(f"{name}: index {extreme} is out of range for {count} {unit}")
        return cast(indices, INT64)
    if indices.dtype.kind == "u" and indices.dtype.itemsize == 8:
        indices = run("minimum", indices, 2**63 - 1)  # a wrapped one might be in range
    result = cast(indices, INT64)
    return result if indices.dtype.kind == "u" else run("where", run("lt", result, 0), count, result)


def _integers(name: str, indices: Any) -> Tensor:
    places = as_tensor(indices)
    if places.size == 0 and isinstance(indices, (list, tuple)):
        return cast(places, INT64)  # an empty list has no dtype of its own
    if places.dtype.kind not in "iu":
        raise DTypeError(
            f"{name}: indices must be integers, got {places.type}; convert with indices.astype(tj.int64)"
        )
    return places


def embedding(indices: Any, weight: Any, padding_idx: int | None = None) -> Tensor:
    """The rows of `weight` (rows, width) at integer `indices`: shape ``indices.shape + (width,)``.

    The row `padding_idx` (negative counts from the end) is read like the others, but gets no gradient.

    Example:
        >>> import tracejit as tj
        >>> tj.nn.embedding([2, 0], [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])
        tensor([[4., 5.],
                [0., 1.]])

    Raises OutOfBoundsError for indices outside [0, rows), DTypeError unless they are integers, ShapeError.
    Semantics: ``torch.nn.functional.embedding``.
    """
    places, weight = _integers("embedding", indices), as_tensor(weight)
    if weight.ndim != 2:
        raise ShapeError(
            f"embedding: expected a weight of shape (rows, width), got {weight.shape}; "
            "the indices are the first argument"
        )
    count = weight.shape[0]
    rows = run("gather", weight, bounded("embedding", places, count, "rows"), axes=())
    if padding_idx is None:
        return rows
    if not -count <= padding_idx < count:
        raise OutOfBoundsError(f"embedding: padding_idx {padding_idx} is out of range for {count} rows")
    padding = reshaped(run("eq", places, padding_idx % count), (*places.shape, 1))
    return run("where", padding, rows.detach(), rows)


def one_hot(indices: Any, num_classes: int = -1) -> Tensor:
    """int64 vectors of `num_classes` zeros with a 1 at each index: shape ``indices.shape + (num_classes,)``.

    With `num_classes` -1, one more than the largest index; under a trace that is not known.

    Example:
        >>> import tracejit as tj
        >>> tj.nn.one_hot([2, 0], 3)
        tensor([[0, 0, 1],
                [1, 0, 0]])

    Raises OutOfBoundsError for indices outside [0, num_classes), DTypeError unless they are integers,
    ConcretizationError under a trace without `num_classes`. Semantics: ``torch.nn.functional.one_hot``.
    """
    places = _integers("one_hot", indices)
    count = operator.index(num_classes)
    if count == -1:
        if is_tracing():
            raise ConcretizationError(
                "one_hot: the largest index decides the shape, and the indices are traced "
                f"({places.type}); give num_classes"
            )
        if places.size == 0:
            raise ShapeError("one_hot: no index tells the number of classes; give num_classes")
        count = max(int(np.asarray(places._data).max()) + 1, 0)
    if count < 1:
        raise ShapeError(
            f"one_hot: num_classes must be positive, or -1 for the largest index + 1, got {count}"
        )
    classes = run("iota", shape=(count,), axis=0, dtype=INT64)
    # read from the list of classes, so that compiled code checks the index as well
    checked = run("gather", classes, bounded("one_hot", places, count, "classes"), axes=())
    return cast(run("eq", reshaped(checked, (*places.shape, 1)), classes), INT64)
