"""The singular value decomposition, the pseudoinverse, and QR.

Where singular values are equal, their vectors are not determined. What depends on the choice has no gradient;
for all else, the part of the cotangents that would be divided by the difference of equal values is 0, and is
left out where values differ by no more than rounding.

The columns of a complete q that a does not determine have the gradient of those that turn as little as they
can: it is right for all that does not depend on their choice.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ...dtypes import BY_NAME, DType, is_complex
from ...errors import LinAlgError, ShapeError
from ...lapack.library import on_one_thread
from ...registry import Attrs, Kind
from ...transforms.batching import batch_pointwise
from ...types import TensorType
from ..define import define
from .common import (
    Types,
    adjoint,
    as_diagonal,
    column_of,
    conjugate,
    diagonal,
    halved_diagonal,
    matrix_type,
    part,
    product,
    row_of,
    scaled_columns,
    scaled_rows,
    several,
    transposed,
    unit_roundoff,
    upper,
    zeros_like,
)
from .undetermined import largest, nan_where, quotients


def _qr_infer(types: Types, attrs: Attrs) -> Types:
    operand = matrix_type("qr", types[0])
    *batch, rows, columns = operand.shape
    if attrs["mode"] not in ("reduced", "complete", "r"):
        raise ShapeError(f"qr: mode must be 'reduced', 'complete' or 'r', got {attrs['mode']!r}")
    inner = rows if attrs["mode"] == "complete" else min(rows, columns)
    r = TensorType(operand.dtype, (*batch, inner, columns))
    return (r,) if attrs["mode"] == "r" else (TensorType(operand.dtype, (*batch, rows, inner)), r)


@on_one_thread
def _qr_eval(a: Any, mode: Any = "reduced") -> Any:
    if a.shape[-1] == 0 or a.shape[-2] == 0:  # NumPy refuses stacks of empty matrices
        inner = a.shape[-2] if mode == "complete" else 0
        r = np.zeros((*a.shape[:-2], inner, a.shape[-1]), a.dtype)
        unit = np.eye(a.shape[-2], inner, dtype=a.dtype)
        return r if mode == "r" else (np.broadcast_to(unit, (*a.shape[:-1], inner)), r)
    factors = np.linalg.qr(a, mode)
    return factors if mode == "r" else (factors[0], factors[1])


def _qr_pull(b: Any, cotangents: Any, operands: Any, results: Any, attrs: Attrs) -> Any:
    a = operands[0]
    if 0 in a.shape:
        return [zeros_like(b, a)]
    if attrs["mode"] == "r":
        cotangents, results = (None, cotangents[0]), b.qr(a, mode="reduced")
    q, r = results
    rows, columns = a.shape[-2:]
    ct_q, ct_r = (None if ct is None else conjugate(b, ct) for ct in cotangents)
    if rows > columns and attrs["mode"] == "complete":
        beyond = part(b, q, -1, columns, rows)
        q, r = part(b, q, -1, 0, columns), part(b, r, -2, 0, columns)
        ct_r = None if ct_r is None else part(b, ct_r, -2, 0, columns)
        if ct_q is not None:
            ct_beyond, ct_q = part(b, ct_q, -1, columns, rows), part(b, ct_q, -1, 0, columns)
            ct_q = b.sub(ct_q, product(b, beyond, product(b, adjoint(b, ct_beyond), q)))
    if rows >= columns:
        return [conjugate(b, _of_tall(b, q, r, ct_q, ct_r))]
    # a = [x y], r = [u v]: y = q v
    ct_y = None
    if ct_r is not None:
        ct_y = product(b, q, part(b, ct_r, -1, rows, columns))
        y_part = product(b, part(b, a, -1, rows, columns), adjoint(b, part(b, ct_r, -1, rows, columns)))
        ct_q = y_part if ct_q is None else b.add(ct_q, y_part)
        ct_r = part(b, ct_r, -1, 0, rows)
    ct_x = _of_tall(b, q, part(b, r, -1, 0, rows), ct_q, ct_r)
    if ct_y is None:
        ct_y = zeros_like(b, part(b, a, -1, rows, columns))
    return [conjugate(b, b.concat(ct_x, ct_y, axis=len(a.shape) - 1))]


def _of_tall(b: Any, q: Any, r: Any, ct_q: Any, ct_r: Any) -> Any:
    """``(g_q + q s) r^-H``, where s is Hermitian with the upper triangle of ``g_r r^H - q^H g_q``. Of columns
    that depend on those before them, up to rounding, there is no gradient.

    Source: Walter, Lehmann and Lamour 2012, On evaluating higher-order derivatives of the QR decomposition.
    """
    middle = None if ct_r is None else product(b, ct_r, adjoint(b, r))
    if ct_q is not None:
        turned = product(b, adjoint(b, q), ct_q)
        middle = b.neg(turned) if middle is None else b.sub(middle, turned)
    triangle = halved_diagonal(b, upper(b, middle))
    total = product(b, q, b.add(triangle, adjoint(b, triangle)))
    if ct_q is not None:
        total = b.add(total, ct_q)
    gradient = adjoint(b, b.triangular_solve(r, adjoint(b, total), lower=False))
    sizes, rank = b.abs(b.stop_gradient(r)), len(r.shape)
    rounding = b.mul(b.max(sizes, axes=(rank - 2,)), 4 * r.shape[-1] * unit_roundoff(sizes.dtype))
    dependent = b.any(b.le(diagonal(b, sizes), rounding), axes=(rank - 2,))
    return nan_where(b, gradient, dependent, "columns")


QR = several(
    "qr", "a", infer=_qr_infer, eval=_qr_eval, pull=_qr_pull, attrs={"mode": (str,)},
    defaults={"mode": "reduced"},
    doc="q with orthonormal columns and upper triangular r with q r = a; `complete` ones have a "
    "square q; r alone",
)  # fmt: skip


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


def _pinv_infer(types: Types, attrs: Attrs) -> Types:
    a, cutoff = types
    *batch, rows, columns = matrix_type("pinv", a).shape
    if cutoff != TensorType(real_of(a.dtype), tuple(batch)):
        raise ShapeError(
            f"pinv: expected a cutoff of type {TensorType(real_of(a.dtype), tuple(batch))}, got {cutoff}"
        )
    return (a.with_shape((*batch, columns, rows)),)


@on_one_thread
@np.errstate(all="ignore")  # as NumPy's functions
def _pinv_eval(a: Any, cutoff: Any) -> Any:
    if a.size == 0:
        return np.swapaxes(np.zeros_like(a), -1, -2)
    u, s, vh = converged_svd("pinv", a, full_matrices=False)
    kept = s > np.asarray(cutoff)[..., None] * s.max(axis=-1, keepdims=True)
    inverse = np.where(kept, 1 / np.where(kept, s, 1), 0)
    return np.conj(np.swapaxes(vh, -1, -2) * inverse[..., None, :] @ np.swapaxes(u, -1, -2)).astype(
        a.dtype, copy=False
    )


def _decompose(b: Any, a: Any, cutoff: Any) -> Any:
    if 0 in a.shape:
        return transposed(b, a)
    u, s, vh = b.svd(a, full_matrices=False)
    shape = tuple(s.shape)
    limit = b.mul(b.max(s, axes=(len(shape) - 1,)), cutoff)
    kept = b.gt(s, b.broadcast(column_of(b, limit), shape=shape))
    inverse = b.where(kept, b.div(1.0, b.where(kept, s, 1.0)), 0.0)
    return product(b, scaled_columns(b, adjoint(b, vh), b.cast(inverse, dtype=a.dtype)), adjoint(b, u))


def _rule(b: Any, ct: Any, out: Any, a: Any) -> Any:
    """``-p^H g p^H + (1 - a p) g^H p p^H + p^H p g^H (1 - p a)``, where the rank stays the same.

    Source: Golub and Pereyra 1973, The differentiation of pseudo-inverses, equation 4.12.
    """
    g = conjugate(b, ct)
    p_h, g_h = adjoint(b, out), adjoint(b, g)
    inner = b.neg(product(b, p_h, g, p_h))
    right = product(b, g_h, out, p_h)
    left = product(b, p_h, out, g_h)
    # projections first: the other products would leave the range of the dtype for small and large matrices
    right = b.sub(right, product(b, product(b, a, out), right))
    left = b.sub(left, product(b, left, product(b, out, a)))
    return conjugate(b, b.add(b.add(inner, right), left))


PINV = define(
    "pinv", Kind.COMPOSITE, "a cutoff", infer=_pinv_infer, eval=_pinv_eval, decompose=_decompose,
    vjp={"a": _rule},
    doc="the pseudoinverse, where singular values up to `cutoff` times the largest count as 0",
    batch=batch_pointwise,
)  # fmt: skip
