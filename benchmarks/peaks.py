"""Peak memory of jitted gradients, ours beside JAX's and torch.compile's: ``python -m benchmarks.peaks``.

Each library runs each workload in a process of its own. What is printed is the largest resident set during a
call (the kernel's high-water mark, reset before the call) over the resident set before: intermediate values
and results. The call is not the first one: code is compiled, threads run, and the results of the first call
are kept, so that no cache has their memory at hand; the allocator's free pages are given back before. Ours
keeps its arena between calls: what is called is a new jitted function of the same program, whose code comes
from the disk cache, and which has no arena yet. Reads ``/proc``, so it runs on Linux alone.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import importlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from tracejit.runtime.threads import available_cores

from .contest import ROOT, environment
from .libraries import COMPILED_TORCH, OURS, chosen_peers, load, peers_option
from .report import line
from .workload import Workload
from .workloads import WORKLOADS, chosen, only_option

#: Largest ratio of tracejit's peak to the best peer's.
LIMIT: Final = 1.2
#: Peaks below this are noise: Python objects, stacks, batches in which the kernel counts pages.
MIN_BYTES: Final = 2**20
PEERS: Final = ("jax", COMPILED_TORCH)
_STATUS: Final = Path("/proc/self/status")


def differentiates(workload: Workload) -> bool:
    """Whether it is a compiled gradient, or a training step."""
    return workload.compiled and (workload.gradient is not None or workload.name.startswith("mlp"))


def peak_of_call(workload: Workload, library: str) -> int | None:
    """Bytes of the peak of a call in this process, None where the library is not installed."""
    lib = load(library)
    if lib is None:
        return None
    if library.startswith("torch"):
        importlib.import_module("torch").set_num_threads(available_cores())
    arguments, f = workload.arguments(lib), workload.function(lib)

    def call() -> Any:
        result = f(*arguments)
        return result if lib.wait is None else lib.wait(result)

    kept = call()
    if lib.settle is not None:
        lib.settle()  # code is on disk once the background has made it
    if library == OURS:
        f = workload.function(lib)
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")  # the high-water mark begins anew: man 5 proc
    before = _bytes_of("VmRSS")
    results = call()
    peak = _bytes_of("VmHWM") - before
    del kept, results
    return peak


def _bytes_of(field: str) -> int:
    (status_line,) = [line for line in _STATUS.read_text().splitlines() if line.startswith(field)]
    return int(status_line.split()[1]) * 1024


def measure(workload: Workload, library: str) -> int | None:
    """Bytes of `peak_of_call` in a process of its own. RuntimeError where it fails."""
    with tempfile.TemporaryDirectory(prefix="tracejit-benchmarks-") as caches:
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.peaks", "--child", workload.name, library],
            capture_output=True,
            text=True,
            cwd=ROOT,
            env=environment(available_cores(), caches),
            check=False,
        )
    if done.returncode != 0:
        raise RuntimeError(f"{workload.name} of {library} failed:\n{done.stderr}")
    peak: int | None = json.loads(done.stdout.splitlines()[-1])
    return peak


def row(name: str, peaks: dict[str, int | None]) -> tuple[tuple[str, ...], bool]:
    """The cells of a workload's line, and whether ours takes too much."""
    cells = [name] + ["" if peak is None else f"{peak / 1e6:.1f} MB" for peak in peaks.values()]
    ours, others = peaks[OURS], [peak for key, peak in peaks.items() if key != OURS and peak is not None]
    if ours is None or not others:
        return (*cells, ""), False
    if ours < MIN_BYTES:
        return (*cells, "under 1 MB"), False
    ratio = ours / max(min(others), MIN_BYTES)
    return (*cells, f"{ratio:.2f}"), ratio > LIMIT


def main() -> int:
    """Print the table; the exit code is 1 where a peak of ours is above `LIMIT` times the best peer's."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peaks", description="peaks of gradients")
    only_option(parser)
    peers_option(parser, ",".join(PEERS))
    parser.add_argument("--child", nargs=2, metavar=("WORKLOAD", "LIBRARY"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child is not None:
        name, library = options.child
        print(
            json.dumps(
                peak_of_call(next(workload for workload in WORKLOADS if workload.name == name), library)
            )
        )
        return 0
    peers = chosen_peers(parser, options.peers)
    header = ("workload", OURS, *peers, "ours / best")
    widths = [20] + [14] * (len(header) - 1)
    print(line(header, widths) + "\n" + line(["-" * width for width in widths], widths))
    failed = []
    for workload in chosen(parser, options.only):
        if not options.only and not differentiates(workload):
            continue
        entered = [name for name in (OURS, *peers) if workload.entered(name)]
        peaks = dict.fromkeys((OURS, *peers)) | {name: measure(workload, name) for name in entered}
        cells, bad = row(workload.name, peaks)
        print(line(cells, widths), flush=True)
        failed += [workload.name] * bad
    print(f"\nmore than {LIMIT} times the best peer's peak: {', '.join(failed) or 'none'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
