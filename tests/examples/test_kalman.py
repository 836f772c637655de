"""The numbers of examples/kalman.py: its filter, smoother, gradient and fit."""

from __future__ import annotations

import runpy
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import tracejit as tj

COUNT = 5
LOGARITHMS = np.log([1.0, 6.0])


@pytest.fixture(scope="module")
def example():
    path = Path(__file__).parents[2] / "examples" / "kalman.py"
    return SimpleNamespace(**runpy.run_path(str(path)))


@pytest.fixture(scope="module")
def positions(example):
    return example.simulate()[1][:COUNT]


@pytest.fixture(scope="module")
def whole(example):
    """All states and measurements as one normal distribution: its matrix from the start and all pushes to the
    states, and the covariance of the measurements."""
    powers = [np.linalg.matrix_power(example.MOTION, n) for n in range(COUNT + 1)]
    blocks = [
        [powers[row + 1 - column] if column <= row + 1 else np.zeros((6, 6)) for column in range(COUNT + 1)]
        for row in range(COUNT)
    ]
    to_states = np.block(blocks)
    spread = np.kron(np.eye(COUNT + 1), example.SPREAD)
    spread[:6, :6] = example.DOUBT
    states = to_states @ spread @ to_states.T
    measured = np.kron(np.eye(COUNT), example.MEASURED)
    return states, measured, measured @ states @ measured.T + 36 * np.eye(2 * COUNT)


def test_the_likelihood_is_that_of_all_measurements_at_once(example, positions, whole):
    y, covariance = positions.reshape(-1), whole[2]
    expected = 0.5 * (
        y @ np.linalg.solve(covariance, y) + np.linalg.slogdet(covariance)[1] + len(y) * np.log(2 * np.pi)
    )
    assert example.loss(LOGARITHMS, positions).item() == pytest.approx(expected, rel=1e-10)


def test_the_smoother_conditions_on_all_measurements(example, positions, whole):
    states, measured, covariance = whole
    gain = np.linalg.solve(covariance, measured @ states).T
    means, spreads = example.smooth(LOGARITHMS, positions)
    np.testing.assert_allclose(means.numpy().reshape(-1), gain @ positions.reshape(-1), rtol=1e-8, atol=1e-8)
    expected = states - gain @ measured @ states
    for number, spread in enumerate(spreads.numpy()):
        place = slice(6 * number, 6 * number + 6)
        np.testing.assert_allclose(spread, expected[place, place], rtol=1e-8, atol=1e-8)


def test_gradient_and_hessian(example, positions):
    loss, gradient = tj.jit(example.loss), tj.jit(tj.grad(example.loss))
    steps = 1e-5 * np.eye(2)
    slopes = [
        (loss(LOGARITHMS + step, positions) - loss(LOGARITHMS - step, positions)).item() / 2e-5
        for step in steps
    ]
    np.testing.assert_allclose(gradient(LOGARITHMS, positions).numpy(), slopes, rtol=1e-6, atol=1e-6)
    bends = [
        (gradient(LOGARITHMS + step, positions) - gradient(LOGARITHMS - step, positions)).numpy() / 2e-5
        for step in steps
    ]
    hessian = tj.jit(tj.hessian(example.loss))(LOGARITHMS, positions)
    np.testing.assert_allclose(hessian.numpy(), bends, rtol=1e-5, atol=1e-5)


def test_the_fit_finds_what_the_track_was_made_by(example, capsys):
    fitted = example.fit(example.simulate()[1])
    assert "300 measurements" in capsys.readouterr().out
    np.testing.assert_allclose(fitted, np.log([example.JERK, example.NOISE]), atol=0.3)
