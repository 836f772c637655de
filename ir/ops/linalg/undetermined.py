"""Derivatives that do not exist, or that cotangents do not tell: they are NaN.

Gradients of eigenvectors and singular vectors go by quotients by differences of their values.

Vectors of equal values are not determined: any others that span the same will do. What a loss makes of them
and of their values may have a gradient, such as ``(v * f(w)) @ v^H``, but neither the vectors' cotangents nor
the values' say what it is: there the quotient is NaN.

Vectors of nearly equal values are determined up to roundings over the difference of the values, and so are
quotients; derivatives of quotients, up to roundings over its square. Where less than half of the digits are
left, there is a warning.

Compiled code warns as eager code does: ``warn_unless_zero`` becomes a branch that calls Python.
"""

from __future__ import annotations

import math
import warnings
from typing import Any, Final

import numpy as np

from ....base.errors import DTypeError, UndeterminedGradientWarning
from ....base.user_code import user_stacklevel
from ...builder import Builder
from ...dtypes import BOOL, DType, is_complex, result_type
from ...graph import Function
from ...registry import NONDIFF, OPS, Attrs, Kind
from ...transforms.batching import batch_pointwise
from ...types import TensorType, Types
from ..define import define, same_shape
from .common import column_of, offsets, row_of, unit_roundoff

_NEARLY_EQUAL: Final = (
    "gradients have few right digits where eigenvalues or singular values are nearly equal, by less than "
    "{share:.0e} of the largest one: rounding is divided by the {divisor}; sqrtm, logm, expm, polar, pinv, "
    "inv and matrix_power have exact derivatives: docs/linalg.md"
)
#: Warnings by the attribute `of`, which says whose derivative it is.
_WARNINGS: Final = {
    "vectors": "gradients are NaN where eigenvalues or singular values are equal: their vectors are not "
    "determined there; sqrtm, logm, expm, polar, pinv, inv and matrix_power have derivatives: docs/linalg.md",
    "close vectors": _NEARLY_EQUAL,
    "slopes of close vectors": _NEARLY_EQUAL,
    "basis": "gradients of eigenvalues are NaN where a matrix has no basis of eigenvectors",
    "polar": "gradients of polar decompositions are NaN where a singular value is 0: the factor with "
    "orthonormal columns is not determined there",
    "columns": "gradients of QR factors are NaN where columns are not independent",
}


def _warn(of: str, dtype: DType) -> None:
    order = 2 if of == "slopes of close vectors" else 1
    divisor = "square of the difference" if order == 2 else "difference"
    text = _WARNINGS[of].format(share=few_digits(dtype, order), divisor=divisor)
    warnings.warn(text, UndeterminedGradientWarning, stacklevel=user_stacklevel())


def _gradient_warning(of: str, dtype: DType) -> Any:
    _warn(of, dtype)
    return np.False_


GRADIENT_WARNING = define(
    "gradient_warning", Kind.HOST, "", infer=lambda types, attrs: (TensorType(BOOL, ()),),
    eval=_gradient_warning, vjp=NONDIFF, attrs={"of": (str,), "dtype": (np.dtype,)},
    doc="false, after a warning `of` a derivative that has few right digits or does not exist",
)  # fmt: skip


def _warn_infer(types: Types, attrs: Attrs) -> Types:
    if types[1].dtype is not BOOL:
        raise DTypeError(f"warn_unless_zero: expected a bool mask, got {types[1]}")
    same_shape("warn_unless_zero", types)
    return (types[0],)


def _warn_eval(x: Any, mask: Any, of: str) -> Any:
    if np.any(mask & (x != 0)):
        _warn(of, x.dtype)
    return x


def _warn_decompose(b: Any, x: Any, mask: Any, of: str) -> Any:
    """`x`, with a branch that warns. What the branch says decides over `x`, so that it runs where `x` is
    needed, and is dropped where it is not."""
    unknown = b.any(b.logical_and(mask, b.ne(x, 0.0)), axes=tuple(range(len(x.shape))))
    regions = tuple([_branch(name, of, x.dtype) for name in ("quiet", "warning")])
    told = b.append(OPS["switch"], (unknown,), {}, regions=regions)[0]  # false in both
    return b.where(b.broadcast(told, shape=tuple(x.shape)), 0.0, x)


def _branch(name: str, of: str, dtype: DType) -> Function:
    b = Builder()
    quiet = name == "quiet"
    told = b.full(value=False, shape=(), dtype=BOOL) if quiet else b.gradient_warning(of=of, dtype=dtype)
    return b.finish(name, [told])


