"""Drawing from given items; normal vectors and orthogonal matrices."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from ..array.contraction import matmul
from ..array.cumulative import cumsum
from ..array.indexing.searching import take
from ..array.manipulation import matrix_transpose
from ..array.operands import as_tensor, cast, constant_of, floating, reshaped, run
from ..array.ranges import arange
from ..base.errors import AttributeValueError, DomainError, ShapeError
from ..control.loops import fori_loop
from ..ir.dtypes import BY_NAME
from ..ir.types import as_shape, normalize_axis
from ..tensors.tensor import Tensor
from .discrete import permutation, randint
from .distributions import drawn_in_float32, gumbel, normal, parameter, request, uniform
from .keys import as_key

_INT64: Final = BY_NAME["i64"]


def choice(key: Any, a: Any, shape: Any = (), replace: bool = True, p: Any = None, axis: int = 0) -> Tensor:
    """Slices of `a` along `axis`, or integers below `a`, in a block of the given shape.

    With `p`, each is drawn with its probability (`p` is divided by its sum): with replacement by bisection
    of the cumulated probabilities, without by the largest of log p plus Gumbel noise (Vieira, 2014), for
    which compiled code calls NumPy to sort.

    Example:
        >>> import tracejit as tj
        >>> tj.random.choice(tj.random.key(0), 5, (3,), p=[0.0, 0.0, 0.0, 0.5, 0.5]).shape
        (3,)

    Raises DomainError where there is nothing to choose from, or without replacement too little; ShapeError
    where `p` does not have an entry per item; AxisError for an axis that is not there. Semantics:
    ``jax.random.choice``, with other values.
    """
    name = "random.choice"
    as_key(name, key)
    sizes = as_shape(name, shape)
    draws = math.prod(sizes)
    integers = type(a) is int or isinstance(a, np.integer)
    items = None if integers else as_tensor(a)
    if items is not None and items.ndim == 0:
        raise ShapeError(f"{name}: expected a Python integer or an array of items, got {items.type}")
    place = 0 if items is None else normalize_axis(name, axis, items.ndim)
    count = int(a) if items is None else items.shape[place]
    if draws and count < 1:
        raise DomainError(f"{name}: there is nothing to choose from, got {count} items")
    if not replace and draws > count:
        raise DomainError(f"{name}: cannot take {draws} of {count} items without replacement")
    weights = None if p is None else floating(p)
    if weights is not None and weights.shape != (count,):
        raise ShapeError(f"{name}: expected p of shape {(count,)}, one per item, got shape {weights.shape}")
    if not draws:
        chosen = arange(0)
    elif replace and weights is not None:
        chosen = _weighted(key, weights, draws)
    elif replace:
        chosen = randint(key, draws, 0, count)
    elif weights is None:
        chosen = permutation(key, count)[:draws]
    else:
        some = run("gt", weights, 0.0)
        logs = run("where", some, run("log", run("where", some, weights, 1.0)), -math.inf)
        chosen = run("argsort", -(logs + gumbel(key, weights.shape, weights.dtype)))[:draws]
    if items is None:
        return reshaped(chosen, sizes)
    slices = take(items, chosen, axis=place)
    return reshaped(slices, (*slices.shape[:place], *sizes, *slices.shape[place + 1 :]))


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


def _weighted(key: Any, weights: Tensor, count: int) -> Tensor:
    """Positions by their weights: where a uniform number falls among the cumulated ones, by bisection."""
    total = cumsum(weights)
    place = uniform(key, count, weights.dtype) * total[-1]
    size = weights.shape[0]
    zeros = constant_of(np.zeros(count, _INT64))

    def halve(_: Any, state: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        low, high = state  # total[low - 1] <= place < total[high]
        middle = run("shift_right", low + high, 1)
        right = run("le", take(total, middle), place)
        return run("where", right, middle + 1, low), run("where", right, high, middle)

    last = zeros + (size - 1)
    # the product with the sum may round up to it
    return run("minimum", fori_loop(0, size.bit_length(), halve, (zeros, last))[0], last)


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
