"""Every workload on one thread and on all cores: ``python -m benchmarks.scaling``.

Turns alternate between two processes of a library. A turn is the mean of its calls, not the least: threads
that are woken too late now and then count. The exit code is 1 where one of ours takes more than `LIMIT` times
as long on all cores as on one: work that is too small for threads should not get any.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from tracejit.runtime.threads import available_cores

from .contest import Contest, answer
from .libraries import OURS, chosen_peers, peers_option
from .report import duration, line
from .timing import Effort, Spread, interleave
from .workload import Workload
from .workloads import chosen, only_option

#: How many times as long is too long; less is noise.
LIMIT: Final = 1.1
FULL: Final = Effort(rounds=7, turn_seconds=0.1, processes=1)
QUICK: Final = Effort(rounds=3, turn_seconds=0.05, processes=1)
_WIDTHS: Final = (19, 14, 12, 12, 22)


@dataclass(frozen=True, slots=True)
class Speedup:
    """Seconds per call of one library's workload on one thread and on all, and the ratio of both."""

    library: str
    one: Spread
    all: Spread
    ratio: Spread

    def row(self, name: str) -> str:
        """The line of the table."""
        ratio = f"{self.ratio.median:.2f} ({self.ratio.least:.2f}-{self.ratio.most:.2f})"
        return line(
            (name, self.library, duration(self.one.median), duration(self.all.median), ratio), _WIDTHS
        )


def speedup(contest: Contest, library: str, workload: Workload) -> Speedup:
    """Measure one library's workload; RuntimeError where it fails."""
    effort = contest.effort
    workers = {str(threads): contest.worker(library, threads) for threads in contest.threads}
    for worker in workers.values():
        answer(worker, "prepare", workload.name)

    turns = {
        name: lambda worker=worker: float(answer(worker, "mean", effort.turn_seconds)["seconds"])
        for name, worker in workers.items()
    }
    for turn in turns.values():
        turn()
    one, every = interleave(turns, effort.rounds).values()
    ratios = [alone / together for alone, together in zip(one, every, strict=True)]
    return Speedup(library, Spread.of(one), Spread.of(every), Spread.of(ratios))


def run(workloads: Iterable[Workload], libraries: tuple[str, ...], threads: int, effort: Effort) -> list[str]:
    """Print the table; the names of our workloads that are slower on all cores."""
    failed = []
    header = ("workload", "library", "1 thread", f"{threads} threads", "faster (min-max)")
    with Contest(libraries, (1, threads), effort) as contest:
        here = [name for name, version in contest.versions().items() if version]
        print(line(header, _WIDTHS) + "\n" + line(["-" * width for width in _WIDTHS], _WIDTHS))
        for workload in workloads:
            for library in filter(workload.entered, here):
                found = speedup(contest, library, workload)
                print(found.row(workload.name), flush=True)
                if library == OURS and found.ratio.median < 1 / LIMIT:
                    failed.append(workload.name)
    return failed


def main() -> int:
    """Run the chosen workloads."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.scaling", description="workloads on one thread and on all cores"
    )
    only_option(parser)
    parser.add_argument("--quick", action="store_true", help="few and short turns")
    peers_option(parser)
    parser.add_argument("--threads", metavar="N", type=int, default=available_cores(), help="beside one")
    options = parser.parse_args()
    if options.threads < 2:
        parser.error("there is nothing to compare on one core; --threads N takes more")
    peers = chosen_peers(parser, options.peers)
    workloads = chosen(parser, options.only)
    failed = run(workloads, (OURS, *peers), options.threads, QUICK if options.quick else FULL)
    print(f"\nslower on {options.threads} threads: {', '.join(failed) or 'none'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
