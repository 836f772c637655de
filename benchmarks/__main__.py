"""The command line of the benchmarks. The exit code is 1 where values disagree or a library fails; goals that
are missed do not change it."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

from . import chart, report
from .contest import Contest, Outcome
from .libraries import COMPILED_TORCH, LIBRARIES, OURS, chosen_peers
from .limits import hardware
from .timing import CLOCKS, FULL, QUICK
from .workloads import GROUPS, chosen, only_option


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="tracejit beside its peers")
    only_option(parser)
    parser.add_argument(
        "--group",
        choices=tuple(GROUPS),
        default="suite",
        help="the suite, each maths function alone, linear algebra, transforms, loops as for Numba, or "
        "kernels that `benchmarks.limits` puts beside C",
    )
    parser.add_argument(
        "--quick", action="store_true", help="few repetitions, and torch.compile only where --peers names it"
    )
    parser.add_argument(
        "--peers", metavar="A,B", help=f"of {','.join(LIBRARIES[1:])}; all by default, which takes long"
    )
    parser.add_argument(
        "--python",
        action="append",
        default=[],
        metavar="PEER=FILE",
        help="the interpreter of the environment in which a peer is installed; may be repeated",
    )
    parser.add_argument("--threads", metavar="1,2", default="1,2", help="the numbers of threads to try")
    parser.add_argument(
        "--clock",
        choices=tuple(CLOCKS),
        default="wall",
        help="what is measured: processor time of all threads suits --threads 1 on a busy machine",
    )
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the results there too")
    parser.add_argument("--markdown", metavar="FILE", type=Path, help="write a table of all peers there")
    parser.add_argument("--svg", metavar="FILE", type=Path, help="write a chart there")
    parser.add_argument("--list", action="store_true", help="name the workloads and stop")
    options = parser.parse_args()
    options.chosen = chosen(parser, options.only, GROUPS[options.group])
    peers = LIBRARIES[1:] if options.peers is None else chosen_peers(parser, options.peers)
    if options.quick and options.peers is None:
        peers = tuple(peer for peer in peers if peer != COMPILED_TORCH)
    options.libraries = (OURS, *peers)
    options.pythons = dict(choice.partition("=")[::2] for choice in options.python)
    chosen_peers(parser, ",".join(options.pythons))
    options.threads = tuple(int(count) for count in options.threads.split(","))
    options.effort = dataclasses.replace(QUICK if options.quick else FULL, clock=options.clock)
    return options


def _peers(options: argparse.Namespace, versions: dict[str, str | None]) -> list[str]:
    return [name for name in options.libraries if name != OURS and versions[name]]


def _save(
    options: argparse.Namespace, record: dict[str, Any], outcomes: list[Outcome], bounds: list[float | None]
) -> None:
    """Write the files that were asked for; after each workload, as a run may be stopped."""
    if options.json is not None:
        results = [report.as_json(outcome, limit) for outcome, limit in zip(outcomes, bounds, strict=True)]
        options.json.write_text(json.dumps({**record, "results": results}, indent=1) + "\n")
    if options.markdown is not None:
        options.markdown.write_text(report.table(outcomes, _peers(options, record["versions"])) + "\n")
    if options.svg is not None:
        options.svg.write_text(chart.svg(outcomes, "tracejit beside its peers"))


def main() -> int:
    """Run the chosen workloads and print their table."""
    options = _options()
    if options.list:
        print("\n".join(f"{workload.name:24}{workload.what}" for workload in options.chosen))
        return 0
    machine = report.machine()
    print(", ".join(f"{key} {value}" for key, value in machine.items()))
    outcomes: list[Outcome] = []
    bounds: list[float | None] = []
    with Contest(options.libraries, options.threads, options.effort, options.pythons) as contest:
        versions = contest.versions()
        for name, version in versions.items():
            print(f"{name} {version}" if version else f"{name}: not installed, skipped")
        print(f"\nbeside each time, the number of threads\n\n{report.header()}", flush=True)
        for workload in options.chosen:
            outcomes.append(contest.run(workload))
            bounds.append(hardware.seconds(workload))
            print(
                "\n".join([report.row(outcomes[-1], bounds[-1]), *report.remarks(outcomes[-1])]), flush=True
            )
            _save(options, {"machine": machine, "versions": versions}, outcomes, bounds)
    print("", *report.summary(outcomes, _peers(options, versions)), sep="\n")
    return 1 if any(outcome.disagreements or outcome.failures for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
