"""Every workload alone and beside a process that keeps one core busy: ``python -m benchmarks.busy``.

The exit code is 1 where one of ours is more than `LIMIT` times slower beside the other process.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final

from .contest import Contest
from .pairs import Pair, mean_turn, options, table
from .timing import Effort
from .workload import Workload

#: Slowdown that is too much.
LIMIT: Final = 2.5
#: A turn lasts for many of a scheduler's slices, which take some milliseconds.
FULL: Final = Effort(rounds=7, turn_seconds=0.2, processes=1)
QUICK: Final = Effort(rounds=3, turn_seconds=0.1, processes=1)


class Rival:
    """A process that keeps one core busy while it is let."""

    def __init__(self) -> None:
        self.process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
        self.process.send_signal(signal.SIGSTOP)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Context in which the process runs."""
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


def slowdown(contest: Contest, library: str, workload: Workload, rival: Rival) -> Pair:
    """Measure one library's workload: alone, beside the rival, and how many times slower that is."""
    effort = contest.effort
    alone = mean_turn(contest.worker(library, contest.threads[0]), workload, effort.turn_seconds)

    def beside() -> float:
        with rival.running():
            return alone()

    return Pair.of(library, alone, beside, effort.rounds, lambda free, loaded: loaded / free)


def run(workloads: Iterable[Workload], libraries: tuple[str, ...], threads: int, effort: Effort) -> list[str]:
    """Print the table; the names of our workloads that got too slow."""
    heads = ("alone", "beside", "slower (min-max)")
    rival = Rival()
    try:
        with Contest(libraries, (threads,), effort) as contest:
            return table(
                contest,
                workloads,
                heads,
                lambda *measured: slowdown(*measured, rival),
                lambda ratio: ratio > LIMIT,
            )
    finally:
        rival.close()


def main() -> int:
    """Run the chosen workloads."""
    _, arguments = options("busy", "workloads beside a process that keeps one core busy", (FULL, QUICK))
    failed = run(arguments.workloads, arguments.libraries, arguments.threads, arguments.effort)
    print(f"\nmore than {LIMIT} times slower: {', '.join(failed) or 'none'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
