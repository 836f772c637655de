"""The normal distribution of vectors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .....array.diagonals import diag, diagonal, eye
from .....array.elementwise.floats import where
from .....array.elementwise.ufuncs import exp, log
from .....array.operands import as_tensor, filled
from .....base.errors import ShapeError
from .....linalg import cholesky, eigvalsh, pinv, slogdet
from .....scipy.linalg import solve_triangular
from .....transforms.custom.vjp import custom_vjp
from ...arrays import for_arrays


def _parameters(mean: Any, cov: Any, size: int | None) -> tuple[Any, Any]:
    """The mean as a vector, the covariance as a matrix: numbers and vectors stand for diagonals."""
    covariance = as_tensor(cov)
    if size is None:
        size = max(
            as_tensor(0.0 if mean is None else mean).size, covariance.shape[-1] if covariance.ndim else 1
        )
    center = filled(0, (size,), covariance.dtype) if mean is None else as_tensor(mean).reshape(-1)
    if covariance.ndim == 0:
        covariance = covariance * eye(size, dtype=covariance.dtype)
    elif covariance.ndim == 1:
        covariance = diag(covariance) if size > 1 or covariance.size > 1 else covariance.reshape(1, 1)
    if covariance.shape != (size, size):
        raise ShapeError(f"multivariate_normal: cov must have shape {(size, size)}, got {covariance.shape}")
    return center, covariance


def _logpdf(x: Any, mean: Any, cov: Any, allow_singular: bool) -> Any:
    points = as_tensor(x)
    size = max(
        as_tensor(0.0 if mean is None else mean).size, as_tensor(cov).shape[-1] if as_tensor(cov).ndim else 1
    )
    if points.ndim == 0:
        points = points.reshape(1)
    elif points.ndim == 1 and size == 1:
        points = points.reshape(-1, 1)
    center, covariance = _parameters(mean, cov, points.shape[-1])
    offsets = points - center
    flat = offsets.reshape(-1, offsets.shape[-1])
    density = _of_eigenvalues if allow_singular else _of_factor
    return density(flat, covariance).reshape(offsets.shape[:-1])


def _of_parts(square: Any, log_determinant: Any, rank: Any) -> Any:
    return -0.5 * (square + log_determinant + rank * math.log(2 * math.pi))


@custom_vjp
def _of_factor(flat: Any, covariance: Any) -> Any:
    """The logarithm of the density at offsets from the mean, one a row."""
    return _with_residuals(flat, covariance)[0]


def _with_residuals(flat: Any, covariance: Any) -> tuple[Any, Any]:
    """`_of_factor`, and for the gradient Cholesky's factor L and the solution of ``L h = offsets``."""
    factor = cholesky(covariance)
    half = solve_triangular(factor, flat.T, lower=True)
    log_determinant = 2.0 * log(diagonal(factor)).sum()
    return _of_parts((half * half).sum(0), log_determinant, float(flat.shape[-1])), (factor, half)


def _gradients(residuals: Any, cotangent: Any) -> tuple[Any, Any]:
    """The gradients by offsets and covariance: -g s, and half the sum of g (s s.T - C), where C is the
    inverse of the covariance, s = C offsets, and g the cotangents."""
    factor, half = residuals
    root = solve_triangular(factor, np.eye(factor.shape[0], dtype=factor.dtype), lower=True)
    solved = half.T @ root
    weighted = cotangent.reshape(-1, 1) * solved
    return -weighted, 0.5 * (weighted.T @ solved - cotangent.sum() * (root.T @ root))


_of_factor.defvjp(_with_residuals, _gradients)


def _of_eigenvalues(flat: Any, covariance: Any) -> Any:
    """The logarithm of the density for a singular covariance: `_of_factor` with the pseudo-inverse, the
    pseudo-determinant and the rank. Eigenvalues below SciPy's bound count as 0: 1e6 rounding errors of the
    largest."""
    values = eigvalsh(covariance)
    least = 1e6 * np.finfo(covariance.dtype).eps
    is_kept = values > least * abs(values).max()
    kept = where(is_kept, values, 1.0)
    square = ((flat @ pinv(covariance, rtol=least)) * flat).sum(-1)
    return _of_parts(square, log(kept).sum(), is_kept.astype(covariance.dtype).sum())


@for_arrays
def logpdf(x: Any, mean: Any = None, cov: Any = 1.0, allow_singular: bool = False) -> Any:
    """The logarithm of the density at `x`, whose last axis is that of the components.

    `cov` is positive definite, LinAlgError is raised otherwise; with `allow_singular` eigenvalues may be 0.
    """
    return _logpdf(x, mean, cov, allow_singular)


@for_arrays
def pdf(x: Any, mean: Any = None, cov: Any = 1.0, allow_singular: bool = False) -> Any:
    """The density at `x`, whose last axis is that of the components."""
    return exp(_logpdf(x, mean, cov, allow_singular))


@for_arrays
def entropy(mean: Any = None, cov: Any = 1.0) -> Any:
    """The differential entropy."""
    _, covariance = _parameters(mean, cov, None)
    return 0.5 * (slogdet(covariance)[1] + covariance.shape[0] * (1.0 + math.log(2 * math.pi)))
