"""Cost of starting, in fresh processes: ``python -m benchmarks.start``.

Imports, less numpy's own, and first calls in a process that has compiled nothing: loading LLVM or XLA is in
it. With ``--warm`` what a first call takes beyond running, with an empty disk cache and with one that an
earlier process has filled. The child is this module too: ``python -m benchmarks.start WORKLOAD LIBRARY``.
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
from .report import duration, line
from .timing import FULL, QUICK, Spread, interleave
from .workloads import WORKLOADS, chosen, only_option

#: Workloads whose first calls are measured.
FIRST: Final = ("expression", "mlp-large")
#: Workloads of ``--warm``, where a warm process is to take at most `WARM` of a cold one's time.
WARMED: Final = (
    "expression", "rosenbrock-16", "softmax-grad", "layernorm-grad", "mlp-small", "mlp-large",
    "attention-grad", "gravity-grad", "heat-grad", "lorenz-grad", "scan-60-grad", "kalman-grad", "lstm-grad",
    "conv-3x3-grad",
)  # fmt: skip
WARM: Final = 0.1
#: Later calls, of which the quickest is what running takes.
_REPEATED: Final = 3


@functools.cache
def _environment() -> dict[str, str]:
    """The environment of children. They keep bytecode, as installed packages do, and compiled code, in a
    folder of their own, whatever settings this process has.

    Where PYTHONDONTWRITEBYTECODE is set or the tree is read-only, each would compile source again.
    """
    folder = tempfile.TemporaryDirectory(prefix="tracejit-benchmarks-")
    atexit.register(folder.cleanup)
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in ("PYTHONDONTWRITEBYTECODE", "TRACEJIT_CACHE", "TRACEJIT_TIERS", "TRACEJIT_VERIFY")
    }
    return {**kept, "PYTHONPYCACHEPREFIX": folder.name}


def run_child(*arguments: str, cache: str | None = None) -> subprocess.CompletedProcess[str]:
    """A Python process that finds what this one finds: tracejit from the working tree or installed. Its disk
    cache is the folder `cache`, by default an empty one."""
    with tempfile.TemporaryDirectory(prefix="tracejit-benchmarks-") as empty:
        done = subprocess.run(
            [sys.executable, *arguments],
            capture_output=True,
            text=True,
            cwd=ROOT,
            env={**_environment(), "TRACEJIT_CACHE_DIR": cache or empty},
            check=False,
        )
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(arguments)} failed:\n{done.stderr}")
    return done


def first_call(workload: str, library: str, cache: str | None = None) -> tuple[float, float]:
    """Seconds of the first call in a fresh process, after the library's import, and of a later one."""
    answer: dict[str, Any] = json.loads(
        run_child("-m", "benchmarks.start", workload, library, cache=cache).stdout
    )
    return float(answer["seconds"]), float(answer["running"])


def cold_and_warm(workload: str) -> tuple[float, float]:
    """Seconds of a first call beyond running, with an empty disk cache and with one that is filled."""
    with tempfile.TemporaryDirectory(prefix="tracejit-benchmarks-") as cache:
        cold, warm = (first_call(workload, OURS, cache) for _ in range(2))
    running = min(cold[1], warm[1])
    return cold[0] - running, warm[0] - running


def import_seconds(module: str) -> float:
    """Seconds that a fresh process takes to import `module`, less those that another takes for numpy."""
    return _import_seconds(module) - _import_seconds("numpy")


def _import_seconds(module: str) -> float:
    for text in reversed(run_child("-X", "importtime", "-c", f"import {module}").stderr.splitlines()):
        # import time: self [us] | cumulative | name, indented by depth
        parts = text.removeprefix("import time:").split("|")
        if len(parts) == 3 and parts[2].strip() == module:
            return int(parts[1]) * 1e-6
    raise RuntimeError(f"python -X importtime does not name {module}")


def _child(name: str, library: str) -> None:
    workload = next(workload for workload in WORKLOADS if workload.name == name)
    lib = load(library)
    assert lib is not None, f"{library} is not installed"
    args, f = workload.arguments(lib), workload.function(lib)
    start = time.perf_counter()
    result = f(*args)
    if lib.wait is not None:
        lib.wait(result)
    seconds = running = time.perf_counter() - start
    if lib.settle is not None:
        lib.settle()
    for _ in range(_REPEATED):
        start = time.perf_counter()
        result = f(*args)
        if lib.wait is not None:
            lib.wait(result)
        running = min(running, time.perf_counter() - start)
    print(json.dumps({"seconds": seconds, "running": running}))


def _warm(names: list[str], processes: int) -> int:
    """The table of ``--warm``; 1 where a warm process takes more than `WARM` of the cold time."""
    widths = [20, 10, 10, 24]
    print(line(("workload", "cold", "warm", "warm / cold"), widths))
    print(line(["-" * width for width in widths], widths))
    failed = []
    for name in names:
        cold_and_warm(name)  # leaves bytecode behind
        pairs = [cold_and_warm(name) for _ in range(processes)]
        cold, warm = (Spread.of(list(samples)) for samples in zip(*pairs, strict=True))
        ratio = Spread.of([pair[1] / pair[0] for pair in pairs])
        text = f"{ratio.median:.3f} ({ratio.least:.3f}-{ratio.most:.3f})"
        print(line((name, duration(cold.median), duration(warm.median), text), widths), flush=True)
        failed += [name] * (ratio.median > WARM)
    print(f"\nabove {WARM}: {', '.join(failed) or 'none'}")
    return 1 if failed else 0


def main() -> int:
    """Measure, or be the process that is measured."""
    if len(sys.argv) == 3 and not sys.argv[1].startswith("-"):
        _child(*sys.argv[1:])
        return 0
    parser = argparse.ArgumentParser(prog="python -m benchmarks.start", description="imports and first calls")
    parser.add_argument("--quick", action="store_true", help="one process each")
    parser.add_argument(
        "--warm", action="store_true", help="first calls of ours, without and with a disk cache"
    )
    only_option(parser)
    options = parser.parse_args()
    effort = QUICK if options.quick else FULL
    if options.warm:
        names = [workload.name for workload in chosen(parser, options.only)] if options.only else list(WARMED)
        return _warm(names, effort.processes)
    libraries = [name for name in (OURS, "jax") if load(name) is not None]
    for what in ("import", *FIRST):
        turns = {
            name: (lambda name=name: import_seconds(name))
            if what == "import"
            else (lambda name=name, what=what: first_call(what, name)[0])
            for name in libraries
        }
        for turn in turns.values():
            turn()  # leaves bytecode behind
        samples = interleave(turns, effort.processes)
        times = {name: Spread.of(values) for name, values in samples.items()}
        text = ", ".join(f"{name} {duration(time.median)}" for name, time in times.items())
        if "jax" in samples:
            pairs = zip(samples["jax"], samples[OURS], strict=True)
            ratio = Spread.of([theirs / ours for theirs, ours in pairs])
            text += f", ratio {ratio.median:.2f} ({ratio.least:.2f}-{ratio.most:.2f})"
        print(f"{what if what == 'import' else 'first call of ' + what}: {text}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
