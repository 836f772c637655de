"""Index reductions: the place of the least or largest element along an axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....base.errors import ShapeError
from ...dtypes import INT64
from ...registry import NONDIFF, Attrs, Builtin, Kind, Op
from ...transforms.batching import batch_axes
from ...types import TensorType, normalize_axis, remove_axes
from ..define import define


def _arg_reduction(name: str, kernel: Callable[..., Any], doc: str) -> Op:
    def infer(types: tuple[TensorType, ...], attrs: Attrs) -> tuple[TensorType, ...]:
        operand, axis = types[0], normalize_axis(name, attrs["axis"], types[0].ndim)
        if operand.shape[axis] == 0:
            raise ShapeError(f"{name}: axis {axis} of {operand.shape} is empty, so there is no index to give")
        return (TensorType(INT64, remove_axes(operand.shape, (axis,))),)

    return define(
        name, Kind.ARG_REDUCTION, "x", infer=infer, eval=lambda x, axis: kernel(x, axis=axis),
        vjp=NONDIFF, doc=doc, attrs={"axis": (int,)}, batch=batch_axes,
        builtin=Builtin(getattr(np.ndarray, name), ("axis",), second="axis"),
    )  # fmt: skip


ARGMAX = _arg_reduction("argmax", np.argmax, "the index of the first maximum or NaN")
ARGMIN = _arg_reduction("argmin", np.argmin, "the index of the first minimum or NaN")
