"""QR factorization.

The columns of a complete q that a does not determine have the gradient of those that turn as little as they
can: it is right for all that does not depend on their choice.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....base.errors import ShapeError
from ....base.lapack.library import on_one_thread
from ...registry import Attrs
from ...types import TensorType, Types
from .common import (
    adjoint,
    conjugate,
    diagonal,
    halved_diagonal,
    matrix_type,
    part,
    product,
    several,
    unit_roundoff,
    upper,
    zeros_like,
)
from .undetermined import nan_where


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
