"""Solutions of equations with banded and with Toeplitz matrices, which are never built."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ...array.indexing.taking import take
from ...array.joining import concatenate
from ...array.operands import broadcast, constant_of, promoted_arrays, reshaped, run
from ...array.rearranging import flip
from ...base.errors import DomainError, ShapeError
from ...base.lapack.calls import has
from ...ir.types import broadcast_shapes
from ...linalg.failures import gives_nan
from ...linalg.operands import adjoint, identity, inexact_argument, matrices, several
from ...linalg.solutions import solve
from ...tensors.tensor import Tensor
from .factors import cho_solve, cholesky


def solve_toeplitz(c_or_cr: Any, b: Any, check_finite: bool = True) -> Tensor:
    """x with ``toeplitz(c, r) @ x == b``, by Levinson's recursion.

    Without a row r, it is the conjugate of the column c. A `b` of rank 1 is a vector. Leading axes of c and r
    are batches.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.linalg.solve_toeplitz([2.0, 1.0], [3.0, 3.0])
        tensor([1., 1.])

    Raises LinAlgError where a leading part of the matrix is singular. Semantics:
    ``scipy.linalg.solve_toeplitz``.
    """
    name = "scipy.linalg.solve_toeplitz"
    parts = c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr,)
    column, row = (inexact_argument(name, part, "c_or_cr") for part in (parts[0], parts[-1]))
    if len(parts) == 1 and row.dtype.kind == "c":
        row = run("conj", row)
    size = column.shape[-1] if column.ndim else 0
    if not column.ndim or not row.ndim or row.shape[-1] != size:
        raise ShapeError(
            f"{name}: argument c_or_cr must be vectors of one size, got shapes {column.shape} and {row.shape}"
        )
    batch = broadcast_shapes(name, column.shape[:-1], row.shape[:-1])
    column, row = (broadcast(x, (*batch, size)) for x in promoted_arrays(column, row))
    line = concatenate([flip(row[..., 1:], axis=-1), column], axis=-1)
    line = reshaped(line, (*batch, 1, line.shape[-1]))
    line, right, vector = _with_right_side(name, line, b, size)
    if gives_nan():  # Levinson's recursion fails at leading parts that are singular, too
        places = size - 1 + np.arange(size)[:, None] - np.arange(size)
        return _as_given(solve(take(line[..., 0, :], constant_of(places), axis=-1), right), vector)
    return _as_given(run("toeplitz_solve", line, right, transpose=False), vector)


def _with_right_side(name: str, x: Tensor, b: Any, size: int) -> tuple[Tensor, Tensor, bool]:
    """`x`, matrices, and the right sides, with leading axes and dtype in
    common; and whether they were vectors."""
    right = inexact_argument(name, b, "b")
    vector = right.ndim == 1
    x, right = promoted_arrays(x, right)
    if vector:
        right = reshaped(right, (*right.shape, 1))
    if right.ndim < 2 or right.shape[-2] != size:
        shape = right.shape[:-1] if vector else right.shape
        raise ShapeError(f"{name}: argument b must have {size} rows, got shape {shape}")
    batch = broadcast_shapes(name, x.shape[:-2], right.shape[:-2])
    return broadcast(x, batch + x.shape[-2:]), broadcast(right, batch + right.shape[-2:]), vector


def _as_given(x: Tensor, vector: bool) -> Tensor:
    return reshaped(x, x.shape[:-1]) if vector else x


def solve_banded(
    l_and_u: Any,
    ab: Any,
    b: Any,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Tensor:
    """x with a x = b for a banded matrix.

    It has ``l`` diagonals below and ``u`` above, which are the rows of `ab`, the highest first. Factors and
    gradients are banded, too. A `b` of rank 1 is a vector. Leading axes of `ab` are batches.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.linalg.solve_banded((0, 1), [[0.0, 1.0], [2.0, 2.0]], [3.0, 2.0])
        tensor([1., 1.])

    Raises ShapeError unless `ab` has ``l + u + 1`` rows, LinAlgError for singular matrices. Semantics:
    ``scipy.linalg.solve_banded``.
    """
    name = "scipy.linalg.solve_banded"
    below, above = (operator.index(count) for count in l_and_u)
    if min(below, above) < 0:
        raise DomainError(f"{name}: l_and_u must not be negative, got {(below, above)}")
    diagonals = matrices(name, ab, "ab")
    if diagonals.shape[-2] != below + above + 1:
        raise ShapeError(
            f"{name}: argument ab must have l + u + 1 = {below + above + 1} rows, got shape {diagonals.shape}"
        )
    diagonals, right, vector = _with_right_side(name, diagonals, b, diagonals.shape[-1])
    if gives_nan() or not has(diagonals.dtype, "gbtrf", "gbtrs"):
        return _as_given(solve(_dense(diagonals, below, above), right), vector)
    factors, pivots = several("banded_lu", diagonals.detach(), below=below, above=above)
    solution = run(
        "banded_solve", diagonals, factors, pivots, right, below=below, above=above, transpose=False,
        conjugate=False, on_singular="raise",
    )  # fmt: skip
    return _as_given(solution, vector)


def solveh_banded(
    ab: Any, b: Any, overwrite_ab: bool = False, overwrite_b: bool = False, lower: bool = False,
    check_finite: bool = True,
) -> Tensor:  # fmt: skip
    """x with a x = b for a positive definite banded matrix.

    The rows of `ab` are its diagonals from the highest to the main one, or with `lower` from the main one to
    the lowest. Factors and gradients are banded, too. Leading axes of `ab` are batches.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.linalg.solveh_banded([[0.0, 1.0], [2.0, 2.0]], [3.0, 3.0])
        tensor([1., 1.])

    Raises LinAlgError where it is not positive definite. Semantics: ``scipy.linalg.solveh_banded``.
    """
    name = "scipy.linalg.solveh_banded"
    diagonals = matrices(name, ab, "ab")
    if diagonals.shape[-2] == 0:
        raise ShapeError(f"{name}: argument ab must have a row, got shape {diagonals.shape}")
    diagonals, right, vector = _with_right_side(name, diagonals, b, diagonals.shape[-1])
    if gives_nan() or not has(diagonals.dtype, "pbtrf", "pbtrs"):
        count = diagonals.shape[-2] - 1
        dense = _dense(diagonals, count, 0) if lower else adjoint(_dense(diagonals, 0, count))
        beyond = run("where", identity(dense, dense.shape[-1]) != 0, 0.0, dense)
        whole = dense + adjoint(beyond)  # each element beside the diagonal counts twice
        return _as_given(cho_solve((cholesky(whole, lower=True), True), right), vector)
    factor = run("banded_cholesky", diagonals.detach(), lower=bool(lower))
    solution = run("banded_cholesky_solve", diagonals, factor, right, lower=bool(lower))
    return _as_given(solution, vector)


def _dense(diagonals: Tensor, below: int, above: int) -> Tensor:
    """The square matrices whose `diagonals` are rows: where there is no LAPACK, or failures give NaN."""
    rows, size = diagonals.shape[-2:]
    row, column = np.arange(size)[:, None], np.arange(size)
    number = above + row - column
    inside = (number >= 0) & (number <= above + below)
    places = np.where(inside, number * size + column, 0)
    flat = reshaped(diagonals, (*diagonals.shape[:-2], rows * size))
    picked = take(flat, constant_of(places), axis=-1)
    return run("where", broadcast(constant_of(inside), picked.shape), picked, 0.0)
