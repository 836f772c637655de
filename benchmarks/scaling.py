"""Every workload on one thread and on all cores: ``python -m benchmarks.scaling``.

The exit code is 1 where one of ours takes more than `LIMIT` times as long on all cores as on one: work that
is too small for threads should not get any.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Iterable
from typing import Final

from .contest import Contest
from .pairs import Pair, mean_turn, options, table
from .timing import Effort
from .workload import Workload

#: Ratio of times that is too long; less is noise.
LIMIT: Final = 1.1
FULL: Final = Effort(rounds=7, turn_seconds=0.1, processes=1)
QUICK: Final = Effort(rounds=3, turn_seconds=0.05, processes=1)


def speedup(contest: Contest, library: str, workload: Workload) -> Pair:
    """Measure one library's workload: on one thread, on all, and how many times faster that is."""
    effort = contest.effort
    turns = [mean_turn(contest.worker(library, n), workload, effort.turn_seconds) for n in contest.threads]
    return Pair.of(library, *turns, effort.rounds, operator.truediv)


def run(workloads: Iterable[Workload], libraries: tuple[str, ...], threads: int, effort: Effort) -> list[str]:
    """Print the table; the names of our workloads that are slower on all cores."""
    heads = ("1 thread", f"{threads} threads", "faster (min-max)")
    with Contest(libraries, (1, threads), effort) as contest:
        return table(contest, workloads, heads, speedup, lambda ratio: ratio < 1 / LIMIT)


def main() -> int:
    """Run the chosen workloads."""
    parser, arguments = options("scaling", "workloads on one thread and on all cores", (FULL, QUICK))
    if arguments.threads < 2:
        parser.error("there is nothing to compare on one core; --threads N takes more")
    failed = run(arguments.workloads, arguments.libraries, arguments.threads, arguments.effort)
    print(f"\nslower on {arguments.threads} threads: {', '.join(failed) or 'none'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
