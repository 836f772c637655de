"""Compaction: positions of the true elements, one behind the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....base.errors import DTypeError, ShapeError
from ...dtypes import BOOL, INT64
from ...registry import NONDIFF, Attrs, Kind
from ...transforms.batching import batch_pointwise
from ...types import TensorType
from ..define import define


def _infer(types: tuple[TensorType, ...], attrs: Attrs) -> tuple[TensorType, ...]:
    (x,) = types
    if x.ndim == 0 or attrs["size"] < 0:
        raise ShapeError(f"true_positions: expected rank 1 or more and size >= 0, got {x}, {attrs['size']}")
    if x.dtype is not BOOL:
        raise DTypeError(f"true_positions: expected bools, got {x}")
    return (TensorType(INT64, (*x.shape[:-1], attrs["size"])),)


def _eval(x: Any, size: int) -> Any:
    result = np.full((*x.shape[:-1], size), x.shape[-1], INT64)
    for row in np.ndindex(x.shape[:-1]):
        positions = np.flatnonzero(x[row])[:size]
        result[row][: positions.size] = positions
    return result


TRUE_POSITIONS = define(
    "true_positions", Kind.COMPACTION, "x",
    doc="the positions of the first `size` true elements along the last axis, behind them its length",
    attrs={"size": (int,)}, infer=_infer, eval=_eval, vjp=NONDIFF,
    batch=batch_pointwise,
)  # fmt: skip
