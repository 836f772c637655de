"""Eigenvalues of matrices that are not symmetric: NumPy's results, and gradients of their vectors."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import tracejit as tj

from .test_gradients import check, first_order

RNG = np.random.default_rng(8)
GENERAL = RNG.standard_normal((2, 3, 4, 4))
TRIANGULAR = np.triu(GENERAL)
#: Two pairs of complex eigenvalues, and four real ones, all of them far apart.
PAIRS = 0.3 * GENERAL[0, 0] + np.kron(np.diag([1.0, 3.0]), [[1.0, -2.0], [2.0, 1.0]])
REAL = 0.3 * GENERAL[0, 1] + np.diag([1.0, 3.0, 6.0, -4.0])
EITHER = pytest.mark.parametrize("wrap", [lambda f: f, tj.jit], ids=["eager", "jit"])


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
@pytest.mark.parametrize(
    "matrices",
    [GENERAL, TRIANGULAR, TRIANGULAR[0, 0], PAIRS],
    ids=["general", "triangular", "single", "pairs"],
)
def test_results_are_numpys(matrices: Any, dtype: str) -> None:
    x = (matrices if dtype[0] == "f" else matrices * (1 + 0.5j)).astype(dtype)
    for name in ("eig", "eigvals"):
        expected: Any = getattr(np.linalg, name)(x)
        for function in (getattr(tj.linalg, name), getattr(np.linalg, name)):
            for result, value in zip(each(function(tj.tensor(x))), each(expected), strict=True):
                assert isinstance(result, tj.Tensor)
                assert result.dtype == value.dtype
                np.testing.assert_array_equal(result, value)
            for wrap in (tj.jit, lambda f: tj.jit(tj.vmap(f))) if x.ndim > 2 else (tj.jit,):
                for result, value in zip(each(wrap(function)(tj.tensor(x))), each(expected), strict=True):
                    assert result.dtype == np.result_type(value.dtype, np.complex64)
                    np.testing.assert_array_equal(result, value)


def each(results: Any) -> tuple[Any, ...]:
    return tuple(results) if isinstance(results, tuple) else (results,)


def test_integers_and_lists() -> None:
    assert tj.linalg.eigvals([[2, 1], [0, 3]]).numpy().tolist() == [2.0, 3.0]
    assert tj.linalg.eig([[2, 1], [0, 3]])._fields == ("eigenvalues", "eigenvectors")


def real_numbers(x: Any) -> Any:
    return (x.real, x.imag) if x.dtype.kind == "c" else (x,)


@pytest.mark.parametrize("matrix", [PAIRS, REAL], ids=["pairs", "real"])
def test_gradients_to_second_order(matrix: Any) -> None:
    check(lambda x: real_numbers(tj.linalg.eigvals(x)), matrix)
    check(lambda x: real_numbers(tj.linalg.eig(x).eigenvectors), matrix)


def test_gradients_of_complex_matrices() -> None:
    other = RNG.standard_normal((4, 4))

    def function(x: Any) -> Any:
        values, vectors = tj.linalg.eig(x * (1 + 0.5j) + other * 0.2j)
        return (*real_numbers(values), *real_numbers(vectors))

    check(function, REAL)


def test_holomorphic_gradients() -> None:
    """The derivative of the sum of squares of eigenvalues, which is the trace of the square."""
    matrix = REAL + 0.3j * PAIRS
    for wrap in (lambda f: f, tj.jit):
        gradient = wrap(tj.grad(lambda x: (tj.linalg.eigvals(x) ** 2).sum(), holomorphic=True))(matrix)
        np.testing.assert_allclose(gradient, 2 * matrix.T, atol=1e-12)


def test_gradients_of_batches_are_those_of_single_matrices() -> None:
    def loss(x: Any) -> Any:
        values, vectors = tj.linalg.eig(x)
        return abs(values).sum() + abs(vectors[..., 0, :]).sum()

    single = np.stack([np.asarray(tj.grad(loss)(matrix)) for matrix in GENERAL[0]])
    np.testing.assert_allclose(tj.grad(loss)(GENERAL[0]), single, atol=1e-12)
    np.testing.assert_allclose(tj.jit(tj.vmap(tj.grad(loss)))(GENERAL[0]), single, atol=1e-12)


@EITHER
def test_functions_of_matrices_with_equal_eigenvalues(wrap: Any) -> None:
    """The cube by eigenvalues, with a basis of vectors that is not determined."""
    turn = RNG.standard_normal((3, 3))
    at = turn @ np.diag([2.0, 2.0, 5.0]) @ np.linalg.inv(turn)
    first_order(lambda x: (tj.linalg.eigvals(x) ** 3).real.sum(), at, tolerance=1e-5)
    gradient = wrap(tj.grad(lambda x: abs(tj.linalg.eig(x).eigenvectors).sum()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tj.UndeterminedGradientWarning)
        assert np.isnan(gradient(np.eye(3))).all()


@EITHER
@pytest.mark.parametrize("near", [0.0, 1e-18, 1e-16])
def test_matrices_without_a_basis_of_eigenvectors_have_no_gradient(wrap: Any, near: float) -> None:
    gradient = wrap(tj.grad(lambda x: (tj.linalg.eigvals(x) ** 2).real.sum()))
    for at in (
        [[1.0, 1.0], [near, 1.0]],
        [[0.0, 1.0], [near, 0.0]],
        [[2.0, 1.0, 0.0], [near, 2.0, 1.0], [0, near, 2.0]],
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tj.UndeterminedGradientWarning)
            assert np.isnan(gradient(np.array(at))).all()


@EITHER
def test_values_alone_build_no_gradient_of_vectors(wrap: Any) -> None:
    text = tj.jit(tj.grad(lambda x: tj.linalg.eigvals(x).real.sum())).lower(PAIRS).as_text("trace")
    assert "argmax" not in text
    gradient = wrap(tj.grad(lambda x: tj.linalg.eigvals(x).real.sum()))(PAIRS)
    np.testing.assert_allclose(gradient, np.eye(4), atol=1e-12)


@EITHER
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_is_an_error(wrap: Any, bad: float) -> None:
    for name in ("eig", "eigvals"):
        with pytest.raises(tj.LinAlgError, match=f"{name}: Array must not contain infs or NaNs"):
            wrap(getattr(tj.linalg, name))(np.full((2, 2), bad))