WARN_UNLESS_ZERO = define(
    "warn_unless_zero", Kind.COMPOSITE, "x mask", infer=_warn_infer, eval=_warn_eval,
    decompose=_warn_decompose, batch=batch_pointwise, attrs={"of": (str,)},
    vjp={"x": lambda b, ct, mask, of: b.warn_unless_zero(ct, mask, of=of)},
    doc="x, with a warning where mask and x is not 0: `of` a derivative with few right digits, or none",
)  # fmt: skip


def _infer(types: Types, attrs: Attrs) -> Types:
    if types[0].dtype.kind != "f" or types[1].dtype is not BOOL:
        raise DTypeError(f"nan_unless_zero: expected (float, bool), got ({', '.join(map(str, types))})")
    same_shape("nan_unless_zero", types)
    return (types[0],)


def _eval(x: Any, mask: Any) -> Any:
    return np.where(mask & (x != 0), x.dtype.type(np.nan), x)


def _emit(b: Any, x: Any, mask: Any) -> Any:
    return b.select(b.and_(mask, b.ne(x, b.const(0.0, x))), b.const(math.nan, x), x)


NAN_UNLESS_ZERO = define(
    "nan_unless_zero", Kind.ELEMENTWISE, "x mask", infer=_infer, eval=_eval, emit=_emit, emit_kinds="bf",
    promote=lambda operands: (result_type(operands[0]), BOOL),
    vjp={"x": lambda b, ct, mask: b.nan_unless_zero(ct, mask)},
    doc="x, but NaN where mask and x is not 0",
)  # fmt: skip


def few_digits(dtype: Any, order: int) -> float:
    """The difference of values, as a part of the largest, at which a quotient by its power `order` has half
    of its digits."""
    return math.pow(unit_roundoff(dtype), 0.5 / order)


def quotients(b: Any, x: Any, divisors: Any, scale: Any, *, diagonal: bool) -> Any:
    """``x / divisors``, which are differences of values of the size `scale`; without `diagonal`, 0 on it.

    Where a divisor is 0 up to rounding, the vectors turn by an amount that their values do not say: the
    quotient is NaN, but for an x that is 0, as that of vectors which nothing depends on. Where values are
    equal to the last bit, a function of them may be 0 for both, and x is 0 that need not be: NaN, too. Where
    it is small, a warning says that few digits are right, of the quotient or of its derivative. Each step is
    linear in `x`, so that forward mode, which differentiates by it, says the same.
    """
    shape = tuple(x.shape)
    size = b.abs(b.stop_gradient(divisors))
    near = b.le(size, b.mul(scale, 4 * shape[-1] * unit_roundoff(scale.dtype)))

    def below(order: int) -> Any:
        bound = b.mul(scale, few_digits(scale.dtype, order))
        return b.logical_and(b.le(size, bound), b.logical_not(near))

    unknown = near
    if not diagonal:
        row, column = offsets(b, x)
        aside = b.broadcast(b.ne(row, column), shape=shape)
        x, unknown = b.where(aside, x, 0.0), b.logical_and(near, aside)
    told = b.logical_and(below(2), b.ne(b.stop_gradient(x), 0.0))
    divisors = _warn_of_derivative(b, divisors, told, of="slopes of close vectors")
    factor = b.where(near, 1.0, b.div(1.0, b.where(near, 1.0, divisors)))
    factor = b.where(b.logical_and(unknown, b.eq(size, 0.0)), math.nan, factor)
    if is_complex(x.dtype) and not is_complex(factor.dtype):
        factor = b.cast(factor, dtype=x.dtype)
    quotient = b.warn_unless_zero(b.mul(x, factor), below(1), of="close vectors")
    return nan_unless_zero(b, quotient, unknown, "vectors")


def _warn_of_derivative(b: Any, x: Any, mask: Any, of: str) -> Any:
    """`x`, real or complex, with a warning where mask and its cotangent or tangent is not 0."""
    change = b.sub(x, b.stop_gradient(x))
    return b.rewritten(b.warn_unless_zero(change, mask, of=of), x)


def nan_unless_zero(b: Any, x: Any, mask: Any, of: str) -> Any:
    """`x`, real or complex, but NaN where `mask` and it is not 0, with a warning."""
    x = b.warn_unless_zero(x, mask, of=of)
    if not is_complex(x.dtype):
        return b.nan_unless_zero(x, mask)
    real, imag = (b.nan_unless_zero(part(x), mask) for part in (b.real, b.imag))
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
