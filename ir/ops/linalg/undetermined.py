"""Derivatives that do not exist, or that cotangents do not tell: they are NaN.

Gradients of eigenvectors and singular vectors go by quotients by differences of their values.

Vectors of equal values are not determined: any others that span the same will do. What a loss makes of them
and of their values may have a gradient, such as ``(v * f(w)) @ v^H``, but neither the vectors' cotangents nor
the values' say what it is: there the quotient is NaN.

Vectors of nearly equal values are determined up to roundings over the difference of the values, and so are
quotients: Python code warns where few digits are left.
"""

from __future__ import annotations

import math
import warnings
from typing import Any, Final

import numpy as np

from ....base.errors import DTypeError, UndeterminedGradientWarning
from ...dtypes import BOOL, is_complex, result_type
from ...registry import Attrs, Kind
from ...transforms.batching import batch_pointwise
from ...types import Types
from ..define import define, same_shape
from .common import column_of, offsets, row_of, unit_roundoff

#: Warnings by the attribute `of`, which says whose derivative it is; "" warns of nothing.
_WARNINGS: Final = {
    "vectors": "gradients are NaN where eigenvalues or singular values are equal: their vectors are not "
    "determined there; sqrtm, logm, expm, polar, pinv, inv and matrix_power have derivatives: docs/linalg.md",
    "close vectors": "gradients have few right digits where eigenvalues or singular values are nearly equal, "
    "by less than {share:.0e} of the largest one: rounding is divided by the difference; sqrtm, logm, expm, "
    "polar, pinv, inv and matrix_power have exact derivatives: docs/linalg.md",
    "basis": "gradients of eigenvalues are NaN where a matrix has no basis of eigenvectors",
    "columns": "gradients of QR factors are NaN where columns are not independent",
}


def _infer(types: Types, attrs: Attrs) -> Types:
    if types[0].dtype.kind != "f" or types[1].dtype is not BOOL:
        raise DTypeError(f"nan_unless_zero: expected (float, bool), got ({', '.join(map(str, types))})")
    same_shape("nan_unless_zero", types)
    return (types[0],)


def _eval(x: Any, mask: Any, of: str = "") -> Any:
    unknown = mask & (x != 0)
    if of and np.any(unknown):
        warnings.warn(_WARNINGS[of], UndeterminedGradientWarning, stacklevel=2)
    return np.where(unknown, x.dtype.type(np.nan), x)


def _emit(b: Any, x: Any, mask: Any, of: str = "") -> Any:
    return b.select(b.and_(mask, b.ne(x, b.const(0.0, x))), b.const(math.nan, x), x)


NAN_UNLESS_ZERO = define(
    "nan_unless_zero", Kind.ELEMENTWISE, "x mask", infer=_infer, eval=_eval, emit=_emit, emit_kinds="bf",
    promote=lambda operands: (result_type(operands[0]), BOOL),
    vjp={"x": lambda b, ct, mask, of: b.nan_unless_zero(ct, mask, of=of)},
    doc="x, but NaN where mask and x is not 0, of which Python code warns: a derivative `of` what has none",
    attrs={"of": (str,)}, defaults={"of": ""},
)  # fmt: skip


def _warn_infer(types: Types, attrs: Attrs) -> Types:
    if types[1].dtype is not BOOL:
        raise DTypeError(f"warn_unless_zero: expected a bool mask, got {types[1]}")
    same_shape("warn_unless_zero", types)
    return (types[0],)


def _warn_eval(x: Any, mask: Any, of: str = "") -> Any:
    if of and np.any(mask & (x != 0)):
        text = _WARNINGS[of].format(share=few_digits(x.dtype))
        warnings.warn(text, UndeterminedGradientWarning, stacklevel=2)
    return x


