"""What it takes to begin, in fresh processes: ``python -m benchmarks.start``.

Imports, less numpy's own, and first calls in a process that has compiled nothing: loading LLVM or XLA is in
it.
The child is this module too: ``python -m benchmarks.start WORKLOAD LIBRARY``.
"""

from __future__ import annotations

import argparse
import atexit
import functools
import json
import os
import subprocess
import sys
import tempfile
import time
from typing import Any, Final

from .contest import ROOT
from .libraries import OURS, load
from .report import duration
from .timing import FULL, QUICK, Spread, interleave
from .workloads import WORKLOADS

#: Of these the first calls are measured.
FIRST: Final = ("expression", "mlp-large")


@functools.cache
def _environment() -> dict[str, str]:
    """The environment of children. They keep bytecode, as installed packages do, and compiled code in a
    folder of their own.

    Where PYTHONDONTWRITEBYTECODE is set or the tree is read-only, each would compile source again.
    """
    folder = tempfile.TemporaryDirectory(prefix="tracejit-benchmarks-")
    atexit.register(folder.cleanup)
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": folder.name}


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """A Python process that finds what this one finds: tracejit from the working tree or installed."""
    with tempfile.TemporaryDirectory(prefix="tracejit-benchmarks-") as caches:
        done = subprocess.run(
            [sys.executable, *arguments],
            capture_output=True,
            text=True,
            cwd=ROOT,
            env={**_environment(), "TRACEJIT_CACHE_DIR": caches},
            check=False,
        )
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(arguments)} failed:\n{done.stderr}")
    return done


def first_call(workload: str, library: str) -> float:
    """Seconds of the first call in a fresh process, after the library's import."""
    answer: dict[str, Any] = json.loads(_run("-m", "benchmarks.start", workload, library).stdout)
    return float(answer["seconds"])


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
    args, f = workload.arguments(lib), workload.function(lib)
    start = time.perf_counter()
    result = f(*args)
    if lib.wait is not None:
        lib.wait(result)
    print(json.dumps({"seconds": time.perf_counter() - start}))


def main() -> None:
    """Measure, or be the process that is measured."""
    if len(sys.argv) == 3:
        _child(*sys.argv[1:])
        return
    parser = argparse.ArgumentParser(prog="python -m benchmarks.start", description="imports and first calls")
    parser.add_argument("--quick", action="store_true", help="one process each")
    effort = QUICK if parser.parse_args().quick else FULL
    libraries = [name for name in (OURS, "jax") if load(name) is not None]
    for what in ("import", *FIRST):
        turns = {
            name: (lambda name=name: import_seconds(name))
            if what == "import"
            else (lambda name=name, what=what: first_call(what, name))
            for name in libraries
        }
        for turn in turns.values():
            turn()  # leaves bytecode behind
        samples = interleave(turns, effort.processes)
        times = {name: Spread.of(values) for name, values in samples.items()}
        text = ", ".join(f"{name} {duration(one.median)}" for name, one in times.items())
        if "jax" in samples:
            pairs = zip(samples["jax"], samples[OURS], strict=True)
            ratio = Spread.of([theirs / ours for theirs, ours in pairs])
            text += f", ratio {ratio.median:.2f} ({ratio.least:.2f}-{ratio.most:.2f})"
        print(f"{what if what == 'import' else 'first call of ' + what}: {text}", flush=True)


if __name__ == "__main__":
    main()
