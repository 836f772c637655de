"""Derivatives of scalar functions of matrices beside differences, and matrices to take them at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tracejit as tj


def random(dtype: Any, *shape: int, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(shape)
    return (values + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else values).astype(dtype)


def check(loss: Callable[[Any], Any], at: Any, tolerance: float = 1e-5) -> None:
    """First and second derivatives along a direction, beside differences."""
    direction, step = random(at.dtype, *at.shape, seed=5), 1e-6
    values = [loss(tj.tensor(at + sign * step * direction)).item() for sign in (1, -1)]
    slope = (values[0] - values[1]) / (2 * step)
    gradient = tj.grad(loss)
    above, below = (gradient(at + sign * step * direction).numpy() for sign in (1, -1))
    curvature = (above - below) / (2 * step)
    for wrap in (lambda f: f, tj.jit):
        along = (wrap(gradient)(at).numpy() * direction).sum().real
        assert abs(along - slope) < tolerance * max(1.0, abs(slope))
        twice = wrap(lambda x: tj.jvp(gradient, (x,), (tj.tensor(direction),))[1])(tj.tensor(at))
        np.testing.assert_allclose(twice, curvature, atol=10 * tolerance * max(1.0, np.abs(curvature).max()))
