"""Contents of bodies: gradients, checkpoints, random numbers, gradient modes, every dtype.

Eager and jitted results are compared; three elements are held in registers, fifty in memory.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.ir.passes import OPTIMIZE, run_passes


def same(f: Any, *args: Any, rtol: float = 1e-12) -> list[Any]:
    """The leaves of ``f(*args)``, the same types and values eagerly and jitted."""
    eager, compiled = tj.tree_leaves(f(*args)), tj.tree_leaves(tj.jit(f)(*args))
    for left, two in zip(eager, compiled, strict=True):
        assert left.type == two.type
        np.testing.assert_allclose(left.detach().numpy(), two.numpy(), rtol=rtol, atol=1e-14)
    return [left.detach().numpy() for left in eager]


@pytest.mark.parametrize("size", [3, 50])
def test_random_numbers_from_keys(size: int) -> None:
    def walk(key: Any, x: Any) -> Any:
        keys = tj.random.split(key, 20)
        return tj.scan(lambda c, k: (c + tj.random.normal(k, x.shape), c.sum()), x, keys)

    last, sums = same(walk, tj.random.key(3), tj.zeros(size))
    assert len(set(sums.tolist())) == 20
    assert 0.5 < last.std() < 10


@pytest.mark.parametrize("size", [3, 50])
def test_checkpoint(size: int) -> None:
    """A checkpoint changes no gradient, of first or second order."""

    def f(x: Any, w: Any, *, again: bool = True) -> Any:
        def step(c: Any, v: Any) -> Any:
            return tj.tanh(c * w + v)

        def body(c: Any, v: Any) -> Any:
            return (tj.checkpoint(step, c, v) if again else step(c, v)), None

        return tj.scan(body, x, tj.arange(5.0) / 10)[0].sum()

    x, w = tj.tensor(np.linspace(0, 1, size)), tj.tensor(np.linspace(0.5, 1, size))
    plain = tj.jit(tj.grad(lambda x, w: f(x, w, again=False), argnums=(0, 1)))(x, w)
    for got, want in zip(same(tj.grad(f, argnums=(0, 1)), x, w), plain, strict=True):
        np.testing.assert_allclose(got, want.numpy(), rtol=1e-12)
    same(tj.grad(lambda x, w: tj.grad(f)(x, w).sum(), argnums=(0, 1)), x, w, rtol=1e-9)


def test_no_grad_around_a_loop() -> None:
    def f(x: Any) -> Any:
        with tj.no_grad():
            y = tj.scan(lambda c, v: (c, c), x, None, length=3)[1].sum()
        return (x * y).sum()

    assert same(tj.grad(f), tj.tensor([1.0, 2.0]))[0].tolist() == [9.0, 9.0]
    x = tj.tensor([1.0, 2.0], requires_grad=True)
    tj.jit(f)(x).backward()
    assert x.grad is not None
    assert x.grad.tolist() == [9.0, 9.0]


def test_gradients_inside_bodies() -> None:
    def newton(x: Any) -> Any:
        def f(v: Any) -> Any:
            return v**3 - 2.0

        return tj.while_loop(lambda v: tj.abs(f(v)) > 1e-12, lambda v: v - f(v) / tj.grad(f)(v), x)

    np.testing.assert_allclose(same(newton, tj.tensor(1.5))[0], 2.0 ** (1 / 3), rtol=1e-14)

    def descent(x: Any) -> Any:
        def f(w: Any) -> Any:
            return tj.scan(lambda c, _: (tj.sin(c * w), None), x, None, length=3)[0].sum()

        return tj.fori_loop(0, 5, lambda i, w: w - 0.1 * tj.grad(f)(w), tj.ones(x.shape)).sum()

    x = tj.tensor([0.1, 0.5])
    (slope,) = same(tj.grad(descent), x)
    moved = [descent(x + tj.tensor([step, -step])).item() for step in (1e-6, -1e-6)]
    np.testing.assert_allclose(slope[0] - slope[1], (moved[0] - moved[1]) / 2e-6, rtol=1e-7)


@pytest.mark.parametrize("size", [1, 4, 70])
def test_dtypes_of_carries(size: int) -> None:
    def f(a: Any, b: Any, c: Any) -> Any:
        def body(s: Any, _: Any) -> Any:
            a, b, c = s
            return (a ^ (c > 0.0), b + np.uint8(100), tj.where(a, -c, c * 0.5)), (a, b)

        return tj.scan(body, (a, b, c), None, length=7)

    a, b, c = np.arange(size) % 2 == 0, np.arange(size).astype(np.uint8), np.linspace(-1, 1, size)
    results = same(f, tj.tensor(a), tj.tensor(b), tj.tensor(c.astype(np.float32)), rtol=1e-6)
    assert [array.dtype for array in results] == [bool, np.uint8, np.float32, bool, np.uint8]
    assert results[1].tolist() == [(i + 700) % 256 for i in range(size)]


def test_kernels_over_threads_inside_a_body() -> None:
    image = np.random.default_rng(0).normal(size=(600, 600))

    def heat(u: Any) -> Any:
        def step(i: Any, u: Any) -> Any:
            inner = u[1:-1, 1:-1] + 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] - 2 * u[1:-1, 1:-1])
            return tj.pad(tj.exp(tj.sin(inner)), ((1, 1), (1, 1)))

        return tj.fori_loop(0, 6, step, u)

    (got,) = same(heat, tj.tensor(image))
    for _ in range(6):
        inner = image[1:-1, 1:-1] + 0.1 * (image[2:, 1:-1] + image[:-2, 1:-1] - 2 * image[1:-1, 1:-1])
        image = np.pad(np.exp(np.sin(inner)), 1)
    np.testing.assert_allclose(got, image, rtol=1e-12)


@pytest.mark.parametrize("size", [5, 40])
def test_gradients_of_elements_of_an_invariant(size: int) -> None:
    """Few elements of `x` per step: their cotangents are added to the sum in place."""

    def f(x: Any) -> Any:
        def body(i: Any, s: Any) -> Any:
            return s + tj.sin(x[i] * x[i - 1]) * x[1:4].sum() + x[0] * s * 0.1

        return tj.fori_loop(1, size, body, 0.5)

    x = np.random.default_rng(1).normal(size=size)
    (slopes,) = same(tj.grad(f), tj.tensor(x))
    compiled, eps = tj.jit(f), 1e-6
    for i in range(size):
        step = np.eye(size)[i] * eps
        change = compiled(tj.tensor(x + step)).item() - compiled(tj.tensor(x - step)).item()
        np.testing.assert_allclose(slopes[i], change / (2 * eps), rtol=1e-6, atol=1e-7)
    same(tj.grad(lambda x: tj.grad(f)(x).sum()), tj.tensor(x), rtol=1e-9)
    text = str(run_passes(tj.trace(tj.grad(f), tj.tensor(x)), OPTIMIZE))
    assert "scatter(" in text
    assert not re.search(rf"f64\[{size}\]\s+= add\(", text), "a sum over all elements in each step"


def test_empty_state() -> None:
    """Carries, slices and stacked results without elements."""

    def f(x: Any) -> Any:
        def body(c: Any, v: Any) -> Any:
            return tj.exp(c) + v.sum(axis=0) + c[None].sum(axis=0), (v * 2, c.sum())

        return tj.scan(body, tj.zeros(0), x)

    last, doubled, sums = same(f, tj.ones((3, 2, 0)))
    assert last.shape == (0,)
    assert doubled.shape == (3, 2, 0)
    assert sums.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("steps", [0, 1, 7])
def test_gradient_of_a_large_matrix_is_one_product(steps: int) -> None:
    """The sum over the steps of x^T y is made behind the loop, of the rows of all steps."""
    rng = np.random.default_rng(steps)
    h, w, u = rng.normal(size=(4, 32)), rng.normal(size=(32, 32)) / 6, rng.normal(size=(48, 32)) / 6
    xs = rng.normal(size=(steps, 4, 48))

    def f(w: Any, u: Any) -> Any:
        def body(h: Any, x: Any) -> Any:
            return tj.tanh(h @ w + x @ u), None

        return (tj.scan(body, tj.tensor(h), tj.tensor(xs))[0] ** 2).sum()

    by_w, by_u = same(tj.grad(f, argnums=(0, 1)), tj.tensor(w), tj.tensor(u))
    program = run_passes(tj.trace(tj.grad(f, argnums=(0, 1)), tj.tensor(w), tj.tensor(u)), OPTIMIZE)
    assert [instruction.op.name for instruction in program.body].count("matmul") == 2 * (steps > 0)
    compiled, eps = tj.jit(f), 1e-6
    for way in (rng.normal(size=(32, 32)), rng.normal(size=(32, 32))):
        other = rng.normal(size=(48, 32))
        ahead = compiled(tj.tensor(w + eps * way), tj.tensor(u + eps * other)).item()
        behind = compiled(tj.tensor(w - eps * way), tj.tensor(u - eps * other)).item()
        slope = (by_w * way).sum() + (by_u * other).sum()
        np.testing.assert_allclose(slope, (ahead - behind) / (2 * eps), rtol=1e-6, atol=1e-8)
