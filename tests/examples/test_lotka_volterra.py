"""The numbers of examples/lotka_volterra.py: its solver, its gradient and its fit."""

from __future__ import annotations

import runpy
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import tracejit as tj

RATES, START = np.array([0.55, 0.028, 0.8, 0.024]), np.log([33.96, 5.95])


@pytest.fixture(scope="module")
def example():
    path = Path(__file__).parents[2] / "examples" / "lotka_volterra.py"
    return SimpleNamespace(**runpy.run_path(str(path)))


def test_the_solver_keeps_the_constant_of_the_motion(example):
    """delta u - gamma log u + beta v - alpha log v does not change along a solution (Volterra, 1926)."""
    logs = tj.jit(example.solve)(RATES, START).numpy()
    assert logs.shape == (21, 2)
    hare, lynx = np.exp(logs).T
    alpha, beta, gamma, delta = RATES
    constant = delta * hare - gamma * np.log(hare) + beta * lynx - alpha * np.log(lynx)
    np.testing.assert_allclose(constant, constant[0], rtol=1e-5)
    assert np.ptp(logs[:, 0]) > 1, "it goes round"


def test_the_gradient_through_the_scan(example):
    logs = np.concatenate([np.log(RATES), START, [-1.4, -1.5]])
    f = tj.jit(example.negative_log_posterior)
    nudges = 1e-5 * np.eye(8)
    differences = [(f(logs + h).item() - f(logs - h).item()) / 2e-5 for h in nudges]
    gradient = tj.jit(tj.grad(example.negative_log_posterior))(logs)
    np.testing.assert_allclose(gradient.numpy(), differences, rtol=1e-6, atol=1e-5)


def test_the_fit_is_a_minimum_near_the_published_one(example, capsys):
    mode = example.fit()
    slope = tj.jit(tj.grad(example.negative_log_posterior))(mode)
    np.testing.assert_allclose(slope.numpy(), 0, atol=1e-3)
    np.testing.assert_allclose(np.exp(mode.numpy()[:4]), example.PUBLISHED[:4], rtol=0.05)
    assert f"[{'#' * 20}]" in capsys.readouterr().out


def test_the_posterior_mean_is_the_published_one(example):
    mode = np.log([0.5441189, 0.02743647, 0.7931677, 0.02373428, 34.118228, 5.870659, 0.221257, 0.2228033])
    draws, weights = example.weighted_draws(tj.asarray(mode))
    assert abs(weights.sum() - 1) < 1e-12
    assert 1 / np.sum(weights**2) > 1000, "the proposal fits the posterior"
    np.testing.assert_allclose(weights @ draws, example.PUBLISHED, rtol=0.02)
