"""Solutions of linear equations, and inverses."""

from __future__ import annotations

import math
import operator
from typing import Any, NamedTuple

import numpy as np

from ..array.contraction import matmul
from ..array.operands import (
    as_tensor,
    broadcast,
    cast,
    filled,
    floating,
    is_tracing,
    reshaped,
    run,
    tensor_argument,
)
from ..base.errors import ArgumentError, LinAlgError, ShapeError
from ..ir.dtypes import INT64
from ..ir.types import normalize_axis
from ..tensors.tensor import Tensor
from .failures import decomposed, gives_nan, nan_where, zero_pivot
from .operands import factored, inexact_argument, matrices, square_matrices, with_right_side


class LstsqResult(NamedTuple):
    """The result of `lstsq`: the solution, sums of squared residuals, the rank, and the singular values."""

    x: Tensor
    residuals: Tensor
    rank: Tensor
    s: Tensor


def solve(a: Any, b: Any) -> Tensor:
    """x with a x = b, for square `a`.

    A `b` of rank 1 is a vector; of any other rank it has matrices on its last two axes. Leading axes
    broadcast.

    Example:
        >>> import tracejit as tj
        >>> tj.linalg.solve([[2.0, 1.0], [1.0, 3.0]], [3.0, 4.0])
        tensor([1., 1.])

    Raises LinAlgError for singular matrices, ShapeError where the rows do not fit. Semantics:
    ``numpy.linalg.solve`` of NumPy 2.
    """
    name = "linalg.solve"
    x = square_matrices(name, a)
    vector = tensor_argument(name, b, "b").ndim == 1
    x, right = with_right_side(name, x, b, vector=vector)
    solution = _solved(x, right)
    return reshaped(solution, solution.shape[:-1]) if vector else solution


def _solved(a: Tensor, right: Tensor) -> Tensor:
    lu, _, permutation = factored(a)
    nan = gives_nan()
    solution = run(
        "lu_solve", a, lu, permutation, right, transpose=False, conjugate=False,
        on_singular="ignore" if nan else "raise",
    )  # fmt: skip
    return nan_where(zero_pivot(lu), solution) if nan else solution


def inv(a: Any) -> Tensor:
    """The inverses of square matrices.

    Example:
        >>> import tracejit as tj
        >>> tj.linalg.inv([[2.0, 0.0], [0.0, 4.0]])
        tensor([[0.5 , 0.  ],
                [0.  , 0.25]])

    Raises LinAlgError for singular matrices. Semantics: ``numpy.linalg.inv``.
    """
    x = square_matrices("linalg.inv", a)
    lu, _, permutation = factored(x)
    nan = gives_nan()
    inverse = run("inverse", x, lu, permutation, on_singular="ignore" if nan else "raise")
    return nan_where(zero_pivot(lu), inverse) if nan else inverse


def inverse_or_nonfinite(a: Tensor) -> Tensor:
    """The inverses; of singular matrices infinities and NaN."""
    lu, _, permutation = factored(a)
    return run("inverse", a, lu, permutation, on_singular="ignore")


def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Tensor:
    """The Moore-Penrose pseudoinverses.

    Singular values up to `rcond`, or `rtol`, times the largest count as 0; the default is 1e-15 for NumPy's
    `rcond`. Where the rank stays the same nearby, the gradient is right, whatever the rank. `hermitian`
    promises that `a` is, which is not made use of.

    Example:
        >>> import tracejit as tj
        >>> tj.linalg.pinv([[2.0, 0.0], [0.0, 0.0]])
        tensor([[0.5, 0. ],
                [0. , 0. ]])

    Raises LinAlgError where the singular values do not converge. Semantics: ``numpy.linalg.pinv``.
    """
    name = "linalg.pinv"
    x = matrices(name, a)
    if rcond is not None and rtol is not None:
        raise ArgumentError(f"{name}: give rcond or rtol, not both")
    return _pinv(name, x, 1e-15 if rcond is None and rtol is None else rtol if rcond is None else rcond)


def _pinv(name: str, x: Tensor, cutoff: Any) -> Tensor:
    real = real_dtype(x)
    limits = cast(floating(tensor_argument(name, cutoff, "rcond")), real)
    return decomposed("pinv", x, broadcast(limits, x.shape[:-2]).detach())[0]


def real_dtype(x: Tensor) -> Any:
    """The dtype of the singular values of `x`."""
    return np.dtype(np.finfo(x.dtype).dtype)


