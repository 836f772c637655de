"""The singular value decomposition.

Where singular values are equal, their vectors are not determined. What depends on the choice has no gradient;
for all else, the part of the cotangents that would be divided by the difference of equal values is 0, and is
left out where values differ by no more than rounding.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ....base.errors import LinAlgError
from ....base.lapack.library import on_one_thread
from ...dtypes import BY_NAME, DType, is_complex
from ...registry import Attrs
from ...types import TensorType, Types
from .common import (
    adjoint,
    as_diagonal,
    column_of,
    conjugate,
    matrix_type,
    part,
    product,
    row_of,
    scaled_rows,
    several,
    zeros_like,
)
from .undetermined import largest, quotients

#: Message where there is no decomposition.
NO_SINGULAR_VALUES: Final = "SVD did not converge, or the matrix has NaN"


def real_of(dtype: DType) -> DType:
    """The dtype of the real part of `dtype`."""
    return BY_NAME["f32"] if dtype.itemsize == (8 if dtype.kind == "c" else 4) else BY_NAME["f64"]


def _infer(types: Types, attrs: Attrs) -> Types:
    operand = matrix_type("svd", types[0])
    *batch, rows, columns = operand.shape
    inner = min(rows, columns)
    left, right = (rows, columns) if attrs["full_matrices"] else (inner, inner)
    return (
        TensorType(operand.dtype, (*batch, rows, left)),
        TensorType(real_of(operand.dtype), (*batch, inner)),
        TensorType(operand.dtype, (*batch, right, columns)),
    )


@on_one_thread
def _eval(a: Any, full_matrices: bool = True) -> tuple[Any, Any, Any]:
    u, s, vh = converged_svd("svd", a, full_matrices=full_matrices)
    return u, s, vh


def converged_svd(name: str, a: Any, **options: Any) -> Any:
    """NumPy's ``svd``. Of infinities LAPACK may never come to an end: all results are NaN."""
    finite = np.isfinite(a).all(axis=(-2, -1))
    try:
        if finite.all():
            return np.linalg.svd(a, **options)
        if not np.isnan(a).any():
            results = np.linalg.svd(np.where(finite[..., None, None], a, 0), **options)
            for array in results if isinstance(results, tuple) else (results,):
                array[~finite] = np.nan
            return results
    except np.linalg.LinAlgError as error:
        raise LinAlgError(f"{name}: {error}") from error
    raise LinAlgError(f"{name}: {NO_SINGULAR_VALUES}")


def _pull(b: Any, cotangents: Any, operands: Any, results: Any, attrs: Attrs) -> Any:
    a, (u, s, vh) = operands[0], results
    if 0 in a.shape:
        return [zeros_like(b, a)]
    inner = s.shape[-1]
    ct_s = cotangents[1]
    ct_u, ct_vh = (None if ct is None else conjugate(b, ct) for ct in (cotangents[0], cotangents[2]))
    ct_v = None if ct_vh is None else adjoint(b, ct_vh)
    u, ct_u = _determined(b, u, ct_u, inner)
    v, ct_v = _determined(b, adjoint(b, vh), ct_v, inner)
    middle = zeros_like(b, product(b, adjoint(b, u), u)) if ct_s is None else None
    if ct_s is not None:
        middle = b.cast(as_diagonal(b, ct_s), dtype=a.dtype)
    if ct_u is not None or ct_v is not None:
        middle = b.add(middle, _turning(b, u, s, v, ct_u, ct_v))
    gradient = product(b, u, middle, adjoint(b, v))
    if ct_u is not None and u.shape[-2] > inner:
        gradient = b.add(gradient, product(b, _outside(b, u, s, ct_u), adjoint(b, v)))
    if ct_v is not None and v.shape[-2] > inner:
        gradient = b.add(gradient, product(b, u, adjoint(b, _outside(b, v, s, ct_v))))
    return [conjugate(b, gradient)]


def _determined(b: Any, vectors: Any, ct: Any, inner: int) -> Any:
    """The vectors that belong to singular values, and their cotangent, to which the others' contributes."""
    count = vectors.shape[-1]
    if count == inner:
        return vectors, ct
    beyond, vectors = part(b, vectors, -1, inner, count), part(b, vectors, -1, 0, inner)
    if ct is None:
        return vectors, None
    ct_beyond, ct = part(b, ct, -1, inner, count), part(b, ct, -1, 0, inner)
    return vectors, b.sub(ct, product(b, beyond, product(b, adjoint(b, ct_beyond), vectors)))


def _outside(b: Any, vectors: Any, s: Any, ct: Any) -> Any:
    """The part of `ct` that is orthogonal to `vectors`, over `s`."""
    outside = b.sub(ct, product(b, vectors, product(b, adjoint(b, vectors), ct)))
    shape = tuple(outside.shape)
    return quotients(b, outside, b.broadcast(row_of(b, s), shape=shape), largest(b, s, shape), diagonal=True)


def _turning(b: Any, u: Any, s: Any, v: Any, ct_u: Any, ct_v: Any) -> Any:
    """The part by which singular vectors turn into each other: with the skew parts p of ``u^H g_u`` and q of
    ``v^H g_v``,

        (p s_j + s_i q) / (s_j^2 - s_i^2) = ((p + q) / (s_j - s_i) + (p - q) / (s_j + s_i)) / 2

    of which just the first term has the difference of equal values. What is divided is not the skew parts,
    which may be 0 for vectors that matter.
    """
    shape = (*s.shape, s.shape[-1])
    above, left = b.broadcast(row_of(b, s), shape=shape), b.broadcast(column_of(b, s), shape=shape)
    scale, total = largest(b, s, shape), None
    for vectors, ct in ((u, ct_u), (v, ct_v)):
        if ct is None:
            continue
        inner = product(b, adjoint(b, vectors), ct)
        by_difference = quotients(b, inner, b.sub(above, left), scale, diagonal=False)
        # the diagonal of a real skew matrix is 0
        by_sum = quotients(b, inner, b.add(above, left), scale, diagonal=is_complex(u.dtype))
        turned = b.add(by_difference, adjoint(b, by_difference))
        skew = b.sub(by_sum, adjoint(b, by_sum))
        turned = b.add(turned, skew) if vectors is u else b.sub(turned, skew)
        total = turned if total is None else b.add(total, turned)
    return b.mul(total, 0.5)


SVD = several(
    "svd", "a", infer=_infer, eval=_eval, pull=_pull, attrs={"full_matrices": (bool,)},
    defaults={"full_matrices": True},
    doc="u, s, vh with a = u diag(s) vh and s in descending order; with `full_matrices`, u and vh are square",
)  # fmt: skip


@on_one_thread
def _values_eval(a: Any) -> Any:
    return converged_svd("svdvals", a, compute_uv=False)


def _values_infer(types: Types, attrs: Attrs) -> Types:
    return (_infer(types, {"full_matrices": False})[1],)


def _values_pull(b: Any, cotangents: Any, operands: Any, results: Any, attrs: Attrs) -> Any:
    a = operands[0]
    if 0 in a.shape:
        return [zeros_like(b, a)]
    u, _, vh = b.svd(a, full_matrices=False)
    return [conjugate(b, product(b, u, scaled_rows(b, vh, b.cast(cotangents[0], dtype=a.dtype))))]


SVDVALS = several(
    "svdvals", "a", infer=_values_infer, eval=_values_eval, pull=_values_pull,
    doc="the singular values of a in descending order",
)  # fmt: skip
