"""Continuous distributions: values of JAX where the method is the same, and statistics of fixed samples.

A sample of n numbers passes the Kolmogorov-Smirnov test at level 0.001 where sqrt(n) D < 1.95: the seeds are
fixed, so a failure is a changed method and not bad luck.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import tracejit as tj
from tracejit.base.errors import DTypeError, ShapeError

r = tj.random
DTYPES = [np.float32, np.float64]
N = 200_000
KS_LIMIT = 1.95  # K with Q(K) = 2 sum (-1)^(j-1) exp(-2 j^2 K^2) = 0.001


def normal_cdf(x):
    return 0.5 * (1 + np.array([math.erf(number / math.sqrt(2)) for number in x]))


def truncated_cdf(low, high):
    a, b = normal_cdf([low, high])
    return lambda x: (normal_cdf(x) - a) / (b - a)


def laplace_cdf(x):
    return np.where(x < 0, 0.5 * np.exp(-np.abs(x)), 1 - 0.5 * np.exp(-np.abs(x)))


#: draw(key, shape, dtype), distribution function, mean, variance.
CASES = {
    "uniform": (r.uniform, lambda x: x, 1 / 2, 1 / 12),
    "range": (lambda k, s, d: r.uniform(k, s, d, -3.0, 2.0), lambda x: (x + 3) / 5, -0.5, 25 / 12),
    "normal": (r.normal, normal_cdf, 0.0, 1.0),
    "exponential": (r.exponential, lambda x: 1 - np.exp(-x), 1.0, 1.0),
    "gumbel": (r.gumbel, lambda x: np.exp(-np.exp(-x)), 0.5772156649, math.pi**2 / 6),
    "laplace": (r.laplace, laplace_cdf, 0.0, 2.0),
    # mean (phi(-1) - phi(2)) / Z and variance 1 + (-phi(-1) - 2 phi(2)) / Z - mean^2, Z = 0.8185946
    "truncated": (
        lambda k, s, d: r.truncated_normal(k, -1.0, 2.0, s, d), truncated_cdf(-1, 2), 0.2296406, 0.5197526,
    ),
}  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CASES)
def test_statistics(name, dtype):
    draw, cdf, mean, variance = CASES[name]
    x = tj.jit(lambda k: draw(k, (N,), dtype))(r.key(2024)).numpy()
    assert x.dtype == dtype
    x = np.sort(x.astype(np.float64))
    place = cdf(x)
    steps = np.arange(N + 1) / N
    distance = max((place - steps[:-1]).max(), (steps[1:] - place).max())
    assert math.sqrt(N) * distance < KS_LIMIT
    assert abs(x.mean() - mean) < 4 * math.sqrt(variance / N)
    fourth = ((x - x.mean()) ** 4).mean()
    assert abs(x.var() - variance) < 4 * math.sqrt((fourth - variance**2) / N)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CASES)
def test_neighbours_do_not_correlate(name, dtype):
    """Lags 1, 2 and 64, and arrays of neighbouring keys: within 4.5 standard deviations."""
    draw, _, mean, variance = CASES[name]
    keys = r.split(r.key(8), 2)
    x, other = ((draw(k, (N,), dtype).numpy().astype(np.float64) - mean) / math.sqrt(variance) for k in keys)
    for lag in (1, 2, 64):
        assert abs((x[lag:] * x[:-lag]).mean()) < 4.5 / math.sqrt(N)
    assert abs((x * other).mean()) < 4.5 / math.sqrt(N)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CASES)
def test_eager_and_jitted_agree(name, dtype):
    draw = CASES[name][0]
    for shape in [(), (3,), (7, 5, 33), (0, 2)]:
        eager = draw(r.key(4), shape, dtype).numpy()
        jitted = tj.jit(lambda k, shape=shape: draw(k, shape, dtype))(r.key(4)).numpy()
        assert eager.shape == jitted.shape == shape
        # a few roundings of numbers of size up to 10
        assert np.allclose(eager, jitted, rtol=0, atol=64 * np.finfo(dtype).eps)


def test_unit_uniform_is_the_same_bit_by_bit():
    for dtype in DTYPES:
        eager = r.uniform(r.key(4), (9, 70), dtype).numpy()
        assert np.array_equal(eager, tj.jit(lambda k, d=dtype: r.uniform(k, (9, 70), d))(r.key(4)).numpy())


#: Values from jax 0.10.2 in float64, whose uniform numbers have 52 bits.
JAX = {
    "uniform": [0.41845711171638644, 0.21629545460551136, 0.9653214611189975],
    "exponential": [0.5420705551711603, 0.24372318502372997, 3.3616342594163338],
    "gumbel": [0.13790565977540292, -0.4259929367942607, 3.344039105585023],
    "laplace": [0.17803369470862349, 0.8379627799904482, -2.66848707885639],
}


@pytest.mark.parametrize("name", JAX)
def test_values_are_jax_values(name):
    got = getattr(r, name)(r.key(0), (3,)).numpy()
    assert np.allclose(got, JAX[name], rtol=0, atol=2e-14)


def test_truncated_normal_values_and_gradients_are_jax_values():
    low, high = tj.tensor([-1.0, 0.5, 2.0]), tj.tensor([1.0, 0.75, 3.0])

    def draw(low, high):
        return r.truncated_normal(r.key(0), low, high)

    assert np.allclose(
        draw(low, high), [-0.13999612249333174, 0.5509886203366939, 2.8639414254216042], atol=1e-12
    )
    for grad in (tj.grad, lambda *a: tj.jit(tj.grad(*a))):
        by_low, by_high = grad(lambda low, high: draw(low, high).sum(), (0, 1))(low, high)
        assert np.allclose(by_low, [0.35619708, 0.80498716, 0.28349692], atol=1e-7)
        assert np.allclose(by_high, [0.25630647, 0.19003144, 0.6477737], atol=1e-7)


def test_truncated_normal_keeps_its_bounds():
    for dtype in DTYPES:
        for low, high in [
            (-0.5, 0.5),
            (3.0, 4.0),
            (-6.0, -5.0),
            (9.0, 10.0),
            (-np.inf, -1.0),
            (-np.inf, np.inf),
        ]:
            x = r.truncated_normal(r.key(1), low, high, (1000,), dtype).numpy()
            assert np.isfinite(x).all()
            assert low <= x.min() <= x.max() <= high


def test_uniform_has_the_promised_bits():
    for dtype, digits in ((np.float32, 24), (np.float64, 53)):
        x = r.uniform(r.key(3), (10_000,), dtype).numpy().astype(np.float64)
        assert x.min() >= 0
        assert x.max() < 1
        whole = x * 2.0**digits
        assert np.array_equal(whole, np.floor(whole))
        assert (whole % 2 == 1).mean() == pytest.approx(0.5, abs=0.02)  # the last bit is one of them
        assert np.array_equal(x, (r.bits(r.key(3), 10_000).numpy() >> np.uint64(64 - digits)) * 2.0**-digits)


def test_extreme_bits(monkeypatch):
    """Every distribution is finite, and uniform below 1, whatever the bits."""
    words = np.array([0, 1, 2**11, 2**32 - 1, 2**32, 2**63, 2**64 - 2**40, 2**64 - 1], np.uint64)
    module = __import__("tracejit.random.distributions", fromlist=["bits"])
    monkeypatch.setattr(module, "bits", lambda key, shape: tj.tensor(words))
    monkeypatch.setattr(module, "more_bits", lambda name, key, shape: tj.tensor(words[::-1].copy()))
    for dtype in DTYPES:
        for draw, *_ in CASES.values():
            assert np.isfinite(draw(r.key(0), (8,), dtype).numpy()).all()
        assert r.uniform(r.key(0), (8,), dtype).numpy().max() < 1
        assert r.exponential(r.key(0), (8,), dtype).numpy().min() == 0


def test_normal_tails():
    """The tails of 2e6 numbers: about 2e6 * 2.7e-3 are beyond 3, and 2e6 * 6.3e-5 beyond 4."""
    for dtype in DTYPES:
        x = np.abs(tj.jit(lambda k, d=dtype: r.normal(k, (2_000_000,), d))(r.key(6)).numpy())
        assert abs((x > 3).sum() - 5399.6) < 4.5 * 73.5
        assert abs((x > 4).sum() - 126.7) < 4.5 * 11.3
        assert 4.6 < x.max() < 6.5


def test_bounds_broadcast_and_carry_gradients():
    low, high = tj.tensor([0.0, 10.0, 20.0]), tj.tensor([[1.0], [2.0]])
    u = r.uniform(r.key(9), (2, 3)).numpy()
    want = u * (np.array([[1.0], [2.0]]) - [0.0, 10.0, 20.0]) + [0.0, 10.0, 20.0]
    for run in (lambda f: f, tj.jit):
        draw = run(lambda low, high: r.uniform(r.key(9), (2, 3), None, low, high))
        assert np.allclose(draw(low, high), want, rtol=1e-15)
        total = run(tj.grad(lambda low, high: r.uniform(r.key(9), (2, 3), None, low, high).sum(), (0, 1)))
        by_low, by_high = total(low, high)
        assert np.allclose(by_low, (1 - u).sum(0))
        assert np.allclose(by_high, u.sum(1, keepdims=True))


def test_dtypes():
    assert r.normal(r.key(0)).dtype == tj.float64
    assert r.normal(r.key(0), (), "float32").dtype == tj.float32
    tj.set_default_dtype(tj.float32)
    try:
        assert r.uniform(r.key(0), 3).dtype == tj.float32
        assert tj.jit(lambda k: r.uniform(k, 3))(r.key(0)).dtype == tj.float32
        assert r.bernoulli(r.key(0), 0.5, (3,)).dtype == tj.bool_
    finally:
        tj.set_default_dtype(tj.float64)


@pytest.mark.parametrize("name", ["uniform", "normal", "exponential", "gumbel", "laplace"])
def test_errors(name):
    with pytest.raises(DTypeError, match=f"random.{name}: expected a floating dtype, got int64"):
        getattr(r, name)(r.key(0), (3,), "int64")
    with pytest.raises(ShapeError, match=f"random.{name}: negative"):
        getattr(r, name)(r.key(0), -3)


def test_bounds_that_do_not_broadcast():
    with pytest.raises(
        ShapeError, match=r"random.uniform: minval of shape \(2,\) does not broadcast to shape \(3,\)"
    ):
        r.uniform(r.key(0), 3, None, tj.zeros(2))
    with pytest.raises(ShapeError, match=r"random.uniform: maxval of shape \(3, 1\)"):
        r.uniform(r.key(0), 3, None, 0.0, tj.ones((3, 1)))


def test_distributions_are_one_kernel():
    for name in ("uniform", "normal", "exponential", "gumbel", "laplace"):
        f = tj.jit(lambda k, name=name: getattr(r, name)(k, (4, 100)) * 2 + 1)
        f(r.key(0))
        assert "kernels: 1," in f.explain(), name
        assert "everything is native code" in f.explain()
