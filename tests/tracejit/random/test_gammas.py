"""The gamma distribution and its relatives: statistics of fixed samples, and derivatives by the shape."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

import tracejit as tj
from tracejit.base.errors import DTypeError, ShapeError
from tracejit.ir.interpreter import interpret

from .statistics import KS_LIMIT, gamma_cdf, kolmogorov

r = tj.random
N = 50_000
SHAPES = [0.05, 0.3, 0.99, 1.0, 1.5, 4.0, 60.0, 1000.0]


def beta_2_3(x):
    return x * x * (6 - 8 * x + 3 * x * x)


#: draw(key, shape, dtype), distribution function, mean, variance (None where there is none).
CASES = {
    "chisquare": (lambda k, s, d: r.chisquare(k, 3.0, s, d), lambda x: gamma_cdf(1.5)(x / 2), 3.0, 6.0),
    "cauchy": (lambda k, s, d: r.t(k, 1.0, s, d), lambda x: 0.5 + np.arctan(x) / math.pi, None, None),
    "t": (lambda k, s, d: r.t(k, 2.0, s, d), lambda x: 0.5 + x / 2 / np.sqrt(2 + x * x), None, None),
    "f": (lambda k, s, d: r.f(k, 2.0, 6.0, s, d), lambda x: 1 - (1 + x / 3) ** -3, 1.5, None),
    "beta": (lambda k, s, d: r.beta(k, 2.0, 3.0, s, d), beta_2_3, 0.4, 0.04),
    "arcsine": (
        lambda k, s, d: r.beta(k, 0.5, 0.5, s, d), lambda x: 2 / math.pi * np.arcsin(np.sqrt(x)), 0.5, 0.125,
    ),
    "dirichlet": (
        lambda k, s, d: r.dirichlet(k, [1.0, 3.0, 2.0], s, d)[..., 0],
        lambda x: 1 - (1 - x) ** 5, 1 / 6, 5 / 252,
    ),
}  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("a", SHAPES)
def test_gamma_statistics(a, dtype):
    x = tj.jit(lambda k, a: r.gamma(k, a, (N,), dtype))(r.key(11), a).numpy()
    assert x.dtype == dtype
    x = x.astype(np.float64)
    assert kolmogorov(x, gamma_cdf(a)) < KS_LIMIT
    assert abs(x.mean() - a) < 4 * math.sqrt(a / N)
    fourth = 3 * a * a + 6 * a
    assert abs(x.var() - a) < 4 * math.sqrt((fourth - a * a) / N)


@pytest.mark.parametrize("name", CASES)
def test_statistics(name):
    draw, cdf, mean, variance = CASES[name]
    for dtype in (np.float32, np.float64):
        x = tj.jit(lambda k, d=dtype: draw(k, (N,), d))(r.key(12)).numpy()
        assert x.dtype == dtype
        x = x.astype(np.float64)
        assert kolmogorov(x, cdf) < KS_LIMIT
        if variance is not None:
            assert abs(x.mean() - mean) < 4 * math.sqrt(variance / N)


def test_the_order_of_dirichlet_vectors():
    x = r.dirichlet(r.key(1), [[1.0, 2.0], [3.0, 1.0]], (2000, 2)).numpy()
    assert x.shape == (2000, 2, 2)
    np.testing.assert_allclose(x.sum(-1), 1, rtol=1e-14)
    np.testing.assert_allclose(x.mean(0), [[1 / 3, 2 / 3], [3 / 4, 1 / 4]], atol=0.02)


def test_tiny_shapes_keep_their_logarithms():
    """log gamma(a) is close to log(u) / a: exponential numbers with mean 1 / a."""
    a = 1e-4
    x = r.loggamma(r.key(3), a, (N,)).numpy()
    assert np.isfinite(x).all()
    assert kolmogorov(-x * a, lambda e: 1 - np.exp(-e)) < KS_LIMIT
    assert (r.gamma(r.key(3), a, (N,)).numpy() == 0).mean() > 0.9
    pairs = r.beta(r.key(3), a, a, (N,)).numpy()
    assert not np.isnan(pairs).any()
    assert abs(pairs.mean() - 0.5) < 0.01


def test_both_agree():
    a = np.array([0.2, 1.0, 30.0])
    np.testing.assert_allclose(
        np.exp(r.loggamma(r.key(5), a).numpy()), r.gamma(r.key(5), a).numpy(), rtol=1e-13
    )


def test_shapes_that_are_none():
    a = tj.tensor([-1.0, 0.0, np.nan, np.inf, 2.0])
    for run in (lambda f: f, tj.jit):
        x = run(lambda a: r.gamma(r.key(0), a))(a).numpy()
        assert np.isnan(x[:3]).all()
        assert x[3] == np.inf
        assert x[4] > 0


def test_eager_interpreted_jitted_and_mapped_agree():
    a = np.array([[0.3, 1.0, 2.5], [40.0, 0.01, 7.0]])
    for draw in (r.gamma, r.loggamma, lambda k, a: r.t(k, a), lambda k, a: r.beta(k, a, a[0])):
        eager = draw(r.key(4), a).numpy()
        (interpreted,) = interpret(tj.trace(draw, r.key(4), tj.asarray(a)), [r.key(4).numpy(), a])
        # roundings of the logarithm, and of what it is divided by
        np.testing.assert_allclose(interpreted, eager, rtol=1e-11)
        np.testing.assert_allclose(tj.jit(draw)(r.key(4), a).numpy(), eager, rtol=1e-11)
    keys = r.split(r.key(9), 3)
    by_loop = [r.gamma(key, shape).item() for key, shape in zip(keys, a[0], strict=True)]
    for run in (lambda f: f, tj.jit):
        np.testing.assert_allclose(run(tj.vmap(lambda k, a: r.gamma(k, a)))(keys, a[0]), by_loop, rtol=1e-11)
        np.testing.assert_allclose(
            run(tj.vmap(lambda k: r.gamma(k, a[0]), out_axes=1))(keys)[:, 1],
            r.gamma(keys[1], a[0]),
            rtol=1e-11,
        )


def test_threads_do_not_matter():
    a = np.geomspace(0.01, 100, 200_000)
    draw = tj.jit(lambda k, a: r.gamma(k, a))
    with tj.threads(1):
        sample = draw(r.key(2), a).numpy()
    with tj.threads(4):
        four = draw(r.key(2), a).numpy()
    assert np.array_equal(sample, four)


# -- derivatives: along a, x stays where P(a, x) is constant ---------------------------------------


def exact_slope(a, x):
    with mpmath.workdps(30):
        a, x = mpmath.mpf(float(a)), mpmath.mpf(float(x))
        by_a = mpmath.diff(lambda a: mpmath.gammainc(a, 0, x, regularized=True), a)
        return float(-by_a / (x ** (a - 1) * mpmath.exp(-x) / mpmath.gamma(a)))


@pytest.mark.parametrize("a", [0.02, 0.5, 1.0, 3.0, 25.0, 400.0, 1e5])
def test_the_slope_is_that_of_the_quantile(a):
    key = r.key(21)
    x = r.gamma(key, a, (5,)).numpy()
    expected = [exact_slope(a, number) for number in x]
    by_each = tj.jacfwd(lambda a: r.gamma(key, a, (5,)))
    for run in (lambda f: f, tj.jit):
        np.testing.assert_allclose(run(by_each)(a).numpy(), expected, rtol=1e-8)
    logs = tj.jacrev(lambda a: r.loggamma(key, a, (5,)))(a).numpy()
    np.testing.assert_allclose(logs, expected / x, rtol=1e-8)


@pytest.mark.parametrize("a", [0.4, 1.7, 12.0])
def test_the_second_derivative_is_that_of_the_quantile(a):
    key, h = r.key(22), 1e-3
    x = r.gamma(key, a).item()
    with mpmath.workdps(30):
        place = mpmath.gammainc(a, 0, x, regularized=True)
        moved = [
            mpmath.findroot(lambda y, b=b: mpmath.gammainc(b, 0, y, regularized=True) - place, x)
            for b in (mpmath.mpf(a) - h, mpmath.mpf(a) + h)
        ]
        expected = float((moved[0] - 2 * mpmath.mpf(x) + moved[1]) / mpmath.mpf(h) ** 2)

    def draw(a):
        return r.gamma(key, a)

    for second in (
        tj.grad(tj.grad(draw)), tj.hessian(draw), tj.jit(tj.hessian(draw)), tj.jit(tj.grad(tj.grad(draw))),
        lambda a: tj.hvp(draw, (a,), (1.0,)), tj.grad(tj.jit(tj.grad(draw))),
    ):  # fmt: skip
        assert second(a).item() == pytest.approx(expected, rel=1e-4)


def test_means_of_gradients():
    """E x = a and E x^2 = a (a + 1), so the gradients' means are 1 and 2 a + 1; in float32 as well."""
    for dtype in (np.float32, np.float64):

        def moments(a):
            x = r.gamma(r.key(6), a, (20_000,), a.dtype)
            return tj.stack([x.mean(), (x * x).mean()])

        slope = tj.jit(tj.jacrev(moments))
        for a in (0.3, 2.0, 30.0):
            first, second = slope(tj.tensor(a, dtype=dtype)).numpy()
            assert first.dtype == dtype
            assert first == pytest.approx(1, abs=0.03)
            assert second == pytest.approx(2 * a + 1, rel=0.05)


