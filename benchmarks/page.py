"""The page of results: when and where, means, a chart, and the tables."""

from __future__ import annotations

from typing import Any

from . import report
from .contest import Outcome


def page(runs: list[dict[str, Any]], outcomes: list[tuple[Outcome, float | None]], peers: list[str]) -> str:
    """Markdown of what `runs` (files of ``--json``) found; `found` are their outcomes together, with limits.

    The chart is expected beside it, as ``results.svg``.
    """
    alone = [outcome for outcome, _ in outcomes]
    machine, versions = runs[0]["machine"], {k: v for run in runs for k, v in run["versions"].items() if v}
    lines = [
        "# Results",
        "",
        "Written by `python -m benchmarks.render`; [README.md](README.md) says how it is measured.",
        "",
        ", ".join(f"{key} {value}" for key, value in machine.items())
        + "; "
        + ", ".join(f"{name} {version}" for name, version in versions.items())
        + ".",
        "",
        *(f"- {line}" for line in report.summary(alone, peers) if not line.startswith(" ")),
        "",
        "![Every workload: the time of each peer over ours](results.svg)",
        "",
        "## Beside the best peer",
        "",
        "Behind each time, the number of threads.",
        "",
        "| " + " | ".join(report.HEADER) + " |",
        "|" + "---|" * len(report.HEADER),
        *(_squeezed(report.row(outcome, limit)) for outcome, limit in outcomes),
        "",
        "## Every peer, and first calls",
        "",
        "Peers' times over ours; bold is where ours is slower.",
        "",
        report.table(alone, peers),
    ]
    return "\n".join(lines) + "\n"


def _squeezed(row: str) -> str:
    """A row of the printed table without its padding, the name as code."""
    name, *cells = [cell.strip() for cell in row.strip("|").split(" | ")]
    return "| " + " | ".join([f"`{name}`", *cells]) + " |"
