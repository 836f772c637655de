"""Eigenvalues and eigenvectors of any square matrices, which are complex.

Vectors are LAPACK's: of length 1, and with a largest element that is real; the gradient is that of vectors so
normalized. Equal eigenvalues are treated as those of Hermitian matrices, see `eigen`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....base.errors import LinAlgError
from ....base.lapack.library import on_one_thread
from ...dtypes import INT64, complex_dtype, is_complex
from ...registry import Attrs
from ...types import Types
from .common import (
    adjoint,
    as_diagonal,
    conjugate,
    diagonal,
    product,
    row_of,
    scaled_columns,
    several,
    square_type,
    unit_roundoff,
    zeros_like,
)
from .undetermined import by_differences, nan_where


def _general_infer(types: Types, attrs: Attrs, name: str = "eig") -> Types:
    operand = square_type(name, types[0])
    dtype = complex_dtype(operand.dtype)
    return operand.with_dtype(dtype).with_shape(operand.shape[:-1]), operand.with_dtype(dtype)


@on_one_thread
def _general_eval(a: Any) -> tuple[Any, Any]:
    try:
        values, vectors = np.linalg.eig(a)
    except np.linalg.LinAlgError as error:
        raise LinAlgError(f"eig: {error}") from error
    dtype = complex_dtype(a.dtype)
    return values.astype(dtype, copy=False), vectors.astype(dtype, copy=False)


def _general_pull(b: Any, cotangents: Any, operands: Any, results: Any, attrs: Attrs) -> Any:
    """``v^-H (diag(g_w) + (v^H g) / conj(w_j - w_i)) v^H``, where g is what `_turning` leaves of ``g_v``."""
    a, (w, v) = operands[0], results
    if 0 in a.shape:
        return [zeros_like(b, a)]
    ct_w, ct_v = cotangents[0], cotangents[1]
    middle = None if ct_w is None else as_diagonal(b, conjugate(b, ct_w))
    if ct_v is not None:
        inner = product(b, adjoint(b, v), _turning(b, v, conjugate(b, ct_v)))
        turned = by_differences(b, inner, conjugate(b, w))
        middle = turned if middle is None else b.add(middle, turned)
    lu, _, permutation = b.lu(b.stop_gradient(v))
    gradient = b.lu_solve(
        v, lu, permutation, product(b, middle, adjoint(b, v)), transpose=True, conjugate=True,
        on_singular="ignore",
    )  # fmt: skip
    # columns have length 1: the least pivot is about the reciprocal of the condition number, by whose square
    # roundings count
    pivots = b.min(b.abs(diagonal(b, lu)), axes=(len(a.shape) - 2,))
    gradient = nan_where(b, gradient, b.le(pivots, 4 * unit_roundoff(a.dtype) ** 0.5), "basis")
    return [conjugate(b, gradient) if is_complex(a.dtype) else b.real(gradient)]


def _turning(b: Any, v: Any, g: Any) -> Any:
    """The part of the gradient `g` by which columns of `v` change, but for their length and phase.

    A change u of a vector v goes with one of c v, which keeps the length, ``Re c = -Re(v^H u)``, and the
    element v_r real, ``Im c = -Im(u_r) / v_r``. With ``s = v^H g`` it counts ``Re s Re c + Im s Im c``.
    """
    share = diagonal(b, product(b, adjoint(b, v), g))
    chosen = _real_elements(b, v)
    element = b.sum(b.where(chosen, b.real(v), 0.0), axes=(len(v.shape) - 2,))
    phase = b.mul(b.cast(b.div(b.imag(share), element), dtype=v.dtype), 1j)
    along = scaled_columns(b, v, b.cast(b.real(share), dtype=v.dtype))
    at_element = b.where(chosen, b.broadcast(row_of(b, phase), shape=tuple(v.shape)), 0.0)
    return b.sub(b.sub(g, along), at_element)


def _real_elements(b: Any, v: Any) -> Any:
    """A mask with the largest of the real elements of each column."""
    shape, rows = tuple(v.shape), len(v.shape) - 2
    sizes = b.where(b.eq(b.imag(v), 0.0), b.abs(b.real(v)), -1.0)
    place = b.broadcast(row_of(b, b.argmax(b.stop_gradient(sizes), axis=rows)), shape=shape)
    return b.eq(b.iota(shape=shape, axis=rows, dtype=INT64), place)


EIG = several(
    "eig", "a", infer=_general_infer, eval=_general_eval, pull=_general_pull,
    doc="the complex eigenvalues of a square matrix, and eigenvectors as columns of length 1",
)  # fmt: skip


@on_one_thread
def _general_values_eval(a: Any) -> Any:
    try:
        values = np.linalg.eigvals(a)
    except np.linalg.LinAlgError as error:
        raise LinAlgError(f"eigvals: {error}") from error
    return values.astype(complex_dtype(a.dtype), copy=False)


def _general_values_pull(b: Any, cotangents: Any, operands: Any, results: Any, attrs: Attrs) -> Any:
    a = operands[0]
    if 0 in a.shape:
        return [zeros_like(b, a)]
    return _general_pull(b, (cotangents[0], None), operands, b.eig(a), attrs)


EIGVALS = several(
    "eigvals", "a", infer=lambda types, attrs: (_general_infer(types, attrs, "eigvals")[0],),
    eval=_general_values_eval,
    pull=_general_values_pull, doc="the complex eigenvalues of a square matrix",
)  # fmt: skip
