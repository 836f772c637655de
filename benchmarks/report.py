"""Outcomes as Markdown and as JSON."""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import Any, Final

from .contest import Outcome
from .libraries import COMPILED_TORCH, OURS
from .timing import Spread

_WIDTHS: Final = (19, 14, 26, 19, 8, 8)
#: Goals for the ratio of a peer's first call to tracejit's, by peer.
FIRST_CALL_GOALS: Final = {"jax": 3.0, COMPILED_TORCH: 100.0, "numba": 5.0}
HEADER: Final = ("workload", OURS, "best peer", "peer/ours (min-max)", "of limit", "goal")


def line(cells: Iterable[str], widths: Iterable[int]) -> str:
    """A line of a Markdown table whose columns are so wide."""
    return "| " + " | ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)) + " |"


def header() -> str:
    """The head of the table that a run prints."""
    return line(HEADER, _WIDTHS) + "\n" + line(["-" * width for width in _WIDTHS], _WIDTHS)


def row(outcome: Outcome, limit: float | None) -> str:
    """A workload's line: ours, the best peer, their ratio, and the limit's share of our time."""
    name, best, ratio = outcome.workload.name, outcome.best_peer, outcome.ratio
    if OURS not in outcome.seconds:
        return line((name, "failed", "", "", "", "MISSED"), _WIDTHS)
    mine = outcome.seconds[OURS].median
    ours = f"{duration(mine)}/{outcome.threads[OURS]}"
    share = "" if limit is None else f"{limit / mine:.0%}"
    if best is None or ratio is None:
        return line((name, ours, "", "", share, ""), _WIDTHS)
    theirs = f"{best} {duration(outcome.seconds[best].median)}/{outcome.threads[best]}"
    return line((name, ours, theirs, _ratio(ratio), share, _goal(outcome)), _WIDTHS)


def table(outcomes: list[Outcome], peers: list[str]) -> str:
    """A Markdown table of every peer's ratio, and of first calls."""
    compilers = [peer for peer in peers if peer in FIRST_CALL_GOALS]
    heads = ["workload", OURS, *peers, "first call", *(f"{peer}'s / ours" for peer in compilers)]
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for outcome in outcomes:
        cells = [f"`{outcome.workload.name}`"]
        cells.append(duration(outcome.seconds[OURS].median) if OURS in outcome.seconds else "failed")
        for peer in peers:
            ratio = outcome.ratios.get(peer)
            text = "" if ratio is None else f"{ratio.median:.2f}"
            cells.append(f"**{text}**" if ratio is not None and ratio.median < 1 else text)
        shown = outcome.workload.compiled and OURS in outcome.first
        cells.append(duration(outcome.first[OURS]) if shown else "")
        for peer in compilers:
            ratio_of_first = first_call_ratio(outcome, peer)
            cells.append("" if ratio_of_first is None else f"{ratio_of_first:.1f}")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def first_call_ratio(outcome: Outcome, peer: str) -> float | None:
    """The peer's first call over ours, None where nothing is compiled or one of the two is missing."""
    if not outcome.workload.compiled or OURS not in outcome.first or peer not in outcome.first:
        return None
    return outcome.first[peer] / outcome.first[OURS]


def summary(outcomes: list[Outcome], peers: list[str]) -> list[str]:
    """Geometric means, first calls, and how many workloads are slower than the best peer."""
    lines = []
    for peer in peers:
        ratios = [outcome.ratios[peer].median for outcome in outcomes if peer in outcome.ratios]
        if ratios:
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            lines.append(f"{peer}: geometric mean {mean:.2f} of {len(ratios)} workloads")
    for peer in [peer for peer in peers if peer in FIRST_CALL_GOALS]:
        lines += _first_calls(outcomes, peer)
    missed = [
        (ratio, outcome.workload.name, peer, goal)
        for outcome in outcomes
        for peer, ratio, goal in outcome.goals
        if ratio < goal
    ]
    behind = {name for _, name, _, _ in missed}
    lines.append(f"behind the goal: {len(behind)} of {len(outcomes)} workloads")
    lines += [
        f"  {name}: {ratio:.2f} of {peer}'s time, goal {goal:g}" for ratio, name, peer, goal in sorted(missed)
    ]
    return lines


def _first_calls(outcomes: list[Outcome], peer: str) -> list[str]:
    """Ratio of a peer's first calls to tracejit's, and where that is below the goal."""
    first_calls = {outcome.workload.name: first_call_ratio(outcome, peer) for outcome in outcomes}
    ratios = {name: ratio for name, ratio in first_calls.items() if ratio is not None}
    if not ratios:
        return []
    goal, mean = FIRST_CALL_GOALS[peer], math.exp(sum(map(math.log, ratios.values())) / len(ratios))
    below = sorted((ratio, name) for name, ratio in ratios.items() if ratio < goal)
    where = f"below in {len(below)} of {len(ratios)}"
    return [f"first calls: {peer} takes {mean:.1f} times ours, goal {goal:g}; {where}"] + [
        f"  {name}: {ratio:.1f}" for ratio, name in below
    ]


def remarks(outcome: Outcome) -> list[str]:
    """Failures and values that differ."""
    name = outcome.workload.name
    failures = [f"{name}: {failure}" for failure in outcome.failures]
    return failures + [f"{name}: DISAGREES with {disagreement}" for disagreement in outcome.disagreements]


def _ratio(ratio: Spread) -> str:
    return f"{ratio.median:.2f} ({ratio.least:.2f}-{ratio.most:.2f})"


def _goal(outcome: Outcome) -> str:
    (_, ratio, goal), *others = outcome.goals
    return ", ".join(
        [f"{goal:g}: {_reached(ratio, goal)}"]
        + [f"{peer} {goal:g}: {_reached(ratio, goal)} ({ratio:.2f})" for peer, ratio, goal in others]
    )


def _reached(ratio: float, goal: float) -> str:
    return "ok" if ratio >= goal else "MISSED"


def duration(seconds: float) -> str:
    """Seconds with three digits and a unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if abs(seconds) >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def machine() -> dict[str, Any]:
    """Description of the machine, the date, and how busy the machine is."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [line.split(":")[1].strip() for line in info.read_text().splitlines() if "model name" in line]
        model = names[0] if names else model
    return {
        "date": date.today().isoformat(),
        "cpu": model,
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "python": platform.python_version(),
    }


def as_json(outcome: Outcome, limit: float | None) -> dict[str, Any]:
    """An outcome for ``--json``; spreads are [median, least, most]."""

    def spread(seconds: Spread) -> list[float]:
        return [seconds.median, seconds.least, seconds.most]

    return {
        "name": outcome.workload.name,
        "what": outcome.workload.what,
        "seconds": {name: spread(second) for name, second in outcome.seconds.items()},
        "threads": outcome.threads,
        "ratios": {name: spread(ratio) for name, ratio in outcome.ratios.items()},
        "first": outcome.first,
        "limit": limit,
        "goal": outcome.workload.goal,
        "against": outcome.workload.against,
        "goals": outcome.workload.goals,
        "disagreements": outcome.disagreements,
        "failures": outcome.failures,
    }
