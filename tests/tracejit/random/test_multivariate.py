"""Choices from given items, and multivariate normal vectors."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tracejit as tj
from tracejit.base.errors import AttributeValueError, AxisError, DomainError, ShapeError

from .statistics import KS_LIMIT, chi_squared, kolmogorov, normal_cdf

r = tj.random
N = 50_000
P = np.array([0.1, 0.0, 0.4, 0.2, 0.3])
COVARIANCE = np.array([[2.0, 0.8, 0.1], [0.8, 1.0, -0.3], [0.1, -0.3, 0.5]])


def test_choice_with_replacement():
    for p, probabilities in ((None, [0.2] * 5), (P, P), (7 * P, P)):
        x = tj.jit(lambda k, p=p: r.choice(k, 5, (N,), p=p))(r.key(51)).numpy()
        assert x.dtype == np.int64
        assert chi_squared(x, probabilities) < 4.5
        assert np.bincount(x, minlength=5)[1] > 0 or p is not None


def test_choice_without_replacement():
    keys = r.split(r.key(52), 20_000)
    plain = tj.jit(tj.vmap(lambda k: r.choice(k, 4, (2,), replace=False)))(keys).numpy()
    assert (plain[:, 0] != plain[:, 1]).all()
    assert chi_squared(plain[:, 0] * 4 + plain[:, 1], (1 - np.eye(4)).ravel() / 12) < 4.5
    weighted = tj.jit(tj.vmap(lambda k: r.choice(k, 5, (2,), replace=False, p=P)))(keys).numpy()
    pairs = np.outer(P, P) / (1 - P)[:, None] * (1 - np.eye(5))  # first i, then j of the others
    assert chi_squared(weighted[:, 0] * 5 + weighted[:, 1], pairs.ravel()) < 4.5
    assert sorted(r.choice(r.key(1), 6, (6,), False).tolist()) == list(range(6))


def test_choice_of_slices():
    items = np.arange(12.0).reshape(3, 4)
    for run in (lambda f: f, tj.jit):
        x = run(lambda k, items: r.choice(k, items, (2, 5), axis=1))(r.key(1), items).numpy()
        assert x.shape == (3, 2, 5)
        assert (x[1] - x[0] == 4).all()
        assert run(lambda k: r.choice(k, items))(r.key(1)).shape == (4,)
        assert run(lambda k: r.choice(k, items, (3,), False, [0.1, 0.2, 0.7]))(r.key(1)).shape == (3, 4)
    for replace in (True, False):
        assert r.choice(r.key(0), 0, (0,), replace).dtype == tj.int64
        assert r.choice(r.key(0), 0, (0,), replace, np.zeros(0)).shape == (0,)
        assert r.choice(r.key(0), np.zeros((0, 2)), (0, 3), replace).shape == (0, 3, 2)
    gradient = tj.grad(lambda items: r.choice(r.key(2), items, (100,)).sum())(tj.tensor([1.0, 2.0]))
    assert gradient.sum().item() == 100


def test_choice_is_the_same_every_way():
    for p in (None, P):
        for replace in (True, False):

            def draw(k, p=p, replace=replace):
                return r.choice(k, 5, (3,), replace, p)

            assert np.array_equal(draw(r.key(3)).numpy(), tj.jit(draw)(r.key(3)).numpy())
            keys = r.split(r.key(4), 6)
            by_loop = np.stack([draw(key).numpy() for key in keys])
            assert np.array_equal(tj.vmap(draw)(keys).numpy(), by_loop)


def test_choice_errors():
    with pytest.raises(DomainError, match=r"random\.choice: there is nothing to choose from, got 0 items"):
        r.choice(r.key(0), 0)
    with pytest.raises(DomainError, match=r"random\.choice: cannot take 4 of 3 items without replacement"):
        r.choice(r.key(0), [1, 2, 3], (4,), replace=False)
    with pytest.raises(
        ShapeError, match=r"random.choice: expected p of shape \(3,\), one per item, got shape \(2,\)"
    ):
        r.choice(r.key(0), 3, p=[0.5, 0.5])
    with pytest.raises(
        ShapeError, match=r"random\.choice: expected a Python integer or an array of items, got f64"
    ):
        r.choice(r.key(0), 2.5)
    with pytest.raises(AxisError, match=r"random\.choice"):
        r.choice(r.key(0), [1, 2, 3], axis=1)


def test_multivariate_normal_statistics():
    mean = np.array([1.0, -2.0, 0.5])
    x = tj.jit(lambda k: r.multivariate_normal(k, mean, COVARIANCE, (N,)))(r.key(53)).numpy()
    assert x.shape == (N, 3)
    np.testing.assert_allclose(x.mean(0), mean, atol=4 * math.sqrt(2 / N))
    np.testing.assert_allclose(np.cov(x.T), COVARIANCE, atol=4 * 2 * math.sqrt(2 / N))
    for direction in ([1.0, 0.0, 0.0], [0.5, -1.0, 2.0]):
        deviation = math.sqrt(np.dot(direction, COVARIANCE @ direction))
        assert kolmogorov((x - mean) @ direction / deviation, normal_cdf) < KS_LIMIT


def test_multivariate_normal_batches():
    means, covariances = np.zeros((4, 1, 3)), np.stack([COVARIANCE, 4 * COVARIANCE])
    x = r.multivariate_normal(r.key(5), means, covariances).numpy()
    assert x.shape == (4, 2, 3)
    jitted = tj.jit(lambda k: r.multivariate_normal(k, means, covariances))(r.key(5)).numpy()
    np.testing.assert_allclose(jitted, x, rtol=1e-12, atol=1e-13)
    keys = r.split(r.key(6), 2)
    by_loop = np.stack(
        [r.multivariate_normal(k, means[0, 0], c) for k, c in zip(keys, covariances, strict=True)]
    )
    mapped = tj.vmap(lambda k, c: r.multivariate_normal(k, means[0, 0], c))(keys, covariances)
    np.testing.assert_allclose(mapped.numpy(), by_loop, rtol=1e-12, atol=1e-13)


def test_multivariate_normal_gradients():
    """Gradients by the covariance along symmetric directions, and by the mean."""
    key, mean, direction = r.key(7), np.zeros(3), np.diag([0.3, 0.2, 0.1]) + 0.05

    def draw(mean, cov):
        return (r.multivariate_normal(key, mean, cov, (4,)) ** 3).sum()

    h = 1e-6
    expected = (draw(mean, COVARIANCE + h * direction) - draw(mean, COVARIANCE - h * direction)).item() / (
        2 * h
    )
    for run in (lambda f: f, tj.jit):
        by_mean, by_cov = run(tj.grad(draw, (0, 1)))(mean, COVARIANCE)
        assert np.sum(by_cov.numpy() * direction) == pytest.approx(expected, rel=1e-6)
        np.testing.assert_allclose(by_cov.numpy(), by_cov.numpy().T, rtol=1e-12)
        x = r.multivariate_normal(key, mean, COVARIANCE, (4,)).numpy()
        np.testing.assert_allclose(by_mean.numpy(), 3 * (x**2).sum(0), rtol=1e-12)


def test_multivariate_normal_errors():
    with pytest.raises(ShapeError, match=r"expected mean of shape \(..., n\) and cov of shape \(..., n, n\)"):
        r.multivariate_normal(r.key(0), np.zeros(2), np.eye(3))
    with pytest.raises(AttributeValueError, match="method must be 'cholesky', got 'svd'"):
        r.multivariate_normal(r.key(0), np.zeros(2), np.eye(2), method="svd")
    with pytest.raises(ShapeError, match=r"random\.multivariate_normal: cannot broadcast mean of shape"):
        r.multivariate_normal(r.key(0), np.zeros((2, 3)), np.stack([np.eye(3)] * 5))


def test_orthogonal():
    for n, m in ((5, 5), (6, 2), (2, 6), (1, 1), (0, 0)):
        for run in (lambda f: f, tj.jit):
            q = run(lambda k, n=n, m=m: r.orthogonal(k, n, (3,), m=m))(r.key(8)).numpy()
            assert q.shape == (3, n, m)
            product = np.swapaxes(q, 1, 2) @ q if n >= m else q @ np.swapaxes(q, 1, 2)
            np.testing.assert_allclose(product, np.broadcast_to(np.eye(min(n, m)), product.shape), atol=1e-13)
    keys = r.split(r.key(9), 20_000)
    q = tj.jit(tj.vmap(lambda k: r.orthogonal(k, 3, dtype="float32")))(keys).numpy().astype(np.float64)
    # in three dimensions each element of a random direction is uniform; and half of all matrices turn
    for i, j in ((0, 0), (2, 1), (1, 2)):
        assert kolmogorov(q[:, i, j], lambda x: (x + 1) / 2) < KS_LIMIT
    assert abs((np.linalg.det(q) > 0).mean() - 0.5) < 4 / math.sqrt(4 * 20_000)
    with pytest.raises(ShapeError, match=r"random\.orthogonal"):
        r.orthogonal(r.key(0), -1)
