"""Factorizations of our own, by function pointers: what LAPACK gives, for all shapes that kernels ask for."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj

from ...rotation import SEED, share_of
from ...tracejit.export.programs import call_pointer

RNG = np.random.default_rng(3)
#: Relative to the largest element; conditions are below 1e4.
TOLERANCE = {"float32": 2e-3, "complex64": 2e-3, "float64": 1e-11, "complex128": 1e-11}


def matrix(rows: int, columns: int, dtype: str) -> np.ndarray:
    a = RNG.normal(size=(rows, columns))
    if dtype[0] == "c":
        a = a + 1j * RNG.normal(size=a.shape)
    return (a + 3 * np.eye(rows, columns)).astype(dtype)


def definite(size: int, dtype: str) -> np.ndarray:
    a = matrix(size, size, dtype)
    return a @ a.conj().T + np.eye(size, dtype=dtype) * size


def by_pointer(f, *args):
    status, results = call_pointer(tj.jit(f).cfunc(*args), *args)
    assert status == 0
    return results


def assert_close(results, expected):
    for result, value in zip(results, expected, strict=True):
        value = np.asarray(value)
        assert result.shape == value.shape
        bound = TOLERANCE[value.dtype.name] * np.abs(value).max(initial=1)
        assert np.abs(result - value).max(initial=0) <= bound


CASES = [
    ("float64", 33), ("complex128", 5), ("float32", 70), ("complex64", 33), ("float64", 97),
    ("complex128", 1), ("float32", 130), ("float64", 64), ("complex128", 70), ("complex64", 2),
]  # fmt: skip


@pytest.mark.parametrize(("dtype", "size"), share_of(CASES, 10))
def test_cholesky_factors_and_systems(dtype, size):
    a, b = definite(size, dtype), matrix(size, 3, dtype)

    def f(a, b):
        factor = tj.linalg.cholesky(a)
        return factor, tj.scipy.linalg.solve_triangular(factor, b, lower=True)

    factor = np.linalg.cholesky(a)
    assert_close(by_pointer(f, a, b), (factor, np.linalg.solve(factor, b)))


@pytest.mark.parametrize(("dtype", "size"), share_of(CASES, 10))
def test_systems_and_determinants(dtype, size):
    a, b = matrix(size, size, dtype) / np.sqrt(size), matrix(size, 2, dtype)
    sign, logarithm = by_pointer(tj.linalg.slogdet, a)
    assert_close((sign, logarithm), np.linalg.slogdet(a))
    (x,) = by_pointer(tj.linalg.solve, a, b)
    residual = np.abs(a @ x - b).max() / (np.abs(a).max() * np.abs(x).max() * size)
    assert residual < 4 * np.finfo(dtype).eps


@pytest.mark.parametrize("dtype", share_of(["float32", "complex64", "float64", "complex128"], 2))
@pytest.mark.parametrize("shape", share_of([(40, 40), (50, 7), (7, 50), (1, 5), (5, 1)], 5))
@pytest.mark.parametrize("mode", share_of(["reduced", "complete"], 2))
def test_qr(dtype, shape, mode):
    a = matrix(*shape, dtype)
    assert_close(by_pointer(lambda a: tuple(tj.linalg.qr(a, mode)), a), np.linalg.qr(a, mode))


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("transpose", share_of([0, 1, 2], 1))
@pytest.mark.parametrize("columns", share_of([1, 2, 41], 1))
@pytest.mark.parametrize("dtype", share_of(["float64", "complex128"], 1))
def test_triangular_systems_of_all_kinds(upper, transpose, columns, dtype):
    a = matrix(40, 40, dtype) / 10 + np.eye(40, dtype=dtype) * 3
    triangle = np.triu(a) if upper else np.tril(a)
    b = matrix(40, columns, dtype)
    solve = tj.scipy.linalg.solve_triangular
    (x,) = by_pointer(lambda a, b: solve(a, b, trans=transpose, lower=not upper), a, b)
    op = (triangle, triangle.T, triangle.conj().T)[transpose]
    assert_close([x], [np.linalg.solve(op, b)])


def test_all_edges_of_panels_and_vectors():
    """Sizes that are whole panels, tiles and vectors, and those beside them, in one program; LU factors have
    more rows or more columns."""
    rng = np.random.default_rng(SEED)
    sizes = sorted(rng.choice(np.arange(33, 52), 3, replace=False).tolist())
    dtypes = [str(rng.choice(["float32", "float64"])), str(rng.choice(["complex64", "complex128"]))]
    cases = [
        (dtype, size, int(rng.integers(1, 9)))
        for dtype, size in zip([*dtypes, dtypes[0]], sizes, strict=True)
    ]
    print(f"seed {SEED}: {cases}")

    def f(definite, general, right):
        factors = [tj.linalg.cholesky(a) for a in definite]
        lower = [
            tj.scipy.linalg.solve_triangular(a, b, lower=True) for a, b in zip(definite, right, strict=True)
        ]
        return factors, lower, [tj.scipy.linalg.lu(a, p_indices=True) for a in general]

    first = [definite(size, dtype) for dtype, size, _ in cases]
    right = [matrix(size, columns, dtype) for dtype, size, columns in cases]
    general = [
        matrix(size + (columns if number % 2 else 0), size + (0 if number % 2 else columns), dtype)
        for number, (dtype, size, columns) in enumerate(cases)
    ]
    results = by_pointer(f, first, general, right)
    assert_close(results[:3], [np.linalg.cholesky(a) for a in first])
    assert_close(results[3:6], [np.linalg.solve(np.tril(a), b) for a, b in zip(first, right, strict=True)])
    for number, a in enumerate(general):
        rows, lower, upper = results[6 + 3 * number : 9 + 3 * number]
        assert np.abs(lower).max() <= (1 if a.dtype.kind == "f" else 1.42)
        assert_close([(lower @ upper)[rows]], [a])


def test_rows_are_exchanged_as_lapack_exchanges_them():
    a = RNG.normal(size=(45, 45))
    expected = tj.scipy.linalg.lu_factor(a)
    results = by_pointer(tj.scipy.linalg.lu_factor, a)
    assert results[1].tolist() == np.asarray(expected[1]).tolist()
    assert_close(results[:1], [expected[0]])


def test_batches():
    a = np.stack([definite(35, "float64") for _ in range(3)])
    assert_close(by_pointer(tj.linalg.inv, a), [np.linalg.inv(a)])


def test_gradients():
    a = definite(34, "float64")

    def f(a):
        return tj.linalg.slogdet(a)[1] + (tj.linalg.cholesky(a) ** 2).sum()

    assert_close(by_pointer(tj.grad(f), a), [tj.grad(f)(a)])


@pytest.mark.parametrize(
    ("f", "a", "message"),
    [
        (tj.linalg.cholesky, -np.eye(40), "Matrix is not positive definite"),
        (lambda a: tj.linalg.solve(a, a), np.zeros((40, 40)), "singular matrix"),
    ],
)
def test_failures_are_statuses(f, a, message):
    pointer = tj.jit(f).cfunc(a)
    status, _ = call_pointer(pointer, a)
    assert message in pointer.status_message(status)


def test_numbers_far_from_one():
    """Norms of columns neither overflow nor vanish."""
    for scale in (1e200, 1e-200, 5e-324):
        a = np.full((40, 2), scale)
        assert_close(by_pointer(lambda a: tj.linalg.qr(a, mode="r"), a), [np.linalg.qr(a, "r")])
    (r,) = by_pointer(lambda a: tj.linalg.qr(a, mode="r"), np.full((40, 2), np.nan))
    assert np.isnan(r[0]).all()
