"""Equations with banded and Toeplitz matrices: beside dense ones, native, with gradients of the same
structure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.base.lapack.calls import has

from .derivatives import check as check_derivatives
from .derivatives import random

LINALG = tj.scipy.linalg
EITHER = pytest.mark.parametrize("wrap", [lambda f: f, tj.jit], ids=["eager", "jit"])
DTYPES = pytest.mark.parametrize("dtype", [np.float64, np.complex128])
SIZES = pytest.mark.parametrize("size", [1, 2, 3, 9])
BANDS = [(0, 0), (1, 1), (2, 1), (0, 2), (1, 0)]

pytestmark = pytest.mark.skipif(not has(np.dtype(float), "gbtrf"), reason="there is no LAPACK to call")


def dense(diagonals: Any, below: int, above: int) -> Any:
    size = diagonals.shape[-1]
    matrix = np.zeros((*diagonals.shape[:-2], size, size), diagonals.dtype)
    for row in range(size):
        for column in range(max(0, row - below), min(size, row + above + 1)):
            matrix[..., row, column] = diagonals[..., above + row - column, column]
    return matrix


def toeplitz(column: Any, row: Any) -> Any:
    size = len(column)
    return np.array([[column[i - j] if i >= j else row[j - i] for j in range(size)] for i in range(size)])


def hermitian_case(dtype: Any, size: int, count: int, lower: bool) -> tuple[Any, Any]:
    """The diagonals of a positive definite matrix, and the matrix."""
    diagonals = 0.3 * random(dtype, count + 1, size)
    main = 0 if lower else count
    diagonals[main] = diagonals[main].real + 4
    matrix = dense(diagonals, count, 0) if lower else dense(diagonals, 0, count)
    return diagonals, matrix + np.conj(matrix.T) - np.diag(np.diag(matrix))


@EITHER
@DTYPES
@SIZES
@pytest.mark.parametrize("band", BANDS, ids=str)
@pytest.mark.parametrize("batch", [(), (3,)], ids=str)
@pytest.mark.parametrize("right", [(), (1,), (3,)], ids=str)
def test_solve_banded(wrap: Any, dtype: Any, size: int, band: Any, batch: Any, right: Any) -> None:
    diagonals, b = random(dtype, *batch, sum(band) + 1, size), random(dtype, size, *right)
    diagonals[..., band[1], :] += 4
    x = wrap(lambda ab, b: LINALG.solve_banded(band, ab, b))(diagonals, b)
    np.testing.assert_allclose(x, np.linalg.solve(dense(diagonals, *band), b), rtol=1e-9, atol=1e-12)


@EITHER
@DTYPES
@SIZES
@pytest.mark.parametrize("count", [0, 2])
@pytest.mark.parametrize("lower", [False, True])
def test_solveh_banded(wrap: Any, dtype: Any, size: int, count: int, lower: bool) -> None:
    diagonals, matrix = hermitian_case(dtype, size, count, lower)
    b = random(dtype, size, 2)
    x = wrap(lambda ab, b: LINALG.solveh_banded(ab, b, lower=lower))(diagonals, b)
    np.testing.assert_allclose(x, np.linalg.solve(matrix, b), rtol=1e-9, atol=1e-12)


@EITHER
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@SIZES
@pytest.mark.parametrize("right", [(), (2,)], ids=str)
def test_solve_toeplitz(wrap: Any, dtype: Any, size: int, right: Any) -> None:
    column, row, b = random(dtype, size), random(dtype, size, seed=1), random(dtype, size, *right)
    column[0] += 4
    tolerance = 1e-3 if np.finfo(dtype).dtype == np.float32 else 1e-10
    x = wrap(lambda c, r, b: LINALG.solve_toeplitz((c, r), b))(column, row, b)
    assert x.dtype == dtype
    np.testing.assert_allclose(x, np.linalg.solve(toeplitz(column, row), b), rtol=tolerance, atol=tolerance)
    column[0] = column[0].real
    x = wrap(LINALG.solve_toeplitz)(column, b)
    expected = np.linalg.solve(toeplitz(column, np.conj(column)), b)
    np.testing.assert_allclose(x, expected, rtol=tolerance, atol=tolerance)


def weighted(x: Any) -> Any:
    weights = random(np.float64, *x.shape, seed=7)
    total = (x.real * weights).sum()
    return total + (x.imag * weights[::-1]).sum() if x.dtype.kind == "c" else total


def check(function: Callable[[Any], Any], at: Any) -> None:
    check_derivatives(lambda x: weighted(function(x)), at)


@DTYPES
@pytest.mark.parametrize("band", [(1, 2), (0, 1)], ids=str)
def test_gradients_of_banded_equations(dtype: Any, band: Any) -> None:
    diagonals, b = random(dtype, 2, sum(band) + 1, 5), random(dtype, 5, 2)
    diagonals[..., band[1], :] += 4
    check(lambda ab: LINALG.solve_banded(band, ab, b), diagonals)
    check(lambda b: LINALG.solve_banded(band, diagonals, b), b)


@DTYPES
@pytest.mark.parametrize("lower", [False, True])
def test_gradients_of_positive_definite_ones(dtype: Any, lower: bool) -> None:
    diagonals, b = hermitian_case(dtype, 5, 2, lower)[0], random(dtype, 5, 2)
    check(lambda ab: LINALG.solveh_banded(ab, b, lower=lower), diagonals)
    check(lambda b: LINALG.solveh_banded(diagonals, b, lower=lower), b)


@DTYPES
def test_gradients_of_toeplitz_equations(dtype: Any) -> None:
    column, row, b = random(dtype, 2, 5), random(dtype, 5, seed=1), random(dtype, 5, 2)
    column[:, 0] += 4
    check(lambda c: LINALG.solve_toeplitz((c, row), b), column)
    check(lambda r: LINALG.solve_toeplitz((column, r), b), row)
    check(lambda b: LINALG.solve_toeplitz((column, row), b), b)
    check(lambda c: LINALG.solve_toeplitz(c, b), column[0])


@DTYPES
def test_nothing_dense_is_built(dtype: Any) -> None:
    """Neither for values nor for gradients, which use the same factors; and all is native."""
    size = 50
    diagonals, b = random(dtype, 4, size) + 4, random(dtype, size)

    def loss(ab: Any, b: Any) -> Any:
        total = LINALG.solve_banded((1, 2), ab, b) + LINALG.solveh_banded(
            0.01 * ab[:2] + np.array([[4.0], [0.0]]), b, lower=True
        )
        return abs(total + LINALG.solve_toeplitz(ab[0] + 30.0 * (np.arange(size) == 0), b)).sum()

    compiled = tj.jit(tj.value_and_grad(loss, (0, 1)))
    compiled(diagonals, b)
    text = compiled.lower(diagonals, b).as_text("optimized")
    assert f"{size}, {size}" not in text
    assert "NumPy" not in str(compiled.explain())
    if dtype == np.float64:
        assert (text.count("= banded_lu("), text.count("= banded_cholesky(")) == (1, 1)


@EITHER
def test_errors_of_values(wrap: Any) -> None:
    with pytest.raises(np.linalg.LinAlgError, match="banded_solve: singular matrix"):
        wrap(lambda b: LINALG.solve_banded((1, 1), np.zeros((3, 4)), b))(np.ones(4))
    with pytest.raises(np.linalg.LinAlgError, match="banded_cholesky: Matrix is not positive definite"):
        wrap(lambda b: LINALG.solveh_banded(-np.ones((2, 4)), b))(np.ones(4))
    with pytest.raises(np.linalg.LinAlgError, match="toeplitz_solve: singular principal minor"):
        wrap(lambda b: LINALG.solve_toeplitz([1.0, 1.0], b))(np.ones(2))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: LINALG.solve_banded((1, 1), np.ones((2, 4)), np.ones(4)),
            r"ab must have l \+ u \+ 1 = 3 rows",
        ),
        (lambda: LINALG.solve_banded((1, 1), np.ones((3, 4)), np.ones(5)), "b must have 4 rows"),
        (
            lambda: LINALG.solveh_banded(np.ones((2, 4)), np.ones((3, 2))),
            r"b must have 4 rows, got shape \(3, 2",
        ),
        (
            lambda: LINALG.solve_toeplitz((np.ones(3), np.ones(2)), np.ones(3)),
            "c_or_cr must be vectors of one",
        ),
    ],
)
def test_messages(call: Any, message: str) -> None:
    with pytest.raises(tj.TracejitError, match=message):
        call()


@EITHER
def test_no_rows(wrap: Any) -> None:
    empty = np.zeros((0,))
    assert wrap(lambda b: LINALG.solve_banded((0, 0), np.zeros((1, 0)), b))(empty).shape == (0,)
    assert wrap(lambda b: LINALG.solveh_banded(np.zeros((1, 0)), b))(empty).shape == (0,)
    assert wrap(lambda b: LINALG.solve_toeplitz(empty, b))(empty).shape == (0,)
