"""The LU factorization with partial pivoting, and solutions by it.

What is solved by a factorization is differentiated by the matrix itself: ``lu_solve(a, lu, permutation, b)``
takes `a` beside its factors, which are constants to it, and so its gradient uses the same factors again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....base.errors import LinAlgError, OutOfBoundsError, ShapeError
from ....base.lapack import calls
from ....base.lapack.library import on_one_thread
from ...dtypes import INT64
from ...registry import NONDIFF, Attrs, Kind
from ...transforms.batching import all_mapped, batch_pointwise
from ...types import TensorType, Types
from ..define import define
from .common import (
    MAX_AT_ONCE,
    adjoint,
    conjugate,
    identity,
    lower,
    matrix_type,
    part,
    product,
    right_side_type,
    rows_at,
    several,
    square_type,
    stack_of,
    transposed,
    upper,
    with_shared_matrix,
)
from .triangular import TRIANGULAR_SOLVE


def _infer(types: Types, attrs: Attrs) -> Types:
    (operand,) = types
    *batch, rows, columns = matrix_type("lu", operand).shape
    return (
        operand,
        TensorType(INT64, (*batch, min(rows, columns))),
        TensorType(INT64, (*batch, rows)),
    )


@on_one_thread
@np.errstate(all="ignore")  # as NumPy's functions
def _eval(a: Any) -> tuple[Any, Any, Any]:
    """LAPACK's, of one matrix after the other; many small ones are eliminated all at once."""
    rows, columns = a.shape[-2:]
    batch = a.shape[:-2]
    if rows * columns > MAX_AT_ONCE and calls.has(a.dtype, "getrf"):
        lu, pivots = calls.lu(stack_of(a))
        order = permutation_of(pivots, rows)
        return lu.reshape(a.shape), pivots.reshape(*batch, pivots.shape[1]), order.reshape(*batch, rows)
    lu = np.array(stack_of(a))
    matrix = np.arange(len(lu))
    pivots = np.zeros((len(lu), min(rows, columns)), INT64)
    permutation = np.tile(np.arange(rows, dtype=INT64), (len(lu), 1))
    for step in range(min(rows, columns)):
        # LAPACK's measure of a complex number's size; the first of the largest, and the first NaN of all
        size = np.abs(lu[:, step:, step].real) + np.abs(lu[:, step:, step].imag)
        pivot = pivots[:, step] = step + np.argmax(size, axis=-1)
        for array in (lu, permutation):
            array[matrix, step], array[matrix, pivot] = array[matrix, pivot], array[matrix, step]
        divisor = lu[:, step, step]
        below = lu[:, step + 1 :, step]
        below[...] = np.where(
            divisor[:, None] == 0, below, below / np.where(divisor == 0, 1, divisor)[:, None]
        )
        lu[:, step + 1 :, step + 1 :] -= below[:, :, None] * lu[:, step, None, step + 1 :]
    return lu.reshape(a.shape), pivots.reshape(*batch, pivots.shape[1]), permutation.reshape(*batch, rows)


def permutation_of(pivots: Any, rows: int) -> Any:
    """The order of `rows` after the exchanges `pivots`, for each of a stack."""
    order = np.tile(np.arange(rows, dtype=INT64), (len(pivots), 1))
    matrix = np.arange(len(pivots))
    for step in range(pivots.shape[1]):
        pivot = pivots[:, step]
        order[matrix, step], order[matrix, pivot] = order[matrix, pivot], order[matrix, step]
    return order


