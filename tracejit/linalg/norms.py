"""Norms, condition numbers and ranks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..array.manipulation import moveaxis
from ..array.operands import as_tensor, cast, floating, reshaped, run
from ..base.errors import DomainError, LinAlgError, ShapeError
from ..ir.dtypes import INT64
from ..ir.types import normalize_axes, normalize_axis, remove_axes
from ..tensors.tensor import Tensor
from .failures import decomposed
from .operands import inexact_argument, matrices
from .solutions import inverse_or_nonfinite

_INF = math.inf


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The norm of vectors or matrices.

    With an integer `axis` of the vectors along it, with two of the matrices on them; with none of all
    elements for ``ord=None``, else of `x` itself. `ord` is for vectors inf, -inf, 0 or any number, for
    matrices "fro", "nuc", inf, -inf, 1, -1, 2 or -2. Where the norm is 0, the gradient of the Euclidean one
    is 0.

    Example:
        >>> import tracejit as tj
        >>> tj.linalg.norm([3.0, 4.0])
        tensor(5.)

    Raises DomainError for an unknown `ord`, ShapeError for axes that are neither one nor two. Semantics:
    ``numpy.linalg.norm``.
    """
    name = "linalg.norm"
    x = inexact_argument(name, x)
    if axis is None:
        if ord is None or (ord in ("f", "fro") and x.ndim == 2) or (ord == 2 and x.ndim == 1):
            value = _euclidean(x, tuple(range(x.ndim)))
            return reshaped(value, (1,) * x.ndim) if keepdims else value
        axis = tuple(range(x.ndim))
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    if len(axes) == 1:
        return _vector(
            name, x, normalize_axes(name, tuple(axes), x.ndim), 2 if ord is None else ord, keepdims
        )
    if len(axes) != 2:
        raise ShapeError(f"{name}: expected one axis, or the two of matrices, got {axis} for shape {x.shape}")
    return _matrix(name, x, tuple(axes), "fro" if ord is None else ord, keepdims)


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Tensor:
    """The norm of the vectors on `axis`, one or several, by default of all elements.

    Example:
        >>> import tracejit as tj
        >>> tj.linalg.vector_norm([[3.0, 4.0], [6.0, 8.0]], axis=1)
        tensor([ 5., 10.])

    Raises DomainError for an unknown `ord`. Semantics: ``numpy.linalg.vector_norm``.
    """
    name = "linalg.vector_norm"
    x = inexact_argument(name, x)
    return _vector(name, x, normalize_axes(name, axis, x.ndim), ord, keepdims)


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Tensor:
    """The norm of the matrices on the last two axes.

    Example:
        >>> import tracejit as tj
        >>> tj.linalg.matrix_norm([[3.0, 0.0], [0.0, 4.0]], ord=2)
        tensor(4.)

    Raises DomainError for an unknown `ord`. Semantics: ``numpy.linalg.matrix_norm``.
    """
    name = "linalg.matrix_norm"
    return _matrix(name, matrices(name, x, "x"), (-2, -1), ord, keepdims)


def _euclidean(x: Tensor, axes: tuple[int, ...]) -> Tensor:
    """The root of the sum of squares, with gradient 0 at 0."""
    return run("vector_norm", x, axes=axes, ord=2)


def _extreme(sizes: Tensor, axes: tuple[int, ...], ord: float) -> Tensor:
    """The largest of `sizes` along `axes`, 0 where there are none; for a negative `ord` the smallest."""
    if ord > 0 and any(sizes.shape[axis] == 0 for axis in axes):
        return run("sum", sizes, axes=axes)
    return run("max" if ord > 0 else "min", sizes, axes=axes)


def _vector(name: str, x: Tensor, axes: tuple[int, ...], ord: Any, keepdims: bool) -> Tensor:
    if isinstance(ord, str):
        raise DomainError(f"{name}: ord must be a number for vectors, got {ord!r}")
    if isinstance(ord, (int, float)) and math.isfinite(ord) and ord not in (0, 1):
        value = run("vector_norm", x, axes=axes, ord=ord)
    elif ord in (_INF, -_INF):
        value = _extreme(run("abs", x), axes, ord)
    elif ord == 0:
        value = run("sum", run("cast", run("ne", x, 0.0), dtype=run("abs", x).dtype), axes=axes)
    elif ord == 1:
        value = run("sum", run("abs", x), axes=axes)
    else:
        value = run("sum", run("pow", run("abs", x), ord), axes=axes) ** (1.0 / ord)
    return reshaped(value, remove_axes(x.shape, axes, keepdims=True)) if keepdims else value


