"""Gradients of Fourier transforms, alone and in other transformations, against those of products with a
matrix to second order, and against finite differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj

SIZES = [1, 2, 5, 6, 8, 17]


def matrix(n: int, rows: int, sign: int) -> Any:
    return np.exp(sign * 2j * np.pi * np.outer(np.arange(rows), np.arange(n)) / n)


def dense(name: str, n: int) -> Callable[[Any], Any]:
    """The function `name` of lines of `n` elements, as a product with a matrix."""
    if name == "fft":
        return lambda x: tj.asarray(matrix(n, n, -1)) @ x
    if name == "ifft":
        return lambda x: tj.asarray(matrix(n, n, 1)) @ x / n
    if name == "rfft":
        return lambda x: tj.asarray(matrix(n, n // 2 + 1, -1)) @ x
    weights = np.full(n // 2 + 1, 2.0)
    weights[0] = 1.0
    if n % 2 == 0:
        weights[-1] = 1.0
    back = (matrix(n, n // 2 + 1, 1) * weights[:, None]).T / n
    return lambda x: tj.real(tj.asarray(back) @ x)


def own(name: str, n: int) -> Callable[[Any], Any]:
    return lambda x: getattr(tj.fft, name)(x, n)


def loss(transform: Callable[[Any], Any]) -> Callable[..., Any]:
    """A function of the parts of a line that is neither linear nor even in its transform."""

    def value(re: Any, im: Any = None) -> Any:
        y = transform(re if im is None else re + 1j * im)
        weights = tj.arange(1.0, y.shape[0] + 1)
        total = tj.sum(weights * tj.sin(tj.real(y)))
        return total + tj.sum(tj.imag(y) ** 3 * weights) if y.dtype.kind == "c" else total

    return value


def parts(name: str, n: int) -> list[Any]:
    rng = np.random.default_rng(n)
    count = n // 2 + 1 if name == "irfft" else n
    return [rng.normal(size=count) for _ in range(1 if name == "rfft" else 2)]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft"])
def test_gradients_are_those_of_the_matrix(name: str, n: int) -> None:
    x = parts(name, n)
    argnums = tuple(range(len(x)))
    for transform in (lambda f: tj.grad(f, argnums), lambda f: tj.hessian(f, argnums)):
        expected = tj.tree_leaves(transform(loss(dense(name, n)))(*x))
        for results in (transform(loss(own(name, n)))(*x), tj.jit(transform(loss(own(name, n))))(*x)):
            for result, value in zip(tj.tree_leaves(results), expected, strict=True):
                np.testing.assert_allclose(result, value, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("n", [5, 6])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_eager_gradients_are_finite_differences(name: str, n: int) -> None:
    f = loss(lambda x: getattr(tj.fft, name)(x))
    x = parts("rfft" if name in ("rfft", "ihfft") else "fft", n)
    tensors = [tj.tensor(part, requires_grad=True) for part in x]
    f(*tensors).backward()
    for number, part in enumerate(x):
        for place in range(n):
            step = np.zeros(n)
            step[place] = 1e-6
            ends = [f(*[y + sign * step if y is part else y for y in x]) for sign in (1, -1)]
            slope = (float(ends[0]) - float(ends[1])) / 2e-6
            assert abs(slope - tensors[number].grad[place]) < 1e-6 * max(1.0, abs(slope))


def test_imaginary_parts_that_irfft_ignores_have_no_gradient() -> None:
    for n in (6, 7):

        def value(im: Any, n: int = n) -> Any:
            return tj.sum(tj.arange(n) * tj.fft.irfft(1.0 + 1j * im, n))

        gradient = np.asarray(tj.grad(value)(np.ones(n // 2 + 1)))
        assert gradient[0] == 0
        assert (gradient[1:3] != 0).all()
        assert (gradient[3] == 0) == (n == 6)


def test_complex_gradients() -> None:
    """The gradient of the sum of |F x|^2 is 2 n conj(x), by Parseval's theorem, as in JAX."""
    x = np.random.default_rng(0).normal(size=(2, 12)).view(complex)
    for gradient in (tj.grad(_energy), tj.jit(tj.grad(_energy))):
        np.testing.assert_allclose(gradient(x), 2 * 6 * np.conj(x), rtol=1e-12)
    leaf = tj.tensor(x, requires_grad=True)
    _energy(leaf).backward()
    np.testing.assert_allclose(leaf.grad, 2 * 6 * x, rtol=1e-12)  # PyTorch's convention


def _energy(x: Any) -> Any:
    return tj.sum(tj.abs(tj.fft.fft(x)) ** 2)


def test_forward_mode() -> None:
    x, dx = np.random.default_rng(1).normal(size=(2, 7))
    for f in (tj.fft.rfft, lambda v: tj.fft.irfft(v + 0j, 9)):
        _, tangent = tj.jvp(f, (x,), (dx,))
        np.testing.assert_allclose(tangent, f(dx), rtol=1e-12, atol=1e-12)


def test_batches() -> None:
    x = np.random.default_rng(2).normal(size=(3, 4, 10)).view(complex)
    for axis in (0, 1, -1):
        for f in (lambda v: tj.fft.fft(v, axis=axis), lambda v: tj.fft.irfft(v, axis=axis)):  # noqa: B023
            for place in (0, 1, 2):
                expected = np.stack([f(line) for line in np.moveaxis(x, place, 0)])
                for mapped in (tj.vmap(f, place), tj.jit(tj.vmap(f, place))):
                    np.testing.assert_allclose(mapped(x), expected, rtol=1e-12, atol=1e-12)


def test_transforms_in_a_scan() -> None:
    """Steps of a wave, and the gradient of what is left of it."""
    phases = np.exp(-0.1j * np.arange(16) ** 2)

    def after(x: Any, steps: int) -> Any:
        def step(wave: Any, _: Any) -> Any:
            wave = tj.fft.ifft(phases * tj.fft.fft(wave))
            return wave, tj.sum(tj.abs(wave[:4]) ** 2)

        return tj.sum(tj.scan(step, x + 0j, None, length=steps)[1])

    def unrolled(x: Any) -> Any:
        wave, total = x + 0j, 0.0
        for _ in range(5):
            wave = tj.fft.ifft(phases * tj.fft.fft(wave))
            total = total + tj.sum(tj.abs(wave[:4]) ** 2)
        return total

    x = np.random.default_rng(3).normal(size=16)
    expected = tj.grad(unrolled)(x)
    np.testing.assert_allclose(tj.grad(lambda v: after(v, 5))(x), expected, rtol=1e-11)
    np.testing.assert_allclose(tj.jit(tj.grad(lambda v: after(v, 5)))(x), expected, rtol=1e-11)


def test_what_numpy_computes_is_said() -> None:
    """A long size with a large prime factor is a host call."""
    f = tj.jit(lambda x: tj.fft.rfft(x))
    x = np.random.default_rng(4).normal(size=10_007)
    np.testing.assert_allclose(f(x), np.fft.rfft(x), rtol=1e-9, atol=1e-9)
    assert "NumPy" in str(f.explain())
