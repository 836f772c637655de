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


def check(loss: Callable[[Any], Any], *points: Any, tolerance: float = 1e-5) -> None:
    """First and second derivatives along a direction, beside differences; the points are of one type."""
    direction, step = random(points[0].dtype, *points[0].shape, seed=5), 1e-6
    gradient = tj.grad(loss)

    def bend(x: Any) -> Any:
        return tj.jvp(gradient, (x,), (tj.tensor(direction),))[1]

    ways = [(gradient, bend), (tj.jit(gradient), tj.jit(bend))]
    for at in points:
        values = [loss(tj.tensor(at + sign * step * direction)).item() for sign in (1, -1)]
        slope = (values[0] - values[1]) / (2 * step)
        above, below = (gradient(at + sign * step * direction).numpy() for sign in (1, -1))
        curvature = (above - below) / (2 * step)
        allowed = 10 * tolerance * max(1.0, np.abs(curvature).max())
        for first, second in ways:
            along = (first(at).numpy() * direction).sum().real
            assert abs(along - slope) < tolerance * max(1.0, abs(slope))
            np.testing.assert_allclose(second(tj.tensor(at)), curvature, atol=allowed)
