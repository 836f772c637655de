"""Cholesky, LU and QR factors of large matrices, by blocks: values, what is read, failures, and bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tracejit.base.errors import LinAlgError
from tracejit.base.lapack.library import library
from tracejit.ir.builder import Builder
from tracejit.ir.types import TensorType
from tracejit.runtime.executable import Executable
from tracejit.runtime.threads import threads

from ...support import Array

pytestmark = pytest.mark.skipif(library() is None, reason="this process has no LAPACK that can be called")


def positive(*shape: int, dtype: Any = np.float64) -> Array:
    x = np.random.default_rng(len(shape)).standard_normal((*shape, shape[-1]))
    return (x @ np.swapaxes(x, -1, -2) / shape[-1] + np.eye(shape[-1])).astype(dtype)


def run(name: str, a: Array, **attrs: Any) -> tuple[Array, ...]:
    b = Builder()
    results = getattr(b, name)(b.parameter(TensorType(a.dtype, a.shape)), **attrs)
    executable = Executable(b.finish("f", results if isinstance(results, (list, tuple)) else [results]))
    assert executable.not_lowered == []
    return tuple(executable.run([a]))


def factor(a: Array, on_error: str = "raise") -> Array:
    return run("cholesky", a, on_error=on_error)[0]


_LIBRARY = library()
MIN_ROWS = 33 if _LIBRARY is None else _LIBRARY.blocks_from
#: Sizes where blocks begin to pay, where they end with a column, with all and within, and wide ones.
SIZES = pytest.mark.parametrize("size", [MIN_ROWS, 64, 100, 255, 391, 640, 671])
SIZES_OF_LU = pytest.mark.parametrize("size", [MIN_ROWS, MIN_ROWS + 1, 48, 100, 255, 383, 384, 391])
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])


@DTYPES
@SIZES
def test_cholesky_factors(size: int, dtype: Any) -> None:
    """The triangle above the diagonal is not read."""
    a = positive(size, dtype=dtype)
    expected = np.linalg.cholesky(a.astype(np.float64))
    a[np.triu_indices(size, 1)] = np.nan
    factored = factor(a)
    assert factored.dtype == dtype
    np.testing.assert_allclose(factored, expected, atol=20 * np.finfo(dtype).eps)
    assert not np.triu(factored, 1).any()


def test_a_nearly_singular_matrix_is_factored_as_well_as_by_lapack() -> None:
    """Points that nearly coincide: the residual is that of rounding, whatever the condition is."""
    x = np.sort(np.random.default_rng(2).random(300))
    a = np.exp(-50 * (x[:, None] - x[None, :]) ** 2) + 1e-12 * np.eye(300)
    assert np.linalg.cond(a) > 1e12
    factored = factor(a)
    assert np.abs(factored @ factored.T - a).max() < 50 * np.finfo(np.float64).eps


@pytest.mark.parametrize(("name", "size"), [("cholesky", 391), ("lu", 391), ("lu", 131), ("qr", 391)])
def test_bits_depend_neither_on_threads_nor_on_the_batch(name: str, size: int) -> None:
    a = positive(3, size)
    together = run(name, a)
    for count in (1, 2):
        with threads(count):
            for value, expected in zip(run(name, a), together, strict=True):
                np.testing.assert_array_equal(value, expected)
    for number in range(3):
        for value, expected in zip(run(name, a[number]), together, strict=True):
            np.testing.assert_array_equal(value, expected[number])


@pytest.mark.parametrize("place", [0, 31, 32, 128, 390])
def test_what_is_not_positive_definite(place: int) -> None:
    a = positive(3, 391)
    a[1, place, place] = -1
    with pytest.raises(LinAlgError, match="not positive definite"):
        factor(a)
    factored = factor(a, on_error="nan")
    assert np.isnan(factored[1]).all()
    np.testing.assert_allclose(factored[[0, 2]], np.linalg.cholesky(a[[0, 2]]), atol=1e-14)


@DTYPES
@SIZES_OF_LU
def test_lu_factors(size: int, dtype: Any) -> None:
    """Rows in the order of the permutation are L U; elements of L are 1 at most; exchanges make the order."""
    a = np.random.default_rng(size).standard_normal((2, size, size)).astype(dtype)
    factors, pivots, permutation = run("lu", a)
    assert factors.dtype == dtype
    for matrix, lu, pivot, order in zip(a, factors.astype(np.float64), pivots, permutation, strict=True):
        lower, upper = np.tril(lu, -1) + np.eye(size), np.triu(lu)
        assert np.abs(lower).max() <= 1
        np.testing.assert_allclose(lower @ upper, matrix[order], atol=40 * size * np.finfo(dtype).eps)
        rows = np.arange(size)
        for step, other in enumerate(pivot):
            assert other >= step
            rows[[step, other]] = rows[[other, step]]
        np.testing.assert_array_equal(rows, order)


@pytest.mark.parametrize("size", [60, 300])
def test_lu_of_singular_matrices(size: int) -> None:
    """Zeros among the pivots are results."""
    a = np.random.default_rng(5).standard_normal((2, size, size))
    a[0] = 0
    a[1, :, size // 3] = 0
    factors, _, permutation = run("lu", a)
    assert not factors[0].any()
    np.testing.assert_array_equal(permutation[0], np.arange(size))
    assert factors[1, size // 3, size // 3] == 0
    lower, upper = np.tril(factors[1], -1) + np.eye(size), np.triu(factors[1])
    np.testing.assert_allclose(lower @ upper, a[1, permutation[1]], atol=1e-11)


# -- QR -----------------------------------------------------------------------------------------------


SHAPES_OF_QR = pytest.mark.parametrize(
    ("rows", "columns"),
    [
        (MIN_ROWS, MIN_ROWS),
        (64, 64),
        (40, 100),
        (100, 40),
        (131, 257),
        (257, 131),
        (391, 391),
        (401, 390),
    ],
)


@DTYPES
@SHAPES_OF_QR
@pytest.mark.parametrize("mode", ["reduced", "complete", "r"])
def test_qr_factors(rows: int, columns: int, mode: str, dtype: Any) -> None:
    """QR factors agree with LAPACK's, since both are products of the same reflectors."""
    a = np.random.default_rng(rows).standard_normal((2, rows, columns)).astype(dtype)
    results, expected = run("qr", a, mode=mode), np.linalg.qr(a.astype(np.float64), mode)
    tolerance = 20 * (rows + columns) * np.finfo(dtype).eps
    for value, reference in zip(results, (expected,) if mode == "r" else expected, strict=True):
        assert value.dtype == dtype
        np.testing.assert_allclose(value, reference, atol=tolerance)
    assert not np.tril(results[-1], -1).any()
    if mode == "r":
        return
    q, r = results
    np.testing.assert_allclose(q @ r, a, atol=tolerance)
    np.testing.assert_allclose(
        np.swapaxes(q, -1, -2) @ q, np.eye(q.shape[-1])[None].repeat(2, 0), atol=tolerance
    )


