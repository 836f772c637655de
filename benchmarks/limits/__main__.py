"""Kernels beside C written by hand: ``python -m benchmarks.limits``.

The exit code is 1 where one of ours takes more than `LIMIT` times as long as C, the geometric mean is above
`MEAN`, or values disagree.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import shutil
import sys
from collections.abc import Iterable
from typing import Final

from tracejit.runtime.threads import available_cores

from .. import report
from ..contest import Contest, Outcome
from ..libraries import HANDWRITTEN, OURS
from ..timing import CLOCKS, FULL, QUICK
from ..workloads import GROUPS, chosen, only_option
from .c_library import COMPILER

#: The largest ratio of our time to C's, and of their geometric mean.
LIMIT: Final = 1.25
MEAN: Final = 1.0
_WIDTHS: Final = (16, 14, 14, 22, 7)


def geometric_mean(ratios: Iterable[float]) -> float:
    """The geometric mean of ratios."""
    logarithms = [math.log(ratio) for ratio in ratios]
    return math.exp(sum(logarithms) / len(logarithms))


def ours_over_c(outcome: Outcome) -> tuple[float, float, float] | None:
    """The ratio of our time to C's with its extremes over rounds, None where one of the two failed."""
    ratio = outcome.ratios.get(HANDWRITTEN)
    return None if ratio is None else (1 / ratio.median, 1 / ratio.most, 1 / ratio.least)


def row(outcome: Outcome) -> str:
    """A kernel's line: both times with their numbers of threads, the ratio, and the verdict."""
    name, ratio = outcome.workload.name, ours_over_c(outcome)
    if ratio is None:
        return report.line((name, "failed", "", "", "MISSED"), _WIDTHS)
    times = [
        f"{report.duration(outcome.seconds[library].median)}/{outcome.threads[library]}"
        for library in (OURS, HANDWRITTEN)
    ]
    median, least, most = ratio
    verdict = "ok" if median <= LIMIT else "MISSED"
    return report.line((name, *times, f"{median:.2f} ({least:.2f}-{most:.2f})", verdict), _WIDTHS)


def summary(outcomes: Iterable[Outcome]) -> tuple[list[str], bool]:
    """The last lines, and whether the goal is reached."""
    ratios = {
        outcome.workload.name: ratio[0] for outcome in outcomes if (ratio := ours_over_c(outcome)) is not None
    }
    if not ratios:
        return ["nothing was measured"], False
    over = sorted(((ratio, name) for name, ratio in ratios.items() if ratio > LIMIT), reverse=True)
    mean = geometric_mean(ratios.values())
    lines = [
        f"ours / C: geometric mean {mean:.2f} of {len(ratios)} kernels, goal {MEAN:g} or less: "
        + ("ok" if mean <= MEAN else "MISSED"),
        f"over {LIMIT:g}: {len(over)}, goal none"
        + "".join(f"\n  {name}: {ratio:.2f}" for ratio, name in over),
    ]
    return lines, mean <= MEAN and not over


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.limits", description="kernels beside C")
    only_option(parser)
    parser.add_argument("--quick", action="store_true", help="few and short turns")
    cores = ",".join(map(str, sorted({1, available_cores()})))
    parser.add_argument("--threads", metavar="1,2", default=cores, help="the numbers of threads to try")
    parser.add_argument(
        "--clock",
        choices=tuple(CLOCKS),
        default="wall",
        help="what is measured: processor time of all threads suits --threads 1 on a busy machine",
    )
    options = parser.parse_args()
    options.workloads = chosen(parser, options.only, GROUPS["c"])
    options.threads = tuple(int(count) for count in options.threads.split(","))
    options.effort = dataclasses.replace(QUICK if options.quick else FULL, clock=options.clock)
    return options


def main() -> int:
    """Run the chosen kernels and print their table."""
    options = _options()
    if shutil.which(COMPILER) is None:
        print(f"no {COMPILER} here: there is no C to compare with")
        return 0
    print(", ".join(f"{key} {value}" for key, value in report.machine().items()))
    outcomes: list[Outcome] = []
    with Contest((OURS, HANDWRITTEN), options.threads, options.effort) as contest:
        for name, version in contest.versions().items():
            print(name, version)
        heads = ("kernel", "ours", "C", "ours/C (min-max)", "goal")
        print("\nbeside each time, the number of threads\n")
        print(report.line(heads, _WIDTHS))
        print(report.line(["-" * width for width in _WIDTHS], _WIDTHS), flush=True)
        for workload in options.workloads:
            outcomes.append(contest.run(workload))
            print("\n".join([row(outcomes[-1]), *report.remarks(outcomes[-1])]), flush=True)
    lines, reached = summary(outcomes)
    print("", *lines, sep="\n")
    wrong = any(outcome.disagreements or outcome.failures for outcome in outcomes)
    return 0 if reached and not wrong else 1


if __name__ == "__main__":
    sys.exit(main())