def _pull(b: Any, cotangents: Any, operands: Any, results: Any, attrs: Attrs) -> Any:
    """Differentiate the LU factorization. With ``F = L^-1 P^T dA U^-1``: ``dL = L tril(F, -1)`` and
    ``dU = triu(F) U`` for square matrices. The further columns are ``L^-1`` times those of ``P^T a``, the
    further rows are those of ``P^T a`` times ``U^-1``."""
    ct, (lu, _, permutation) = cotangents[0], results
    if ct is None:
        return [None]
    ct = conjugate(b, ct)
    rows, columns = lu.shape[-2:]
    square, beside, below = lu, None, None
    ct_l, ct_u = lower(b, ct, strict=True), upper(b, ct)
    if columns > rows:
        square = part(b, lu, -1, 0, rows)
        beside = _solved_left(b, square, part(b, ct, -1, rows, columns))
        l_part = product(b, beside, adjoint(b, part(b, lu, -1, rows, columns)))
        ct_l = b.sub(part(b, ct_l, -1, 0, rows), lower(b, l_part, strict=True))
        ct_u = part(b, ct_u, -1, 0, rows)
    elif rows > columns:
        square = part(b, lu, -2, 0, columns)
        below = _solved_right(b, square, part(b, ct, -2, columns, rows))
        u_part = product(b, adjoint(b, part(b, lu, -2, columns, rows)), below)
        ct_u = b.sub(part(b, ct_u, -2, 0, columns), upper(b, u_part))
        ct_l = part(b, ct_l, -2, 0, columns)
    unit = lower(b, square, strict=True)
    # L^H ct_l, of the unit lower triangle; the diagonal counts in the upper part alone
    inner = b.add(
        lower(b, b.add(product(b, adjoint(b, unit), ct_l), ct_l), strict=True),
        upper(b, product(b, ct_u, adjoint(b, upper(b, square)))),
    )
    gradient = _solved_right(b, square, _solved_left(b, square, inner))
    if beside is not None:
        gradient = b.concat(gradient, beside, axis=len(lu.shape) - 1)
    if below is not None:
        gradient = b.concat(gradient, below, axis=len(lu.shape) - 2)
    return [conjugate(b, rows_at(b, gradient, b.argsort(permutation)))]


def _solved_left(b: Any, lu: Any, x: Any) -> Any:
    """``L^-H x``"""
    return b.triangular_solve(
        lu, x, lower=True, transpose=True, conjugate=lu.dtype.kind == "c", unit_diagonal=True
    )


def _solved_right(b: Any, lu: Any, x: Any) -> Any:
    """``x U^-H``: the adjoint of ``U^-1 x^H``."""
    return adjoint(b, b.triangular_solve(lu, adjoint(b, x), lower=False))


LU = several(
    "lu", "a", infer=_infer, eval=_eval, pull=_pull,
    doc="the factors of P^T a = L U by rows in one matrix, without the ones on L's diagonal; the row that "
    "each step exchanged with its own; and a's row in each row of L U. Of a singular matrix U has a zero",
)  # fmt: skip


def _order_infer(types: Types, attrs: Attrs) -> Types:
    (pivots,) = types
    if pivots.dtype is not INT64 or pivots.ndim == 0:
        raise ShapeError(f"permutation_of_pivots: expected int64 of rank 1 or more, got {pivots}")
    return (pivots,)


def _order_eval(pivots: Any) -> Any:
    rows = pivots.shape[-1]
    if ((pivots < 0) | (pivots >= rows)).any():
        raise OutOfBoundsError(f"permutation_of_pivots: pivots must be between 0 and {rows - 1}")
    return permutation_of(stack_of(pivots, 1), rows).reshape(pivots.shape)


PERMUTATION_OF_PIVOTS = define(
    "permutation_of_pivots", Kind.LINALG, "pivots", infer=_order_infer, eval=_order_eval, vjp=NONDIFF,
    doc="the order of rows after each in turn was exchanged with the one that `pivots` say",
    batch=batch_pointwise,
)  # fmt: skip


# -- solutions ------------------------------------------------------------------------------------


def _solve_infer(types: Types, attrs: Attrs) -> Types:
    a, lu, permutation, right = types
    square_type("lu_solve", a)
    if lu != a or permutation != TensorType(INT64, a.shape[:-1]):
        raise ShapeError(f"lu_solve: {lu} and {permutation} are no factors of {a}")
    if attrs["on_singular"] not in ("raise", "ignore"):
        raise ShapeError(f"lu_solve: on_singular must be 'raise' or 'ignore', got {attrs['on_singular']!r}")
    return (right_side_type("lu_solve", a, right),)


def _solve(
    b: Any, a: Any, lu: Any, permutation: Any, right: Any, transpose: bool, conjugate: bool, on_singular: str
) -> Any:
    """``a = P L U``, so that ``x = U^-1 L^-1 P^T b``; of the transpose ``x = P L^-T U^-T b``."""
    below = {"lower": True, "unit_diagonal": True, "transpose": transpose, "conjugate": conjugate}
    above = {"lower": False, "transpose": transpose, "conjugate": conjugate, "on_singular": on_singular}
    if transpose:
        solved = b.triangular_solve(lu, b.triangular_solve(lu, right, **above), **below)
        return rows_at(b, solved, b.argsort(permutation))
    return b.triangular_solve(lu, b.triangular_solve(lu, rows_at(b, right, permutation), **below), **above)


