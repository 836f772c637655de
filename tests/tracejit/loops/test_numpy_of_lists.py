"""NumPy's functions of arrays that get lists with traced elements."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj

X = np.array([0.5, -0.7, 1.25])
FUNCTIONS = [
    np.sum, np.mean, np.max, np.prod, np.std, np.median, np.argmax, np.cumsum, np.sort, np.argsort,
    np.linalg.norm, np.exp, np.abs, np.isnan, np.diff, np.round, np.ptp, np.trapezoid,
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_lists(function):
    def program(x):
        return function([x[0], x[1] + 1.0, 2.0])

    jitted = tj.jit(program)
    for x in (X, X[::-1].copy(), X.astype(np.float32)):
        np.testing.assert_allclose(jitted(x), program(x), rtol=1e-6)


def test_two_lists_and_keywords():
    def program(x):
        pair = (x[0], x[1])
        inside = np.interp([x[0], 0.1], xp=[-1.0, x[2]], fp=[x[1], 3.0])
        return np.dot(pair, [x[2], 1.0]), np.average(pair, weights=[1.0, x[2]]), np.maximum(pair, 0.0), inside

    for ours, theirs in zip(tj.jit(program)(X), program(X), strict=True):
        np.testing.assert_allclose(ours, theirs)


def test_lists_that_comprehensions_and_loops_make():
    def program(x):
        losses = [v * v for v in x]
        steps = []
        for i in range(len(x)):
            steps.append(x[i] - np.mean([x[0], x[i]]))
        return np.mean(losses), np.max(steps), np.prod([1 + v for v in x])

    for ours, theirs in zip(tj.jit(program)(X), program(X), strict=True):
        np.testing.assert_allclose(ours, theirs)


def test_gradient():
    def program(x):
        return np.linalg.norm([x[0] - 1.0, x[1] * x[2]])

    norm = program(X)
    expected = [(X[0] - 1) / norm, X[1] * X[2] ** 2 / norm, X[1] ** 2 * X[2] / norm]
    np.testing.assert_allclose(tj.jit(tj.grad(program))(X), expected)


def test_shapes_are_left_alone():
    def program(x, n):
        return np.reshape(x, (n, 2)), np.broadcast_to(x, (n, 4)), np.sum(x, axis=(n - 2,))

    for ours, theirs in zip(tj.jit(program)(np.arange(4.0), 2), program(np.arange(4.0), 2), strict=True):
        np.testing.assert_array_equal(ours, theirs)