def lstsq(a: Any, b: Any, rcond: Any = None) -> LstsqResult:
    """The x that makes the norm of b - a x the least, of several the one of the least norm.

    Singular values up to `rcond` times the largest count as 0: machine epsilon times the larger side unless
    given, and -1 stands for epsilon. Where the rank stays the same nearby, the gradient is right, whatever
    the rank. Residuals are sums over the rows; eagerly there are none where the rank is not full, or rows are
    no more than columns; under a trace the rank is not known, and they are there whenever rows are more.
    Leading axes are batches, which NumPy does not have.

    Example:
        >>> import tracejit as tj
        >>> tj.linalg.lstsq([[1.0], [1.0]], [1.0, 3.0]).x
        tensor([2.])

    Raises LinAlgError for matrices with NaN or infinities; under a trace the solution of the latter is NaN.
    Semantics: ``numpy.linalg.lstsq``.
    """
    name = "linalg.lstsq"
    x = matrices(name, a)
    vector = tensor_argument(name, b, "b").ndim == 1
    x, right = with_right_side(name, x, b, vector=vector)
    rows, columns = x.shape[-2:]
    epsilon = float(np.finfo(x.dtype).eps)
    if rcond is None:
        rcond = epsilon * max(rows, columns)
    elif isinstance(rcond, (int, float)) and rcond < 0:
        rcond = epsilon
    solution = matmul(_pinv(name, x, rcond), right)
    values = decomposed("svdvals", x)[0]
    finite = run("all", run("isfinite", values), axes=(values.ndim - 1,))
    if is_tracing():
        finite = run("broadcast", reshaped(finite, (*finite.shape, 1, 1)), shape=solution.shape)
        solution = run("where", finite, solution, math.nan)
    elif not finite._data.all() and not gives_nan():
        raise LinAlgError(f"{name}: SVD did not converge: the matrix has infinities")
    largest = values[..., :1] if values.shape[-1] else values
    kept = run("gt", values, cast(floating(as_tensor(rcond)), values.dtype) * largest)
    rank = run("sum", run("cast", kept, dtype=INT64), axes=(values.ndim - 1,))
    difference = right - matmul(x, solution)
    squares = run("real", difference * run("conj", difference)) if x.dtype.kind == "c" else difference**2
    residuals = run("sum", squares, axes=(difference.ndim - 2,))
    none = rows <= columns or (not is_tracing() and bool((rank._data < columns).any()))
    if none:
        residuals = filled(0.0, (0,), values.dtype)
    return LstsqResult(
        reshaped(solution, solution.shape[:-1]) if vector else solution, residuals, rank, values
    )


def tensorsolve(a: Any, b: Any, axes: Any = None) -> Tensor:
    """x with ``tensordot(a, x, x.ndim) == b``.

    `axes` of `a` are moved to its end first.

    Example:
        >>> import tracejit as tj
        >>> tj.linalg.tensorsolve(2 * tj.eye(4).reshape(2, 2, 4), tj.ones((2, 2)))
        tensor([0.5, 0.5, 0.5, 0.5])

    Raises LinAlgError unless `a` is as large as a square matrix. Semantics: ``numpy.linalg.tensorsolve``.
    """
    name = "linalg.tensorsolve"
    x, right = inexact_argument(name, a, "a"), tensor_argument(name, b, "b")
    if axes is not None:
        moved = [normalize_axis(name, axis, x.ndim) for axis in axes]
        x = run("transpose", x, perm=(*[i for i in range(x.ndim) if i not in moved], *moved))
    shape = x.shape[right.ndim :]
    size = math.prod(shape)
    if x.size != size * size or right.size != size:
        raise LinAlgError(
            f"{name}: a must be as large as a square matrix with a row for each element of b, got shapes "
            f"{x.shape} and {right.shape}"
        )
    return reshaped(solve(reshaped(x, (size, size)), reshaped(right, (size,))), shape)


def tensorinv(a: Any, ind: int = 2) -> Tensor:
    """The inverse of ``tensordot(a, x, ind)``, where the first `ind` axes are what the others become.

    Example:
        >>> import tracejit as tj
        >>> tj.linalg.tensorinv(2 * tj.eye(4).reshape(4, 2, 2), ind=1).shape
        (2, 2, 4)

    Raises ShapeError for an `ind` below 1, LinAlgError unless `a` is as large as a regular square matrix.
    Semantics: ``numpy.linalg.tensorinv``.
    """
    name = "linalg.tensorinv"
    x, count = inexact_argument(name, a, "a"), operator.index(ind)
    if count <= 0:
        raise ShapeError(f"{name}: ind must be positive, got {ind}")
    rows = math.prod(x.shape[:count])
    if rows * rows != x.size:
        raise LinAlgError(
            f"{name}: the first {count} axes of a must be as large as the others, got shape {x.shape}"
        )
    return reshaped(inv(reshaped(x, (rows, rows))), x.shape[count:] + x.shape[:count])