@on_one_thread
def _solve_eval(
    a: Any,
    lu: Any,
    permutation: Any,
    b: Any,
    transpose: bool = False,
    conjugate: bool = False,
    on_singular: str = "ignore",
) -> Any:
    if on_singular == "raise" and not np.diagonal(lu, axis1=-2, axis2=-1).all():
        raise LinAlgError("lu_solve: singular matrix")
    solve = TRIANGULAR_SOLVE.eval
    if transpose:
        x = solve(
            lu, solve(lu, b, False, True, conjugate, False, "ignore"), True, True, conjugate, True, "ignore"
        )
        return np.take_along_axis(x, np.argsort(permutation, axis=-1)[..., None], axis=-2)
    b = np.take_along_axis(b, permutation[..., None], axis=-2)
    return solve(
        lu, solve(lu, b, True, False, conjugate, True, "ignore"), False, False, conjugate, False, "ignore"
    )


def _right_rule(b: Any, ct: Any, a: Any, lu: Any, permutation: Any, transpose: bool, conjugate: bool) -> Any:
    factors = b.stop_gradient(lu)  # a loop's backward part has them as an operand
    return b.lu_solve(
        a, factors, permutation, ct, transpose=not transpose, conjugate=conjugate, on_singular="ignore"
    )


def _matrix_rule(
    b: Any, ct: Any, out: Any, a: Any, lu: Any, permutation: Any, transpose: bool, conjugate: bool
) -> Any:
    """``d x = -op(a)^-1 d op(a) x``"""
    turned = _right_rule(b, ct, a, lu, permutation, transpose, conjugate)
    gradient = b.neg(
        product(b, out, transposed(b, turned)) if transpose else product(b, turned, transposed(b, out))
    )
    return b.conj(gradient) if conjugate and gradient.dtype.kind == "c" else gradient


def _solve_batch(b: Any, instruction: Any, operands: Any, mapped: Any, size: int) -> Any:
    """Factors that all examples share have the right sides of all as more columns."""
    if any(mapped[:3]):
        return b.append(instruction.op, tuple(all_mapped(b, operands, mapped, size)), instruction.attrs)
    return with_shared_matrix(b, instruction, operands, size)


LU_SOLVE = define(
    "lu_solve", Kind.LINALG, "a lu permutation b", infer=_solve_infer, eval=_solve_eval,
    vjp={"a": _matrix_rule, "b": _right_rule}, decompose=_solve, batch=_solve_batch,
    doc="x with op(a) x = b, by a's factors from `lu`; op transposes and conjugates as said; zeros on U's "
    "diagonal `raise` or divide",
    attrs={"transpose": (bool,), "conjugate": (bool,), "on_singular": (str,)},
    defaults={"transpose": False, "conjugate": False, "on_singular": "ignore"},
)  # fmt: skip


# -- inverses -------------------------------------------------------------------------------------


def _inverse_infer(types: Types, attrs: Attrs) -> Types:
    return _solve_infer((*types, types[0]), attrs)


def _inverse_eval(a: Any, lu: Any, permutation: Any, on_singular: str = "ignore") -> Any:
    unit = np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape)
    return _solve_eval(a, lu, permutation, unit, on_singular=on_singular)


def _inverse(b: Any, a: Any, lu: Any, permutation: Any, on_singular: str) -> Any:
    return b.lu_solve(a, lu, permutation, identity(b, a, a.shape[-1]), on_singular=on_singular)


def _inverse_rule(b: Any, ct: Any, out: Any) -> Any:
    """``d x = -x d a x``: two products, which are less than the systems of `lu_solve`."""
    turned = transposed(b, out)
    # a sign that fuses with what makes the cotangent, where that of the products would be a pass of its own
    return product(b, turned, b.neg(ct), turned)


INVERSE = define(
    "inverse", Kind.COMPOSITE, "a lu permutation", infer=_inverse_infer, eval=_inverse_eval,
    decompose=_inverse, vjp={"a": _inverse_rule}, batch=batch_pointwise,
    doc="the inverse of a, by its factors from `lu`; zeros on U's diagonal `raise` or divide",
    attrs={"on_singular": (str,)}, defaults={"on_singular": "ignore"},
)  # fmt: skip
