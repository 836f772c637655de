"""Cosine and sine transforms against their definitions as sums, and sizes."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import tracejit as tj
from tracejit.scipy import fft

KINDS = (1, 2, 3, 4)


def matrix(name: str, kind: int, n: int) -> NDArray[np.float64]:
    """The transform without a norm, from SciPy's documentation."""
    k, j = np.arange(n)[:, None], np.arange(n)[None]
    half = np.pi / (2 * n)
    if name == "dct":
        factors = np.full(n, 2.0)
        if kind == 1:
            factors[[0, -1]] = 1.0
            return np.asarray(factors * np.cos(np.pi * k * j / (n - 1)))
        if kind == 3:
            factors[0] = 1.0
        angles = {
            2: half * k * (2 * j + 1),
            3: half * (2 * k + 1) * j,
            4: half * (2 * k + 1) * (2 * j + 1) / 2,
        }
        return np.asarray(factors * np.cos(angles[kind]))
    if kind == 1:
        return np.asarray(2 * np.sin(np.pi * (k + 1) * (j + 1) / (n + 1)))
    factors = np.full(n, 2.0)
    if kind == 3:
        factors[-1] = 1.0
    angles = {
        2: half * (k + 1) * (2 * j + 1),
        3: half * (2 * k + 1) * (j + 1),
        4: half * (2 * k + 1) * (2 * j + 1) / 2,
    }
    return np.asarray(factors * np.sin(angles[kind]))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["dct", "dst"])
def test_transforms_are_their_sums(name: str, kind: int) -> None:
    function, inverse = getattr(fft, name), getattr(fft, f"i{name}")
    for n in (2, 3, 4, 5, 8, 9, 16, 30, *([1] if (name, kind) != ("dct", 1) else [])):
        x = np.random.default_rng(n).normal(size=(3, n, 2))
        dense = matrix(name, kind, n)
        expected = np.einsum("kn,anb->akb", dense, x)
        np.testing.assert_allclose(function(x, kind, axis=1), expected, rtol=0, atol=1e-12)
        compiled = tj.jit(lambda v: function(v, kind, axis=1))
        np.testing.assert_allclose(compiled(x), expected, rtol=0, atol=1e-12)
        for norm in (None, "backward", "ortho", "forward"):
            there = function(x, kind, axis=1, norm=norm)
            np.testing.assert_allclose(inverse(there, kind, axis=1, norm=norm), x, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("name", "kind"), [*itertools.product(("dct", "dst"), KINDS)])
def test_orthogonal_matrices(name: str, kind: int) -> None:
    function = getattr(fft, name)
    for n in (2, 5, 8):
        columns = np.asarray(function(np.eye(n), kind, axis=0, norm="ortho"))
        np.testing.assert_allclose(columns @ columns.T, np.eye(n), atol=1e-14)
        scaled = np.asarray(function(np.eye(n), kind, axis=0, norm="ortho", orthogonalize=False))
        period = 2 * (n + {("dct", 1): -1, ("dst", 1): 1}.get((name, kind), 0))
        np.testing.assert_allclose(scaled, matrix(name, kind, n) / np.sqrt(period), atol=1e-14)


@pytest.mark.parametrize(("name", "kind"), [*itertools.product(("dct", "idct", "dst", "idst"), KINDS)])
def test_gradients_are_transposes(name: str, kind: int) -> None:
    function = getattr(fft, name)
    for n in (3, 6):
        dense = np.asarray(function(np.eye(n), kind, axis=0))
        x, weights = np.random.default_rng(n).normal(size=(2, n))

        def value(v: Any, weights: Any = weights) -> Any:
            return tj.sum(weights * tj.sin(function(v, kind)))

        expected = dense.T @ (weights * np.cos(dense @ x))
        np.testing.assert_allclose(tj.grad(value)(x), expected, atol=1e-12)
        np.testing.assert_allclose(
            tj.jit(tj.hessian(value))(x), -dense.T @ np.diag(weights * np.sin(dense @ x)) @ dense, atol=1e-11
        )


def test_dtypes_sizes_and_complex_numbers() -> None:
    x = np.random.default_rng(0).normal(size=(2, 6))
    assert fft.dct(x.astype("f4")).dtype == np.float32
    assert fft.dst(np.arange(4)).dtype == np.float64
    np.testing.assert_allclose(fft.dct(x, n=4), fft.dct(x[:, :4]))
    np.testing.assert_allclose(fft.dct(x, n=8), fft.dct(np.pad(x, ((0, 0), (0, 2)))))
    both = np.asarray(fft.dct(x[0] + 1j * x[1]))
    np.testing.assert_allclose(both, fft.dct(x[0]).numpy() + 1j * fft.dct(x[1]).numpy(), atol=1e-14)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: fft.dct(x, 5), r"scipy\.fft\.dct: type must be 1, 2, 3 or 4, got 5"),
        (lambda x: fft.dct(x[:1], 1), r"scipy\.fft\.dct: type 1 needs at least 2 elements, got 1"),
        (lambda x: fft.idst(x, norm="no"), r"scipy\.fft\.idst: norm must be .*, got 'no'"),
        (lambda x: fft.dst(x, n=0), r"scipy\.fft\.dst: n must be at least 1, got 0"),
        (lambda x: fft.next_fast_len(0), r"scipy\.fft\.next_fast_len: target must be positive, got 0"),
    ],
)
def test_errors(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(tj.ones(4))


def test_half_precision_is_computed_in_single() -> None:
    x = np.array([1.0, 2.0, 0.5], np.float16)
    for function in (fft.dct, fft.idst):
        result = function(x)
        assert result.dtype == np.float32
        assert np.array_equal(result, function(x.astype(np.float32)))


def test_sizes_are_integers() -> None:
    with pytest.raises(tj.ArgumentError, match=r"next_fast_len: target must be an integer, got 1\.5"):
        fft.next_fast_len(1.5)


@pytest.mark.parametrize("real", [False, True])
def test_fast_sizes_are_the_next_smooth_numbers(real: bool) -> None:
    primes = (2, 3, 5) if real else (2, 3, 5, 7, 11)
    smooth = []
    for size in range(1, 3000):
        rest = size
        for prime in primes:
            while rest % prime == 0:
                rest //= prime
        smooth += [size] * (rest == 1)
    for target in range(1, 2500):
        assert fft.next_fast_len(target, real) == next(size for size in smooth if size >= target)
