"""Normal vectors and orthogonal matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..array.contraction import matmul
from ..array.indexing.taking import take
from ..array.manipulation import matrix_transpose
from ..array.operands import cast, floating, run
from ..array.ranges import arange
from ..base.errors import AttributeValueError, ShapeError
from ..control.loops import fori_loop
from ..ir.types import as_shape
from ..tensors.tensor import Tensor
from .distributions import drawn_in_float32, normal, parameter, request


@drawn_in_float32
def multivariate_normal(
    key: Any, mean: Any, cov: Any, shape: Any = None, dtype: Any = None, method: str = "cholesky"
) -> Tensor:
    """Vectors of the normal distribution with mean `mean` and covariance matrix `cov`: mean + L x.

    `mean` is (..., n) and `cov` (..., n, n), symmetric and positive definite, L its Cholesky factor; what is
    not positive definite gives NaN. `shape` is that of the batch, what theirs broadcast to unless given.
    Gradients flow to both.

    Example:
        >>> import tracejit as tj
        >>> cov = tj.tensor([[2.0, 1.0], [1.0, 2.0]])
        >>> tj.random.multivariate_normal(tj.random.key(0), tj.zeros(2), cov, (4,)).shape
        (4, 2)

    Raises ShapeError where the shapes do not fit, AttributeValueError for a `method` other than "cholesky".
    Semantics: ``jax.random.multivariate_normal``.
    """
    name = "random.multivariate_normal"
    if method != "cholesky":
        raise AttributeValueError(f"{name}: method must be 'cholesky', got {method!r}")
    centre, matrix = floating(mean), floating(cov)
    if centre.ndim < 1 or matrix.ndim < 2 or matrix.shape[-2:] != (centre.shape[-1],) * 2:
        raise ShapeError(
            f"{name}: expected mean of shape (..., n) and cov of shape (..., n, n), got {centre.shape} and "
            f"{matrix.shape}"
        )
    if shape is None:
        try:
            shape = np.broadcast_shapes(centre.shape[:-1], matrix.shape[:-2])
        except ValueError:
            raise ShapeError(
                f"{name}: cannot broadcast mean of shape {centre.shape} and cov of shape {matrix.shape}"
            ) from None
    batch, result_dtype = request(name, key, shape, dtype)
    n = centre.shape[-1]
    centre = parameter(name, "mean", centre, (*batch, n), result_dtype)
    matrix = cast(matrix, result_dtype)
    factor = _cholesky(0.5 * (matrix + matrix_transpose(matrix)))
    x = normal(key, (*batch, n), result_dtype)
    if factor.ndim == 2:
        return centre + matmul(x, factor.T)
    return centre + matmul(factor, x[..., None])[..., 0]


@drawn_in_float32
def orthogonal(key: Any, n: int, shape: Any = (), dtype: Any = None, m: int | None = None) -> Tensor:
    """Matrices of shape (n, m) whose columns (rows, where m > n) are orthonormal, all equally likely.

    `m` is `n` unless given; `shape` is that of the batch. Normal columns are made orthogonal in turn
    (Gram and Schmidt, twice for each), which leaves the uniform distribution (Mezzadri, 2007).

    Example:
        >>> import tracejit as tj
        >>> q = tj.random.orthogonal(tj.random.key(0), 3)
        >>> abs(q.T @ q - tj.eye(3)).max() < 1e-12
        tensor(True)

    Raises ShapeError for sizes that are negative, DTypeError unless `dtype` is floating. Semantics:
    ``jax.random.orthogonal``, with other values.
    """
    name = "random.orthogonal"
    batch, result_dtype = request(name, key, shape, dtype)
    rows, columns = as_shape(name, (n, n if m is None else m))
    long, short = max(rows, columns), min(rows, columns)
    basis = _orthonormal(normal(key, (*batch, long, short), result_dtype))
    return basis if rows >= columns else matrix_transpose(basis)


def _cholesky(matrix: Tensor) -> Tensor:
    """The lower triangular L with L L' = matrix, column by column (Golub and Van Loan, 4.2.4)."""
    n = matrix.shape[-1]
    places = arange(n)

    def column(j: Any, factor: Tensor) -> Tensor:
        row = take(factor, j, axis=-2)[..., None, :]
        rest = take(matrix, j, axis=-1) - (factor * row).sum(axis=-1)
        pivot = take(rest, j, axis=-1)[..., None]
        entries = run("where", run("ge", places, j), rest / run("sqrt", pivot), 0.0)
        return run("where", run("eq", places, j), entries[..., None], factor)

    factor: Tensor = fori_loop(0, n, column, matrix * 0.0)
    return factor


def _orthonormal(matrix: Tensor) -> Tensor:
    """The factor Q of a QR decomposition whose R has a positive diagonal."""
    n = matrix.shape[-1]
    places = arange(n)

    def column(j: Any, factor: Tensor) -> Tensor:
        v = take(matrix, j, axis=-1)[..., None]
        for _ in range(2):  # twice is enough (Giraud et al., 2005)
            v = v - matmul(factor, matmul(matrix_transpose(factor), v))
        v = v / run("sqrt", (v * v).sum(axis=-2, keepdims=True))
        return run("where", run("eq", places, j), v, factor)

    factor: Tensor = fori_loop(0, n, column, matrix * 0.0)
    return factor
