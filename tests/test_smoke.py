"""One program of each kind that there is: what is run first on a machine that is new (`arm64.sh`)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj

RNG = np.random.default_rng(7)
X = RNG.standard_normal((64, 33))
LINE = RNG.standard_normal(1 << 19)
MATRIX = X @ X.T + np.eye(64)


def test_eager() -> None:
    x = tj.tensor(X, requires_grad=True)
    y = (tj.exp(x) * 2 + 1).sum()
    y.backward()
    np.testing.assert_allclose(y.item(), (np.exp(X) * 2 + 1).sum())
    np.testing.assert_allclose(x.grad, 2 * np.exp(X))


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c16", "i1", "u2", "i8"])
def test_jit(dtype: str) -> None:
    x = (X * 5).astype(dtype)
    f = tj.jit(lambda x: (x * x + 3, x[::2, 1:].sum(axis=1), x.T))
    tolerance = {"f2": 2e-2, "f4": 1e-5}.get(dtype, 1e-12)
    for got, want in zip(f(x), (x * x + 3, x[::2, 1:].sum(axis=1), x.T), strict=True):
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)
        assert got.dtype == want.dtype


def test_gradients() -> None:
    def loss(w: Any, x: Any) -> Any:
        return (tj.tanh(x @ w) ** 2).mean()

    w = RNG.standard_normal((33, 4))
    expected = tj.grad(loss)(w, X)
    np.testing.assert_allclose(tj.jit(tj.grad(loss))(w, X), expected, rtol=1e-10)
    step = 1e-6 * np.ones_like(w)
    difference = float(loss(w + step, X)) - float(loss(w - step, X))
    np.testing.assert_allclose(difference / 2e-6, np.sum(expected), rtol=1e-5)


def test_loops() -> None:
    @tj.jit
    def squares(x: Any) -> Any:
        total = 0.0
        for i in range(len(x)):
            if x[i] > 0:
                total += x[i] * x[i]
        return total

    @tj.jit
    def halvings(x: Any) -> Any:
        count = 0
        while x > 1:
            x, count = x / 2, count + 1
        return count

    np.testing.assert_allclose(squares(LINE), (np.maximum(LINE, 0) ** 2).sum(), rtol=1e-10)
    assert halvings(1000.0) == 10


def test_threads() -> None:
    """The results of several threads have the bits of one's."""
    f = tj.jit(lambda x: ((tj.sin(x) * x).sum(), tj.cumsum(x), tj.sort(x)))
    with tj.threads(4):
        several = f(LINE)
    with tj.threads(1):
        single = f(LINE)
    for x, y in zip(several, single, strict=True):
        np.testing.assert_array_equal(x, y)
    np.testing.assert_allclose(single[0], (np.sin(LINE) * LINE).sum())
    np.testing.assert_array_equal(single[2], np.sort(LINE))


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "c8"])
def test_products(dtype: str) -> None:
    x, y = (RNG.integers(-9, 9, shape).astype(dtype) for shape in ((65, 300), (300, 130)))
    np.testing.assert_array_equal(tj.jit(lambda x, y: x @ y)(x, y), x @ y)


def test_linear_algebra() -> None:
    factor = tj.jit(tj.linalg.cholesky)(MATRIX)
    np.testing.assert_allclose(factor @ factor.T, MATRIX, rtol=1e-10, atol=1e-10)
    solution = tj.jit(tj.linalg.solve)(MATRIX, X)
    np.testing.assert_allclose(MATRIX @ np.asarray(solution), X, rtol=1e-9, atol=1e-9)
    with pytest.raises(tj.LinAlgError):
        tj.jit(tj.linalg.cholesky)(-MATRIX)


def test_fourier_transforms() -> None:
    for x in (X, X[:, :32].copy()):
        np.testing.assert_allclose(tj.jit(tj.fft.fft)(x), np.fft.fft(x), atol=1e-12)
    np.testing.assert_allclose(tj.jit(lambda x: tj.fft.irfft(tj.fft.rfft(x), 33))(X), X, atol=1e-12)


def test_denormals_are_flushed_where_asked() -> None:
    small = np.array([1e-300])
    np.testing.assert_array_equal(tj.jit(lambda x: x * 1e-15, flush_denormals=True)(small), 0)
    assert (tj.jit(lambda x: x * 1e-15)(small) > 0).all()
