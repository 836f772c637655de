"""Counts: Pearson's test of fixed samples against the exact probabilities, limits, and all ways to run."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

import tracejit as tj
from tracejit.base.errors import DTypeError, ShapeError
from tracejit.ir.interpreter import interpret
from tracejit.random.gammas import deviance, digamma, stirling_rest

from .statistics import chi_squared, kolmogorov, normal_cdf

r = tj.random
N = 50_000
LIMIT = 4.5


def poisson_probabilities(lam, count):
    return [math.exp(k * math.log(lam) - lam - math.lgamma(k + 1)) for k in range(count)]


def binomial_probabilities(n, p):
    return [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]


@pytest.mark.parametrize("lam", [0.05, 1.0, 9.9, 10.0, 14.0, 80.0])
def test_poisson(lam):
    x = tj.jit(lambda k, lam: r.poisson(k, lam, (N,)))(r.key(41), lam).numpy()
    assert x.dtype == np.int64
    assert x.min() >= 0
    assert chi_squared(x, poisson_probabilities(lam, 400)) < LIMIT


@pytest.mark.parametrize(
    ("n", "p"), [(1, 0.3), (20, 0.1), (20, 0.97), (40, 0.3), (100, 0.5), (300, 0.9), (30, 0.5)]
)
def test_binomial(n, p):
    x = tj.jit(lambda k, n, p: r.binomial(k, n, p, (N,)))(r.key(42), n, p).numpy()
    assert x.min() >= 0
    assert x.max() <= n
    assert chi_squared(x, binomial_probabilities(n, p)) < LIMIT


def test_large_counts_are_normal():
    """Counts are normal within the sample's resolution: the skew of a Poisson number is lam^(-1/2), the step
    lam^(-1/2) too."""
    for draw, mean, variance in (
        (lambda k: r.poisson(k, 1e9, (N,)), 1e9, 1e9),
        (lambda k: r.poisson(k, 1e14, (N,)), 1e14, 1e14),
        (lambda k: r.binomial(k, 1e13, 0.2, (N,)), 2e12, 1.6e12),
    ):
        x = tj.jit(draw)(r.key(43)).numpy()
        assert kolmogorov((x - mean) / math.sqrt(variance), normal_cdf) < 1.95


def test_geometric():
    for p in (0.5, 0.03):
        x = tj.jit(lambda k, p: r.geometric(k, p, (N,)))(r.key(44), p).numpy()
        assert x.min() == 1
        assert chi_squared(x, [0.0] + [p * (1 - p) ** k for k in range(600)]) < LIMIT


def test_rademacher():
    x = r.rademacher(r.key(45), (N,)).numpy()
    assert set(x.tolist()) == {-1, 1}
    assert abs(x.mean()) < 4 / math.sqrt(N)
    assert r.rademacher(r.key(45), (3,), "float32").dtype == tj.float32


def test_multinomial():
    p = np.array([0.2, 0.0, 0.5, 0.3])
    x = tj.jit(lambda k: r.multinomial(k, 50, p, shape=(20_000, 4)))(r.key(46)).numpy()
    assert (x.sum(-1) == 50).all()
    for category in range(4):
        assert chi_squared(x[:, category], binomial_probabilities(50, p[category])) < LIMIT
    covariance = 50 * (np.diag(p) - np.outer(p, p))
    np.testing.assert_allclose(np.cov(x.T), covariance, atol=4 * 12.5 * math.sqrt(2 / 20_000))
    many = r.multinomial(r.key(1), tj.tensor([3, 1000]), [[2.0, 2.0], [1.0, 3.0]]).numpy()
    assert many.sum(-1).tolist() == [3, 1000]
    assert abs(many[1, 1] - 750) < 60


def test_limits():
    for run in (lambda f: f, tj.jit):
        x = run(lambda lam: r.poisson(r.key(0), lam))(tj.tensor([0.0, -1.0, np.inf, np.nan, 1e-300])).numpy()
        assert x.tolist() == [0, -1, -1, -1, 0]
        n, p = (
            tj.tensor([5.0, 5.0, 0.0, 5.0, -1.0, 5.0, np.nan]),
            tj.tensor([0.0, 1.0, 0.5, 1.5, 0.5, np.nan, 0.5]),
        )
        assert run(lambda n, p: r.binomial(r.key(0), n, p))(n, p).tolist() == [0, 5, 0, -1, -1, -1, -1]
        assert run(lambda p: r.geometric(r.key(0), p, (3,)))(1.0).tolist() == [1, 1, 1]


def test_eager_interpreted_jitted_and_mapped_agree():
    lam = np.array([[0.3, 9.0, 11.0], [500.0, 1e5, 0.0]])
    cases = {
        "poisson": lambda k, x: r.poisson(k, x),
        "binomial": lambda k, x: r.binomial(k, x * 3, 0.3),
        "multinomial": lambda k, x: r.multinomial(k, 20.0, x + 1.0),
        "geometric": lambda k, x: r.geometric(k, 1 / (1 + x)),
    }
    for draw in cases.values():
        eager = draw(r.key(4), lam).numpy()
        (interpreted,) = interpret(tj.trace(draw, r.key(4), tj.asarray(lam)), [r.key(4).numpy(), lam])
        assert np.array_equal(interpreted, eager)
        assert np.array_equal(tj.jit(draw)(r.key(4), lam).numpy(), eager)
        keys = r.split(r.key(9), 2)
        by_loop = np.stack([draw(key, rate).numpy() for key, rate in zip(keys, lam, strict=True)])
        assert np.array_equal(tj.vmap(draw)(keys, lam).numpy(), by_loop)
        assert np.array_equal(tj.jit(tj.vmap(draw))(keys, lam).numpy(), by_loop)


def test_counts_are_constants_to_gradients():
    assert tj.grad(lambda lam: r.poisson(r.key(0), lam, (3,), "float64").sum() + lam)(4.0).item() == 1
    assert tj.grad(lambda p: r.binomial(r.key(0), 9, p, dtype="float32").sum() * p)(0.5).item() >= 0


def test_errors():
    with pytest.raises(DTypeError, match=r"random\.poisson: expected an integer or floating dtype, got bool"):
        r.poisson(r.key(0), 1.0, (), "bool")
    with pytest.raises(
        ShapeError, match=r"random.binomial: cannot broadcast n of shape \(2,\), p of shape \(3,\)"
    ):
        r.binomial(r.key(0), [1, 2], [0.1, 0.2, 0.3])
    with pytest.raises(ShapeError, match=r"random\.multinomial: expected p of at least one dimension"):
        r.multinomial(r.key(0), 3, 0.5)
    with pytest.raises(DTypeError, match=r"random\.rademacher: expected a signed dtype, got uint64"):
        r.rademacher(r.key(0), (), "uint64")


# -- the functions that the densities are made of -------------------------------------------------


def test_special_functions():
    k = np.array([0, 1, 2, 3, 5, 9, 10, 11, 57, 1e4, 1e9, 1e15])
    x = np.array([1e-5, 0.1, 0.9, 1, 3.7, 9.99, 10, 200, 1e8])
    with mpmath.workdps(40):
        rest = [mpmath.loggamma(mpmath.mpf(count) + 1) for count in k]
        rest = [
            float(logarithm - (mpmath.mpf(v) * mpmath.log(v) - v if v else 0))
            for logarithm, v in zip(rest, k, strict=True)
        ]
        slopes = [float(mpmath.digamma(mpmath.mpf(number))) for number in x]
        pairs = [(0.0, 2.0), (3.0, 2.0), (1e12 + 1e5, 1e12), (5.0, 5.0)]
        away = [
            float((mpmath.mpf(a) * mpmath.log(mpmath.mpf(a) / b) if a else 0) - mpmath.mpf(a) + b)
            for a, b in pairs
        ]
    for run in (lambda f: f, tj.jit):
        np.testing.assert_allclose(run(stirling_rest)(tj.asarray(k)).numpy(), rest, rtol=1e-14, atol=1e-14)
        np.testing.assert_allclose(run(digamma)(tj.asarray(x)).numpy(), slopes, rtol=1e-13)
        results = run(deviance)(*(tj.tensor(column) for column in zip(*pairs, strict=True))).numpy()
        np.testing.assert_allclose(results, away, rtol=1e-8, atol=1e-15)
