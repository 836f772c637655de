"""Random programs with loops: compiled = unrolled = Python on NumPy arrays, with their gradients."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj

from .programs import Generator

FIRST = int(os.environ.get("TRACEJIT_FUZZ_SEED", "0")) * 1000
WEIGHTS = np.arange(1.0, 7.0)


def load(seed: int, folder: Path) -> Any:
    """The function of the program `seed`, from a file: rewriting reads its source."""
    path = folder / f"program_{seed}.py"
    path.write_text("import math\n\n\n" + Generator(seed).program())
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.f


def inputs(seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    return rng.uniform(-1, 1, 6), rng.uniform(-1, 1, 6)


@pytest.mark.parametrize("seed", range(FIRST, FIRST + 12))
def test_results(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracejit.loops.statements.SHORT", -1)
    function = load(seed, tmp_path)
    x, y = inputs(seed)
    jitted = tj.jit(function)
    for n in (4, 0, 6):
        expected = function(x, y, n)
        for result, value in zip(jitted(x, y, n), expected, strict=True):
            np.testing.assert_allclose(np.asarray(result), value, rtol=1e-9, atol=1e-12)
    unrolled = tj.jit(function, loops="unrolled")
    for result, value in zip(unrolled(x, y, 4), function(x, y, 4), strict=True):
        np.testing.assert_allclose(np.asarray(result), value, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("seed", range(FIRST, FIRST + 6))
def test_gradients(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracejit.loops.statements.SHORT", -1)
    function = load(seed, tmp_path)

    def loss(x: Any, y: Any, n: Any) -> Any:
        u, v, s, t, _ = function(x, y, n)
        return (u * WEIGHTS).sum() + (v * v).sum() + s + 2 * t

    x, y = inputs(seed)
    step = 1e-6
    numeric = [
        [
            (loss(*_moved(x, y, k, i, step), 4) - loss(*_moved(x, y, k, i, -step), 4)) / (2 * step)
            for i in range(6)
        ]
        for k in (0, 1)
    ]
    gradients = tj.jit(tj.grad(loss, argnums=(0, 1)))(x, y, 4)
    for gradient, expected in zip(gradients, numeric, strict=True):
        np.testing.assert_allclose(np.asarray(gradient), expected, rtol=1e-4, atol=1e-5)
    a, b = tj.tensor(x, requires_grad=True), tj.tensor(y, requires_grad=True)
    value = tj.jit(loss)(a, b, 4)
    if value.requires_grad:
        value.backward()
    for leaf, expected in zip((a, b), numeric, strict=True):
        gradient = np.zeros(6) if leaf.grad is None else leaf.grad.numpy()
        np.testing.assert_allclose(gradient, expected, rtol=1e-4, atol=1e-5)


def _moved(x: Any, y: Any, argument: int, i: int, step: float) -> tuple[Any, Any]:
    delta = step * np.eye(6)[i]
    return (x + delta, y) if argument == 0 else (x, y + delta)
