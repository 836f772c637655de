"""Adjugates of square matrices, which are the gradients of determinants, at singular matrices too."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dtypes import INT64
from ...registry import Attrs
from ...types import Types
from .common import (
    as_diagonal,
    column_of,
    conjugate,
    diagonal,
    each_matrix,
    product,
    row_of,
    scaled_columns,
    several,
    stack_of,
    zeros_like,
)
from .determinant import factored_type, has_cofactors
from .lu import LU_SOLVE


def _adjugate_infer(types: Types, attrs: Attrs) -> Types:
    return (factored_type("adjugate", types),)


def _cofactors(a: Any) -> Any:
    """The adjugate of matrices of up to three rows. Minors are computed with more digits."""
    size, wide = a.shape[-1], a.astype(np.longdouble)
    result = np.ones_like(wide)
    if size == 2:
        result = np.stack([wide[..., 1, 1], -wide[..., 0, 1], -wide[..., 1, 0], wide[..., 0, 0]], axis=-1)
    if size == 3:
        below, last = np.roll(wide, -1, axis=-2), np.roll(wide, -2, axis=-2)
        # row i of the cofactors is the cross product of the two rows that follow
        result = np.swapaxes(np.cross(below, last), -1, -2)
    return result.reshape(a.shape).astype(a.dtype)


def _adjugate_eval(a: Any, lu: Any, permutation: Any) -> Any:
    if has_cofactors(a):
        return _cofactors(a)
    pivots = np.abs(np.diagonal(lu, axis1=-2, axis2=-1))
    # a small pivot makes the inverse inaccurate, and the determinant small by as much
    tolerance = a.shape[-1] * np.finfo(a.dtype).eps * pivots.max(axis=-1, initial=0.0)
    regular = np.all(pivots > tolerance[..., None], axis=-1)
    if np.all(regular):
        return _by_inverse(a, lu, permutation)
    result = np.empty_like(stack_of(a))
    flat = [stack_of(a), stack_of(lu), stack_of(permutation, 1)]
    for place, is_regular in enumerate(regular.reshape(-1)):
        arrays = [array[place] for array in flat]
        result[place] = _by_inverse(*arrays) if is_regular else _by_singular_values(arrays[0])
    return result.reshape(a.shape)


def _by_inverse(a: Any, lu: Any, permutation: Any) -> Any:
    """``det(a) a^-1``"""
    unit = np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape)
    inverse = LU_SOLVE.eval(a, lu, permutation, unit, False, False, "ignore")
    sign = np.reshape(each_matrix(_sign_of, permutation[..., None]), a.shape[:-2])
    value = np.prod(np.diagonal(lu, axis1=-2, axis2=-1), axis=-1, dtype=a.dtype) * sign
    return (inverse * np.asarray(value)[..., None, None]).astype(a.dtype, copy=False)


def _sign_of(permutation: Any) -> int:
    """The sign of a permutation: 1 for an even number of cycles of even length."""
    order, sign = permutation[:, 0].tolist(), 1
    for start in range(len(order)):
        while order[start] != start:
            follow = order[start]
            order[start], order[follow] = order[follow], follow
            sign = -sign
    return sign


def _by_singular_values(a: Any) -> Any:
    """``adj(u s vh) = adj(vh) adj(s) adj(u)``, where adj(u) = det(u) u^H."""
    if not np.isfinite(a).all():
        return np.full_like(a, np.nan)
    u, s, vh = np.linalg.svd(a)
    factor = np.linalg.det(u) * np.linalg.det(vh)
    return (factor * (np.conj(vh.T) * _others(s)) @ np.conj(u.T)).astype(a.dtype, copy=False)


def _others(s: Any) -> Any:
    """The product of all elements but one, for each element that is left out."""
    before = np.concatenate([np.ones(1, s.dtype), np.cumprod(s)[:-1]])
    return before * np.concatenate([np.cumprod(s[::-1])[::-1][1:], np.ones(1, s.dtype)])


def _adjugate_pull(b: Any, cotangents: Any, operands: Any, results: Any, attrs: Attrs) -> Any:
    """Differentiate the adjugate by the singular values. About them the adjugate of ``diag(s) + f`` is

        (i, i): sum over k != i of f[k, k] pairs[i, k]       (i, j): -f[i, j] pairs[i, j]

    to first order, where ``pairs[i, j]`` is the product of all singular values but the two.
    """
    a = operands[0]
    ct = conjugate(b, cotangents[0])
    count = a.shape[-1]
    if count == 1:
        return [zeros_like(b, a), None, None]
    u, s, vh = b.svd(a, full_matrices=False)
    factor = b.mul(_determinant(b, u), _determinant(b, vh))
    pairs = b.cast(_pairs(b, s), dtype=a.dtype)
    # adj(a) = factor vh^H adj(s) u^H
    inner = product(b, vh, ct, u)
    inner = b.mul(inner, b.broadcast(column_of(b, column_of(b, conjugate(b, factor))), shape=tuple(a.shape)))
    own = b.sum(scaled_columns(b, pairs, diagonal(b, inner)), axes=(len(a.shape) - 1,))
    middle = b.sub(as_diagonal(b, own), b.mul(inner, pairs))
    return [conjugate(b, product(b, u, middle, vh)), None, None]


def _pairs(b: Any, s: Any) -> Any:
    """The product of all elements but two, for each pair that is left out; 0 on the diagonal."""
    count, shape = s.shape[-1], tuple(s.shape)
    cube = (*shape, count, count)
    rank = len(cube)
    factors = b.broadcast(row_of(b, row_of(b, s)), shape=cube)
    place = [b.iota(shape=cube, axis=rank - axis, dtype=INT64) for axis in (3, 2, 1)]
    left_out = b.logical_or(b.eq(place[2], place[0]), b.eq(place[2], place[1]))
    products = b.prod(b.where(left_out, 1.0, factors), axes=(rank - 1,))
    square = (*shape, count)
    row, column = (b.iota(shape=square, axis=len(square) - axis, dtype=INT64) for axis in (2, 1))
    return b.where(b.eq(row, column), 0.0, products)


def _determinant(b: Any, a: Any) -> Any:
    lu, pivots, permutation = b.lu(b.stop_gradient(a))
    return b.det(a, lu, pivots, permutation)


ADJUGATE = several(
    "adjugate", "a lu permutation", infer=_adjugate_infer, eval=_adjugate_eval, pull=_adjugate_pull,
    doc="the transposed matrix of cofactors of a, by its factors from `lu`: det(a) a^-1, and its limit at "
    "singular matrices",
)  # fmt: skip
