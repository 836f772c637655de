"""Norms of vectors by sums of powers: the gradient is 0 where the norm is 0, which is a subgradient, and the
second derivative, which does not exist there, is NaN. Norms of orders below 1 have cusps where an element is
0: derivatives by it are 0, as those of its absolute value."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from ...base.errors import DTypeError, ShapeError
from ..dtypes import is_complex, real_dtype
from ..registry import Attrs, Kind
from ..transforms.batching import batch_axes, batch_pointwise
from ..types import TensorType, Types, normalize_axes, remove_axes
from .define import define
from .linalg.common import conjugate
from .reductions import SUM, spread


def _infer(types: Types, attrs: Attrs) -> Types:
    (operand,) = types
    if operand.dtype.kind not in "fc":
        raise DTypeError(f"vector_norm: expected a floating operand, got {operand}")
    if not math.isfinite(attrs["ord"]) or attrs["ord"] in (0, 1):
        raise ShapeError(f"vector_norm: ord must be finite, and neither 0 nor 1, got {attrs['ord']}")
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


#: Limits of dtypes with a wide range, by the bytes of a real number, as powers of two: the least norm whose
#: squares have all their digits, the largest that is far from overflow, and what brings smaller ones and
#: larger ones between these.
_RANGES: Final = {4: (-51, 63, 98, -80), 8: (-485, 511, 600, -600)}


def _in_range(b: Any, out: Any, x: Any, axes: tuple[int, ...], ord: float) -> Any:
    """A power of two, without a derivative, times each vector of `x`, whose norms are `out`: its own norm is
    neither a sum of powers that underflow nor infinite, where there is such a power."""
    dtype, shape = out.dtype, tuple(x.shape)
    if ord == 2 and dtype.itemsize in _RANGES:
        low, high, up, down = [2.0**power for power in _RANGES[dtype.itemsize]]
        factor = b.cast(b.where(b.lt(out, low), up, b.where(b.gt(out, high), down, 1.0)), dtype=dtype)
        return b.mul(x, b.cast(spread(b, factor, shape, axes), dtype=x.dtype))
    # the element that the sum of powers is about as large as that of; of orders from 0 to 1 no power leaves
    # the range of the dtype before the norm does
    if 0 < ord < 1:
        return x
    size = b.stop_gradient(b.abs(x))
    leading = (
        b.max(size, axes=axes) if ord > 0 else b.min(b.where(b.eq(size, 0.0), math.inf, size), axes=axes)
    )
    info = np.finfo(dtype)
    # complex quotients go by the reciprocal of the divisor
    least = info.tiny if is_complex(x.dtype) else info.smallest_subnormal
    exponent = b.floor(b.log2(b.clip(leading, float(least), float(info.max))))
    return b.div(x, b.cast(spread(b, b.exp2(exponent), shape, axes), dtype=x.dtype))


def _rule(b: Any, ct: Any, out: Any, x: Any, axes: tuple[int, ...], ord: float) -> Any:
    """``d n = Re(conj(x) dx) (|x| / n)^(p - 2) / n``, which is that of a multiple of x."""
    shape = tuple(x.shape)
    rest = b.without_factor(ct, out) if ord == 2 else None
    if rest is not None:
        return b.mul(b.cast(spread(b, rest, shape, axes), dtype=x.dtype), conjugate(b, x))
    if 0 not in shape:
        x = _in_range(b, out, x, axes, ord)
        out = b.vector_norm(x, axes=axes, ord=ord)
    at_zero = b.eq(out, 0.0)
    norm = spread(b, b.where(at_zero, 1.0, out), shape, axes)
    y = conjugate(b, x)
    if ord < 1:
        size, sign = b.abs(y), b.sign(y)
        share = b.div(size, norm)
        # elements so large that a negative power of them is 0 count as flat, too
        aside = b.logical_or(b.eq(size, 0.0), b.eq(share, math.inf))
        flat = b.logical_or(aside, spread(b, at_zero, shape, axes))
        share, sign = b.where(flat, 1.0, share), b.where(flat, 0.0, sign)
        y = b.mul(sign, b.cast(b.pow(share, ord - 1), dtype=x.dtype))
    else:
        if ord == 2:
            y = b.div(y, b.cast(norm, dtype=x.dtype))  # of size 1: its products may not overflow
        else:
            # where y is 0, the slope of the power may be infinite, and that by the norm is 0
            over = b.strong_div if ord < 2 else b.div
            y = b.signed_power(over(y, b.cast(norm, dtype=x.dtype)), exponent=ord - 1)
        # with a derivative that is NaN where the norm is 0, whatever it is multiplied by
        there_is_none = spread(b, b.cast(b.where(at_zero, math.nan, 1.0), dtype=x.dtype), shape, axes)
        y = b.rewritten(b.mul(y, there_is_none), y)
    return b.mul(b.cast(spread(b, ct, shape, axes), dtype=x.dtype), y)


def _power_infer(types: Types, attrs: Attrs) -> Types:
    if types[0].dtype.kind not in "fc":
        raise DTypeError(f"signed_power: expected a floating operand, got {types[0]}")
    if not attrs["exponent"] > 0:
        raise ShapeError(f"signed_power: exponent must be positive, got {attrs['exponent']}")
    return types


def _power_decompose(b: Any, x: Any, exponent: float) -> Any:
    return b.mul(b.sign(x), b.cast(b.pow(b.abs(x), exponent), dtype=x.dtype))


def _power_rule(b: Any, ct: Any, x: Any, exponent: float) -> Any:
    """``d y = |x|^(q-1) (dx + (q - 1) s Re(conj(s) dx))`` with ``s = sign x``."""
    slope = b.pow(b.abs(x), exponent - 1)
    if is_complex(x.dtype):
        sign = b.sign(x)
        radial = b.cast(b.mul(b.real(b.mul(ct, sign)), exponent - 1), dtype=x.dtype)
        ct, slope = b.add(ct, b.mul(conjugate(b, sign), radial)), b.cast(slope, dtype=x.dtype)
    else:
        slope = b.mul(slope, exponent)
    # a slope that is infinite is that of no direction but its own
    return b.strong_mul(ct, slope) if exponent < 1 else b.mul(ct, slope)


SIGNED_POWER = define(
    "signed_power", Kind.COMPOSITE, "x", infer=_power_infer, decompose=_power_decompose,
    eval=lambda x, exponent: np.sign(x) * np.abs(x) ** exponent, vjp={"x": _power_rule},
    batch=batch_pointwise, attrs={"exponent": (int, float)},
    doc="sign(x) |x|^`exponent`, of a positive exponent; the slope at 0 is infinite for those below 1",
)  # fmt: skip
VECTOR_NORM = define(
    "vector_norm", Kind.COMPOSITE, "x", infer=_infer, eval=_eval, decompose=_decompose, vjp={"x": _rule},
    batch=batch_axes, attrs={"axes": (tuple,), "ord": (int, float)}, defaults={"ord": 2},
    doc="the root of order `ord`, neither 0 nor 1, of the sum of powers of absolute values",
)  # fmt: skip
