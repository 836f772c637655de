"""Norms of vectors by sums of powers: the gradient is 0 where the norm is 0, which is a subgradient, and the
second derivative, which does not exist there, is NaN."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...dtypes import is_complex, real_dtype
from ...errors import DTypeError, ShapeError
from ...registry import Attrs, Kind
from ...transforms.batching import batch_axes
from ...types import TensorType, normalize_axes, remove_axes
from ..define import define
from ..reductions import SUM, spread
from .common import Types, conjugate


def _infer(types: Types, attrs: Attrs) -> Types:
    (operand,) = types
    if operand.dtype.kind not in "fc":
        raise DTypeError(f"vector_norm: expected a floating operand, got {operand}")
    if not attrs["ord"] > 1:
        raise ShapeError(f"vector_norm: ord must be more than 1, got {attrs['ord']}")
    axes = normalize_axes("vector_norm", attrs["axes"], operand.ndim)
    dtype = real_dtype(operand.dtype) if is_complex(operand.dtype) else operand.dtype
    return (TensorType(dtype, remove_axes(operand.shape, axes)),)


def _eval(x: Any, axes: tuple[int, ...], ord: float) -> Any:
    size = np.abs(x) if x.dtype.kind == "c" or ord != 2 else x
    if ord == 2:
        return np.sqrt(SUM.eval(size * size, axes))
    return SUM.eval(size**ord, axes) ** x.dtype.type(0).real.dtype.type(1.0 / ord)


def _decompose(b: Any, x: Any, axes: tuple[int, ...], ord: float) -> Any:
    size = b.abs(x) if is_complex(x.dtype) or ord != 2 else x
    if ord == 2:
        return b.sqrt(b.sum(b.mul(size, size), axes=axes))
    return b.pow(b.sum(b.pow(size, ord), axes=axes), 1.0 / ord)


def _rule(b: Any, ct: Any, out: Any, x: Any, axes: tuple[int, ...], ord: float) -> Any:
    """``d n = Re(conj(x) dx) (|x| / n)^(p - 2) / n``"""
    shape = tuple(x.shape)
    at_zero = b.eq(out, 0.0)
    zero = spread(b, at_zero, shape, axes)
    norm = b.where(at_zero, 1.0, out)
    # x, with a derivative that is NaN at 0, whatever it is multiplied by
    there_is_none = b.cast(b.where(zero, math.nan, 1.0), dtype=x.dtype)
    y = b.rewritten(b.mul(conjugate(b, x), there_is_none), conjugate(b, x))
    weight = spread(b, b.div(ct, norm), shape, axes)
    if ord != 2:
        # as powers of |x| with exponents from p - 1 on, which have their derivatives at zeros, too
        share = b.div(b.abs(y), spread(b, norm, shape, axes))
        weight = spread(b, ct, shape, axes)
        y = b.mul(b.sign(y), b.cast(b.pow(share, ord - 1), dtype=x.dtype))
    return b.mul(b.cast(weight, dtype=x.dtype), y)


VECTOR_NORM = define(
    "vector_norm", Kind.COMPOSITE, "x", infer=_infer, eval=_eval, decompose=_decompose, vjp={"x": _rule},
    batch=batch_axes, attrs={"axes": (tuple,), "ord": (int, float)}, defaults={"ord": 2},
    doc="the root of order `ord`, more than 1, of the sum of powers of absolute values",
)  # fmt: skip
