"""Tables and charts of results that were written with ``--json``: ``python -m benchmarks.render FILE...``.

Several files are put together, workload by workload: peers that a later one has are added, with their ratios
to ours in their own run; times of ours and limits are the first one's.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from . import chart, report
from .contest import Outcome
from .libraries import LIBRARIES, OURS
from .page import page
from .timing import Spread
from .workload import Workload
from .workloads import WORKLOADS


def outcomes(files: list[dict[str, Any]]) -> list[tuple[Outcome, float | None]]:
    """The outcomes in the output of ``--json``, with their limits; workloads that are gone are left out."""
    workloads = {workload.name: workload for workload in WORKLOADS}
    outcomes_by_name: dict[str, tuple[Outcome, float | None]] = {}
    for record in [result for file in files for result in file["results"] if result["name"] in workloads]:
        read = _outcome(workloads[record["name"]], record)
        if record["name"] in outcomes_by_name:
            first, limit = outcomes_by_name[record["name"]]
            for name, ratio in read.ratios.items():
                if name not in first.ratios:
                    first.ratios[name] = ratio
                    first.seconds[name], first.threads[name] = read.seconds[name], read.threads[name]
                    first.first[name] = read.first[name]
            outcomes_by_name[record["name"]] = first, limit
        else:
            outcomes_by_name[record["name"]] = read, record["limit"]
    return list(outcomes_by_name.values())


def _outcome(workload: Workload, record: dict[str, Any]) -> Outcome:
    def spreads(kind: str) -> dict[str, Spread]:
        return {name: Spread(*values) for name, values in record[kind].items()}

    return Outcome(
        workload, spreads("seconds"), dict(record["threads"]), spreads("ratios"), dict(record["first"])
    )


def main() -> None:
    """Print the table of all workloads beside the best peer and the summary; write what is asked for."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.render", description="tables and charts of results"
    )
    parser.add_argument("files", metavar="FILE", type=Path, nargs="+", help="written with --json")
    parser.add_argument("--markdown", metavar="FILE", type=Path, help="write a table of all peers there")
    parser.add_argument("--svg", metavar="FILE", type=Path, help="write a chart there")
    parser.add_argument("--page", metavar="FILE", type=Path, help="write a page with all of it there")
    options = parser.parse_args()
    runs = [json.loads(file.read_text()) for file in options.files]
    results = outcomes(runs)
    alone = [outcome for outcome, _ in results]
    peers = [name for name in LIBRARIES[1:] if any(name in outcome.ratios for outcome in alone)]
    print(report.header())
    for outcome, limit in results:
        print(report.row(outcome, limit))
    print("", *report.summary(alone, peers), sep="\n")
    if options.markdown is not None:
        options.markdown.write_text(report.table(alone, peers) + "\n")
    if options.svg is not None:
        options.svg.write_text(chart.svg(alone, f"{OURS} beside its peers"))
    if options.page is not None:
        options.page.write_text(page(runs, results, peers))


if __name__ == "__main__":
    main()
