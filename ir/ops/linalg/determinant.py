"""Determinants by the LU factorization, their logarithms and signs.

Gradients of determinants are adjugates, at singular matrices too.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ....base.errors import ShapeError
from ...dtypes import BY_NAME, INT64
from ...registry import Attrs, Kind
from ...transforms.batching import batch_pointwise
from ...types import TensorType, Types
from ..define import define
from .common import (
    column_of,
    diagonal,
    identity,
    part,
    square_type,
    transposed,
    zeros_like,
)

#: Rows up to which determinants and adjugates are written down as products: their errors are few roundings of
#: each minor, and no pivots have to be found.
MAX_COFACTORS: Final = 3


def factored_type(name: str, types: Types) -> TensorType:
    """The type of the matrix among `types`, which must be a matrix with its LU factors."""
    a, lu, order = types
    square_type(name, a)
    if lu != a or order != TensorType(INT64, a.shape[:-1]):
        raise ShapeError(f"{name}: {lu} and {order} are no factors of {a}")
    return a


def _det_infer(types: Types, attrs: Attrs, name: str = "det") -> Types:
    a = factored_type(name, (types[0], types[1], types[2]))
    if types[3] != types[2]:
        raise ShapeError(f"{name}: the permutation must be {types[2]}, got {types[3]}")
    return (a.with_shape(a.shape[:-2]),)


def _parity(pivots: Any) -> Any:
    swaps = np.count_nonzero(pivots != np.arange(pivots.shape[-1]), axis=-1)
    return 1 - 2 * (swaps % 2)


@np.errstate(all="ignore")  # as NumPy's functions
def _det_eval(a: Any, lu: Any, pivots: Any, permutation: Any) -> Any:
    product_of_pivots = np.prod(np.diagonal(lu, axis1=-2, axis2=-1), axis=-1, dtype=a.dtype)
    return np.asarray(product_of_pivots * _parity(pivots)).astype(a.dtype)


def has_cofactors(a: Any) -> bool:
    """Whether the adjugate of `a` is written down, without factors."""
    return bool(a.shape[-1] <= MAX_COFACTORS and a.dtype.kind == "f")


def _adjugate_of(b: Any, a: Any, lu: Any, permutation: Any) -> Any:
    if has_cofactors(a):  # factors are not looked at, and so not computed
        order = b.iota(shape=tuple(a.shape[:-1]), axis=len(a.shape) - 2, dtype=INT64)
        return b.adjugate(a, a, order)
    return b.adjugate(a, lu, permutation)


def _det(b: Any, a: Any, lu: Any, pivots: Any, permutation: Any) -> Any:
    if has_cofactors(a) and a.shape[-1]:
        adjugates = _adjugate_of(b, a, lu, permutation)
        value = None
        for place in range(a.shape[-1]):  # the first row times the first column, in one order
            element = part(b, part(b, a, -2, 0, 1), -1, place, place + 1)
            cofactor = part(b, part(b, adjugates, -1, 0, 1), -2, place, place + 1)
            value = b.mul(element, cofactor) if value is None else b.fma(element, cofactor, value)
        return b.reshape(value, shape=tuple(a.shape[:-2]))
    pivot_product = folded(b, b.mul, diagonal(b, lu), 1.0)
    return b.mul(pivot_product, parity(b, pivots, a.dtype))


def folded(b: Any, combine: Any, vectors: Any, empty: float) -> Any:
    """The elements of each vector combined by halves: to the same bits in batches as for single vectors."""
    count = vectors.shape[-1]
    if count == 0:
        return b.full(value=empty, shape=tuple(vectors.shape[:-1]), dtype=vectors.dtype)
    while count > 1:
        half = count // 2
        pairs = combine(part(b, vectors, -1, 0, half), part(b, vectors, -1, half, 2 * half))
        rest = [part(b, vectors, -1, 2 * half, count)] if count % 2 else []
        vectors = b.concat(pairs, *rest, axis=len(vectors.shape) - 1) if rest else pairs
        count = vectors.shape[-1]
    return b.reshape(vectors, shape=tuple(vectors.shape[:-1]))


def parity(b: Any, pivots: Any, dtype: Any) -> Any:
    """1 or -1: the determinant of the permutation that `pivots` are."""
    shape = tuple(pivots.shape)
    own = b.iota(shape=shape, axis=len(shape) - 1, dtype=INT64)
    swaps = b.sum(b.cast(b.ne(pivots, own), dtype=INT64), axes=(len(shape) - 1,))
    odd = b.bitwise_and(swaps, b.full(value=1, shape=shape[:-1], dtype=INT64))
    return b.cast(b.sub(1, b.mul(odd, 2)), dtype=dtype)


def _det_rule(b: Any, ct: Any, a: Any, lu: Any, permutation: Any) -> Any:
    """``d det(a) = tr(adj(a) da)``"""
    adjugates = transposed(b, _adjugate_of(b, a, lu, permutation))
    return b.mul(b.broadcast(column_of(b, column_of(b, ct)), shape=tuple(a.shape)), adjugates)


DET = define(
    "det", Kind.COMPOSITE, "a lu pivots permutation", infer=_det_infer, eval=_det_eval, decompose=_det,
    vjp={"a": _det_rule}, doc="the determinant of a, by its factors from `lu`", batch=batch_pointwise,
)  # fmt: skip


# -- the adjugate ---------------------------------------------------------------------------------


# -- its logarithm --------------------------------------------------------------------------------


def _log_infer(types: Types, attrs: Attrs) -> Types:
    a = factored_type("logabsdet", types)
    dtype = BY_NAME["f32"] if a.dtype.itemsize == (8 if a.dtype.kind == "c" else 4) else BY_NAME["f64"]
    return (TensorType(dtype, a.shape[:-2]),)


def _log_eval(a: Any, lu: Any, permutation: Any) -> Any:
    with np.errstate(divide="ignore"):
        return np.sum(np.log(np.abs(np.diagonal(lu, axis1=-2, axis2=-1))), axis=-1)


def _log(b: Any, a: Any, lu: Any, permutation: Any) -> Any:
    return folded(b, b.add, b.log(b.abs(diagonal(b, lu))), 0.0)


def _inverse_or_zero(b: Any, a: Any, lu: Any, permutation: Any) -> Any:
    """The inverses, and 0 for singular matrices."""
    shape = tuple(a.shape)
    singular = b.any(b.eq(diagonal(b, lu), 0.0), axes=(len(shape) - 2,))
    singular = b.broadcast(column_of(b, column_of(b, singular)), shape=shape)
    return b.where(singular, 0.0, b.lu_solve(a, b.stop_gradient(lu), permutation, identity(b, a, shape[-1])))


def _log_rule(b: Any, ct: Any, a: Any, lu: Any, permutation: Any) -> Any:
    """``d log|det(a)| = Re tr(a^-1 da)``; 0 at singular matrices, where there is no derivative."""
    inverse = _inverse_or_zero(b, a, lu, permutation)
    cotangent = b.broadcast(column_of(b, column_of(b, ct)), shape=tuple(a.shape))
    return b.mul(b.cast(cotangent, dtype=a.dtype), transposed(b, inverse))


LOGABSDET = define(
    "logabsdet", Kind.COMPOSITE, "a lu permutation", infer=_log_infer, eval=_log_eval, decompose=_log,
    vjp={"a": _log_rule}, doc="the logarithm of |det(a)|, by a's factors from `lu`", batch=batch_pointwise,
)  # fmt: skip


# -- its sign -------------------------------------------------------------------------------------


def _sign_infer(types: Types, attrs: Attrs) -> Types:
    return _det_infer(types, attrs, "signdet")


def _sign_eval(a: Any, lu: Any, pivots: Any, permutation: Any) -> Any:
    diagonals = np.diagonal(lu, axis1=-2, axis2=-1)
    return np.asarray(np.prod(np.sign(diagonals), axis=-1) * _parity(pivots)).astype(a.dtype)


def _sign(b: Any, a: Any, lu: Any, pivots: Any, permutation: Any) -> Any:
    signs = folded(b, b.mul, b.sign(diagonal(b, lu)), 1.0)
    return b.mul(signs, parity(b, pivots, a.dtype))


def _sign_rule(b: Any, ct: Any, out: Any, a: Any, lu: Any, permutation: Any) -> Any:
    """``d sign = i sign Im tr(a^-1 da)``; 0 of real matrices, and of singular ones."""
    if a.dtype.kind != "c":
        return zeros_like(b, a)
    inverse = _inverse_or_zero(b, a, lu, permutation)
    turning = b.mul(b.cast(b.imag(b.mul(ct, out)), dtype=a.dtype), 1j)
    return b.mul(
        b.broadcast(column_of(b, column_of(b, turning)), shape=tuple(a.shape)), transposed(b, inverse)
    )


SIGNDET = define(
    "signdet", Kind.COMPOSITE, "a lu pivots permutation", infer=_sign_infer, eval=_sign_eval, decompose=_sign,
    vjp={"a": _sign_rule}, doc="det(a) / |det(a)|, by a's factors from `lu`; 0 of singular matrices",
    batch=batch_pointwise,
)  # fmt: skip
