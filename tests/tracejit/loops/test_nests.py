"""Random nests of loops with affine indices, which are arrays where steps do not depend on each other: they
give what Python on NumPy's arrays gives."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj

from .checking import load
from .common import agree
from .nests import NestGenerator

FIRST = int(os.environ.get("TRACEJIT_FUZZ_SEED", "0")) * 1000
COUNT = int(os.environ.get("TRACEJIT_FUZZ_COUNT", "40"))


def program(seed: int, folder: Path) -> Any:
    """The function of the nest `seed`."""
    text = "import math\n\nimport numpy as np\n\n\n" + NestGenerator(seed).program()
    return load(text, f"nest_{seed}", folder)


def inputs(seed: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    return rng.uniform(-1, 1, 14), rng.uniform(-1, 1, (7, 7)), rng.uniform(-1, 1, 14)


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_results(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracejit.loops.running.SHORT", -1)
    monkeypatch.setattr("tracejit.ir.passes.array_loops.conversion.MIN_NEST", 1)
    function = program(seed, tmp_path)
    expected = function(*inputs(seed))
    results = tj.jit(function)(*inputs(seed))
    for result, value in zip(results, expected, strict=True):
        np.testing.assert_allclose(np.asarray(result), value, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT // 4))
def test_gradients(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracejit.loops.running.SHORT", -1)
    function = program(seed, tmp_path)

    def loss(x: Any, a: Any, y: Any) -> Any:
        u, b, c, s, p, low, _, top, _ = function(x, a, y)
        return (u * u).sum() + (b * b).sum() + (c * 0.5).sum() + s + 2 * p + low + top

    x, a, y = inputs(seed)
    gradients = tj.jit(tj.grad(loss, argnums=(0, 1)))(x, a, y)
    rng = np.random.default_rng(seed)
    v, w = rng.standard_normal(14), rng.standard_normal((7, 7))
    step = 1e-6
    expected = (loss(x + step * v, a + step * w, y) - loss(x - step * v, a - step * w, y)) / (2 * step)
    slope = float((np.asarray(gradients[0]) * v).sum() + (np.asarray(gradients[1]) * w).sum())
    assert abs(slope - expected) < 1e-5 * max(1.0, abs(expected))


def test_steps_around_the_edges_are_slices() -> None:
    """Neighbours on a torus, whose sizes differ, and their gradient."""

    def f(u: Any) -> Any:
        n, m = u.shape
        new = np.empty_like(u)
        for i in range(n):
            for j in range(m):
                around = u[(i - 1) % n, j] * u[(i + 1) % n, j] + u[i, (j - 2) % m] - u[i, (1 + j) % m]
                new[i, j] = u[i, j] + 0.1 * around
        return new

    u = np.random.default_rng(9).normal(size=(13, 17))
    jitted = agree(f, u)
    assert "gather" not in jitted.lower(u).as_text("optimized")
    gradient = tj.jit(tj.grad(lambda u: (jitted(u) ** 2).sum()))(u)
    step = 1e-6 * np.eye(13, 17)
    slope = ((f(u + step) ** 2).sum() - (f(u - step) ** 2).sum()) / 2e-6
    np.testing.assert_allclose((gradient.numpy() * np.eye(13, 17)).sum(), slope, rtol=1e-5)
