"""The numbers of examples/hmc.py: density, integrator, sampler, count of effective draws."""

from __future__ import annotations

import runpy
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import tracejit as tj

X = np.array([0.3, 0.8, -0.5, 1.0, 0.2, -1.2, 0.4, 0.0, 0.7, -0.1])


@pytest.fixture(scope="module")
def example():
    path = Path(__file__).parents[2] / "examples" / "hmc.py"
    return SimpleNamespace(**runpy.run_path(str(path)))


def test_the_density(example):
    """The density agrees with the textbook's, up to the constant that the difference of two points takes
    away."""

    def textbook(x):
        mu, tau = 5 * x[0], np.exp(x[1])
        effects = mu + tau * x[2:]
        prior = -(x[0] ** 2) / 2 - np.log(1 + tau**2 / 25) - np.sum(x[2:] ** 2) / 2
        return prior + x[1] - np.sum((example.EFFECT - effects) ** 2 / example.ERROR**2) / 2

    difference = example.log_posterior(X) - example.log_posterior(np.zeros(10))
    assert abs(difference.item() - (textbook(X) - textbook(np.zeros(10)))) < 1e-12


def test_small_steps_keep_the_energy(example):
    """Small steps are nearly all accepted; large ones are not."""
    keys = tj.random.split(tj.random.key(3), 200)
    step = tj.jit(lambda size: tj.vmap(lambda key: example.transition(key, X, size)[1])(keys))
    small, smaller, large = (1 - step(size).numpy().mean() for size in (0.02, 0.01, 1.5))
    assert smaller < small < 1e-3
    assert 6 < small / smaller < 10, "the error of a given number of leaps is of third order"
    assert large > 0.5


def test_eager_mapped_and_jitted_agree(example, monkeypatch):
    """The three agree but for roundings. Over many steps those grow: the dynamics of this density are
    chaotic."""
    settings = example.chain.__globals__
    for name, value in {"WARM_UP": 4, "DRAWS": 6}.items():
        monkeypatch.setitem(settings, name, value)
    keys = tj.random.split(tj.random.key(0), 2)
    eager = np.stack([example.chain(key)[0].numpy() for key in keys])
    assert eager.shape == (2, 6, 10)
    assert np.ptp(eager[:, :, 0]) > 1, "it moves"
    for run in (tj.vmap(example.chain), lambda keys: tj.map(example.chain, keys)):
        np.testing.assert_allclose(tj.jit(run)(keys)[0].numpy(), eager, rtol=1e-8, atol=1e-8)


def test_the_posterior_is_the_published_one(example):
    draws, step_size, acceptance = (array.numpy() for array in example.sample(tj.random.key(7)))
    assert draws.shape == (4, 10_000, 10)
    assert ((step_size > 0.3) & (step_size < 0.6)).all()
    assert abs(acceptance.mean() - example.TARGET) < 0.06
    for place, (name, mean) in enumerate(example.PUBLISHED.items()):
        series = draws[:, :, place]
        effective = example.effective_draws(series)
        assert effective > 5000, name
        assert abs(series.mean() - mean) < 0.05 + 4 * series.std() / np.sqrt(effective), name
    # posteriordb, eight_schools_noncentered: the effects of the schools
    published = [6.2, 4.9, 3.9, 4.8, 3.6, 4.0, 6.3, 4.9]
    np.testing.assert_allclose(draws.mean((0, 1))[2:], published, atol=0.25)


@pytest.mark.parametrize("correlation", [0.0, 0.6, 0.9, -0.5])
def test_effective_draws_of_an_autoregressive_series(example, correlation):
    """n (1 - r) / (1 + r) for x' = r x + noise."""
    rng, n = np.random.default_rng(1), 20_000
    x = rng.standard_normal((4, n)) / np.sqrt(1 - correlation**2)
    for t in range(1, n):
        x[:, t] = correlation * x[:, t - 1] + x[:, t] * np.sqrt(1 - correlation**2)
    expected = 4 * n * (1 - correlation) / (1 + correlation)
    assert example.effective_draws(x) == pytest.approx(expected, rel=0.15)


def test_chains_that_disagree_are_worth_little(example):
    x = np.random.default_rng(0).standard_normal((4, 1000))
    assert example.effective_draws(x + np.arange(4)[:, None]) < 20
