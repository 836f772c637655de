"""Matrices without a result: an error, or within ``tj.errstate(linalg="nan")`` NaN for them alone."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj

L, S = tj.linalg, tj.scipy.linalg
RNG = np.random.default_rng(0)
ROOT = RNG.normal(size=(3, 3)) + 3 * np.eye(3)
GOOD = ROOT @ ROOT.T
SIDE = RNG.normal(size=(3, 2))
ZERO, NAN = np.zeros((3, 3)), np.full((3, 3), np.nan)


def banded_definite(x: Any) -> Any:
    """Two diagonals of a definite matrix made of `x`, of zeros where that is 0."""
    return x[..., :2, :] * 0.1 + np.array([[0.0], [9.0]]) * (x[..., :1, :1] != 0)


#: A function of matrices, and a matrix for which it has no result.
CASES: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "cholesky": (L.cholesky, -GOOD),
    "cholesky, upper": (lambda x: L.cholesky(x, upper=True), -GOOD),
    "scipy cholesky": (S.cholesky, -GOOD),
    "cho_factor": (lambda x: S.cho_solve(S.cho_factor(x), SIDE), -GOOD),
    "solve": (lambda x: L.solve(x, SIDE), ZERO),
    "solve of vectors": (lambda x: L.solve(x, SIDE[:, 0]), ZERO),
    "inv": (L.inv, ZERO),
    "matrix_power": (lambda x: L.matrix_power(x, -2), ZERO),
    "solve_triangular": (lambda x: S.solve_triangular(x, SIDE), ZERO),
    "eig": (lambda x: L.eig(x)[0], NAN),
    "eigvals": (L.eigvals, NAN),
    "eigh": (lambda x: L.eigh(x)[1] ** 2, NAN),
    "eigvalsh": (L.eigvalsh, NAN),
    "svd": (lambda x: L.svd(x)[0] ** 2, NAN),
    "svdvals": (L.svdvals, NAN),
    "pinv": (L.pinv, NAN),
    "lstsq": (lambda x: L.lstsq(x, SIDE)[0], NAN),
    "norm": (lambda x: L.norm(x, "nuc", axis=(-2, -1)), NAN),
    "cond": (L.cond, NAN),
    "schur": (lambda x: S.schur(x)[0], NAN),
    "polar": (lambda x: S.polar(x)[1], NAN),
    "solve_sylvester": (lambda x: S.solve_sylvester(x, x, GOOD), NAN),
    "solve_toeplitz": (lambda x: S.solve_toeplitz((x[..., 0], 2 * x[..., 1]), SIDE), ZERO),
    "solve_banded": (lambda x: S.solve_banded((1, 1), x, SIDE), ZERO),
    "solveh_banded": (lambda x: S.solveh_banded(banded_definite(x), SIDE), ZERO),
}
WAYS: dict[str, Callable[[Any], Any]] = {
    "eager": lambda f: f, "jit": tj.jit, "vmap": tj.vmap, "jit of vmap": lambda f: tj.jit(tj.vmap(f)),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", CASES)
def test_failures_are_nan_in_their_matrix(name: str, way: str) -> None:
    function, bad = CASES[name]
    matrices = np.stack([GOOD, bad, GOOD])
    run = WAYS[way](function)

    def loss(x: Any) -> Any:
        return (abs(function(x)) ** 2).sum()

    expected, gradient = np.asarray(function(GOOD)), np.asarray(tj.grad(loss)(GOOD))
    with pytest.raises(np.linalg.LinAlgError):
        run(matrices)
    with tj.errstate(linalg="nan"):
        result = np.asarray(run(matrices))
        gradients = np.asarray((tj.jit if "jit" in way else lambda f: f)(tj.grad(loss))(matrices))
    assert np.isnan(result[1]).all()
    assert np.isnan(gradients[1]).any()
    for good in (0, 2):
        np.testing.assert_allclose(result[good], expected, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(gradients[good], gradient, rtol=1e-9, atol=1e-12)
    with pytest.raises(np.linalg.LinAlgError):  # what was compiled for NaN is not used again
        run(matrices)


def test_each_thread_has_its_own() -> None:
    invert = tj.jit(L.inv)
    singular = np.zeros((2, 2))
    seen: list[Any] = []

    def elsewhere() -> None:
        try:
            seen.append(invert(singular))
        except tj.LinAlgError as error:
            seen.append(error)

    with tj.errstate(linalg="nan"):
        for _ in range(3):
            assert np.isnan(invert(singular)).all()
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        assert np.isnan(invert(singular)).all()
    assert isinstance(seen[0], tj.LinAlgError)


def test_inside_a_jitted_function_and_as_a_decorator() -> None:
    @tj.errstate(linalg="nan")
    def forgiving(x: Any) -> Any:
        return L.inv(x)

    for function in (forgiving, tj.jit(forgiving)):
        assert np.isnan(function(np.zeros((2, 2)))).all()
    with pytest.raises(tj.LinAlgError):
        L.inv(np.zeros((2, 2)))


def test_contexts_nest() -> None:
    singular = np.zeros((2, 2))
    with tj.errstate(linalg="nan"):
        with tj.errstate(linalg="raise"), pytest.raises(tj.LinAlgError):
            L.inv(singular)
        with tj.errstate(divide="ignore"):  # NumPy's arguments leave it as it is
            assert np.isnan(L.inv(singular)).all()
        with pytest.raises(tj.LinAlgError):
            L.cholesky(-np.eye(2), on_error="raise")
    with pytest.raises(tj.LinAlgError):
        L.inv(singular)
    with pytest.raises(ValueError, match="linalg must be"):
        tj.errstate(linalg="warn")


def test_numpys_handling_stays() -> None:
    with tj.errstate(divide="raise", linalg="nan"):
        assert np.geterr()["divide"] == "raise"
        with pytest.raises(FloatingPointError):
            np.ones(1) / np.zeros(1)


def test_functions_that_do_not_fail_are_compiled_once() -> None:
    """Code that asks for nothing serves both; code that asks is compiled for each, and kept."""
    plain, solving = tj.jit(lambda x: x + 1), tj.jit(L.inv)
    for _ in range(3):
        for handling in ("raise", "nan"):
            with tj.errstate(linalg=handling):
                plain(np.ones(3))
                solving(np.eye(2))
    assert repr(plain).endswith("1 signatures>")
    assert repr(solving).endswith("2 signatures>")


def test_a_context_that_is_entered_twice_leaves_nothing_behind() -> None:
    context = tj.errstate(linalg="nan")
    with pytest.raises(TypeError, match="twice"), context:
        context.__enter__()
    with pytest.raises(tj.LinAlgError):
        tj.linalg.inv(np.zeros((2, 2)))
