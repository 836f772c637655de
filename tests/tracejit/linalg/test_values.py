"""`tj.linalg` gives what `numpy.linalg` gives: eagerly, compiled, batched, and through NumPy's own names."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj

RNG = np.random.default_rng(3)
SQUARE = RNG.standard_normal((2, 3, 5, 5))
POSITIVE = SQUARE @ np.swapaxes(SQUARE, -1, -2) + np.eye(5)
WIDE, TALL = RNG.standard_normal((2, 3, 5)), RNG.standard_normal((2, 5, 3))
LARGE = RNG.standard_normal((2, 40, 40))
VECTOR = RNG.standard_normal(5)

CALLS: list[tuple[str, tuple[Any, ...]]] = [
    *[("cholesky", (matrix,)) for matrix in (POSITIVE, POSITIVE[0, 0])],
    *[("qr", (matrix,)) for matrix in (SQUARE, WIDE, TALL)],
    *[("qr", (matrix, mode)) for matrix in (WIDE, TALL) for mode in ("complete", "r")],
    *[("svdvals", (matrix,)) for matrix in (SQUARE, WIDE, TALL)],
    ("eigvalsh", (POSITIVE,)), ("eigvalsh", (SQUARE, "U")),
    *[(name, (matrix,)) for name in ("det", "slogdet", "inv") for matrix in (SQUARE, SQUARE[0, 0], LARGE)],
    ("solve", (SQUARE, TALL[:, None])), ("solve", (SQUARE[0], VECTOR)), ("solve", (SQUARE[0, 0], TALL)),
    ("solve", (LARGE, LARGE[:, :, :3])),
    *[("pinv", (matrix,)) for matrix in (SQUARE, WIDE, TALL)], ("pinv", (WIDE, 0.5)),
    *[("cond", (SQUARE, p)) for p in (None, 1, -1, 2, -2, np.inf, -np.inf, "fro", "nuc")],
    *[("matrix_rank", (matrix,)) for matrix in (SQUARE, WIDE, np.zeros((3, 3)), VECTOR)],
    *[("matrix_power", (SQUARE, n)) for n in (-2, -1, 0, 1, 2, 5)],
    ("matrix_power", (np.eye(3, dtype=int), 3)),
    *[("norm", (VECTOR, ord)) for ord in (None, 0, 1, 2, 3, 0.5, -1, np.inf, -np.inf)],
    *[("norm", (TALL[0], ord)) for ord in (None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)],
    ("norm", (SQUARE,)), ("norm", (SQUARE, None, 1)), ("norm", (SQUARE, 3, -1, True)),
    ("norm", (SQUARE, None, (0, 1))), ("norm", (SQUARE, "nuc", (3, 0), True)), ("norm", (SQUARE, 2, (0, 2))),
    ("vector_norm", (SQUARE,)), ("matrix_norm", (SQUARE,)),
    ("multi_dot", ([WIDE[0], TALL[0], WIDE[1]],)), ("multi_dot", ([VECTOR, TALL[0], WIDE[0], VECTOR],)),
    ("multi_dot", ([VECTOR, TALL[0]],)),
    ("trace", (WIDE,)), ("diagonal", (WIDE,)), ("matrix_transpose", (WIDE,)), ("outer", (VECTOR, VECTOR)),
    ("cross", (WIDE[0].T, TALL[0])), ("matmul", (WIDE, TALL)), ("vecdot", (SQUARE, VECTOR)),
    ("tensordot", (TALL[0], TALL[1])),
    ("tensorinv", (RNG.standard_normal((4, 6, 8, 3)),)), ("tensorinv", (RNG.standard_normal((24, 8, 3)), 1)),
    ("tensorsolve", (RNG.standard_normal((2, 3, 6)), RNG.standard_normal((2, 3)))),
    ("tensorsolve", (RNG.standard_normal((2, 6, 3)), RNG.standard_normal((2, 3)), (1,))),
]  # fmt: skip


def arrays_of(results: Any) -> list[Any]:
    return [np.asarray(result) for result in (results if isinstance(results, tuple) else (results,))]


def tensors_of(arguments: tuple[Any, ...], dtype: Any = None) -> list[Any]:
    def one(argument: Any) -> Any:
        if isinstance(argument, list):
            return [one(part) for part in argument]
        if not isinstance(argument, np.ndarray):
            return argument
        return tj.tensor(argument if dtype is None or argument.dtype.kind != "f" else argument.astype(dtype))

    return [one(argument) for argument in arguments]


def assert_same(results: Any, expected: Any, tolerance: float) -> None:
    for result, value in zip(arrays_of(results), arrays_of(expected), strict=True):
        assert (result.shape, result.dtype) == (value.shape, value.dtype)
        np.testing.assert_allclose(result, value, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("name", "arguments"), CALLS, ids=[f"{i}-{call[0]}" for i, call in enumerate(CALLS)])
def test_results_are_numpys(name: str, arguments: tuple[Any, ...]) -> None:
    expected = getattr(np.linalg, name)(*arguments)
    own = getattr(tj.linalg, name)
    tensors = tensors_of(arguments)
    assert_same(own(*tensors), expected, 1e-9)
    assert_same(tj.jit(lambda: own(*tensors))(), expected, 1e-9)
    if name != "multi_dot":  # its operands are in a list
        through_numpy = getattr(np.linalg, name)(*tensors)
        assert isinstance(
            through_numpy if not isinstance(through_numpy, tuple) else through_numpy[0], tj.Tensor
        )
        assert_same(through_numpy, expected, 1e-9)


@pytest.mark.parametrize("name", ["cholesky", "qr", "svdvals", "eigvalsh", "det", "inv", "pinv", "slogdet"])
def test_float32_stays(name: str) -> None:
    matrix = POSITIVE.astype(np.float32)
    own = getattr(tj.linalg, name)
    expected = getattr(np.linalg, name)(matrix)
    for results in (own(matrix), tj.jit(own)(matrix)):
        assert [result.dtype for result in arrays_of(results)] == [
            value.dtype for value in arrays_of(expected)
        ]
        for result, value in zip(arrays_of(results), arrays_of(expected), strict=True):
            np.testing.assert_allclose(result, value, rtol=2e-3, atol=2e-3 * np.abs(value).max())


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i4", "i8"])
def test_integers_are_computed_in_float64(dtype: str) -> None:
    matrix = np.array([[1, 1], [0, 1]], dtype)
    for name in ("inv", "norm", "vector_norm", "matrix_norm", "eigvals", "qr", "svdvals", "pinv", "cond"):
        assert_same(getattr(tj.linalg, name)(matrix), getattr(np.linalg, name)(matrix), 1e-12)
    for name in ("solve", "tensorsolve"):
        expected = getattr(np.linalg, name)(matrix, matrix[0])
        assert_same(getattr(tj.linalg, name)(matrix, matrix[0]), expected, 1e-12)
    assert tj.linalg.lstsq(matrix, matrix[0]).x.dtype == tj.float64
    assert tj.linalg.matrix_rank(matrix).item() == 2
    assert tj.linalg.solve(np.eye(2, dtype="f4"), matrix).dtype == tj.float64


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("matrix", [SQUARE, WIDE, TALL], ids=["square", "wide", "tall"])
def test_singular_vectors_give_the_matrix_back(matrix: Any, full: bool) -> None:
    def back(x: Any) -> Any:
        u, s, vh = tj.linalg.svd(x, full_matrices=full)
        count = s.shape[-1]
        return (u[..., :, :count] * s[..., None, :]) @ vh[..., :count, :]

    for run in (back, tj.jit(back)):
        np.testing.assert_allclose(run(matrix), matrix, atol=1e-12)


@pytest.mark.parametrize("triangle", ["L", "U", "l"])
def test_eigenvectors_and_the_triangle_that_is_read(triangle: str) -> None:
    filled = np.tril(POSITIVE) if triangle.upper() == "L" else np.triu(POSITIVE)
    values, vectors = tj.linalg.eigh(filled, UPLO=triangle)
    np.testing.assert_allclose(vectors * values[..., None, :] @ vectors.mT, POSITIVE, atol=1e-11)


def test_the_triangle_that_cholesky_reads() -> None:
    lower = tj.linalg.cholesky(np.tril(POSITIVE))
    np.testing.assert_allclose(lower @ lower.mT, POSITIVE, atol=1e-12)
    upper = tj.linalg.cholesky(np.triu(POSITIVE), upper=True)
    np.testing.assert_allclose(upper.mT @ upper, POSITIVE, atol=1e-12)


@pytest.mark.parametrize(("rows", "columns", "rank"), [(7, 3, 3), (3, 7, 3), (5, 5, 5), (7, 3, 2), (6, 6, 4)])
@pytest.mark.parametrize("sides", [(), (2,)], ids=str)
def test_least_squares(rows: int, columns: int, rank: int, sides: tuple[int, ...]) -> None:
    rng = np.random.default_rng(rows)
    a = rng.standard_normal((rows, rank)) @ rng.standard_normal((rank, columns))
    b = rng.standard_normal((rows, *sides))
    expected = np.linalg.lstsq(a, b, rcond=None)
    own = tj.linalg.lstsq(a, b)
    np.testing.assert_allclose(own.x, expected[0], atol=1e-10)
    np.testing.assert_allclose(
        own.residuals, expected[1].reshape(-1)[: own.residuals.size].reshape(own.residuals.shape)
    )
    assert own.residuals.size == expected[1].size
    assert int(own.rank) == expected[2]
    np.testing.assert_allclose(own.s, expected[3], atol=1e-10)
    np.testing.assert_allclose(tj.jit(tj.linalg.lstsq)(a, b).x, expected[0], atol=1e-10)


def test_residuals_of_complex_least_squares_are_real() -> None:
    rng = np.random.default_rng(3)
    a, b = (rng.standard_normal((5, n)) + 1j * rng.standard_normal((5, n)) for n in (2, 3))
    expected = np.linalg.lstsq(a, b, rcond=None)[1]
    for compute in (tj.linalg.lstsq, tj.jit(tj.linalg.lstsq)):
        residuals = compute(a, b).residuals
        assert residuals.dtype == tj.float64
        np.testing.assert_allclose(residuals, expected)


EACH: list[Callable[[Any], Any]] = [
    tj.linalg.cholesky, tj.linalg.inv, tj.linalg.det, lambda x: tj.linalg.slogdet(x).logabsdet,
    lambda x: tj.linalg.solve(x, VECTOR[:5, None]), tj.linalg.svdvals, tj.linalg.eigvalsh, tj.linalg.pinv,
    lambda x: tj.linalg.qr(x).R, lambda x: tj.linalg.eigh(x).eigenvectors,
    lambda x: tj.linalg.eigvals(x @ SQUARE[0, 0]), lambda x: tj.linalg.eig(x @ SQUARE[0, 0]).eigenvectors,
]  # fmt: skip


@pytest.mark.parametrize("function", EACH)
def test_a_batch_gives_the_bits_of_single_matrices(function: Any) -> None:
    for run in (function, tj.jit(function)):
        single = np.stack([np.asarray(run(matrix)) for matrix in POSITIVE[0]])
        assert np.array_equal(np.asarray(run(POSITIVE[0])), single)
    assert np.array_equal(np.asarray(tj.jit(tj.vmap(function))(POSITIVE[0])), single)


DECOMPOSITIONS = [
    "cholesky", "qr", "svd", "svdvals", "eig", "eigvals", "eigh", "eigvalsh", "inv", "det", "slogdet", "pinv",
]  # fmt: skip


@pytest.mark.parametrize("name", DECOMPOSITIONS)
@pytest.mark.parametrize("shape", [(0, 0), (0, 3, 3), (2, 0, 0)], ids=str)
def test_matrices_without_elements(name: str, shape: tuple[int, ...]) -> None:
    try:
        expected = getattr(np.linalg, name)(np.ones(shape))
    except np.linalg.LinAlgError:
        pytest.skip("NumPy refuses it")
    own = getattr(tj.linalg, name)
    for results in (own(tj.ones(shape)), tj.jit(own)(tj.ones(shape))):
        for result, value in zip(arrays_of(results), arrays_of(expected), strict=True):
            complex_if_traced = result.dtype.kind == "c" and name in ("eig", "eigvals")
            assert result.shape == value.shape
            assert result.dtype == (np.complex128 if complex_if_traced else value.dtype)
            np.testing.assert_array_equal(result, value)


@pytest.mark.parametrize("ord", ["fro", "nuc", 1, 2, np.inf, -1, -2, -np.inf])
@pytest.mark.parametrize("shape", [(0, 0), (2, 0, 0), (0, 3), (3, 0)], ids=str)
def test_norms_of_matrices_without_elements(ord: Any, shape: tuple[int, ...]) -> None:
    empty = np.ones(shape)
    try:
        expected = np.linalg.norm(empty, ord, axis=(-2, -1))
    except ValueError:
        with pytest.raises(ValueError, match="no identity"):
            tj.linalg.norm(empty, ord, axis=(-2, -1))
        return
    np.testing.assert_array_equal(tj.jit(lambda x: tj.linalg.norm(x, ord, axis=(-2, -1)))(empty), expected)


def test_norms_of_vectors_without_elements() -> None:
    for ord in (None, 0, 1, 2, 3, np.inf):
        assert tj.linalg.norm(np.zeros(0), ord) == np.linalg.norm(np.zeros(0), ord) == 0


def test_condition_numbers_without_elements() -> None:
    assert tj.linalg.cond(np.zeros((0, 3, 3))).shape == np.linalg.cond(np.zeros((0, 3, 3))).shape
    for function in (tj.linalg.cond, np.linalg.cond):
        with pytest.raises(np.linalg.LinAlgError):
            function(np.zeros((2, 0, 0)))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_what_all_matrices_share_has_the_shape_of_a_batch(n: int) -> None:
    """The batch has as many matrices as each has rows: a right side for all is no right side for each."""
    rng = np.random.default_rng(n)
    a = rng.standard_normal((n, n, n)) + 4 * np.eye(n)
    b, c = rng.standard_normal((n, 2)), rng.standard_normal((n, n))

    def shared_sum(xp: Any, a: Any, b: Any, c: Any) -> Any:
        return xp.linalg.solve(a, b + 1)

    def shared_result(xp: Any, a: Any, b: Any, c: Any) -> Any:
        x = xp.linalg.solve(a, c)  # each of whose first parts is a right side for all
        return xp.linalg.solve(a, x[:, 0]) + xp.linalg.solve(a + c, c.T * 2)

    def shared_factor(xp: Any, a: Any, b: Any, c: Any) -> Any:
        definite = a @ xp.swapaxes(a, -1, -2) + xp.eye(n)
        return xp.linalg.cholesky(definite) * xp.linalg.inv(c @ c.T + xp.eye(n)).sum(axis=0) + c

    for function in (shared_sum, shared_result, shared_factor):
        expected = function(np, a, b, c)
        compiled = tj.jit(functools.partial(function, tj))
        np.testing.assert_allclose(compiled(a, b, c), expected, rtol=1e-9, atol=1e-10)
        eager = tj.grad(lambda *x, f=function: (f(tj, *x) ** 2).sum(), argnums=(0, 1, 2))(a, b, c)
        jitted = tj.jit(tj.grad(lambda *x, f=function: (f(tj, *x) ** 2).sum(), argnums=(0, 1, 2)))(a, b, c)
        for here, there in zip(jitted, eager, strict=True):
            np.testing.assert_allclose(here, there, rtol=1e-8, atol=1e-9)