def _matrix(name: str, x: Tensor, axes: tuple[Any, ...], ord: Any, keepdims: bool) -> Tensor:
    row, column = (normalize_axis(name, axis, x.ndim) for axis in axes)
    if row == column:
        raise ShapeError(f"{name}: the axes of matrices must be different, got {axes}")
    y = moveaxis(x, (row, column), (-2, -1))
    last = (y.ndim - 2, y.ndim - 1)
    if ord in ("fro", "f"):
        value = _euclidean(y, last)
    elif ord == "nuc":
        value = run("sum", decomposed("svdvals", matrices(name, y, "x"))[0], axes=(y.ndim - 2,))
    elif ord in (2, -2):
        values = decomposed("svdvals", matrices(name, y, "x"))[0]
        value = _extreme(values, (y.ndim - 2,), ord)
    elif ord in (1, -1, _INF, -_INF):
        sums = run("sum", run("abs", y), axes=(last[0] if abs(ord) == 1 else last[1],))
        value = _extreme(sums, (y.ndim - 2,), ord)
    else:
        raise DomainError(
            f"{name}: ord must be 'fro', 'nuc', inf, -inf, 1, -1, 2 or -2 for matrices, got {ord!r}"
        )
    return reshaped(value, remove_axes(x.shape, (row, column), keepdims=True)) if keepdims else value


def cond(x: Any, p: Any = None) -> Tensor:
    """The condition number: the norm of the matrix times that of its inverse, inf for singular ones.

    `p` is an `ord` of `norm`; None and 2 are the ratio of the extreme singular values, -2 its inverse.

    Example:
        >>> import tracejit as tj
        >>> tj.linalg.cond([[2.0, 0.0], [0.0, 0.5]])
        tensor(4.)

    Raises LinAlgError unless matrices have elements and, but for None, 2 and -2, are square. Semantics:
    ``numpy.linalg.cond``.
    """
    name = "linalg.cond"
    matrix = matrices(name, x, "x")
    with np.errstate(divide="ignore", invalid="ignore"):  # of singular matrices
        return _cond(name, matrix, p)


def _cond(name: str, matrix: Tensor, p: Any) -> Tensor:
    if 0 in matrix.shape[-2:]:
        raise LinAlgError(f"{name}: there is no condition number of matrices without elements")
    if p is None or p in (2, -2):
        values = decomposed("svdvals", matrix)[0]
        ratio = values[..., -1] / values[..., 0] if p == -2 else values[..., 0] / values[..., -1]
    else:
        from_shape = matrix.shape[-2:]
        if from_shape[0] != from_shape[1]:
            raise LinAlgError(f"{name}: with p={p!r} matrices must be square, got shape {matrix.shape}")
        inverse = inverse_or_nonfinite(matrix)
        ratio = _matrix(name, matrix, (-2, -1), p, False) * _matrix(name, inverse, (-2, -1), p, False)
    undefined = run("isnan", ratio)
    has_nan = run("any", run("isnan", matrix), axes=(matrix.ndim - 2, matrix.ndim - 1))
    return run("where", run("logical_and", undefined, run("logical_not", has_nan)), _INF, ratio)


def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Tensor:
    """Number of singular values above `tol`, or above `rtol` times the largest.

    By default `rtol` is machine epsilon times the larger side. The rank of a vector is 1, or 0 of zeros.
    `hermitian` promises that `A` is, which is not made use of.

    Example:
        >>> import tracejit as tj
        >>> tj.linalg.matrix_rank([[1.0, 2.0], [2.0, 4.0]])
        tensor(1)

    Raises LinAlgError where the singular values do not converge. Semantics: ``numpy.linalg.matrix_rank``.
    """
    name = "linalg.matrix_rank"
    if tol is not None and rtol is not None:
        raise DomainError(f"{name}: give tol or rtol, not both")
    x = inexact_argument(name, A, "A").detach()
    if x.ndim < 2:
        nonzero = run("ne", x, 0.0)
        return run("cast", run("any", nonzero, axes=tuple(range(x.ndim))), dtype=INT64)
    values = decomposed("svdvals", matrices(name, x, "A"))[0]
    if tol is None:
        if rtol is None:
            rtol = max(x.shape[-2:]) * float(np.finfo(x.dtype).eps)
        factor = cast(floating(as_tensor(rtol)), values.dtype)
        factor = reshaped(factor, (*factor.shape, 1)) if factor.ndim else factor
        limit = factor * values[..., :1] if values.shape[-1] else values
    else:
        limit = cast(floating(as_tensor(tol)), values.dtype)
        limit = reshaped(limit, (*limit.shape, 1)) if limit.ndim else limit
    return run("sum", run("cast", run("gt", values, limit), dtype=INT64), axes=(values.ndim - 1,))
