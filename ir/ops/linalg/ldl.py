"""L D L^H factorization of Hermitian matrices that need not be positive definite.

Just one triangle is read. The gradient is that of the function of ``(a + a^H) / 2`` where the order of pivots
stays as it is: it leaps where another one is chosen.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....base.lapack import calls
from ....base.lapack.library import on_one_thread
from ...dtypes import INT64
from ...registry import Attrs
from ...types import TensorType, Types
from .common import (
    adjoint,
    as_diagonal,
    conjugate,
    diagonal,
    lower,
    product,
    row_of,
    rows_at,
    scaled_rows,
    several,
    square_type,
    stack_of,
    transposed,
    upper,
    zeros_like,
)


def _ldl_infer(types: Types, attrs: Attrs) -> Types:
    operand = square_type("ldl", types[0])
    return operand, operand, TensorType(INT64, operand.shape[:-1])


@on_one_thread
def _ldl_eval(a: Any, lower: bool = True, hermitian: bool = True) -> tuple[Any, Any, Any]:
    calls.require("ldl", a.dtype, calls.ldl_routine(a.dtype, hermitian), "syconv")
    factors, blocks = np.empty_like(stack_of(a)), np.empty_like(stack_of(a))
    order = np.empty(factors.shape[:-1], INT64)
    for index, matrix in enumerate(stack_of(a)):
        if matrix.size:
            factors[index], blocks[index], order[index] = calls.ldl(matrix, lower, hermitian)
    return factors.reshape(a.shape), blocks.reshape(a.shape), order.reshape(a.shape[:-1])


def _ldl_pull(b: Any, cotangents: Any, operands: Any, results: Any, attrs: Attrs) -> Any:
    """Differentiate the LDL factorization. With ``m = l^-1 p^T da p l^-H``, the blocks of d change by those
    of m, and l by ``l x``, where x d is m below the blocks (of an upper l, above them)."""
    a, (triangle, d, order) = operands[0], results
    ct_l, ct_d = cotangents[0], cotangents[1]
    if 0 in a.shape or (ct_l is None and ct_d is None):
        return [zeros_like(b, a)]
    is_hermitian, is_lower = attrs["hermitian"] and a.dtype.kind == "c", attrs["lower"]
    turn = adjoint if is_hermitian else transposed
    g_l, g_d = (None if ct is None else conjugate(b, ct) if is_hermitian else ct for ct in (ct_l, ct_d))
    in_block = b.ne(d, 0.0)
    middle = None if g_d is None else b.where(_or_diagonal(b, in_block), g_d, 0.0)
    if g_l is not None:
        beyond = (lower if is_lower else upper)(b, product(b, turn(b, triangle), g_l), strict=True)
        beyond = product(b, b.where(in_block, 0.0, beyond), turn(b, _block_inverse(b, d)))
        beyond = (lower if is_lower else upper)(b, b.where(in_block, 0.0, beyond), strict=True)
        middle = beyond if middle is None else b.add(middle, beyond)

    def solved(x: Any) -> Any:
        return b.triangular_solve(
            triangle, x, lower=is_lower, transpose=True, conjugate=is_hermitian, unit_diagonal=True
        )

    gradient = turn(b, solved(turn(b, solved(middle))))
    back = b.argsort(order)
    gradient = transposed(b, rows_at(b, transposed(b, rows_at(b, gradient, back)), back))
    gradient = b.mul(b.add(gradient, turn(b, gradient)), 0.5)
    return [conjugate(b, gradient) if is_hermitian else gradient]


def _or_diagonal(b: Any, mask: Any) -> Any:
    shape = tuple(mask.shape)
    row, column = (b.iota(shape=shape, axis=len(shape) - axis, dtype=INT64) for axis in (2, 1))
    return b.logical_or(mask, b.eq(row, column))


def _block_inverse(b: Any, d: Any) -> Any:
    """The inverse of `d`, whose blocks have one row or two: ``[q, -r; -s, p] / (p q - r s)`` of ``[p, r; s,
    q]``."""
    diagonals = diagonal(b, d)
    off = b.sub(d, as_diagonal(b, diagonals))
    last = (len(d.shape) - 1,)
    is_paired = b.any(b.ne(off, 0.0), axes=last)
    shape = tuple(d.shape)
    beside = b.where(b.ne(off, 0.0), b.broadcast(row_of(b, diagonals), shape=shape), 0.0)
    partner = b.where(is_paired, b.sum(beside, axes=last), 1.0)
    determinant = b.sub(b.mul(diagonals, partner), b.sum(b.mul(off, transposed(b, off)), axes=last))
    return scaled_rows(b, b.sub(as_diagonal(b, partner), off), b.div(1.0, determinant))


LDL = several(
    "ldl", "a", infer=_ldl_infer, eval=_ldl_eval, pull=_ldl_pull,
    attrs={"lower": (bool,), "hermitian": (bool,)},
    defaults={"lower": True, "hermitian": True},
    doc="unit triangular l, d with blocks of one or two rows, and an order of rows with l d l^H = "
    "a[order][:, order], or l d l^T unless `hermitian`; l and what is read of a are `lower` or upper",
)  # fmt: skip
