"""Workloads measured in two ways, turn by turn: what `busy` and `scaling` share.

A turn is the mean of its calls, not the least: what a scheduler does to a call now and then is what they ask
for.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Self

from tracejit.runtime.threads import available_cores

from .contest import Contest, Worker, answer
from .libraries import OURS, chosen_peers, peers_option
from .report import duration, line
from .timing import Effort, Spread, Turn, interleave
from .workload import Workload
from .workloads import chosen, only_option

_WIDTHS: Final = (19, 14, 12, 12, 22)


@dataclass(frozen=True, slots=True)
class Pair:
    """Seconds per call of one library's workload in both ways, and the ratio of the same round."""

    library: str
    one: Spread
    other: Spread
    ratio: Spread

    @classmethod
    def of(
        cls, library: str, one: Turn, other: Turn, rounds: int, ratio: Callable[[float, float], float]
    ) -> Self:
        """Measure both in alternating turns, after one turn of each."""
        one(), other()
        mine, theirs = interleave({"one": one, "other": other}, rounds).values()
        ratios = [ratio(a, b) for a, b in zip(mine, theirs, strict=True)]
        return cls(library, Spread.of(mine), Spread.of(theirs), Spread.of(ratios))

    def row(self, name: str) -> str:
        """The line of the table."""
        ratio = f"{self.ratio.median:.2f} ({self.ratio.least:.2f}-{self.ratio.most:.2f})"
        return line(
            (name, self.library, duration(self.one.median), duration(self.other.median), ratio), _WIDTHS
        )


Measure = Callable[[Contest, str, Workload], Pair]


def mean_turn(worker: Worker, workload: Workload, seconds: float) -> Turn:
    """Prepare a workload; a turn of it. RuntimeError where the library fails."""
    answer(worker, "prepare", workload.name)
    return lambda: float(answer(worker, "mean", seconds)["seconds"])


def table(
    contest: Contest,
    workloads: Iterable[Workload],
    heads: tuple[str, str, str],
    measure: Measure,
    bad: Callable[[float], bool],
) -> list[str]:
    """Print a line for each workload and library; the names of our workloads whose ratio is `bad`."""
    failed = []
    here = [name for name, version in contest.versions().items() if version]
    print(line(("workload", "library", *heads), _WIDTHS))
    print(line(["-" * width for width in _WIDTHS], _WIDTHS))
    for workload in workloads:
        for library in filter(workload.entered, here):
            pair = measure(contest, library, workload)
            print(pair.row(workload.name), flush=True)
            if library == OURS and bad(pair.ratio.median):
                failed.append(workload.name)
    return failed


def options(
    prog: str, description: str, efforts: tuple[Effort, Effort]
) -> tuple[argparse.ArgumentParser, argparse.Namespace]:
    """The command line: `workloads`, `libraries`, `threads`, and `effort`, the second with ``--quick``."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{prog}", description=description)
    only_option(parser)
    parser.add_argument("--quick", action="store_true", help="few and short turns")
    peers_option(parser)
    parser.add_argument(
        "--threads", metavar="N", type=int, default=available_cores(), help="for every library"
    )
    arguments = parser.parse_args()
    arguments.libraries = (OURS, *chosen_peers(parser, arguments.peers))
    arguments.workloads = chosen(parser, arguments.only)
    arguments.effort = efforts[arguments.quick]
    return parser, arguments
