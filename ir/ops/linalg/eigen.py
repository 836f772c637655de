"""Eigenvalues and eigenvectors of Hermitian matrices.

Just the lower triangle is read; the gradient is that of the function of ``(a + a^H) / 2``. Equal eigenvalues
are treated as equal singular values are: see `svd`. LAPACK takes some NaN for numbers, and converges: results
are NaN then.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....base.errors import LinAlgError
from ....base.lapack.library import on_one_thread
from ...registry import Attrs
from ...types import TensorType, Types
from .common import (
    adjoint,
    as_diagonal,
    conjugate,
    hermitian,
    product,
    scaled_columns,
    several,
    square_type,
    zeros_like,
)
from .svd import real_of
from .undetermined import by_differences


def _infer(types: Types, attrs: Attrs) -> Types:
    operand = square_type("eigh", types[0])
    return TensorType(real_of(operand.dtype), operand.shape[:-1]), operand


@on_one_thread
def _eval(a: Any) -> tuple[Any, Any]:
    try:
        values, vectors = np.linalg.eigh(a)
    except np.linalg.LinAlgError as error:
        raise LinAlgError(f"eigh: {error}") from error
    unknown = _triangle_has_nan(a)
    values[unknown] = vectors[unknown] = np.nan
    return values, vectors


def _triangle_has_nan(a: Any) -> Any:
    """Whether each matrix has a NaN in its lower triangle, without the imaginary parts of its diagonal."""
    diagonal = np.diagonal(a, axis1=-2, axis2=-1).real
    return np.isnan(np.tril(a, -1)).any(axis=(-2, -1)) | np.isnan(diagonal).any(axis=-1)


def _pull(b: Any, cotangents: Any, operands: Any, results: Any, attrs: Attrs) -> Any:
    """``v (diag(g_w) + (v^H g_v) / (w_j - w_i)) v^H``"""
    a, (w, v) = operands[0], results
    if 0 in a.shape:
        return [zeros_like(b, a)]
    ct_w, ct_v = cotangents[0], cotangents[1]
    middle = None if ct_w is None else b.cast(as_diagonal(b, ct_w), dtype=a.dtype)
    if ct_v is not None:
        turning = by_differences(b, product(b, adjoint(b, v), conjugate(b, ct_v)), w)
        middle = turning if middle is None else b.add(middle, turning)
    return [conjugate(b, hermitian(b, product(b, v, middle, adjoint(b, v))))]


EIGH = several(
    "eigh", "a", infer=_infer, eval=_eval, pull=_pull,
    doc="the eigenvalues of a Hermitian matrix in ascending order, and eigenvectors as columns",
)  # fmt: skip


@on_one_thread
def _values_eval(a: Any) -> Any:
    try:
        values = np.linalg.eigvalsh(a)
    except np.linalg.LinAlgError as error:
        raise LinAlgError(f"eigvalsh: {error}") from error
    values[_triangle_has_nan(a)] = np.nan
    return values


def _values_pull(b: Any, cotangents: Any, operands: Any, results: Any, attrs: Attrs) -> Any:
    a = operands[0]
    if 0 in a.shape:
        return [zeros_like(b, a)]
    _, v = b.eigh(a)
    weighted = scaled_columns(b, v, b.cast(cotangents[0], dtype=a.dtype))
    return [conjugate(b, hermitian(b, product(b, weighted, adjoint(b, v))))]


EIGVALSH = several(
    "eigvalsh", "a", infer=lambda types, attrs: (_infer(types, attrs)[0],), eval=_values_eval,
    pull=_values_pull, doc="the eigenvalues of a Hermitian matrix in ascending order",
)  # fmt: skip
