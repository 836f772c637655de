"""First and second derivatives of every function of `tj.linalg` and `tj.scipy.linalg`: of real and of complex
batches, eagerly and compiled, beside differences; batches have the bits of single matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj

from ...rotation import share_of

NUMPY, SCIPY = tj.linalg, tj.scipy.linalg
#: Functions without derivatives.
WITHOUT = {"matrix_rank"}
SIZE = 3
Function = Callable[[Any], Any]


def random(dtype: Any, *shape: int, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(shape)
    return (values + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else values).astype(dtype)


def adjoint(x: Any) -> Any:
    return tj.conj(x).mT


def positive(x: Any) -> Any:
    return x @ adjoint(x) + tj.eye(x.shape[-1])


def hermitian(x: Any) -> Any:
    return x + adjoint(x)


def near_unit(x: Any) -> Any:
    return 0.2 * x + tj.eye(x.shape[-1])


def phaseless(vectors: Any) -> Any:
    """The squared moduli of vectors, which do not depend on their phases."""
    return abs(vectors) ** 2


def first_rows(x: Any, count: int) -> Any:
    """The rows of a table of `count` diagonals, with a large main diagonal."""
    main = np.arange(count)[:, None] == count // 2
    return x[..., :count, :] + 6.0 * main


def of_eigenvectors(result: Any) -> Any:
    """Eigenvalues in the order of their real parts, which differ here, and the sizes of vectors."""
    return result[0], phaseless(result[1])


#: Functions of square matrices.
CASES: list[tuple[str, Function]] = [
    ("cholesky", lambda x: NUMPY.cholesky(positive(x))),
    ("cond", NUMPY.cond), ("cond", lambda x: NUMPY.cond(x, "fro")),
    ("cross", lambda x: NUMPY.cross(x, x[..., ::-1, :] ** 2)),
    ("det", NUMPY.det), ("diagonal", NUMPY.diagonal),
    ("eig", lambda x: of_eigenvectors(NUMPY.eig(x))),
    ("eigh", lambda x: of_eigenvectors(NUMPY.eigh(hermitian(x)))),
    ("eigvals", NUMPY.eigvals), ("eigvalsh", lambda x: NUMPY.eigvalsh(hermitian(x))),
    ("inv", NUMPY.inv),
    ("lstsq", lambda x: NUMPY.lstsq(x[..., :2], x[..., 2:]).x),
    ("lstsq", lambda x: NUMPY.lstsq(x[..., :2, :], x[..., :2, :1]).x),
    ("matmul", lambda x: NUMPY.matmul(x, x)), ("matrix_norm", NUMPY.matrix_norm),
    ("matrix_power", lambda x: NUMPY.matrix_power(x, 3)),
    ("matrix_transpose", lambda x: NUMPY.matrix_transpose(x) @ x),
    ("multi_dot", lambda x: tj.vmap(lambda y: NUMPY.multi_dot([y, y[:, :2], y[:2]]))(x)),
    *[("norm", lambda x, ord=ord: NUMPY.norm(x, ord, axis=(-2, -1))) for ord in ("fro", "nuc", 1, 2, -2)],
    ("norm", lambda x: NUMPY.norm(x, 3, axis=-1)),
    ("outer", lambda x: NUMPY.outer(x[0, 0], x[1, 0])),
    ("pinv", lambda x: NUMPY.pinv(x[..., :2])), ("pinv", lambda x: NUMPY.pinv(x[..., :2, :])),
    ("qr", lambda x: tuple(NUMPY.qr(x))), ("qr", lambda x: tuple(NUMPY.qr(x[..., :2]))),
    ("qr", lambda x: tuple(NUMPY.qr(x[..., :2, :]))), ("qr", lambda x: NUMPY.qr(x, "r")),
    ("qr", lambda x: phaseless(NUMPY.qr(x[..., :2], "complete").Q)),
    ("slogdet", lambda x: tuple(NUMPY.slogdet(x))),
    ("solve", lambda x: NUMPY.solve(x, x @ x)),
    ("svd", lambda x: (phaseless((r := NUMPY.svd(x, full_matrices=False)).U), r.S, r.U @ r.Vh)),
    ("svd", lambda x: (phaseless((r := NUMPY.svd(x[..., :2])).U), r.S, phaseless(r.Vh))),
    ("svdvals", NUMPY.svdvals),
    ("tensordot", lambda x: NUMPY.tensordot(x[0], x[1], 1)),
    ("tensorinv", lambda x: tj.vmap(lambda y: NUMPY.tensorinv(y, ind=1))(x)),
    ("tensorsolve", lambda x: tj.vmap(lambda y: NUMPY.tensorsolve(y, y[0]))(x)),
    ("trace", lambda x: NUMPY.trace(x @ x)), ("vecdot", lambda x: NUMPY.vecdot(x, x)),
    ("vector_norm", NUMPY.vector_norm),
    # SciPy's
    ("block_diag", lambda x: SCIPY.block_diag(x[0], x[1, 0])),
    ("cho_factor", lambda x: SCIPY.cho_factor(positive(x))[0]),
    ("cho_solve", lambda x: SCIPY.cho_solve(SCIPY.cho_factor(positive(x)), x)),
    ("cholesky", lambda x: SCIPY.cholesky(positive(x))),
    ("circulant", lambda x: SCIPY.circulant(x[0, 0] ** 2)),
    ("expm", SCIPY.expm), ("expm_frechet", lambda x: SCIPY.expm_frechet(x, x @ x)),
    ("hankel", lambda x: SCIPY.hankel(x[0, 0] ** 2, x[0, 1])),
    ("ldl", lambda x: SCIPY.ldl(hermitian(x))[:2]),
    ("logm", lambda x: SCIPY.logm(near_unit(x))),
    ("lu", lambda x: SCIPY.lu(x)[1:]), ("lu", lambda x: SCIPY.lu(x[..., :2])[1:]),
    ("lu_factor", lambda x: SCIPY.lu_factor(x)[0]),
    ("lu_solve", lambda x: SCIPY.lu_solve(SCIPY.lu_factor(x), x @ x)),
    ("polar", SCIPY.polar), ("polar", lambda x: SCIPY.polar(x[..., :2], "left")),
    ("schur", lambda x: tuple(map(phaseless, SCIPY.schur(x)))),
    ("solve_banded", lambda x: SCIPY.solve_banded((1, 1), first_rows(x, 3), x)),
    ("solve_sylvester", lambda x: SCIPY.solve_sylvester(x, x @ x, x)),
    ("solve_toeplitz", lambda x: SCIPY.solve_toeplitz((x[..., 0] + np.array([6.0, 0, 0]), x[..., 1]), x)),
    ("solve_triangular", lambda x: SCIPY.solve_triangular(near_unit(x), x, trans=2)),
    ("solveh_banded", lambda x: SCIPY.solveh_banded(x[..., :2, :].real + np.array([[0.0], [6.0]]), x)),
    ("sqrtm", lambda x: SCIPY.sqrtm(near_unit(x))),
    ("toeplitz", lambda x: SCIPY.toeplitz(x[0, 0] ** 2, x[0, 1])),
]  # fmt: skip


def test_every_function_is_here() -> None:
    names = {name for module in (NUMPY, SCIPY) for name in module.__all__ if not name[0].isupper()}
    assert names - WITHOUT == {name for name, _ in CASES}


def loss_of(function: Function) -> Function:
    """The sum of all elements of what `function` gives, the parts of each times numbers of their own."""

    def loss(x: Any) -> Any:
        total: Any = 0.0
        results = function(x)
        for number, result in enumerate(results if isinstance(results, tuple) else (results,)):
            weights = random(np.complex128, *result.shape[-2:], seed=number)
            total = total + (result.real * weights.real).sum()
            if result.dtype.kind == "c":
                total = total + (result.imag * weights.imag).sum()
        return total

    return loss


def cases_of_share() -> list[Any]:
    """Every function, every second one of complex matrices; the others tomorrow."""
    cases = [
        pytest.param(function, dtype, id=f"{number}-{name}-{dtype.__name__}")
        for number, (name, function) in enumerate(CASES)
        for dtype in (np.float64, np.complex128)[:: (-1) ** number]
    ]
    return list(share_of(cases, 2))


@pytest.mark.parametrize(("function", "dtype"), cases_of_share())
def test_gradients(function: Function, dtype: Any) -> None:
    at, direction, step = random(dtype, 2, SIZE, SIZE, seed=3), random(dtype, 2, SIZE, SIZE, seed=5), 1e-6
    loss = loss_of(function)
    gradient = tj.grad(loss)
    ends = [tj.tensor(at + sign * step * direction) for sign in (1, -1)]
    slope = (loss(ends[0]).item() - loss(ends[1]).item()) / (2 * step)
    curvature = (gradient(ends[0]).numpy() - gradient(ends[1]).numpy()) / (2 * step)
    for wrap in (lambda f: f, tj.jit):
        value, twice = wrap(lambda x, t: tj.jvp(gradient, (x,), (t,)))(tj.tensor(at), tj.tensor(direction))
        along = (value.numpy() * direction).sum().real
        assert abs(along - slope) < 1e-6 * max(1.0, abs(slope), np.abs(value).max())
        np.testing.assert_allclose(twice, curvature, atol=1e-5 * max(1.0, np.abs(curvature).max()))


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("wrap", [lambda f: f, tj.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("name", sorted({"cholesky", "det", "eigh", "inv", "qr", "slogdet", "solve", "svd"}))
def test_gradients_of_batches_have_the_bits_of_single_ones(name: str, wrap: Any, dtype: Any) -> None:
    function = dict(CASES)[name]
    batch = random(dtype, 3, SIZE, SIZE, seed=7)

    def loss(x: Any) -> Any:
        results = function(x)
        return sum(
            (abs(result + 0.5) ** 2).sum()
            for result in (results if isinstance(results, tuple) else (results,))
        )

    gradient = wrap(tj.grad(loss))
    single = np.concatenate([np.asarray(gradient(matrix[None])) for matrix in batch])
    assert np.array_equal(np.asarray(gradient(batch)), single)
