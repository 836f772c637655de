"""Checks of one random program with loops, and many of them: ``python -m tests.tracejit.loops.checking``.

The program is compiled with its loops as loops and with its loops unrolled; both must give what Python does
on NumPy arrays. Gradients are compared with finite differences.
"""

from __future__ import annotations

import argparse
import importlib.util
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import tracejit as tj
from tracejit.loops import running

from .programs import Generator

WEIGHTS = np.arange(1.0, 7.0)
STEP = 1e-6


def load(text: str, name: str, folder: Path) -> Any:
    """The function f of a program, from a file: rewriting reads its source."""
    path = folder / f"{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.f


def program(seed: int, folder: Path) -> Any:
    """The function of the program `seed`."""
    return load("import math\n\n\n" + Generator(seed).program(), f"program_{seed}", folder)


def inputs(seed: int) -> tuple[Any, Any]:
    """The two arrays that the program `seed` is called with."""
    rng = np.random.default_rng(seed)
    return rng.uniform(-1, 1, 6), rng.uniform(-1, 1, 6)


def check_results(seed: int, folder: Path) -> None:
    """Assert that the results are those of Python."""
    function = program(seed, folder)
    x, y = inputs(seed)
    jitted = tj.jit(function)
    for n in (4, 0, 6):
        _compare(jitted(x, y, n), function(x, y, n))
    _compare(tj.jit(function, loops="unrolled")(x, y, 4), function(x, y, 4))


def _compare(results: Any, expected: Any) -> None:
    for result, value in zip(results, expected, strict=True):
        np.testing.assert_allclose(np.asarray(result), np.asarray(value), rtol=1e-9, atol=1e-12)


def check_gradients(seed: int, folder: Path) -> None:
    """Assert that gradients are those of finite differences."""
    function = program(seed, folder)

    def loss(x: Any, y: Any, n: Any) -> Any:
        u, v, s, t, *_ = function(x, y, n)
        return (u * WEIGHTS).sum() + (v * v).sum() + s + 2 * t

    x, y = inputs(seed)
    numeric = [
        [
            (loss(*_moved(x, y, k, i, STEP), 4) - loss(*_moved(x, y, k, i, -STEP), 4)) / (2 * STEP)
            for i in range(6)
        ]
        for k in (0, 1)
    ]
    # differences of a large loss are rounded: half an ulp of it each, of terms as large as it
    atol = 1e-5 + 4 * np.finfo(np.float64).eps * abs(float(loss(x, y, 4))) / STEP
    gradients = tj.jit(tj.grad(loss, argnums=(0, 1)))(x, y, 4)
    for gradient, expected in zip(gradients, numeric, strict=True):
        np.testing.assert_allclose(np.asarray(gradient), expected, rtol=1e-4, atol=atol)
    a, b = tj.tensor(x, requires_grad=True), tj.tensor(y, requires_grad=True)
    value = tj.jit(loss)(a, b, 4)
    if value.requires_grad:
        value.backward()
    for leaf, expected in zip((a, b), numeric, strict=True):
        gradient = np.zeros(6) if leaf.grad is None else leaf.grad.numpy()
        np.testing.assert_allclose(gradient, expected, rtol=1e-4, atol=atol)


def _moved(x: Any, y: Any, argument: int, i: int, step: float) -> tuple[Any, Any]:
    delta = step * np.eye(6)[i]
    return (x + delta, y) if argument == 0 else (x, y + delta)


def main() -> int:
    """Check many programs, gradients of every third; 1 where one differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.tracejit.loops.checking", description=main.__doc__)
    parser.add_argument("--first", type=int, default=0, help="the seed of the first program")
    parser.add_argument("--programs", type=int, default=1000, help="how many")
    options = parser.parse_args()
    running.SHORT = -1  # type: ignore[misc]
    failed = 0
    for seed in range(options.first, options.first + options.programs):
        with tempfile.TemporaryDirectory() as folder:
            for check in (check_results, check_gradients)[: 2 if seed % 3 == 0 else 1]:
                try:
                    check(seed, Path(folder))
                except Exception as error:
                    failed += 1
                    message = " ".join(f"{type(error).__name__}: {error}".split())[:300]
                    print(f"{check.__name__} of program {seed}: {message}", flush=True)
        if (seed + 1) % 100 == 0:
            print(f"{seed + 1 - options.first} programs, {failed} differ", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
