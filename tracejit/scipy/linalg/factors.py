"""Cholesky and LU factorizations, and solutions by factors that are there already."""

from __future__ import annotations

from typing import Any

from ...array.contraction import matmul
from ...array.indexing.taking import take_along_axis
from ...array.operands import reshaped, run, tensor_argument
from ...base.errors import AttributeValueError, ShapeError
from ...ir.dtypes import INT64
from ...linalg.failures import gives_nan, nan_where, on_failure, zero_pivot
from ...linalg.operands import adjoint, identity, matrices, several, square_matrices, with_right_side
from ...tensors.tensor import Tensor

#: Meanings of `trans`, by number and letter: whether to transpose, and whether to conjugate.
_TRANSPOSITIONS = {
    0: (False, False), "N": (False, False), 1: (True, False), "T": (True, False),
    2: (True, True), "C": (True, True),
}  # fmt: skip


def _transposition(name: str, trans: Any) -> tuple[bool, bool]:
    if isinstance(trans, (int, str)) and trans in _TRANSPOSITIONS:
        return _TRANSPOSITIONS[trans]
    raise AttributeValueError(f"{name}: trans must be 0, 1, 2, 'N', 'T' or 'C', got {trans!r}")


def solve_triangular(
    a: Any,
    b: Any,
    trans: Any = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Tensor:
    """x with op(a) x = b for triangular `a`, of which the other triangle is not read.

    `trans` is 0 or "N", 1 or "T" (transposed), 2 or "C" (and conjugated). A `b` of rank 1 is a vector.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.linalg.solve_triangular([[2.0, 0.0], [1.0, 1.0]], [2.0, 3.0], lower=True)
        tensor([1., 2.])

    Raises LinAlgError where the diagonal has a zero. Semantics: ``scipy.linalg.solve_triangular``.
    """
    name = "scipy.linalg.solve_triangular"
    transpose, conjugate = _transposition(name, trans)
    x = square_matrices(name, a)
    nan = gives_nan()
    solution = _substituted(
        name, x, b, lower, transpose, conjugate, unit_diagonal, "ignore" if nan else "raise"
    )
    return nan_where(zero_pivot(x), solution) if nan and not unit_diagonal else solution


def _substituted(
    name: str,
    a: Tensor,
    b: Any,
    lower: bool,
    transpose: bool,
    conjugate: bool = False,
    unit_diagonal: bool = False,
    on_singular: str = "ignore",
) -> Tensor:
    vector = tensor_argument(name, b, "b").ndim == 1
    a, right = with_right_side(name, a, b, vector=vector)
    solution = run(
        "triangular_solve", a, right, lower=bool(lower), transpose=transpose, conjugate=conjugate,
        unit_diagonal=bool(unit_diagonal), on_singular=on_singular,
    )  # fmt: skip
    return reshaped(solution, solution.shape[:-1]) if vector else solution


def cholesky(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Tensor:
    """The upper triangular U with Uᴴ U = a, or with `lower` the lower triangular L with L Lᴴ = a.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.linalg.cholesky([[4.0, 2.0], [2.0, 5.0]])
        tensor([[2., 1.],
                [0., 2.]])

    Raises LinAlgError where a matrix is not positive definite. Semantics: ``scipy.linalg.cholesky``.
    """
    x = square_matrices("scipy.linalg.cholesky", a)
    factor = run("cholesky", x if lower else adjoint(x), on_error=on_failure())
    return factor if lower else adjoint(factor)


def cho_factor(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Tensor, bool]:
    """The Cholesky factor for `cho_solve`, and whether it is the lower one; zeros in the other triangle.

    Example:
        >>> import tracejit as tj
        >>> factor = tj.scipy.linalg.cho_factor([[4.0, 2.0], [2.0, 5.0]])
        >>> tj.scipy.linalg.cho_solve(factor, [6.0, 7.0])
        tensor([1., 1.])

    Raises LinAlgError where a matrix is not positive definite. Semantics: ``scipy.linalg.cho_factor``.
    """
    return cholesky(a, lower), bool(lower)


def cho_solve(c_and_lower: Any, b: Any, overwrite_b: bool = False, check_finite: bool = True) -> Tensor:
    """x with a x = b, by the factor of `a` that `cho_factor` gave.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.linalg.cho_solve(([[2.0, 1.0], [0.0, 2.0]], False), [6.0, 7.0])
        tensor([1., 1.])

    Raises ShapeError where the rows do not fit. Semantics: ``scipy.linalg.cho_solve``.
    """
    name = "scipy.linalg.cho_solve"
    factor, lower = c_and_lower
    c = square_matrices(name, factor, "c_and_lower")
    conjugate = c.dtype.kind == "c"
    half = _substituted(name, c, b, lower, not lower, conjugate and not lower)
    vector = half.ndim < c.ndim or tensor_argument(name, b, "b").ndim == 1
    if vector:
        half = reshaped(half, (*half.shape, 1))
    solution = _substituted(name, c, half, lower, bool(lower), conjugate and bool(lower))
    return reshaped(solution, solution.shape[:-1]) if vector else solution


def lu(
    a: Any,
    permute_l: bool = False,
    overwrite_a: bool = False,
    check_finite: bool = True,
    p_indices: bool = False,
) -> tuple[Tensor, ...]:
    """P, L and U with a = P L U: a permutation, unit lower triangular, upper triangular.

    With `permute_l` just P L and U; with `p_indices` P as the rows of L, so that ``a == L[p] @ U``.

    Example:
        >>> import tracejit as tj
        >>> p, l, u = tj.scipy.linalg.lu([[1.0, 2.0], [2.0, 0.0]])
        >>> u
        tensor([[2., 0.],
                [0., 2.]])

    Raises LinAlgError for rank 0 and 1. Semantics: ``scipy.linalg.lu``.
    """
    x = matrices("scipy.linalg.lu", a)
    factors, _, permutation = several("lu", x)
    rows, columns = x.shape[-2:]
    count = min(rows, columns)
    unit = identity(x, rows)[..., :, :count]
    row = run("iota", shape=(rows, columns), axis=0, dtype=INT64)
    column = run("iota", shape=(rows, columns), axis=1, dtype=INT64)
    zero = 0.0
    lower = run("where", run("gt", row, column), factors, zero)[..., :, :count] + unit
    upper = run("where", run("le", row, column), factors, zero)[..., :count, :]
    places = run("argsort", permutation)
    if p_indices and not permute_l:
        return places, lower, upper
    columns_of_p = run("iota", shape=(*places.shape, rows), axis=places.ndim, dtype=INT64)
    ones = run("eq", reshaped(places, (*places.shape, 1)) + 0 * columns_of_p, columns_of_p)
    p = run("cast", ones, dtype=x.dtype)
    return (matmul(p, lower), upper) if permute_l else (p, lower, upper)


def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Tensor, Tensor]:
    """L and U in one matrix, without L's diagonal, and the row that each step exchanged with its own.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.linalg.lu_factor([[1.0, 2.0], [2.0, 0.0]])
        (tensor([[2. , 0. ],
                [0.5, 2. ]]), tensor([1, 1]))

    Raises LinAlgError for rank 0 and 1. Semantics: ``scipy.linalg.lu_factor``.
    """
    factors, pivots, _ = several("lu", matrices("scipy.linalg.lu_factor", a))
    return factors, pivots


def lu_solve(
    lu_and_piv: Any, b: Any, trans: Any = 0, overwrite_b: bool = False, check_finite: bool = True
) -> Tensor:
    """x with op(a) x = b, by the factors of `a` that `lu_factor` gave.

    Example:
        >>> import tracejit as tj
        >>> factors = tj.scipy.linalg.lu_factor([[1.0, 2.0], [2.0, 0.0]])
        >>> tj.scipy.linalg.lu_solve(factors, [3.0, 2.0])
        tensor([1., 1.])

    Raises ShapeError where the rows do not fit. Semantics: ``scipy.linalg.lu_solve``.
    """
    name = "scipy.linalg.lu_solve"
    transpose, conjugate = _transposition(name, trans)
    factors = square_matrices(name, lu_and_piv[0], "lu_and_piv")
    pivots = tensor_argument(name, lu_and_piv[1], "lu_and_piv")
    if pivots.shape != factors.shape[:-1]:
        raise ShapeError(f"{name}: expected pivots of shape {factors.shape[:-1]}, got {pivots.shape}")
    vector = tensor_argument(name, b, "b").ndim == 1
    factors, right = with_right_side(name, factors, b, vector=vector)
    order = run("permutation_of_pivots", run("cast", pivots, dtype=INT64))
    if order.shape != factors.shape[:-1]:
        order = run("broadcast", order, shape=factors.shape[:-1])
    below = {"lower": True, "unit_diagonal": True, "transpose": transpose, "conjugate": conjugate}
    above = {"lower": False, "unit_diagonal": False, "transpose": transpose, "conjugate": conjugate}
    steps = (above, below) if transpose else (below, above)
    solution = right if transpose else rows_at(right, order)
    for step in steps:
        solution = run("triangular_solve", factors, solution, on_singular="ignore", **step)
    if transpose:
        solution = rows_at(solution, run("argsort", order))
    return reshaped(solution, solution.shape[:-1]) if vector else solution


def rows_at(x: Tensor, rows: Tensor) -> Tensor:
    """The rows of each matrix in the order `rows`."""
    places = reshaped(rows, (*rows.shape, 1))
    from_all = run("broadcast", places, shape=(*rows.shape, x.shape[-1]))
    return take_along_axis(x, from_all, axis=-2)
