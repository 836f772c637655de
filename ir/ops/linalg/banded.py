"""Equations with banded matrices, by factors that are banded as well.

Diagonals are the rows of `ab`, the highest first, each element in its column: ``ab[above + i - j, j]`` is
``a[i, j]``. Factors are LAPACK's, by columns. As of ``lu_solve``, they are operands of solutions beside
`ab`, and constants to gradients, which use them again and are banded.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....base.errors import LinAlgError, ShapeError
from ....base.lapack import calls
from ....base.lapack.library import on_one_thread
from ...dtypes import INT64
from ...registry import Attrs, Kind
from ...transforms.batching import batch_pointwise
from ...types import TensorType, Types
from ..define import define
from .common import column_of, conjugate, matrix_type, part, several, stack_of

# -- by Gaussian elimination ----------------------------------------------------------------------


def _diagonals(name: str, type_: TensorType, rows: int) -> TensorType:
    if matrix_type(name, type_).shape[-2] != rows:
        raise ShapeError(f"{name}: expected {rows} diagonals, got {type_}")
    return type_


def _lu_infer(types: Types, attrs: Attrs) -> Types:
    below, above = attrs["below"], attrs["above"]
    ab = _diagonals("banded_lu", types[0], below + above + 1)
    *batch, _, size = ab.shape
    return (
        TensorType(ab.dtype, (*batch, size, 2 * below + above + 1)),
        TensorType(INT64, (*batch, size)),
    )


@on_one_thread
def _lu_eval(ab: Any, below: int, above: int) -> tuple[Any, Any]:
    calls.require("banded_lu", ab.dtype, "gbtrf")
    *batch, rows, size = ab.shape
    factors = np.zeros((*batch, size, below + rows), ab.dtype)
    factors[..., below:] = np.swapaxes(ab, -1, -2)
    pivots = np.zeros((*batch, size), INT64)
    for matrix, pivot in zip(stack_of(factors), stack_of(pivots, 1), strict=True):
        calls.banded_lu(matrix, pivot, below, above)
    return factors, pivots


BANDED_LU = several(
    "banded_lu", "ab", infer=_lu_infer, eval=_lu_eval, pull=None,
    doc="the factors of the banded matrices ab, by columns, and the row that each step exchanged with its "
    "own",
    attrs={"below": (int,), "above": (int,)},
)  # fmt: skip


def _right_side(name: str, ab: TensorType, right: TensorType) -> TensorType:
    if (
        right.ndim != ab.ndim
        or right.dtype is not ab.dtype
        or right.shape[:-1] != (*ab.shape[:-2], ab.shape[-1])
    ):
        raise ShapeError(f"{name}: the right sides {right} do not fit the diagonals {ab}")
    return right


def _solve_infer(types: Types, attrs: Attrs) -> Types:
    ab, factors, pivots, right = types
    if (factors, pivots) != _lu_infer((ab,), attrs):
        raise ShapeError(f"banded_solve: {factors} and {pivots} are no factors of {ab}")
    return (_right_side("banded_solve", ab, right),)


@on_one_thread
def _solve_eval(
    ab: Any, factors: Any, pivots: Any, b: Any, below: int, above: int, transpose: bool = False,
    conjugate: bool = False, on_singular: str = "ignore",
) -> Any:  # fmt: skip
    if on_singular == "raise" and not factors[..., below + above].all():
        raise LinAlgError("banded_solve: singular matrix")
    x = np.empty_like(stack_of(b))
    for index, right in enumerate(stack_of(b)):
        x[index] = calls.banded_solve(
            stack_of(factors)[index], stack_of(pivots, 1)[index], right, below, above, transpose, conjugate
        )
    return x.reshape(b.shape)


def _solve_right_rule(
    b: Any, ct: Any, ab: Any, factors: Any, pivots: Any, below: int, above: int, transpose: bool,
    conjugate: bool,
) -> Any:  # fmt: skip
    return b.banded_solve(
        ab, factors, pivots, ct, below=below, above=above, transpose=not transpose, conjugate=conjugate,
        on_singular="ignore",
    )  # fmt: skip


def _solve_matrix_rule(
    b: Any, ct: Any, out: Any, ab: Any, factors: Any, pivots: Any, below: int, above: int, transpose: bool,
    conjugate: bool,
) -> Any:  # fmt: skip
    """``d x = -op(a)^-1 d op(a) x``"""
    turned = _solve_right_rule(b, ct, ab, factors, pivots, below, above, transpose, conjugate)
    left, right = (out, turned) if transpose else (turned, out)
    gradient = b.neg(_band(b, left, right, below, above))
    return b.conj(gradient) if conjugate and gradient.dtype.kind == "c" else gradient


def _band(b: Any, left: Any, right: Any, below: int, above: int) -> Any:
    """The diagonals of ``left right^T`` from `above` the main one to `below` it."""
    shape, rank = tuple(left.shape), len(left.shape)
    size = shape[-2]

    def zeros(rows: int) -> Any:
        return b.full(value=0.0, shape=(*shape[:-2], rows, shape[-1]), dtype=left.dtype)

    around = [zeros(above)] * (above > 0) + [left] + [zeros(below)] * (below > 0)
    padded = b.concat(*around, axis=rank - 2) if len(around) > 1 else left
    diagonals = [
        b.sum(b.mul(part(b, padded, -2, row, row + size), right), axes=(rank - 1,))
        for row in range(above + below + 1)
    ]
    rows = [b.reshape(each, shape=(*shape[:-2], 1, size)) for each in diagonals]
    return b.concat(*rows, axis=rank - 2) if len(rows) > 1 else rows[0]


BANDED_SOLVE = define(
    "banded_solve", Kind.LINALG, "ab factors pivots b", infer=_solve_infer, eval=_solve_eval,
    vjp={"ab": _solve_matrix_rule, "b": _solve_right_rule}, batch=batch_pointwise,
    doc="x with op(a) x = b of the banded matrices ab, by their factors; op transposes and conjugates as "
    "said; "
    "zeros on U's diagonal `raise` or divide",
    attrs={
        "below": (int,), "above": (int,), "transpose": (bool,), "conjugate": (bool,), "on_singular": (str,),
    },
    defaults={"transpose": False, "conjugate": False, "on_singular": "ignore"},
)  # fmt: skip


# -- of positive definite matrices ----------------------------------------------------------------


def _cholesky_infer(types: Types, attrs: Attrs) -> Types:
    *batch, rows, size = matrix_type("banded_cholesky", types[0]).shape
    if not rows:
        raise ShapeError(f"banded_cholesky: expected one diagonal or more, got {types[0]}")
    return (TensorType(types[0].dtype, (*batch, size, rows)),)


@on_one_thread
def _cholesky_eval(ab: Any, lower: bool = True) -> Any:
    calls.require("banded_cholesky", ab.dtype, "pbtrf")
    factor = np.array(np.swapaxes(ab, -1, -2), order="C")
    for matrix in stack_of(factor):
        if calls.banded_cholesky(matrix, lower):
            raise LinAlgError("banded_cholesky: Matrix is not positive definite")
    return factor


BANDED_CHOLESKY = several(
    "banded_cholesky", "ab", infer=_cholesky_infer, eval=_cholesky_eval, pull=None,
    doc="the Cholesky factor of the banded matrices of which ab has the main diagonal and those below it, or "
    "above it, by columns",
    attrs={"lower": (bool,)}, defaults={"lower": True},
)  # fmt: skip


def _cholesky_solve_infer(types: Types, attrs: Attrs) -> Types:
    ab, factor, right = types
    if (factor,) != _cholesky_infer((ab,), attrs):
        raise ShapeError(f"banded_cholesky_solve: {factor} is no factor of {ab}")
    return (_right_side("banded_cholesky_solve", ab, right),)


@on_one_thread
def _cholesky_solve_eval(ab: Any, factor: Any, b: Any, lower: bool = True) -> Any:
    x = np.empty_like(stack_of(b))
    for index, right in enumerate(stack_of(b)):
        x[index] = calls.banded_cholesky_solve(stack_of(factor)[index], right, lower)
    return x.reshape(b.shape)


def _cholesky_right_rule(b: Any, ct: Any, ab: Any, factor: Any, lower: bool) -> Any:
    return conjugate(b, b.banded_cholesky_solve(ab, factor, conjugate(b, ct), lower=lower))


def _cholesky_matrix_rule(b: Any, ct: Any, out: Any, ab: Any, factor: Any, lower: bool) -> Any:
    """The cotangent of the matrix: an element beside the diagonal counts twice, once conjugated; of one on
    the diagonal the real part counts."""
    turned = conjugate(b, _cholesky_right_rule(b, ct, ab, factor, lower))
    rows = ab.shape[-2]
    below, above = (rows - 1, 0) if lower else (0, rows - 1)
    both = b.add(
        _band(b, turned, conjugate(b, out), below, above), _band(b, out, conjugate(b, turned), below, above)
    )
    row = b.broadcast(column_of(b, b.iota(shape=(rows,), axis=0, dtype=INT64)), shape=tuple(ab.shape))
    return conjugate(b, b.neg(b.where(b.eq(row, above), b.mul(both, 0.5), both)))


BANDED_CHOLESKY_SOLVE = define(
    "banded_cholesky_solve", Kind.LINALG, "ab factor b", infer=_cholesky_solve_infer,
    eval=_cholesky_solve_eval, vjp={"ab": _cholesky_matrix_rule, "b": _cholesky_right_rule},
    batch=batch_pointwise, attrs={"lower": (bool,)}, defaults={"lower": True},
    doc="x with a x = b of the positive definite banded matrices ab, by their Cholesky factors",
)  # fmt: skip
