"""Whether compiling takes time in proportion to a function's operations: ``python -m benchmarks.compiling``.

CPU time of first calls, tracing and all, and of what is compiled in the background, for functions of 10 to
10,000 operations.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from typing import Any, Final

import numpy as np

#: How many operations.
SIZES: Final = (10, 100, 1000, 10_000)


def chain(count: int) -> Callable[[Any], Any]:
    """Elementwise operations, each of the one before."""

    def fn(x: Any) -> Any:
        for i in range(count):
            x = x * 1.01 if i % 2 else x - 0.5
        return x

    return fn


def layers(count: int) -> Callable[[Any], Any]:
    """Products, sums and tanh in turn."""
    import tracejit as tj

    weights = np.ones((4, 4)) / 4

    def fn(x: Any) -> Any:
        for _ in range(count // 3):
            x = tj.tanh(x @ weights + 1.0)
        return x

    return fn


def sums(count: int) -> Callable[[Any], Any]:
    """Reductions that everything after depends on, and one value that everything reads."""

    def fn(x: Any) -> Any:
        total = x
        for _ in range(count // 5):
            y = total * 1.5 + x
            total = total + y / y.sum()
        return total

    return fn


def gradient(count: int) -> Callable[[Any], Any]:
    """The gradient of a chain of so many operations, forwards and backwards."""
    import tracejit as tj

    def fn(x: Any) -> Any:
        for _ in range(count // 4):
            x = tj.sin(x) * 0.9
        return x.sum()

    return tj.grad(fn)


PROGRAMS: Final = {"chain": chain, "layers": layers, "sums": sums, "gradient": gradient}


def seconds(fn: Callable[[Any], Any], x: Any) -> tuple[float, float]:
    """CPU time of the first call, and of what is left to do in the background."""
    import tracejit as tj
    from tracejit.runtime.tiers import BACKGROUND

    f = tj.jit(fn)
    start = time.process_time()
    f(x)
    first = time.process_time() - start
    BACKGROUND.wait()
    return first, time.process_time() - start - first


def main() -> None:
    """Print a table."""
    with tempfile.TemporaryDirectory() as caches:
        os.environ["TRACEJIT_CACHE_DIR"] = caches
        x = np.full((4, 4), 0.5)
        seconds(chain(7), x)
        print("| program | " + " | ".join(f"{size:,}" for size in SIZES) + " |")
        print("|---" * (1 + len(SIZES)) + "|")
        for name, make in PROGRAMS.items():
            cells = []
            for size in SIZES:
                first, later = seconds(make(size), x)
                cells.append(f"{first * 1e3:.0f} + {later * 1e3:.0f} ms, {first / size * 1e6:.0f} us/op")
            print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