def test_reflectors_that_are_the_identity() -> None:
    """Columns that are zero below the diagonal have no reflector, and a scale of 0."""
    a = np.random.default_rng(0).standard_normal((100, 100))
    a[:, 3] = 0
    a[10:, :10] = 0
    a[:, 50:70] = np.eye(100)[:, 50:70]
    for matrix in (a, np.eye(100), np.zeros((100, 100)), np.triu(a)):
        q, r = run("qr", matrix, mode="reduced")
        np.testing.assert_allclose(q @ r, matrix, atol=1e-13)
        np.testing.assert_allclose(q.T @ q, np.eye(100), atol=1e-13)


def test_qr_of_columns_of_all_sizes() -> None:
    """Each column is as exact as its own size allows."""
    a = np.random.default_rng(0).standard_normal((200, 200)) * 10.0 ** np.linspace(-150, 150, 200)
    q, r = run("qr", a, mode="reduced")
    assert (np.abs(q @ r - a).max(0) < 1e-13 * np.abs(a).max(0)).all()


def test_qr_of_nan() -> None:
    a = np.random.default_rng(0).standard_normal((2, 100, 100))
    a[0, 5, 7] = np.nan
    q, r = run("qr", a, mode="reduced")
    assert np.isnan(q[0]).any()
    assert np.isnan(r[0]).any()
    np.testing.assert_allclose(q[1] @ r[1], a[1], atol=1e-13)
