"""Sylvester's equation by Schur forms.

As of ``lu_solve``, the Schur forms are operands beside the matrices, and constants to gradients, which use
them again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....base.errors import ShapeError
from ....base.lapack import calls
from ....base.lapack.library import on_one_thread
from ...registry import Attrs, Kind
from ...transforms.batching import batch_pointwise
from ...types import Types
from ..define import define
from .common import adjoint, conjugate, each_matrix, product, square_type


def _sylvester_infer(types: Types, attrs: Attrs) -> Types:
    left, right, t, u, s, v, q = types
    square_type("sylvester", left)
    square_type("sylvester", right)
    if (
        q.shape != (*left.shape[:-1], right.shape[-1])
        or right.shape[:-2] != left.shape[:-2]
        or {left.dtype, right.dtype} != {q.dtype}
    ):
        raise ShapeError(f"sylvester: {q} does not fit {left} and {right}")
    if not t == u == left or not s == v == right:
        raise ShapeError(f"sylvester: {t}, {u}, {s} and {v} are no Schur forms of {left} and {right}")
    return (q,)


@on_one_thread
def _sylvester_eval(
    left: Any, right: Any, t: Any, u: Any, s: Any, v: Any, q: Any, is_adjoint: bool = False
) -> Any:
    calls.require("sylvester", q.dtype, "trsyl")

    def solve(t: Any, u: Any, s: Any, v: Any, q: Any) -> Any:
        inner = np.conj(u.T) @ q @ v
        return u @ calls.triangular_sylvester(t, s, inner, is_adjoint) @ np.conj(v.T)

    return np.reshape(each_matrix(solve, t, u, s, v, q), q.shape).astype(q.dtype, copy=False)


def _q_rule(b: Any, ct: Any, left: Any, right: Any, t: Any, u: Any, s: Any, v: Any, is_adjoint: bool) -> Any:
    turned = b.sylvester(left, right, t, u, s, v, conjugate(b, ct), is_adjoint=not is_adjoint)
    return conjugate(b, turned)


def _matrix_rule(
    b: Any, ct: Any, out: Any, left: Any, right: Any, t: Any, u: Any, s: Any, v: Any, is_adjoint: bool
) -> Sequence[Any]:
    """``op(left) dx + dx op(right) = -(d op(left) x + x d op(right))``"""
    turned = conjugate(b, _q_rule(b, ct, left, right, t, u, s, v, is_adjoint))
    x, g = (turned, out) if is_adjoint else (out, turned)
    return b.neg(conjugate(b, product(b, g, adjoint(b, x)))), b.neg(
        conjugate(b, product(b, adjoint(b, x), g))
    )


def _left_rule(
    b: Any, ct: Any, out: Any, left: Any, right: Any, t: Any, u: Any, s: Any, v: Any, is_adjoint: bool
) -> Any:
    return _matrix_rule(b, ct, out, left, right, t, u, s, v, is_adjoint)[0]


def _right_rule(
    b: Any, ct: Any, out: Any, left: Any, right: Any, t: Any, u: Any, s: Any, v: Any, is_adjoint: bool
) -> Any:
    return _matrix_rule(b, ct, out, left, right, t, u, s, v, is_adjoint)[1]


SYLVESTER = define(
    "sylvester", Kind.LINALG, "left right t u s v q", infer=_sylvester_infer, eval=_sylvester_eval,
    batch=batch_pointwise,
    doc="x with left x + x right = q, or with both matrices' adjoints, by Schur forms t, u of left and s, "
    "v of "
    "right",
    vjp={"left": _left_rule, "right": _right_rule, "q": _q_rule},
    attrs={"is_adjoint": (bool,)}, defaults={"is_adjoint": False},
)  # fmt: skip
