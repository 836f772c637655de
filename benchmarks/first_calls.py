"""First calls of plain loops beside Numba's: ``python -m benchmarks.first_calls``.

What is measured, of both: processor time of the calling thread, from the call of a function that was just
decorated to its result. So reading the source, tracing or type inference, LLVM and the first run count,
and what is compiled in the background does not. Processes are fresh, their disk caches empty and bytecode is
there; each has compiled some other loops before, so that no row pays for what is loaded once. The least of
several processes counts, in which the libraries take turns. The child is this module too.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Final

from .libraries import OURS, load
from .report import duration, line
from .start import run_child
from .worker import _warm_up
from .workloads import GROUPS, only_option

#: Compiled before the others, and not measured.
_BEFORE: Final = ("loop-histogram", "loop-collatz", "loop-windows")
#: Numba's time over ours that was asked for.
_GOALS: Final = {
    f"loop-{name}": 10.0
    for name in ("squares", "logistic", "recurrence", "edit", "warping", "viterbi", "tridiagonal")
}
_GOAL: Final = 5.0
_NUMBA: Final = "numba"


def _names(only: list[str] | None) -> list[str]:
    """Loops whose value is measured beside Numba's without its threads."""
    return [
        workload.name
        for workload in GROUPS[_NUMBA]
        if workload.numba is not None
        and workload.name not in _BEFORE
        and not workload.name.endswith("-parallel")
        and (not only or workload.name.startswith(tuple(only)))
    ]


def _child(library: str, names: list[str]) -> None:
    """Print the seconds of the first call of each workload, and of a later one."""
    lib = load(library)
    assert lib is not None, f"{library} is not installed"
    _warm_up(lib)
    table = {workload.name: workload for workload in GROUPS[_NUMBA]}
    seconds = {}
    for name in (*_BEFORE, *names):
        args, f = table[name].arguments(lib), table[name].function(lib)
        start = time.thread_time()
        f(*args)
        first = time.thread_time() - start
        if lib.settle is not None:
            lib.settle()
        f(*args)
        start = time.thread_time()
        f(*args)
        seconds[name] = first, time.thread_time() - start
    print(json.dumps({name: seconds[name] for name in names}))


def main() -> int:
    """Measure, or be the process that is measured."""
    if sys.argv[1:2] == ["--child"]:
        _child(sys.argv[2], sys.argv[3:])
        return 0
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.first_calls", description="first calls of loops"
    )
    parser.add_argument("--processes", type=int, default=5, help="fresh processes of each library")
    only_option(parser)
    options = parser.parse_args()
    names = _names(options.only)
    if not names:
        parser.error("no such workload")
    libraries = [name for name in (OURS, _NUMBA) if load(name) is not None]
    least: dict[tuple[str, str], tuple[float, float]] = {}
    for number in range(options.processes + 1):
        for library in libraries:
            done = run_child("-m", "benchmarks.first_calls", "--child", library, *names)
            if number == 0:
                continue  # leaves bytecode behind
            for name, pair in json.loads(done.stdout).items():
                before = least.get((library, name), pair)
                least[library, name] = (min(before[0], pair[0]), min(before[1], pair[1]))
    widths = [18, 14, 14, 10, 10]
    print(line(("loops", *[f"{name}, run" for name in (OURS, _NUMBA)], "Numba/ours", "goal"), widths))
    print(line(["-" * width for width in widths], widths))
    for name in names:
        cells = [
            ", ".join(map(duration, least[library, name])) if library in libraries else ""
            for library in (OURS, _NUMBA)
        ]
        goal = _GOALS.get(name, _GOAL)
        ratio = least[_NUMBA, name][0] / least[OURS, name][0] if _NUMBA in libraries else 0.0
        verdict = f"{goal:g}: {'ok' if ratio >= goal else 'MISSED'}" if ratio else ""
        print(line((name, *cells, f"{ratio:.1f}" if ratio else "", verdict), widths), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
