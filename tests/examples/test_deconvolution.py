"""The numbers of examples/deconvolution.py: its blur, likelihoods, fit and both filters."""

from __future__ import annotations

import runpy
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import tracejit as tj


@pytest.fixture(scope="module")
def example():
    path = Path(__file__).parents[2] / "examples" / "deconvolution.py"
    return SimpleNamespace(**runpy.run_path(str(path)))


@pytest.fixture(scope="module")
def images(example):
    return example.make_image()


def test_the_blur(example):
    """A point becomes a Gaussian of that width, whose light stays the same."""
    point = np.zeros((example.SIZE, example.SIZE))
    point[40, 50] = 1.0
    blurred = example.convolved(point, example.blur_of(2.0)).numpy()
    assert blurred.sum() == pytest.approx(1.0)
    rows = np.arange(example.SIZE)
    assert blurred.sum(axis=1) @ (rows - 40) ** 2 == pytest.approx(4.0)
    assert blurred.sum(axis=0) @ (rows - 50) == pytest.approx(0.0, abs=1e-10)


def test_the_steps_are_richardson_and_lucys(example, images):
    image = images[1]
    blur = example.blur_of(example.WIDTH)
    response = np.fft.rfft2(blur.numpy())
    estimate = np.full_like(image, image.mean())
    for _ in range(3):
        blurred = np.fft.irfft2(np.fft.rfft2(estimate) * response)
        estimate = estimate * np.fft.irfft2(np.fft.rfft2(image / (blurred + 1e-9)) * response.conj())
    steps = example.richardson_lucy(image, example.WIDTH, iterations=3)
    np.testing.assert_allclose(steps.numpy(), estimate, rtol=1e-9, atol=1e-9)


def test_the_gradient_of_wieners_likelihood(example, images):
    point = np.log([1.5, 1.0, 0.1, 0.001])
    loss = tj.jit(example.wiener_loss)
    gradient = tj.jit(tj.grad(example.wiener_loss))(point, images[1])
    differences = [
        (loss(point + step, images[1]) - loss(point - step, images[1])).item() / 2e-5
        for step in 1e-5 * np.eye(4)
    ]
    np.testing.assert_allclose(gradient.numpy(), differences, rtol=1e-5, atol=1e-7)


def test_both_filters_sharpen(example, images):
    truth, image = images
    logarithms = example.fit_wiener(image, iterations=150)
    width, _, _, noise = np.exp(logarithms)
    assert width == pytest.approx(example.WIDTH, rel=0.1)
    assert noise == pytest.approx(image.mean() / example.LIGHT, rel=0.1)
    before = example.error(image, truth)
    assert example.error(example.wiener(logarithms, image), truth) < 0.8 * before
    assert example.error(example.richardson_lucy(image, width), truth) < 0.85 * before
