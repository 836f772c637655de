"""Sylvester's equation."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import LinAlgError, ShapeError
from ...lapack import calls
from ...lapack.threads import on_one_thread
from ...registry import Attrs, Kind
from ...transforms.batching import batch_pointwise
from ..define import define
from .common import Types, each_matrix, product, square_type, transposed


def _infer(types: Types, attrs: Attrs) -> Types:
    a, b, q = types
    square_type("sylvester", a)
    square_type("sylvester", b)
    if (
        q.shape != (*a.shape[:-1], b.shape[-1])
        or b.shape[:-2] != a.shape[:-2]
        or {a.dtype, b.dtype} != {q.dtype}
    ):
        raise ShapeError(f"sylvester: {q} does not fit {a} and {b}")
    return (q,)


@on_one_thread
def _eval(a: Any, b: Any, q: Any) -> Any:
    if q.size == 0:
        return q
    if calls.has(a.dtype, "gees", "trsyl"):
        return np.reshape(each_matrix(calls.sylvester, a, b, q), q.shape)
    return np.reshape(each_matrix(_dense, a, b, q), q.shape)


def _dense(a: Any, b: Any, q: Any) -> Any:
    """As one linear system for all elements, row by row."""
    system = np.kron(a, np.eye(len(b), dtype=a.dtype)) + np.kron(np.eye(len(a), dtype=a.dtype), b.T)
    try:
        return np.linalg.solve(system, q.reshape(-1)).reshape(q.shape)
    except np.linalg.LinAlgError as error:
        raise LinAlgError("sylvester: a and -b have an eigenvalue in common") from error


def _turned(b: Any, ct: Any, left: Any, right: Any) -> Any:
    return b.sylvester(transposed(b, left), transposed(b, right), ct)


def _left_rule(b: Any, ct: Any, out: Any, left: Any, right: Any) -> Any:
    return b.neg(product(b, _turned(b, ct, left, right), transposed(b, out)))


def _right_rule(b: Any, ct: Any, out: Any, left: Any, right: Any) -> Any:
    return b.neg(product(b, transposed(b, out), _turned(b, ct, left, right)))


SYLVESTER = define(
    "sylvester", Kind.LINALG, "left right q", infer=_infer, eval=_eval, batch=batch_pointwise,
    doc="x with left x + x right = q",
    vjp={"left": _left_rule, "right": _right_rule, "q": _turned},
)  # fmt: skip
