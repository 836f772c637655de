"""Memory of a recorded chain of 100,000 operations: ``python -m benchmarks.memory``.

Each library runs in a process of its own; what is printed is the growth of its resident set per operation,
once the chain is recorded and at the peak of the backward pass.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import numpy as np

from .libraries import load

OPERATIONS = 100_000


def _resident() -> int:
    """Bytes of this process in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def measure(name: str) -> tuple[float, float] | None:
    """Bytes per operation: of the recorded chain, and at the peak of its backward pass."""
    lib = load(name)
    if lib is None or lib.variable is None or lib.backward is None:
        return None
    x, y = lib.variable(np.ones(4)), lib.variable(np.ones(4))
    lib.backward(x * y + x, x.detach())  # whatever is made once
    start, root = _resident(), x
    for _ in range(OPERATIONS):
        root = root * y
    recorded = _resident() - start
    root.backward(x.detach())
    return recorded / OPERATIONS, (_peak() - start) / OPERATIONS


def main() -> None:
    """Measure tracejit and torch, each in a fresh process."""
    if len(sys.argv) > 1:
        used = measure(sys.argv[1])
        print(
            f"{sys.argv[1]}: not installed"
            if used is None
            else f"{sys.argv[1]:10} {used[0]:6.0f} bytes an operation recorded, {used[1]:6.0f} at the peak"
        )
        return
    print(f"a chain of {OPERATIONS:,} multiplications of 4 f64, gradients recorded")
    for name in ("tracejit", "torch"):
        subprocess.run([sys.executable, "-m", "benchmarks.memory", name], check=True)


if __name__ == "__main__":
    main()
