"""Sorting along the last axis.

NaN counts as larger than everything else, as in NumPy. `argsort` keeps equal elements in their order; of
`sort` the order of equal elements (of 0.0 and -0.0, say) is not told.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....base.errors import ShapeError
from ...dtypes import INT64
from ...registry import NONDIFF, Attrs, Kind
from ...transforms.batching import batch_pointwise
from ...types import TensorType
from ..define import define


def _along_last(name: str, operand: TensorType) -> None:
    if operand.ndim == 0:
        raise ShapeError(f"{name}: expected rank 1 or more, got {operand}")


def _sort_infer(types: tuple[TensorType, ...], attrs: Attrs) -> tuple[TensorType, ...]:
    _along_last("sort", types[0])
    return (types[0],)


def _argsort_infer(types: tuple[TensorType, ...], attrs: Attrs) -> tuple[TensorType, ...]:
    _along_last("argsort", types[0])
    return (TensorType(INT64, types[0].shape),)


def _sort_rule(b: Any, ct: Any, x: Any) -> Any:
    """Each element's cotangent goes back to where it came from."""
    shape = x.shape
    count = math.prod(shape[:-1])
    rows, order = b.reshape(ct, shape=(count, shape[-1])), b.argsort(x)
    places = (b.iota(shape=rows.shape, axis=0, dtype=INT64), b.reshape(order, shape=rows.shape))
    zeros = b.full(value=0.0, shape=rows.shape, dtype=ct.dtype)
    return b.reshape(b.scatter(zeros, rows, *places, mode="add"), shape=shape)


def _sorted(x: Any) -> Any:
    # NumPy 2.4's fastest way leaves long lines of float16 unsorted on processors with AVX512-FP16
    return np.sort(x, axis=-1, kind="stable" if x.dtype == np.float16 else None)


SORT = define(
    "sort", Kind.SORT, "x", doc="the elements in ascending order along the last axis, NaN last",
    infer=_sort_infer, eval=_sorted, vjp={"x": _sort_rule}, batch=batch_pointwise,
)  # fmt: skip
ARGSORT = define(
    "argsort", Kind.ARG_SORT, "x",
    doc="the positions of the elements in ascending order along the last axis, NaN last, ties by position",
    infer=_argsort_infer, vjp=NONDIFF, batch=batch_pointwise,
    eval=lambda x: np.argsort(x, axis=-1, kind="stable").astype(INT64, copy=False),
)  # fmt: skip
