"""Cholesky factorization.

Just the lower triangle is read. The gradient is that of the function of ``(a + a^H) / 2``: it is Hermitian,
as PyTorch's and JAX's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....base.errors import LinAlgError, ShapeError
from ....base.lapack.library import on_one_thread
from ...registry import Attrs, Kind
from ...transforms.batching import batch_pointwise
from ...types import Types
from ..define import define
from .common import (
    adjoint,
    conjugate,
    each_matrix,
    halved_diagonal,
    hermitian,
    lower,
    product,
    square_type,
)


def _infer(types: Types, attrs: Attrs) -> Types:
    if attrs["on_error"] not in ("raise", "nan"):
        raise ShapeError(f"cholesky: on_error must be 'raise' or 'nan', got {attrs['on_error']!r}")
    return (square_type("cholesky", types[0]),)


@on_one_thread
def _eval(a: Any, on_error: str = "raise") -> Any:
    try:
        return np.linalg.cholesky(a)
    except np.linalg.LinAlgError as error:
        if on_error == "raise":
            raise LinAlgError(f"cholesky: {error}") from error
    return np.reshape(each_matrix(_or_nan, a), a.shape)


def _or_nan(matrix: Any) -> Any:
    try:
        return np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return np.full_like(matrix, complex(np.nan, np.nan) if matrix.dtype.kind == "c" else np.nan)


def _rule(b: Any, ct: Any, out: Any) -> Any:
    """``L^-H phi(L^H g) L^-1``, where phi takes the lower triangle with half the diagonal.

    Source: Murray 2016, Differentiation of the Cholesky decomposition, section 3.
    """
    inner = halved_diagonal(b, lower(b, product(b, adjoint(b, out), conjugate(b, ct))))
    conjugated = out.dtype.kind == "c"
    half = b.triangular_solve(out, inner, transpose=True, conjugate=conjugated)
    full = b.triangular_solve(out, adjoint(b, half), transpose=True, conjugate=conjugated)
    return conjugate(b, hermitian(b, full))


CHOLESKY = define(
    "cholesky", Kind.LINALG, "a", infer=_infer, eval=_eval, vjp={"a": _rule}, batch=batch_pointwise,
    doc="the lower triangular L with L L^H = a, of a's lower triangle; where a is not positive definite, "
    "`raise` or `nan`",
    attrs={"on_error": (str,)}, defaults={"on_error": "raise"},
)  # fmt: skip
