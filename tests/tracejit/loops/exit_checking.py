"""Checks of random programs whose loops are left before their tests would fail, and many of them:
``python -m tests.tracejit.loops.exit_checking``.

Each program gives what Python gives; where Python has an index out of range, it is that error, too.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import tracejit as tj
from tracejit.loops import running

from .checking import load
from .exit_programs import ExitGenerator

LIMITS = (0.3, 100.0, 1.5)


def check(seed: int, folder: Path, modes: tuple[str, ...] = ("auto",)) -> int:
    """Assert that the program `seed` gives what Python gives; how many calls were compared."""
    function = load(ExitGenerator(seed).program(), f"exits_{seed}", folder)
    rng = np.random.default_rng(seed)
    x, k = rng.uniform(-1, 2, 6), rng.permutation(6)
    compared = 0
    for mode in modes:
        jitted = tj.jit(function, loops=mode)
        for t in LIMITS:
            expected = _outcome(function, x, k, t)
            result = _outcome(jitted, x, k, t)
            if isinstance(expected, str) or isinstance(result, str):
                assert result == expected, (mode, t)
            else:
                np.testing.assert_allclose(result, expected, rtol=1e-12, err_msg=f"{mode}, {t}")
            compared += 1
    return compared


def _outcome(function: Any, *arguments: Any) -> Any:
    """The numbers that a call returns, or the name of the error that it raises."""
    try:
        return [float(value) for value in function(*arguments)]
    except (IndexError, ZeroDivisionError) as error:
        return "IndexError" if isinstance(error, IndexError) else "ZeroDivisionError"


def main() -> int:
    """Check many programs; 1 where one differs."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.tracejit.loops.exit_checking", description=main.__doc__
    )
    parser.add_argument("--first", type=int, default=0, help="the seed of the first program")
    parser.add_argument("--programs", type=int, default=1000, help="how many")
    options = parser.parse_args()
    running.SHORT = -1  # type: ignore[misc]
    failed = calls = 0
    for seed in range(options.first, options.first + options.programs):
        with tempfile.TemporaryDirectory() as folder:
            try:
                calls += check(seed, Path(folder), ("auto", "unrolled"))
            except Exception as error:
                failed += 1
                message = " ".join(f"{type(error).__name__}: {error}".split())[:300]
                print(f"program {seed}: {message}", flush=True)
    print(f"seeds {options.first} to {seed}: {calls} calls compared, {failed} programs differ", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
