"""Chains of differentiable blocks (convolutions, sorts, loops, branches, gathers), under transforms of
each other: jit, grad, vmap, jvp, second derivatives and checkpoint agree, and with differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj

from ..support import Array

SHAPE = (6, 4)
Block = Callable[[Any], Any]


def blocks(rng: np.random.Generator) -> list[Block]:
    """Functions of a matrix of SHAPE to one."""
    weights, kernel = rng.normal(size=(4, 4)) * 0.3, rng.normal(size=(3, 3)) * 0.3
    places = rng.integers(0, SHAPE[0], SHAPE[0])

    def softmax(x: Any) -> Any:
        e = tj.exp(x - tj.max(x, axis=1, keepdims=True))
        return e / e.sum(1, keepdims=True)

    def written(x: Any) -> Any:
        y = x.copy()
        y[1:, :2] = tj.sin(x[:-1, 2:])
        y[::2] += x[1::2] * 0.2
        return y

    def by_key(x: Any) -> Any:
        ordered = tj.take_along_axis(x, tj.argsort(x, axis=1), 1)
        return ordered + tj.associative_scan(tj.add, x) * 0.1

    return [
        lambda x: tj.tanh(x @ weights),
        lambda x: tj.nn.conv2d(x[None, None], kernel[None, None], None, 1, 1)[0, 0],
        lambda x: tj.sort(x, axis=0) * 0.9,
        lambda x: tj.scan(lambda c, row: (tj.sin(c) + row * 0.5, c * row), tj.zeros(SHAPE[1]), x)[1],
        lambda x: x[places] + 0.1 * x,
        lambda x: tj.fori_loop(0, 3, lambda i, c: c + 0.1 * tj.cos(c), x),
        softmax,
        lambda x: tj.cumsum(x, axis=1) * 0.3,
        written,
        lambda x: tj.where(x > 0.1, x * x, 0.5 * x),
        lambda x: tj.cond(x.sum() > 0, tj.sin, tj.cos, x),
        lambda x: tj.index_add(x * 0.5, places, x),
        lambda x: tj.vmap(lambda row: row * tj.median(row) + tj.roll(row, 1))(x),
        lambda x: tj.einsum("ij,kj->ik", x, x)[:, : SHAPE[1]] * 0.1,
        lambda x: tj.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, tj.tanh(s[1]) + 0.1), (0, x))[1],
        by_key,
    ]


def check(seed: int) -> None:
    rng = np.random.default_rng(seed)
    known = blocks(rng)
    numbers = [int(rng.integers(len(known))) for _ in range(int(rng.integers(1, 5)))]
    x, v, w = (rng.normal(size=SHAPE) for _ in range(3))
    several = rng.normal(size=(3, *SHAPE))

    def f(x: Any) -> Any:
        for number in numbers:
            x = known[number](x)
        return x

    def loss(x: Any) -> Any:
        return tj.sum(f(x) * w)

    def along(x: Any) -> Any:
        return tj.sum(tj.grad(loss)(x) * v)

    def near(got: Any, want: Any, rtol: float = 1e-9) -> None:
        a, b = np.asarray(got), np.asarray(want)
        atol = rtol * (1 + np.abs(b).max())
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol, err_msg=f"seed {seed}, blocks {numbers}")

    def difference(function: Callable[[Array], Any]) -> Array:
        step = 1e-6
        return (np.asarray(function(x + step * v)) - np.asarray(function(x - step * v))) / (2 * step)

    slope, second = tj.grad(loss)(x), tj.hvp(loss, (x,), (v,))
    near(tj.jit(f)(x), f(tj.asarray(x)))
    near((np.asarray(slope) * v).sum(), difference(loss), 1e-4)
    near(second, difference(tj.grad(loss)), 1e-3)
    near(tj.jit(tj.grad(loss))(x), slope)
    near(tj.jit(tj.grad(lambda x: tj.sum(tj.checkpoint(f, x) * w)))(x), slope)
    near((tj.jit(lambda x, v: tj.jvp(f, (x,), (v,))[1])(x, v).numpy() * w).sum(), (slope.numpy() * v).sum())
    near(tj.jit(tj.grad(along))(x), second, 1e-8)
    each = tj.jit(tj.vmap(tj.grad(loss)))(several)
    near(each, np.stack([np.asarray(tj.grad(loss)(one)) for one in several]))
    near(tj.jit(tj.grad(lambda many: tj.vmap(loss)(many).sum()))(several), each)


@pytest.mark.parametrize("seed", [1, 4, 7, 22])
def test_transforms_of_transforms(seed: int) -> None:
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 1200, 20))
def test_many_programs(first: int) -> None:
    for seed in range(first, first + 20):
        check(seed)