#: Compiled code is that of x.
WARN_UNLESS_ZERO = define(
    "warn_unless_zero", Kind.COMPOSITE, "x mask", infer=_warn_infer, eval=_warn_eval,
    decompose=lambda b, x, mask, of: x, batch=batch_pointwise, attrs={"of": (str,)}, defaults={"of": ""},
    vjp={"x": lambda b, ct, mask, of: b.warn_unless_zero(ct, mask, of=of)},
    doc="x; Python code warns where mask and x is not 0: of a derivative with few right digits",
)  # fmt: skip


def few_digits(dtype: Any) -> float:
    """The difference of values, as a part of the largest, by which a quotient has a third of its digits."""
    return math.pow(unit_roundoff(dtype), 2 / 3)


def quotients(b: Any, x: Any, divisors: Any, scale: Any, *, diagonal: bool) -> Any:
    """``x / divisors``, which are differences of values of the size `scale`; without `diagonal`, 0 on it.

    Where a divisor is 0 up to rounding, the vectors turn by an amount that their values do not say: the
    quotient is NaN, but for an x that is 0, as that of vectors which nothing depends on. Where values are
    equal to the last bit, a function of them may be 0 for both, and x is 0 that need not be: NaN, too. Where
    it is small, a warning says that few digits are right. Each step is linear in `x`, so that forward mode,
    which differentiates by it, says the same.
    """
    shape = tuple(x.shape)
    size = b.abs(b.stop_gradient(divisors))
    near = b.le(size, b.mul(scale, 4 * shape[-1] * unit_roundoff(scale.dtype)))
    close = b.logical_and(b.le(size, b.mul(scale, few_digits(scale.dtype))), b.logical_not(near))
    unknown = near
    if not diagonal:
        row, column = offsets(b, x)
        aside = b.broadcast(b.ne(row, column), shape=shape)
        x, unknown = b.where(aside, x, 0.0), b.logical_and(near, aside)
    factor = b.where(near, 1.0, b.div(1.0, b.where(near, 1.0, divisors)))
    factor = b.where(b.logical_and(unknown, b.eq(size, 0.0)), math.nan, factor)
    if is_complex(x.dtype) and not is_complex(factor.dtype):
        factor = b.cast(factor, dtype=x.dtype)
    quotient = b.warn_unless_zero(b.mul(x, factor), close, of="close vectors")
    return nan_unless_zero(b, quotient, unknown, "vectors")


def nan_unless_zero(b: Any, x: Any, mask: Any, of: str) -> Any:
    """`x`, real or complex, but NaN where `mask` and it is not 0."""
    if not is_complex(x.dtype):
        return b.nan_unless_zero(x, mask, of=of)
    real, imag = (b.nan_unless_zero(part(x), mask, of=of) for part in (b.real, b.imag))
    return b.add(b.cast(real, dtype=x.dtype), b.mul(b.cast(imag, dtype=x.dtype), 1j))


def nan_where(b: Any, x: Any, mask: Any, of: str) -> Any:
    """`x`, but NaN in the matrices that `mask` says."""
    everywhere = b.broadcast(column_of(b, column_of(b, mask)), shape=tuple(x.shape))
    factor = b.cast(b.where(everywhere, math.nan, 1.0), dtype=x.dtype)
    return nan_unless_zero(b, b.mul(x, factor), everywhere, of)


def by_differences(b: Any, x: Any, w: Any) -> Any:
    """``x_ij / (w_j - w_i)``, and 0 on the diagonal; see `quotients`."""
    shape = tuple(x.shape)
    difference = b.sub(b.broadcast(row_of(b, w), shape=shape), b.broadcast(column_of(b, w), shape=shape))
    return quotients(b, x, difference, largest(b, w, shape), diagonal=False)


def largest(b: Any, values: Any, shape: tuple[int, ...]) -> Any:
    """The largest absolute value of each vector of `values`, for each element of matrices of `shape`."""
    size = b.max(b.abs(b.stop_gradient(values)), axes=(len(values.shape) - 1,))
    return b.broadcast(column_of(b, column_of(b, size)), shape=shape)
