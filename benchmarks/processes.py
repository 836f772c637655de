"""Measuring in fresh processes: first calls and imports.

The child is this module too: ``python -m benchmarks.processes WORKLOAD LIBRARY``.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from .libraries import leaves, load
from .workloads import WORKLOADS

_ROOT = Path(__file__).resolve().parent.parent


@functools.cache
def _environment() -> dict[str, str]:
    """The environment of children. They keep bytecode, as installed packages do, in their own folder.

    Where PYTHONDONTWRITEBYTECODE is set or the tree is read-only, each would compile source again.
    """
    folder = tempfile.TemporaryDirectory(prefix="tracejit-benchmarks-")
    atexit.register(folder.cleanup)
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": folder.name}


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """A Python process that finds what this one finds: tracejit from the working tree or installed."""
    done = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        cwd=_ROOT,
        env=_environment(),
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(arguments)} failed:\n{done.stderr}")
    return done


def first_call(workload: str, library: str) -> dict[str, Any]:
    """The first call in a fresh process: ``seconds`` and those of CPU time,
    ``phases``, and ``means`` to compare results by."""
    answer: dict[str, Any] = json.loads(_run("-m", "benchmarks.processes", workload, library).stdout)
    return answer


def import_seconds(module: str) -> float:
    """How long a fresh process takes to import `module`, less how long another takes for numpy."""
    return _import_seconds(module) - _import_seconds("numpy")


def _import_seconds(module: str) -> float:
    for line in reversed(_run("-X", "importtime", "-c", f"import {module}").stderr.splitlines()):
        # import time: self [us] | cumulative | name, indented by depth
        parts = line.removeprefix("import time:").split("|")
        if len(parts) == 3 and parts[2].strip() == module:
            return int(parts[1]) * 1e-6
    raise RuntimeError(f"python -X importtime does not name {module}")


def _child(name: str, library: str) -> None:
    workload = next(one for one in WORKLOADS if one.name == name)
    lib = load(library)
    assert lib is not None, f"{library} is not installed"
    args = workload.inputs()
    if workload.measure == "warm":
        other = lib.jit(lambda x: x - 2)(np.ones(3))
        _ = other if lib.wait is None else lib.wait(other)
    f = workload.program(lib)
    cpu, start = time.process_time(), time.perf_counter()
    result = f(*args)
    if lib.wait is not None:
        lib.wait(result)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    means = [float(np.mean(np.abs(one), dtype=np.float64)) for one in leaves(result)]
    phases = "" if lib.phases is None else lib.phases(f)
    print(json.dumps({"seconds": seconds, "cpu": cpu, "means": means, "phases": phases}))


if __name__ == "__main__":
    _child(*sys.argv[1:])
