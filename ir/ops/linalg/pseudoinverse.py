"""The pseudoinverse, by singular values."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....base.errors import ShapeError
from ....base.lapack.library import on_one_thread
from ...registry import Attrs, Kind
from ...transforms.batching import batch_pointwise
from ...types import TensorType, Types
from ..define import define
from .common import adjoint, column_of, conjugate, matrix_type, product, scaled_columns, transposed
from .svd import converged_svd, real_of


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
