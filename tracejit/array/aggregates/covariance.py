"""Covariance and correlation matrices."""

from __future__ import annotations

from typing import Any

from ...base.errors import DomainError, ShapeError
from ...ir.dtypes import FLOAT64, as_dtype, is_complex, is_inexact, is_real_floating, result_type
from ...tensors.tensor import Tensor
from ..contraction import matmul
from ..diagonals import diagonal
from ..joining import atleast_2d, concatenate
from ..manipulation import expand_dims, matrix_transpose, squeeze
from ..operands import as_tensor, cast, conjugated, floating, promoted, run
from ..reductions import mean, sum


def cov(
    x: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Tensor:
    """The covariance matrix of the variables that are the rows of `x`, and of `y`, where that is given.

    Columns are observations; with ``rowvar=False`` the other way round. The sums are divided by the number
    of observations less `ddof`, which is 1, or 0 with `bias`. `fweights` say how often each observation
    counts, `aweights` how much.

    Example:
        >>> import tracejit as tj
        >>> tj.cov([[1.0, 2.0, 3.0], [3.0, 1.0, 1.0]])
        tensor([[ 1.        , -1.        ],
                [-1.        ,  1.33333333]])

    Raises ShapeError. Semantics: ``numpy.cov``.
    """
    if ddof is not None and ddof != int(ddof):
        raise DomainError(f"cov: ddof must be an integer, got {ddof}")
    variables = _variables("cov", x, y, rowvar, dtype)
    rows, count = variables.shape
    free = (0 if bias else 1) if ddof is None else ddof
    weights = _weights(fweights, aweights, variables)
    if rows == 0 or weights is None:
        total: Any = float(count)
        centred = run("sub", variables, mean(variables, 1, keepdims=True)) if count else variables
        weighted = centred
    else:
        total = sum(weights)
        centre = run("div", sum(run("mul", variables, weights), 1, keepdims=True), total)
        centred = run("sub", variables, centre)
        weighted = run("mul", centred, weights)
    if weights is None:
        divisor: Any = total - free
    elif free == 0:
        divisor = total
    elif aweights is None:
        divisor = run("sub", total, float(free))
    else:
        part = run("div", sum(run("mul", weights, cast(floating(aweights), weights.dtype))), total)
        divisor = run("sub", total, run("mul", part, float(free)))
    divisor = run("maximum", divisor, 0.0) if isinstance(divisor, Tensor) else max(divisor, 0.0)
    return squeeze(run("div", matmul(centred, matrix_transpose(conjugated(weighted))), divisor))


def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Tensor:
    """The correlation coefficients of the variables that are the rows of `x`, and of `y`.

    Example:
        >>> import tracejit as tj
        >>> tj.corrcoef([1.0, 2.0, 3.0], [3.0, 1.0, 1.0])
        tensor([[ 1.       , -0.8660254],
                [-0.8660254,  1.       ]])

    Raises ShapeError. Semantics: ``numpy.corrcoef``.
    """
    covariances = cov(x, y, rowvar, dtype=dtype)
    if covariances.ndim == 0:
        return run("div", covariances, covariances)
    variances = diagonal(covariances)
    variances = run("real", variances) if is_complex(variances.dtype) else variances
    deviations = run("sqrt", variances)
    quotient = run("div", run("div", covariances, expand_dims(deviations, 1)), deviations)
    if not is_complex(quotient.dtype):
        return run("clip", quotient, -1.0, 1.0)
    parts = [run("clip", run(part, quotient), -1.0, 1.0) for part in ("real", "imag")]
    return run("complex", *parts)


def _variables(name: str, x: Any, y: Any, rowvar: bool, dtype: Any) -> Tensor:
    """The variables of `x` and `y` as rows, of which a line is one."""
    parts = []
    for operand in (x, y):
        if operand is None:
            continue
        tensor = as_tensor(operand)
        if tensor.ndim > 2:
            raise ShapeError(f"{name}: expected an array of rank 2 or less, got shape {tensor.shape}")
        rows = atleast_2d(tensor)
        parts.append(rows if rowvar or tensor.ndim == 1 else matrix_transpose(rows))
    if dtype is not None:
        parts = [cast(part, as_dtype(dtype)) for part in parts]
    parts = [part if is_inexact(part.dtype) else cast(part, as_dtype("f8")) for part in parts]
    parts = promoted(*parts)
    if dtype is None:
        common = result_type(parts[0].dtype, FLOAT64)  # as NumPy
        parts = [cast(part, common) for part in parts]
    return parts[0] if len(parts) == 1 else concatenate(parts, 0)


def _weights(fweights: Any, aweights: Any, variables: Tensor) -> Tensor | None:
    weights = None
    for name, numbers in (("fweights", fweights), ("aweights", aweights)):
        if numbers is None:
            continue
        tensor = as_tensor(numbers)
        if tensor.shape != variables.shape[1:]:
            raise ShapeError(f"cov: {name} must have shape {variables.shape[1:]}, got {tensor.shape}")
        if name == "fweights" and is_real_floating(tensor.dtype):
            raise DomainError("cov: fweights must be integers")
        tensor = cast(tensor, variables.dtype)
        weights = tensor if weights is None else run("mul", weights, tensor)
    return weights
