"""Affine maps, tables of vectors, and class indices as vectors."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from ..array.operands import as_tensor, cast, is_tracing, permuted, promoted, reshaped, run
from ..base.errors import ConcretizationError, DTypeError, OutOfBoundsError, ShapeError
from ..ir.dtypes import INT64
from ..tensors.tensor import Tensor


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
