"""The continuous distributions that are transforms: statistics of fixed samples, gradients, bounds."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tracejit as tj
from tracejit.base.errors import DTypeError, ShapeError

from .statistics import KS_LIMIT, gamma_cdf, kolmogorov, normal_cdf

r = tj.random
N = 50_000


def wald_cdf(mu):
    def cdf(x):
        root = 1 / np.sqrt(x)
        return normal_cdf(root * (x / mu - 1)) + math.exp(2 / mu) * normal_cdf(-root * (x / mu + 1))

    return cdf


def maxwell_cdf(x):
    return 2 * normal_cdf(x) - 1 - math.sqrt(2 / math.pi) * x * np.exp(-x * x / 2)


def both_sides(cdf):
    return lambda x: 0.5 + 0.5 * np.sign(x) * cdf(np.abs(x))


def triangle_cdf(x):
    return np.where(x < 1, (x + 1) ** 2 / 10, 1 - (4 - x) ** 2 / 15)


#: draw(key, shape, dtype), distribution function, mean, variance (None where there is none).
CASES = {
    "logistic": (r.logistic, lambda x: 1 / (1 + np.exp(-x)), 0, math.pi**2 / 3),
    "cauchy": (r.cauchy, lambda x: 0.5 + np.arctan(x) / math.pi, None, None),
    "lognormal": (
        lambda k, s, d: r.lognormal(k, 0.5, s, d), lambda x: normal_cdf(np.log(x) / 0.5),
        math.exp(0.125), 0.36470,
    ),
    "weibull": (
        lambda k, s, d: r.weibull_min(k, 2.0, 1.5, s, d), lambda x: 1 - np.exp(-((x / 2) ** 1.5)),
        2 * math.gamma(5 / 3), 4 * (math.gamma(7 / 3) - math.gamma(5 / 3) ** 2),
    ),
    "pareto": (lambda k, s, d: r.pareto(k, 5.0, s, d), lambda x: 1 - x**-5.0, 5 / 4, 5 / 48),
    "rayleigh": (
        lambda k, s, d: r.rayleigh(k, 3.0, s, d), lambda x: 1 - np.exp(-x * x / 18),
        3 * math.sqrt(math.pi / 2), 9 * (2 - math.pi / 2),
    ),
    "maxwell": (r.maxwell, maxwell_cdf, 2 * math.sqrt(2 / math.pi), 3 - 8 / math.pi),
    "double": (
        lambda k, s, d: r.double_sided_maxwell(k, 1.0, 2.0, s, d),
        lambda x: both_sides(maxwell_cdf)((x - 1) / 2), 1, 12,
    ),
    "triangular": (lambda k, s, d: r.triangular(k, -1.0, 1.0, 4.0, s, d), triangle_cdf, 4 / 3, 19 / 18),
    "wald": (lambda k, s, d: r.wald(k, 1.5, s, d), wald_cdf(1.5), 1.5, 1.5**3),
    "generalized": (
        lambda k, s, d: r.generalized_normal(k, 4.0, s, d),
        both_sides(lambda x: gamma_cdf(0.25)(x**4)), 0, math.gamma(0.75) / math.gamma(0.25),
    ),
    "ball": (
        lambda k, s, d: (r.ball(k, 3, 1.5, s, d).abs() ** 1.5).sum(axis=-1) ** 2, lambda x: x, 0.5, 1 / 12,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_statistics(name):
    draw, cdf, mean, variance = CASES[name]
    for dtype in (np.float32, np.float64):
        x = tj.jit(lambda k, d=dtype: draw(k, (N,), d))(r.key(31)).numpy()
        assert x.dtype == dtype
        x = x.astype(np.float64)
        assert np.isfinite(x).all()
        assert kolmogorov(x, cdf) < KS_LIMIT
        if mean is not None:
            assert abs(x.mean() - mean) < 4 * math.sqrt(variance / N)
            fourth = ((x - x.mean()) ** 4).mean()
            assert abs(x.var() - variance) < 4.5 * math.sqrt((fourth - variance**2) / N)


@pytest.mark.parametrize("name", CASES)
def test_eager_jitted_and_mapped_agree(name):
    draw = CASES[name][0]
    for shape in [(), (3, 5), (0, 2)]:
        eager = draw(r.key(4), shape, np.float64).numpy()
        jitted = tj.jit(lambda k, shape=shape: draw(k, shape, np.float64))(r.key(4)).numpy()
        assert eager.shape == shape
        np.testing.assert_allclose(jitted, eager, rtol=1e-11, atol=1e-12)
    keys = r.split(r.key(5), 3)
    by_loop = np.stack([draw(key, (4,), np.float64).numpy() for key in keys])
    mapped = tj.vmap(lambda k: draw(k, (4,), np.float64))(keys)
    np.testing.assert_allclose(mapped.numpy(), by_loop, rtol=1e-11, atol=1e-12)


#: Values from jax 0.10.2 in float64, with key(0) and shape (3,).
JAX = {
    "logistic": ((), [-0.3291103200974086, -1.2873867755266637, 3.3263401466314915]),
    "cauchy": ((), [-0.2619295066536063, -1.2378460184296847, 9.142528431003585]),
    "pareto": ((3.0,), [1.198043949871981, 1.0846323283402735, 3.0665242470796397]),
    "weibull_min": ((2.0, 1.5), [1.3296393946277114, 0.7803592074120229, 4.488111486200361]),
    "triangular": ((0.0, 1.0, 4.0), [1.358312157085292, 0.9301515029402713, 3.3549089470686875]),
}


@pytest.mark.parametrize("name", JAX)
def test_values_are_jax_values(name):
    parameters, expected = JAX[name]
    np.testing.assert_allclose(getattr(r, name)(r.key(0), *parameters, (3,)).numpy(), expected, rtol=1e-12)


#: A function of the parameters to draw, and parameters to differentiate at: the key is fixed, and so each
#: draw is a smooth function of them.
SMOOTH = {
    "lognormal": (lambda k, p: r.lognormal(k, p[0], (5,)), [0.5]),
    "weibull": (lambda k, p: r.weibull_min(k, p[0], p[1], (5,)), [2.0, 1.5]),
    "pareto": (lambda k, p: r.pareto(k, p[0], (5,)), [3.0]),
    "rayleigh": (lambda k, p: r.rayleigh(k, p[0], (5,)), [3.0]),
    "double": (lambda k, p: r.double_sided_maxwell(k, p[0], p[1], (5,)), [1.0, 2.0]),
    "triangular": (lambda k, p: r.triangular(k, p[0], p[1], p[2], (5,)), [-1.0, 1.0, 4.0]),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_gradients_are_differences(name):
    draw, at = SMOOTH[name]
    at = np.array(at)
    key = r.key(7)
    expected = np.stack(
        [(draw(key, at + h) - draw(key, at - h)).numpy() / 2e-6 for h in 1e-6 * np.eye(len(at))], axis=-1
    )
    for run in (lambda f: f, tj.jit):
        np.testing.assert_allclose(
            run(tj.jacrev(lambda p: draw(key, p)))(at).numpy(), expected, rtol=1e-6, atol=1e-7
        )


def test_bounds():
    x = r.triangular(r.key(1), [-1.0, 3.0], [0.0, 3.0], 5.0, (1000, 2)).numpy()
    assert ((x >= [-1.0, 3.0]) & (x <= 5)).all()
    assert (r.pareto(r.key(1), 2.0, (1000,)).numpy() >= 1).all()
    points = r.ball(r.key(1), 2, shape=(1000,)).numpy()
    assert ((points**2).sum(-1) <= 1).all()
    assert abs(points.mean(0)).max() < 0.06


def test_wald_keeps_its_small_numbers():
    """x is near v^-2 where the mean is large: no cancellation leaves it 0 or negative."""
    x = r.wald(r.key(1), 1e8, (10_000,)).numpy()
    assert (x > 0).all()
    assert np.median(x) == pytest.approx(1 / 0.4549, rel=0.05)  # the median of chi-squared with 1 degree


def test_errors():
    for name in ("logistic", "cauchy", "maxwell"):
        with pytest.raises(DTypeError, match=f"random.{name}: expected a floating dtype, got int64"):
            getattr(r, name)(r.key(0), (3,), "int64")
    with pytest.raises(
        ShapeError, match=r"random.pareto: b of shape \(2,\) does not broadcast to shape \(3,\)"
    ):
        r.pareto(r.key(0), [1.0, 2.0], (3,))
    for d in (0, -1, (2, 2)):
        with pytest.raises(ShapeError, match=r"random.ball"):
            r.ball(r.key(0), d)
