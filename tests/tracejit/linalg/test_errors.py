"""Errors for operands that are no matrices or have no result: NumPy's LinAlgError, eager and compiled."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest

import tracejit as tj

NAMES = [
    "cholesky", "inv", "det", "slogdet", "eig", "eigvals", "eigh", "eigvalsh", "svd", "svdvals", "qr", "pinv",
    "cond",
]  # fmt: skip
SINGULAR = np.array([[1.0, 2.0], [2.0, 4.0]])
EITHER = pytest.mark.parametrize("wrap", [lambda f: f, tj.jit], ids=["eager", "jit"])


@EITHER
@pytest.mark.parametrize("batch", [(), (3,)], ids=str)
def test_singular_matrices(wrap: Any, batch: tuple[int, ...]) -> None:
    matrices = np.broadcast_to(np.zeros((2, 2)), (*batch, 2, 2))
    for function in (
        tj.linalg.inv,
        lambda x: tj.linalg.solve(x, tj.ones(2)),
        lambda x: tj.linalg.matrix_power(x, -1),
        lambda x: tj.scipy.linalg.solve_triangular(x, tj.ones(2)),
    ):
        with pytest.raises(np.linalg.LinAlgError, match="singular"):
            wrap(function)(matrices)


@EITHER
def test_one_singular_matrix_among_others(wrap: Any) -> None:
    matrices = np.stack([np.eye(20), np.eye(20), np.eye(20)])
    matrices[1, 7] = 0
    with pytest.raises(tj.LinAlgError, match="singular"):
        wrap(tj.linalg.inv)(matrices)


@EITHER
@pytest.mark.parametrize("size", [2, 40])
def test_matrices_that_are_not_positive_definite(wrap: Any, size: int) -> None:
    matrices = np.stack([np.eye(size), -np.eye(size)])
    with pytest.raises(np.linalg.LinAlgError, match="positive definite"):
        wrap(tj.linalg.cholesky)(matrices)
    factors = wrap(lambda x: tj.linalg.cholesky(x, on_error="nan"))(matrices).numpy()
    assert np.array_equal(factors[0], np.eye(size))
    assert np.isnan(factors[1]).any()


@EITHER
@pytest.mark.parametrize("size", [2, 3, 30])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.filterwarnings("ignore:.*encountered in:RuntimeWarning")
def test_what_is_not_finite_is_answered(wrap: Any, size: int, bad: float) -> None:
    """An error or NaN, as NumPy says it; no hang, no crash."""
    matrix = np.eye(size)
    matrix[-1, 0] = matrix[0, -1] = bad
    for name in NAMES[:-1]:
        if np.isinf(bad) and name in ("svd", "svdvals", "pinv"):  # NumPy raises, gives NaN, or hangs
            results = wrap(getattr(tj.linalg, name))(matrix)
            for result in results if isinstance(results, tuple) else (results,):
                assert np.isnan(result).all()
            continue
        try:
            expected = getattr(np.linalg, name)(matrix)
        except np.linalg.LinAlgError:
            with pytest.raises(np.linalg.LinAlgError):
                wrap(getattr(tj.linalg, name))(matrix)
        else:
            results = wrap(getattr(tj.linalg, name))(matrix)
            for value, result in zip(
                expected if isinstance(expected, tuple) else (expected,),
                results if isinstance(results, tuple) else (results,),
                strict=True,
            ):
                assert np.shape(value) == result.shape


@pytest.mark.parametrize("name", ["inv", "det", "solve", "pinv", "matrix_rank", "lu_factor"])
@pytest.mark.parametrize("dtype", ["f4", "c16"])
def test_matrices_beyond_all_numbers_warn_of_nothing(name: str, dtype: str) -> None:
    """Functions do not warn of NaN and infinities, as in NumPy; warnings would be errors here."""
    function: Any = getattr(tj.linalg, name, None) or getattr(tj.scipy.linalg, name)
    for size in (1, 2, 3, 5, 40):
        for bad in (np.nan, np.inf):
            matrix = np.eye(size, dtype=dtype) + np.ones((size, size), dtype)
            matrix[size // 2, -1] = bad
            with contextlib.suppress(tj.LinAlgError):
                function(matrix, matrix) if name == "solve" else function(matrix)


@EITHER
@pytest.mark.parametrize("dtype", ["float64", "complex64"])
@pytest.mark.parametrize("size", [1, 2, 3, 30])
@pytest.mark.parametrize("uplo", ["L", "U"])
def test_a_nan_in_the_triangle_is_in_all_results_of_eigh(wrap: Any, uplo: str, size: int, dtype: str) -> None:
    """LAPACK gives finite values of some such matrices. What is not read may be NaN."""
    for place in {(0, 0), (size - 1, size - 1), (size - 1, 0), (0, size - 1)}:
        a = np.eye(size, dtype=dtype) + 1
        a[place] = np.nan
        batch = np.stack([np.eye(size, dtype=dtype), a])
        is_read = place[0] >= place[1] if uplo == "L" else place[0] <= place[1]
        for function in (tj.linalg.eigh, tj.linalg.eigvalsh):
            try:
                results = wrap(lambda a, function=function: function(a, uplo))(batch)
            except tj.LinAlgError:
                assert is_read
                assert size > 2
                continue
            for result in results if function is tj.linalg.eigh else [results]:
                assert np.isfinite(result.numpy()[0]).all()
                assert np.isnan(result.numpy()[1]).all() == is_read


@EITHER
def test_determinants_of_singular_matrices_are_zero(wrap: Any) -> None:
    assert wrap(tj.linalg.det)(SINGULAR).item() == 0
    sign, size = wrap(tj.linalg.slogdet)(SINGULAR)
    assert (sign.item(), size.item()) == (0.0, -np.inf)
    assert wrap(tj.linalg.cond)(np.zeros((2, 2))).item() == np.inf


@EITHER
@pytest.mark.parametrize("name", NAMES)
def test_operands_that_are_no_matrices(wrap: Any, name: str) -> None:
    with pytest.raises(np.linalg.LinAlgError, match=f"linalg.{name}: argument (a|x)"):
        wrap(getattr(tj.linalg, name))(tj.ones(3))


@EITHER
@pytest.mark.parametrize(
    "name", ["cholesky", "inv", "det", "slogdet", "eig", "eigvals", "eigh", "eigvalsh", "matrix_power"]
)
def test_matrices_that_are_not_square(wrap: Any, name: str) -> None:
    arguments = (2,) if name == "matrix_power" else ()
    with pytest.raises(np.linalg.LinAlgError, match=rf"linalg.{name}: .*\(2, 3\)"):
        wrap(lambda x: getattr(tj.linalg, name)(x, *arguments))(tj.ones((2, 3)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tj.linalg.solve(tj.eye(3), tj.ones(2)), r"linalg.solve: argument b must have 3 rows"),
        (lambda: tj.linalg.solve(tj.eye(3), tj.ones((2, 2))), r"linalg.solve: argument b must have 3 rows"),
        (lambda: tj.linalg.qr(tj.eye(2), "raw"), "mode must be 'reduced', 'complete' or 'r', got 'raw'"),
        (lambda: tj.linalg.eigh(tj.eye(2), "X"), "UPLO must be 'L' or 'U', got 'X'"),
        (lambda: tj.linalg.norm(tj.eye(2), "spectral"), "ord must be"),
        (lambda: tj.linalg.norm(tj.ones((2, 2, 2)), 1), "expected one axis"),
        (lambda: tj.linalg.norm(tj.ones((2, 2)), 1, (0, 0)), "axes of matrices must be different"),
        (lambda: tj.linalg.matrix_power(tj.eye(2), 0.5), "n must be an integer, got 0.5"),
        (lambda: tj.linalg.multi_dot([tj.eye(2)]), "two or more"),
        (lambda: tj.linalg.cholesky(tj.eye(2), on_error="zero"), "on_error must be 'raise' or 'nan'"),
        (lambda: tj.linalg.tensorinv(tj.ones((2, 3)), 1), "linalg.tensorinv"),
        (lambda: tj.linalg.inv("matrix"), "linalg.inv"),
        (lambda: tj.scipy.linalg.solve_triangular(tj.eye(2), tj.ones(2), trans=3), "trans must be"),
        (lambda: tj.scipy.linalg.lu_solve((tj.eye(2), [5, 7]), tj.ones(2)), "pivots must be between 0 and 1"),
        (lambda: tj.linalg.norm(tj.ones((2, 2), "f2"), "nuc"), "argument x must be of float32 or wider"),
        (lambda: tj.linalg.matrix_rank(tj.ones((2, 2), "f2")), "argument A must be of float32 or wider"),
        (lambda: tj.linalg.vector_norm(tj.ones(2), ord={}), "vector_norm: argument ord: expected numbers"),
        (lambda: tj.linalg.tensorsolve(tj.eye(2), tj.ones(2), (2,)), "axis 2 is out of bounds"),
        (lambda: tj.linalg.tensorsolve(tj.eye(2), tj.ones(2), 1), "axes must be a tuple of integers, got 1"),
        (lambda: tj.scipy.linalg.cho_solve(1.0, tj.ones(2)), "c_and_lower must be a pair"),
        (lambda: tj.scipy.linalg.lu_solve(1.0, tj.ones(2)), "lu_and_piv must be a pair"),
        (
            lambda: tj.scipy.linalg.solve_banded(1, tj.eye(2), tj.ones(2)),
            "l_and_u must be a pair of integers",
        ),
        (
            lambda: tj.scipy.linalg.solve_banded((-1, 2), tj.eye(2), tj.ones(2)),
            r"l_and_u must not be negative, got \(-1, 2\)",
        ),
        (
            lambda: tj.scipy.linalg.solve_triangular(tj.eye(2), tj.ones(2), "T", np.ones(2)),
            "lower must be True or False",
        ),
        (lambda: tj.scipy.linalg.solve_sylvester(tj.eye(2), tj.eye(3), tj.eye(2)), "argument q"),
    ],
)
def test_messages(call: Any, message: str) -> None:
    with pytest.raises(tj.TracejitError, match=message):
        call()


@EITHER
@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
def test_singular_values_of_what_is_not_finite(wrap: Any, dtype: str) -> None:
    """LAPACK may never come to an end of infinities, and NumPy hangs."""
    matrices = np.random.default_rng(0).standard_normal((2, 5, 3)).astype(dtype)
    matrices[0, 0, 0] = np.inf
    for name in ("svd", "svdvals"):
        function = wrap(getattr(tj.linalg, name))
        results = function(matrices)
        for result in results if isinstance(results, tuple) else (results,):
            assert np.isnan(result.numpy()[0]).all()
            assert np.isfinite(result.numpy()[1]).all()
        with pytest.raises(np.linalg.LinAlgError, match="SVD did not converge"):
            function(np.where(np.isinf(matrices), np.nan, matrices).astype(dtype))


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
def test_least_squares_of_what_is_not_finite(dtype: str) -> None:
    matrix, side = np.ones((5, 3), dtype), np.ones(5, dtype)
    for matrix[0, 0] in (np.nan, np.inf):
        with pytest.raises(np.linalg.LinAlgError, match="SVD did not converge"):
            tj.linalg.lstsq(matrix, side)
    assert np.isnan(tj.jit(tj.linalg.lstsq)(matrix, side).x.numpy()).all()
