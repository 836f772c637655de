"""Large values made of small ones are computed for each nest that reads them."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj
from tracejit.ir.passes import PIPELINE, run_passes
from tracejit.ir.passes.fusion import rematerialization_before
from tracejit.ir.passes.fusion.rematerialization_before import rematerialize
from tracejit.ir.verifier import verify

from ....support import interpret, native

BEFORE = tuple(pass_ for pass_ in PIPELINE if pass_.name not in ("rematerialize", "fuse"))


def pairs(x, y):
    near = tj.exp(-((x[:, None] - y) ** 2))
    return near.sum(), near.sum(0), (near * 2).sum(1)


def arrays(n, m):
    rng = np.random.default_rng(n)
    return [rng.normal(size=n), rng.normal(size=m)]


def largest_result(function):
    return max(result.type.size for instruction in function.body for result in instruction.results)


def test_no_large_array_between_nests():
    arguments = arrays(300, 200)
    function = run_passes(tj.trace(pairs, *arguments))
    assert largest_result(function) <= 300
    for actual, other in zip(tj.jit(pairs)(*arguments), pairs(*map(tj.tensor, arguments)), strict=True):
        np.testing.assert_allclose(actual, other, rtol=1e-12)


def test_the_gradient_of_an_energy_of_pairs():
    def energy(x):
        apart = x[:, None] - x
        return (1 / tj.sqrt(tj.square(apart).sum(-1) + 0.1)).sum()

    x = np.random.default_rng(0).normal(size=(200, 3))
    f = tj.value_and_grad(energy)
    assert largest_result(run_passes(tj.trace(f, x))) <= x.size
    value, gradient = tj.jit(f)(x)
    expected, other = f(tj.tensor(x))
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    np.testing.assert_allclose(gradient, other, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize(
    "f",
    [
        lambda a, x: ((a * x).sum(0), (a * x).sum(1)),  # made of a large array
        lambda a, x: (
            tj.exp(tj.sin(tj.pow(x[:, None], x))).sum(0),
            tj.exp(x[:, None] - x).sum(0),
        ),  # same axes
        lambda a, x: (lambda y: (y.sum(0), y.sum(1)))(tj.sinh(tj.tan(tj.sin(x[:, None] + x)))),  # dear
    ],
)
def test_others_stay(f):
    x = np.random.default_rng(0).uniform(1, 2, 256)
    before = run_passes(tj.trace(f, np.ones((256, 256)), x), BEFORE)
    assert rematerialize(before) is before


def test_small_values_stay():
    before = run_passes(tj.trace(pairs, *arrays(30, 20)), BEFORE)
    assert rematerialize(before) is before


@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed, monkeypatch):
    monkeypatch.setattr(rematerialization_before, "least_bytes", lambda: 1)
    monkeypatch.setattr(rematerialization_before, "SMALL", 1)
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, 12, int(rng.integers(2, 4))).tolist())
    arguments = []
    for _ in range(4):
        arguments.append(rng.integers(-4, 5, [n if rng.integers(2) else 1 for n in shape]).astype(float))
    plan = [(int(rng.integers(0, 6)), int(rng.integers(0, 9))) for _ in range(10)]
    every = [tuple(i for i in range(len(shape)) if bits >> i & 1) for bits in range(1, 1 << len(shape))]
    folds = [(every[int(rng.integers(len(every)))], int(rng.integers(0, 3))) for _ in range(4)]

    def f(*xs):
        broadcast = [tj.broadcast_to(x, shape) for x in xs]
        results = []
        for step, (kind, which) in enumerate(plan):
            a, b = broadcast[-1], broadcast[which % len(broadcast)]
            broadcast.append(
                (a + b, a - b, tj.clip(a * b, -9, 9), tj.maximum(a, b), -a, tj.where(a > b, a, 1))[kind]
            )
            if step % 3 == 2:
                axes, how = folds[step // 3]
                results.append(
                    (broadcast[-1].sum(axes), broadcast[-2].max(axes), broadcast[-1].min(axes))[how]
                )
        return (*results, broadcast[-1].sum(folds[3][0]), broadcast[-1].sum(), broadcast[5])

    function = tj.trace(f, *arguments)
    expected = interpret(function, arguments)
    after = rematerialize(run_passes(function, BEFORE))
    verify(after)
    for got in (interpret(after, arguments), native(function, arguments)):
        for actual, other in zip(got, expected, strict=True):
            np.testing.assert_allclose(actual, other, rtol=1e-12)
