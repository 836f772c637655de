"""`tj.scipy.linalg`: against SciPy where it is installed, against mpmath, and by what defines each result."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

import tracejit as tj

from ...rotation import share_of

LINALG = tj.scipy.linalg
RNG = np.random.default_rng(17)
SQUARE, SIDES, VECTOR = RNG.standard_normal((5, 5)), RNG.standard_normal((5, 2)), RNG.standard_normal(5)
LARGE = RNG.standard_normal((20, 20)) + 9 * np.eye(20)
POSITIVE = SQUARE @ SQUARE.T + np.eye(5)
WIDE = RNG.standard_normal((3, 5))
EITHER = pytest.mark.parametrize("wrap", [lambda f: f, tj.jit], ids=["eager", "jit"])

CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    *[
        ("solve_triangular", (matrix, sides), {"trans": trans, "lower": lower, "unit_diagonal": unit})
        for matrix, sides in ((SQUARE + 3 * np.eye(5), SIDES), (LARGE, LARGE[:, 0]))
        for trans in (0, 1, "C")
        for lower in (False, True)
        for unit in (False, True)
    ],
    *[("cholesky", (POSITIVE,), {"lower": lower}) for lower in (False, True)],
    *[
        ("lu", (matrix,), options)
        for matrix in (SQUARE, WIDE, WIDE.T, LARGE)
        for options in ({}, {"permute_l": True}, {"p_indices": True})
    ],
    *[("expm", (matrix,), {}) for matrix in (SQUARE, 30 * SQUARE, 1e-3 * SQUARE, np.zeros((2, 2)), LARGE)],
    ("expm_frechet", (SQUARE, POSITIVE), {}), ("sqrtm", (POSITIVE,), {}), ("logm", (POSITIVE,), {}),
    ("logm", (1e4 * POSITIVE,), {}), ("sqrtm", (1e4 * POSITIVE,), {}),
    ("block_diag", (SQUARE, WIDE, VECTOR), {}), ("toeplitz", (VECTOR,), {}),
    ("toeplitz", (VECTOR, SIDES[:, 0]), {}),
    ("hankel", (VECTOR,), {}), ("hankel", (VECTOR, SIDES[:, 0]), {}), ("circulant", (VECTOR,), {}),
    ("solve_toeplitz", ((VECTOR + 5 * np.eye(5)[0], SIDES[:, 1]), SIDES[:, 0]), {}),
    ("polar", (SQUARE,), {}), ("polar", (WIDE,), {}), ("polar", (WIDE,), {"side": "left"}),
    ("solve_banded", ((1, 2), RNG.standard_normal((4, 7)) + 4, RNG.standard_normal((7, 2))), {}),
    ("solveh_banded", (np.array([[3.0] * 7, [0.5] * 7, [0.1] * 7]), RNG.standard_normal(7)), {"lower": True}),
    ("solveh_banded", (np.array([[0.1] * 7, [0.5] * 7, [3.0] * 7]), RNG.standard_normal(7)), {}),
    ("solve_sylvester", (SQUARE, POSITIVE, SQUARE), {}),
    ("solve_sylvester", (LARGE, POSITIVE, LARGE[:, :5]), {}),
]  # fmt: skip


def arrays_of(results: Any) -> list[Any]:
    return [np.asarray(result) for result in (results if isinstance(results, tuple) else (results,))]


@pytest.mark.parametrize(
    ("name", "arguments", "options"), CALLS, ids=[f"{i}-{call[0]}" for i, call in enumerate(CALLS)]
)
def test_results_are_scipys(name: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
    theirs = pytest.importorskip("scipy.linalg")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "logm result may be inaccurate", RuntimeWarning)
        expected = arrays_of(getattr(theirs, name)(*arguments, **options))

    def own() -> Any:
        return getattr(LINALG, name)(*arguments, **options)

    for results in (own(), tj.jit(own)()):
        for result, value in zip(arrays_of(results), expected, strict=True):
            assert result.shape == value.shape
            np.testing.assert_allclose(
                result, value, rtol=1e-8, atol=1e-9 * max(1.0, np.abs(value).max(initial=0))
            )


@EITHER
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("trans", [0, 1, 2])
@pytest.mark.parametrize("unit_diagonal", [False, True])
@pytest.mark.parametrize("matrix", [SQUARE + 3 * np.eye(5), LARGE], ids=["small", "large"])
def test_triangular_solutions(wrap: Any, matrix: Any, lower: bool, trans: int, unit_diagonal: bool) -> None:
    triangle = np.tril(matrix) if lower else np.triu(matrix)
    if unit_diagonal:
        np.fill_diagonal(triangle, 1)
    op = triangle.T if trans else triangle
    right = RNG.standard_normal((len(matrix), 3))
    solve = wrap(lambda a, b: LINALG.solve_triangular(a, b, trans, lower, unit_diagonal))
    np.testing.assert_allclose(op @ solve(matrix, right).numpy(), right, atol=1e-8)
    np.testing.assert_allclose(op @ solve(matrix, right[:, 0]).numpy(), right[:, 0], atol=1e-8)


@EITHER
@pytest.mark.parametrize("lower", [False, True])
def test_solutions_by_cholesky_factors(wrap: Any, lower: bool) -> None:
    solve = wrap(lambda a, b: LINALG.cho_solve(LINALG.cho_factor(a, lower), b))
    for right in (SIDES, VECTOR):
        np.testing.assert_allclose(solve(POSITIVE, right), np.linalg.solve(POSITIVE, right), rtol=1e-9)


@EITHER
@pytest.mark.parametrize("trans", [0, 1, 2])
@pytest.mark.parametrize("matrix", [SQUARE, LARGE], ids=["small", "large"])
def test_solutions_by_lu_factors(wrap: Any, matrix: Any, trans: int) -> None:
    solve = wrap(lambda a, b: LINALG.lu_solve(LINALG.lu_factor(a), b, trans))
    right = RNG.standard_normal((len(matrix), 2))
    expected = np.linalg.solve(matrix.T if trans else matrix, right)
    np.testing.assert_allclose(solve(matrix, right), expected, rtol=1e-8)
    np.testing.assert_allclose(solve(matrix, right[:, 1]), expected[:, 1], rtol=1e-8)


@EITHER
@pytest.mark.parametrize("matrix", [SQUARE, WIDE, WIDE.T, LARGE], ids=["square", "wide", "tall", "large"])
def test_lu_gives_the_matrix_back(wrap: Any, matrix: Any) -> None:
    p, lower, upper = wrap(LINALG.lu)(matrix)
    np.testing.assert_allclose(p @ lower @ upper, matrix, atol=1e-12)
    left, right = wrap(lambda a: LINALG.lu(a, permute_l=True))(matrix)
    np.testing.assert_allclose(left @ right, matrix, atol=1e-12)
    rows, lower, upper = wrap(lambda a: LINALG.lu(a, p_indices=True))(matrix)
    np.testing.assert_allclose(lower.numpy()[rows.numpy()] @ upper.numpy(), matrix, atol=1e-12)


@EITHER
@pytest.mark.parametrize(
    ("name", "matrix", "units"),
    [
        ("expm", SQUARE[:3, :3], 100), ("expm", 20 * SQUARE[:3, :3], 2000),
        ("expm", np.array([[0.0, 1e3], [0, 0]]), 1000),
        # far from normal: halving them as their norms say would lose digits
        ("expm", np.array([[1.0, 1e6], [0.0, -1.0]]), 10),
        ("expm", np.array([[0.5, 1e4, 0.0], [0.0, 0.5, 1e4], [0.0, 0.0, 0.5]]), 10),
        ("expm", np.array([[0.0, 1e10], [1e-8, 0.0]]), 100),
        ("expm", np.array([[-49.0, 24.0], [-64.0, 31.0]]), 500),
        ("sqrtm", POSITIVE[:3, :3], 100), ("logm", POSITIVE[:3, :3], 500),
        ("logm", np.eye(3) + 1e-3 * SQUARE[:3, :3], 1000),
    ],
)  # fmt: skip
def test_functions_of_matrices_against_mpmath(wrap: Any, name: str, matrix: Any, units: float) -> None:
    """Errors in units of the last place of the largest element."""
    with mpmath.workdps(80):
        exact = np.array(getattr(mpmath, name)(mpmath.matrix(matrix.tolist())).tolist())
        result = wrap(getattr(LINALG, name))(matrix).numpy()
        error = max(
            abs(mpmath.mpf(x) - y) for x, y in zip(result.ravel().tolist(), exact.ravel(), strict=True)
        )
        largest = max(abs(y) for y in exact.ravel())
    assert error <= units * np.finfo(float).eps * float(largest)


@EITHER
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_expm_of_tiny_huge_and_no_numbers(wrap: Any, dtype: str) -> None:
    """Powers of a huge matrix that overflow are not computed; what is not finite stays with its matrix."""
    huge, large = float(np.finfo(dtype).max) / 4, 1e5 if dtype == "float32" else 1e30
    tiny = float(np.finfo(dtype).tiny)
    matrices = np.zeros((6, 2, 2), dtype)
    matrices[0, 0, 1] = huge
    matrices[1] = [[0.0, large], [0.5 / large, 0.0]]  # squared, half of 1
    matrices[2] = tiny
    matrices[4, 0, 1] = np.nan
    matrices[5] = -np.inf
    root = np.sqrt(0.5)
    expected = np.stack([np.eye(2)] * 4)
    expected[0, 0, 1] = huge
    expected[1] = [
        [np.cosh(root), np.sinh(root) * large / root], [np.sinh(root) / large * root, np.cosh(root)]
    ]  # fmt: skip
    expected[2] += tiny
    with np.errstate(invalid="ignore"):
        results = wrap(LINALG.expm)(matrices).numpy()
    np.testing.assert_allclose(results[:4], expected, rtol=20 * np.finfo(dtype).eps)
    assert np.isnan(results[4:]).any(axis=(1, 2)).all()


@EITHER
def test_functions_of_batches(wrap: Any) -> None:
    """Matrices of norms far apart take different numbers of squarings and roots."""
    matrices = np.stack([1e-3 * SQUARE, SQUARE, 10 * SQUARE])
    positive = np.stack([POSITIVE, 100 * POSITIVE, np.eye(5)])
    for name, batch in (("expm", matrices), ("sqrtm", positive), ("logm", positive)):
        function = getattr(LINALG, name)
        single = np.stack([function(matrix).numpy() for matrix in batch])
        np.testing.assert_allclose(wrap(function)(batch), single, rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(wrap(tj.vmap(function))(batch), single, rtol=1e-11, atol=1e-11)


@EITHER
@pytest.mark.parametrize("size", [1, 2, 3, 40])
def test_matrices_without_real_roots_and_logarithms(wrap: Any, size: int) -> None:
    """NaN, and for them alone."""
    matrix = np.random.default_rng(size).standard_normal((size, size))
    negative = matrix @ np.diag(np.arange(size) - 0.5) @ np.linalg.inv(matrix)
    fine = matrix @ matrix.T + np.eye(size)
    for name in ("sqrtm", "logm"):
        results = wrap(getattr(LINALG, name))(np.stack([negative, fine])).numpy()
        assert np.isnan(results[0]).all()
        assert np.isfinite(results[1]).all()
        assert wrap(getattr(LINALG, name))(np.zeros((2, 0, 0))).shape == (2, 0, 0)


@EITHER
def test_roots_of_eigenvalues_far_apart(wrap: Any) -> None:
    eigenvalues = np.array([1e-20, 1.0, 1e12])
    root = wrap(LINALG.sqrtm)(np.diag(eigenvalues)).numpy()
    np.testing.assert_allclose(root, np.diag(np.sqrt(eigenvalues)), rtol=1e-13)


@EITHER
def test_the_spectral_norm_saves_squarings(wrap: Any) -> None:
    """expm of a dense matrix, whose norm by columns asks for one more squaring; batches of both kinds."""
    rng = np.random.default_rng(0)
    dense = np.linalg.qr(rng.standard_normal((40, 40)))[0] * 4.0
    far = np.triu(np.full((40, 40), 3.0), 1) + 2.0 * np.eye(40)
    matrices = np.stack([dense, 0.01 * dense, far])
    results = wrap(LINALG.expm)(matrices).numpy()
    for number, (matrix, result) in enumerate(zip(matrices, results, strict=True)):
        if number == 2:  # e^2 exp of a nilpotent matrix: the series ends
            term = total = np.eye(40)
            for k in range(1, 40):
                term = term @ (matrix - 2.0 * np.eye(40)) / k
                total = total + term
            expected = np.exp(2.0) * total
        else:
            w, v = np.linalg.eig(matrix)
            expected = ((v * np.exp(w)) @ np.linalg.inv(v)).real
        np.testing.assert_allclose(result, expected, atol=3e-13 * np.abs(expected).max())


def positive(x: Any) -> Any:
    return x @ x.T + tj.eye(5)


GRADIENTS: list[tuple[str, Callable[[Any], Any]]] = [
    ("expm", LINALG.expm), ("expm of a large one", lambda x: LINALG.expm(5 * x) * 1e-5),
    ("sqrtm", lambda x: LINALG.sqrtm(positive(x))), ("logm", lambda x: LINALG.logm(positive(x))),
    ("polar", lambda x: LINALG.polar(x)[0]), ("polar p", lambda x: LINALG.polar(x)[1]),
    ("lu", lambda x: LINALG.lu(x)[1] + LINALG.lu(x)[2]),
    ("lu_solve", lambda x: LINALG.lu_solve(LINALG.lu_factor(x), SQUARE)),
    ("cho_solve", lambda x: LINALG.cho_solve(LINALG.cho_factor(positive(x)), SQUARE)),
    ("solve_triangular", lambda x: LINALG.solve_triangular(x + 4 * tj.eye(5), x, 1, True)),
    ("solve_sylvester", lambda x: LINALG.solve_sylvester(x, positive(x), SQUARE)),
    ("toeplitz", lambda x: LINALG.toeplitz(x[0], x[1])),
    ("solve_toeplitz", lambda x: LINALG.solve_toeplitz(x[0], x)),
    ("block_diag", lambda x: LINALG.block_diag(x[:2, :2], x[2:, 2:])),
    ("solve_banded", lambda x: LINALG.solve_banded((1, 1), x[:3] + np.array([[0.0], [9.0], [0.0]]), x)),
]  # fmt: skip


@EITHER
@pytest.mark.parametrize("function", [pytest.param(f, id=name) for name, f in share_of(GRADIENTS, 2)])
def test_gradients(wrap: Any, function: Any) -> None:
    weights = np.random.default_rng(1).standard_normal((5, 5))

    def loss(x: Any) -> Any:
        return (function(x) * weights).sum()

    direction, step = np.random.default_rng(2).standard_normal((5, 5)), 1e-6
    gradient = tj.grad(loss)
    slope = (loss(SQUARE + step * direction).item() - loss(SQUARE - step * direction).item()) / (2 * step)
    curvature = (gradient(SQUARE + step * direction) - gradient(SQUARE - step * direction)).numpy() / (
        2 * step
    )
    size, most = max(1.0, abs(slope)), max(1.0, np.abs(curvature).max())
    assert abs((wrap(gradient)(SQUARE).numpy() * direction).sum() - slope) < 1e-6 * size
    pushed = wrap(lambda x: tj.jvp(loss, (x,), (tj.tensor(direction),))[1])(tj.tensor(SQUARE))
    assert abs(pushed.item() - slope) < 1e-6 * size
    twice = wrap(lambda x: tj.jvp(gradient, (x,), (tj.tensor(direction),))[1])(tj.tensor(SQUARE))
    np.testing.assert_allclose(twice, curvature, atol=1e-5 * most)


def test_polar_of_equal_singular_values() -> None:
    """The orthogonal factor's derivative at an orthogonal matrix is the skew part."""
    gradient = tj.grad(lambda x: (LINALG.polar(x)[0] * SQUARE).sum())(np.eye(5))
    np.testing.assert_allclose(gradient, (SQUARE - SQUARE.T) / 2, atol=1e-13)