def test_gradients_reach_the_relatives():
    """Gradients agree with means that are known: of beta a / (a + b), of chi-squared df, of t^2 df / (df -
    2)."""

    def mean(draw):
        return lambda *args: draw(r.key(8), *args, (20_000,)).mean()

    by_a, by_b = tj.jit(tj.grad(mean(r.beta), (0, 1)))(2.0, 3.0)
    assert by_a.item() == pytest.approx(3 / 25, abs=0.008)
    assert by_b.item() == pytest.approx(-2 / 25, abs=0.008)
    assert tj.jit(tj.grad(mean(r.chisquare)))(5.0).item() == pytest.approx(1, abs=0.03)
    squares = tj.jit(tj.grad(lambda df: (r.t(r.key(8), df, (20_000,)) ** 2).mean()))
    assert squares(12.0).item() == pytest.approx(-2 / 100, abs=0.006)
    by_alpha = tj.jacrev(lambda alpha: r.dirichlet(r.key(8), alpha, (5000,)).mean(axis=0))(
        tj.tensor([1.0, 2.0, 3.0])
    )
    expected = np.eye(3) / 6 - np.array([[1.0], [2.0], [3.0]]) / 36
    np.testing.assert_allclose(by_alpha.numpy(), expected, atol=0.01)


def test_a_sample_that_was_rounded_to_zero_has_no_slope():
    key = r.key(3)
    assert r.gamma(key, 1e-4).item() == 0
    assert tj.grad(lambda a: r.gamma(key, a))(1e-4).item() == 0
    assert tj.grad(lambda a: r.loggamma(key, a))(1e-4).item() > 0


def test_errors():
    with pytest.raises(DTypeError, match=r"random\.gamma: expected a floating dtype, got int64"):
        r.gamma(r.key(0), 1.0, (3,), "int64")
    with pytest.raises(
        ShapeError, match=r"random.gamma: a of shape \(2,\) does not broadcast to shape \(3,\)"
    ):
        r.gamma(r.key(0), [1.0, 2.0], (3,))
    with pytest.raises(
        ShapeError, match=r"random.beta: cannot broadcast a of shape \(2,\), b of shape \(3,\)"
    ):
        r.beta(r.key(0), [1.0, 2.0], [1.0, 2.0, 3.0])
    with pytest.raises(ShapeError, match=r"random\.dirichlet: expected alpha of at least one dimension"):
        r.dirichlet(r.key(0), 1.0)
    with pytest.raises(DTypeError, match="expected a key"):
        r.gamma(0, 1.0)
