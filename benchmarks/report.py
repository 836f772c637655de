"""Results as a table that is Markdown too, and as JSON."""

from __future__ import annotations

import os
import platform
from datetime import date
from pathlib import Path
from typing import Any, Final

from .libraries import OURS, load
from .run import Outcome
from .timing import Spread

_WIDTHS: Final = (21, 10, 15, 19, 17)
HEADER: Final = ("workload", "tracejit", "peer", "peer/ours (min-max)", "target")


def row(*cells: str) -> str:
    """One line of the table."""
    return "| " + " | ".join(cell.ljust(width) for cell, width in zip(cells, _WIDTHS, strict=True)) + " |"


def rule() -> str:
    """The line under the table's head."""
    return row(*["-" * width for width in _WIDTHS])


def rows(outcome: Outcome) -> list[str]:
    """A workload's lines: one for each peer, or one without."""
    name, ours, target = outcome.workload.name, duration(outcome.seconds[OURS].median), _target(outcome)
    lines = []
    for peer, ratio in outcome.ratios.items():
        theirs = f"{peer} {duration(outcome.seconds[peer].median)}"
        lines.append(row(name, ours, theirs, _ratio(ratio), target))
        name = ours = target = ""
    return lines or [row(name, ours, "", "", target)]


def notes(outcome: Outcome) -> list[str]:
    """What else there is to say: throughput, phases, disagreements."""
    found = []
    if outcome.workload.traffic:
        rates = [
            f"{name} {outcome.workload.traffic / one.median / 1e9:.1f}"
            for name, one in outcome.seconds.items()
        ]
        found.append(f"{outcome.workload.name}: GB/s: {', '.join(rates)}")
    if outcome.notes:
        found.append(f"{outcome.workload.name}: {outcome.notes}")
    return found + [f"{outcome.workload.name}: DISAGREES with {one}" for one in outcome.disagreements]


def _ratio(ratio: Spread) -> str:
    return f"{ratio.median:.2f} ({ratio.least:.2f}-{ratio.most:.2f})"


def _target(outcome: Outcome) -> str:
    target = outcome.workload.target
    if target is None:
        return ""
    text = f"<= {target.peer}" if target.seconds is None else f"< {duration(target.seconds)}"
    return f"{text}: {'not known' if outcome.met is None else 'ok' if outcome.met else 'MISSED'}"


def duration(seconds: float) -> str:
    """Seconds with three digits and a unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if abs(seconds) >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def machine() -> dict[str, Any]:
    """Where and when this runs, and how busy it is."""
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


def versions(names: list[str]) -> dict[str, str | None]:
    """Versions of the libraries, None for what is not installed."""
    return {name: None if (lib := load(name)) is None else lib.version for name in names}


def as_json(outcome: Outcome) -> dict[str, Any]:
    """An outcome for ``--json``; seconds are [median, least, most]."""
    workload = outcome.workload
    return {
        "name": workload.name,
        "what": workload.what,
        "seconds": {name: [one.median, one.least, one.most] for name, one in outcome.seconds.items()},
        "ratios": {name: [one.median, one.least, one.most] for name, one in outcome.ratios.items()},
        "target": None
        if workload.target is None
        else {"seconds": workload.target.seconds, "peer": workload.target.peer},
        "met": outcome.met,
        "disagreements": outcome.disagreements,
        "notes": outcome.notes,
    }
