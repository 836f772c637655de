"""Values of small matrices beside mpmath's, in units of the last place of the largest element
(docs/linalg.md)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

import tracejit as tj

NUMPY, SCIPY = tj.linalg, tj.scipy.linalg
SAMPLES = 5


def elements(matrix: Any) -> list[Any]:
    return [matrix[i, j] for i in range(matrix.rows) for j in range(matrix.cols)]


def eigenvalues(matrix: Any) -> list[Any]:
    return sorted(mpmath.eighe(matrix, eigvals_only=True))


def singular_values(matrix: Any) -> list[Any]:
    return list(mpmath.svd_c(matrix * mpmath.mpc(1), compute_uv=False))


def toeplitz_solution(matrix: Any) -> list[Any]:
    size = matrix.rows
    full = mpmath.matrix(size)
    for i in range(size):
        for j in range(size):
            full[i, j] = matrix[i - j, 0] if i >= j else matrix[0, j - i]
    return elements(mpmath.lu_solve(full, mpmath.ones(size, 1)))


def toeplitz(a: Any) -> Any:
    return SCIPY.solve_toeplitz((a[:, 0], a[0]), np.ones(len(a)))


def regular(x: Any) -> Any:
    return x + 3 * np.eye(len(x))


def positive(x: Any) -> Any:
    square = x @ np.conj(x.T) + np.eye(len(x))
    return (square + np.conj(square.T)) / 2


#: The name, the function, mpmath's, what is made of a random matrix, and the units.
CASES: list[tuple[str, Callable[[Any], Any], Callable[[Any], list[Any]], Callable[[Any], Any], float]] = [
    ("inv", NUMPY.inv, lambda a: elements(mpmath.inverse(a)), regular, 8),
    ("det", NUMPY.det, lambda a: [mpmath.det(a)], regular, 8),
    (
        "solve", lambda a: NUMPY.solve(a, np.ones(len(a))),
        lambda a: elements(mpmath.lu_solve(a, mpmath.ones(a.rows, 1))), regular, 8,
    ),
    ("solve_toeplitz", toeplitz, toeplitz_solution, lambda x: x + 9 * np.eye(len(x)), 10),
    ("cholesky", NUMPY.cholesky, lambda a: elements(mpmath.cholesky(a)), positive, 3),
    ("eigvalsh", NUMPY.eigvalsh, eigenvalues, positive, 10),
    ("svdvals", NUMPY.svdvals, singular_values, regular, 10),
    ("expm", SCIPY.expm, lambda a: elements(mpmath.expm(a)), regular, 30),
    ("sqrtm", SCIPY.sqrtm, lambda a: elements(mpmath.sqrtm(a)), positive, 20),
    ("logm", SCIPY.logm, lambda a: elements(mpmath.logm(a)), positive, 200),
]  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("size", [3, 6])
@pytest.mark.parametrize(("name", "function", "exact", "prepare", "units"), CASES, ids=[c[0] for c in CASES])
def test_values(
    name: str, function: Any, exact: Any, prepare: Any, units: float, size: int, dtype: Any
) -> None:
    rng = np.random.default_rng(size)
    compiled = tj.jit(function)
    for _ in range(SAMPLES):
        a = rng.standard_normal((size, size)).astype(dtype)
        if dtype == np.complex128:
            a = a + 1j * rng.standard_normal((size, size))
        a = prepare(a)
        with mpmath.workdps(40):
            values = exact(mpmath.matrix(a.tolist()))
            largest = max(map(abs, values))
            for result in (function(a), compiled(a)):
                errors = [
                    abs(mpmath.mpmathify(x) - y)
                    for x, y in zip(np.ravel(result).tolist(), values, strict=True)
                ]
                assert max(errors) <= units * np.finfo(float).eps * largest
