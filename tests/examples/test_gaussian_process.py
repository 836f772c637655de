"""The numbers of examples/gaussian_process.py: its data, likelihood, gradient, fit and forecast."""

from __future__ import annotations

import runpy
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest


@pytest.fixture(scope="module")
def example():
    path = Path(__file__).parents[2] / "examples" / "gaussian_process.py"
    return SimpleNamespace(**runpy.run_path(str(path)))


@pytest.fixture(scope="module")
def past(example):
    """Six years of months before the forecast."""
    chosen = (example.YEARS > example.SPLIT - 6) & (example.YEARS < example.SPLIT)
    return example.YEARS[chosen], example.LEVELS[chosen]


def test_the_record(example):
    assert len(example.YEARS) == 521
    assert (np.diff(example.YEARS) > 0.05).all()
    assert example.LEVELS[0] == 316.1, "March 1958"
    assert 371 < example.LEVELS[-1] < 372, "December 2001"


def test_the_loss_is_that_of_a_normal_distribution(example, past):
    x, y = past
    noise = np.exp(2 * example.START[-1])
    covariance = example.covariance(example.START, x, x).numpy() + noise * np.eye(len(x))
    apart = y - example.MEAN
    expected = 0.5 * (
        apart @ np.linalg.solve(covariance, apart)
        + np.linalg.slogdet(covariance)[1]
        + len(x) * np.log(2 * np.pi)
    )
    assert example.loss(example.START, x, y).item() == pytest.approx(expected, rel=1e-8)


def test_the_gradient(example, past):
    value_and_grad = example.value_and_grad
    differences = [
        (
            value_and_grad(example.START + step, *past)[0] - value_and_grad(example.START - step, *past)[0]
        ).item()
        for step in 1e-4 * np.eye(7)
    ]
    gradient = value_and_grad(example.START, *past)[1]
    np.testing.assert_allclose(gradient.numpy(), np.array(differences) / 2e-4, rtol=1e-3, atol=1e-3)


def test_the_fit_forecasts_a_year(example, past):
    fitted = example.fit(*past, iterations=60)
    before, after = [example.value_and_grad(point, *past)[0].item() for point in (example.START, fitted)]
    assert after < before - 1
    year = (example.YEARS > example.SPLIT) & (example.YEARS < example.SPLIT + 1)
    mean, deviation = example.predict(fitted, *past, example.YEARS[year])
    errors = example.LEVELS[year] - mean.numpy()
    assert np.sqrt(np.mean(errors**2)) < 1.0
    assert np.mean(np.abs(errors) < 2 * deviation.numpy()) > 0.7
