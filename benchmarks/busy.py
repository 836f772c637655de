"""Every workload alone and beside a process that keeps one core busy: ``python -m benchmarks.busy``.

Turns alternate: alone, beside the other process, and so on. A turn is the mean of its calls, not the least:
what a scheduler does to a call now and then is what is asked for. The exit code is 1 where one of ours is
more than `LIMIT` times slower beside the other process.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from tracejit.runtime.threads import available_cores

from .contest import Contest, Worker, answer
from .libraries import OURS, chosen_peers, peers_option
from .report import duration, line
from .timing import Effort, Spread, interleave
from .workload import Workload
from .workloads import chosen, only_option

#: How many times slower is too slow.
LIMIT: Final = 2.5
#: A turn lasts for many of a scheduler's slices, which take some milliseconds.
FULL: Final = Effort(rounds=7, turn_seconds=0.2, processes=1)
QUICK: Final = Effort(rounds=3, turn_seconds=0.1, processes=1)
_WIDTHS: Final = (19, 14, 12, 12, 22)
_HEADER: Final = ("workload", "library", "alone", "beside", "slower (min-max)")


class Rival:
    """A process that keeps one core busy while it is let."""

    def __init__(self) -> None:
        self.process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
        self.process.send_signal(signal.SIGSTOP)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Inside the ``with`` block it runs."""
        self.process.send_signal(signal.SIGCONT)
        try:
            time.sleep(0.01)  # until a core has it
            yield
        finally:
            self.process.send_signal(signal.SIGSTOP)

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()


@dataclass(frozen=True, slots=True)
class Slowdown:
    """Seconds per call of one library's workload, and how many times slower it was beside the rival."""

    library: str
    alone: Spread
    beside: Spread
    ratio: Spread

    def row(self, name: str) -> str:
        """The line of the table."""
        ratio = f"{self.ratio.median:.2f} ({self.ratio.least:.2f}-{self.ratio.most:.2f})"
        times = duration(self.alone.median), duration(self.beside.median)
        return line((name, self.library, *times, ratio), _WIDTHS)


def slowdown(worker: Worker, workload: Workload, rival: Rival, effort: Effort) -> Slowdown:
    """Measure one library's workload; RuntimeError where it fails."""
    answer(worker, "prepare", workload.name)

    def alone() -> float:
        return float(answer(worker, "mean", effort.turn_seconds)["seconds"])

    def beside() -> float:
        with rival.running():
            return alone()

    alone()
    samples = interleave({"alone": alone, "beside": beside}, effort.rounds)
    ratios = [two / one for one, two in zip(samples["alone"], samples["beside"], strict=True)]
    return Slowdown(
        worker.library, Spread.of(samples["alone"]), Spread.of(samples["beside"]), Spread.of(ratios)
    )


def run(workloads: Iterable[Workload], libraries: tuple[str, ...], threads: int, effort: Effort) -> list[str]:
    """Print the table; the names of our workloads that got too slow."""
    failed = []
    rival = Rival()
    try:
        with Contest(libraries, (threads,), effort) as contest:
            here = [name for name, version in contest.versions().items() if version]
            print(line(_HEADER, _WIDTHS) + "\n" + line(["-" * width for width in _WIDTHS], _WIDTHS))
            for workload in workloads:
                for library in filter(workload.entered, here):
                    found = slowdown(contest.worker(library, threads), workload, rival, effort)
                    print(found.row(workload.name), flush=True)
                    if library == OURS and found.ratio.median > LIMIT:
                        failed.append(workload.name)
    finally:
        rival.close()
    return failed


def main() -> int:
    """Run the chosen workloads."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.busy", description="workloads beside a process that keeps one core busy"
    )
    only_option(parser)
    parser.add_argument("--quick", action="store_true", help="few and short turns")
    peers_option(parser)
    parser.add_argument(
        "--threads", metavar="N", type=int, default=available_cores(), help="for every library"
    )
    options = parser.parse_args()
    peers = chosen_peers(parser, options.peers)
    workloads = chosen(parser, options.only)
    failed = run(workloads, (OURS, *peers), options.threads, QUICK if options.quick else FULL)
    print(f"\nmore than {LIMIT} times slower: {', '.join(failed) or 'none'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
