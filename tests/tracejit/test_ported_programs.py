"""Programs of NumPy's users, as they were: the same numbers jitted, and gradients where there are some."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import tracejit as tj

RNG = np.random.default_rng(1)
OBSERVED = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
SERIES = np.cumsum(0.3 * RNG.normal(size=(40, 2)), axis=0)
SERIES[12:15] = np.nan
THETA = np.array([0.1, 0.9, 0.1, 0.7, -2.0, -2.0, -1.5])
IMAGE = np.clip(
    np.add.outer(np.sin(np.arange(24) / 5.0), np.cos(np.arange(30) / 4.0)) * 60
    + 128
    + 12 * RNG.normal(size=(24, 30)),
    0,
    255,
).astype(np.uint8)


def dynamics(theta: Any) -> Any:
    transition = np.array([[1.0, theta[0], 0.0], [0.0, theta[1], theta[2]], [0.0, 0.0, theta[3]]])
    return transition, np.exp(theta[4]) * np.eye(3), np.diag(np.exp(theta[5:7]))


def filtered(theta: Any, series: Any) -> Any:
    """The log-likelihood of a linear Gaussian state space model with missing rows, means and covariances."""
    transition, noise, error = dynamics(theta)
    mean, covariance, total = np.zeros(3), np.eye(3), 0.0
    means, covariances = np.zeros((len(series), 3)), np.zeros((len(series), 3, 3))
    for k in range(len(series)):
        mean = transition @ mean
        covariance = transition @ covariance @ transition.T + noise
        if not np.isnan(series[k]).any():
            spread = OBSERVED @ covariance @ OBSERVED.T + error
            surprise = series[k] - OBSERVED @ mean
            gain = np.linalg.solve(spread, OBSERVED @ covariance).T
            mean = mean + gain @ surprise
            covariance = covariance - gain @ spread @ gain.T
            total -= 0.5 * (surprise @ np.linalg.solve(spread, surprise) + np.linalg.slogdet(spread)[1])
        means[k], covariances[k] = mean, covariance
    return total, means, covariances


def smoothed(theta: Any, series: Any) -> Any:
    transition, noise, _ = dynamics(theta)
    total, means, covariances = filtered(theta, series)
    means, covariances = means.copy(), covariances.copy()
    for k in range(len(series) - 2, -1, -1):
        predicted = transition @ covariances[k] @ transition.T + noise
        gain = np.linalg.solve(predicted, transition @ covariances[k]).T
        means[k] = means[k] + gain @ (means[k + 1] - transition @ means[k])
        covariances[k] = covariances[k] + gain @ (covariances[k + 1] - predicted) @ gain.T
    return total, means, covariances


def thresholded(image: Any) -> Any:
    """Equalized, smoothed by a bilateral filter, Otsu's threshold, and statistics of edges."""
    cumulative = np.cumsum(np.bincount(image.ravel(), minlength=256)) / image.size
    levels = image.astype(np.float64).ravel()
    equalized = np.interp(levels, np.arange(256.0), 255 * cumulative).reshape(image.shape)
    windows = sliding_window_view(np.pad(equalized, 2, mode="reflect"), (5, 5))
    y, x = np.mgrid[-2:3, -2:3]
    weights = np.exp(-(y**2 + x**2) / 4.5) * np.exp(-((windows - equalized[:, :, None, None]) ** 2) / 1800.0)
    smooth = np.einsum("ijkl,ijkl->ij", weights, windows) / weights.sum(axis=(2, 3))
    counts, edges = np.histogram(smooth, bins=64, range=(0, 255))
    share, middle = counts / counts.sum(), 0.5 * (edges[:-1] + edges[1:])
    below, mass = np.cumsum(share), np.cumsum(share * middle)
    between = np.where(
        (below > 0) & (below < 1),
        (mass[-1] * below - mass) ** 2 / np.maximum(below * (1 - below), 1e-12),
        0.0,
    )
    dy, dx = np.gradient(smooth)
    strength, angle = np.hypot(dx, dy), np.arctan2(dy, dx)
    rows, columns = np.unravel_index(np.argsort(strength, axis=None)[::-1][:10], strength.shape)
    sectors = np.digitize(angle, np.linspace(-np.pi, np.pi, 9))
    by_sector = np.array([np.mean(strength * (sectors == k)) for k in range(1, 9)])
    return (
        middle[np.argmax(between)], np.quantile(strength, [0.5, 0.9, 0.99]), rows, columns, by_sector,
        np.median(smooth, axis=0), np.diff(np.sort(smooth[0])),
    )  # fmt: skip


def diffused(field: Any, steps: int) -> Any:
    """Upwind advection and diffusion on a torus by ``roll``, with the energy after each step."""
    energies = np.zeros(steps)
    for k in range(steps):
        east, west = np.roll(field, -1, axis=1), np.roll(field, 1, axis=1)
        north, south = np.roll(field, -1, axis=0), np.roll(field, 1, axis=0)
        field = field - 0.2 * (field - west) + 0.1 * (east + west + north + south - 4 * field)
        field = np.where(field > 0.9, 0.9, field)
        energies[k] = 0.5 * np.sum(field**2)
    return field, energies


PROGRAMS = {
    "filter and smoother": (smoothed, (THETA, SERIES)),
    "image": (thresholded, (IMAGE,)),
    "advection": (diffused, (RNG.random((12, 16)), 30)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_jitted(name: str) -> None:
    function, args = PROGRAMS[name]
    for expected, result in zip(function(*args), tj.jit(function)(*args), strict=True):
        np.testing.assert_allclose(np.asarray(result), expected, rtol=1e-8, atol=1e-9)


def test_a_likelihood_and_its_gradient_as_optimizers_ask_for_them() -> None:
    both = tj.jit(tj.value_and_grad(lambda theta: -filtered(theta, SERIES)[0]))
    value, slope = (np.asarray(part) for part in both(THETA))
    assert value == pytest.approx(-filtered(THETA, SERIES)[0])
    steps = 1e-6 * np.eye(7)
    differences = [
        (filtered(THETA - step, SERIES)[0] - filtered(THETA + step, SERIES)[0]) / 2e-6 for step in steps
    ]
    np.testing.assert_allclose(slope, differences, rtol=1e-5, atol=1e-6)


def test_eager_gradients_pass_rolls() -> None:
    field = RNG.random((6, 8))
    energy = lambda x: diffused_without_writes(x, 5)  # noqa: E731
    np.testing.assert_allclose(
        np.asarray(tj.grad(energy)(field)), np.asarray(tj.jit(tj.grad(energy))(field)), rtol=1e-10
    )


def diffused_without_writes(field: Any, steps: int) -> Any:
    for _ in range(steps):
        field = field - 0.2 * (field - np.roll(field, 1, axis=1)) + 0.1 * np.roll(field, (1, -2), axis=(0, 1))
    return (field * field).sum()
