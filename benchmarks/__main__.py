"""The command line of the benchmarks. The exit code is 1 where values disagree; targets do not change it."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from . import report
from .libraries import OURS
from .run import run
from .timing import FULL, QUICK
from .workloads import WORKLOADS


def main() -> int:
    """Run the chosen workloads and print their table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="tracejit beside its peers")
    parser.add_argument(
        "--only", action="append", metavar="NAME", help="workloads whose name begins so; may be repeated"
    )
    parser.add_argument(
        "--quick", action="store_true", help="few repetitions: does it work, not how fast is it"
    )
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the results there too")
    parser.add_argument("--list", action="store_true", help="name the workloads and stop")
    options = parser.parse_args()
    chosen = [one for one in WORKLOADS if options.only is None or one.name.startswith(tuple(options.only))]
    if not chosen:
        parser.error(f"no workload is called so; there are {', '.join(one.name for one in WORKLOADS)}")
    if options.list:
        print("\n".join(f"{one.name:24}{one.what}" for one in chosen))
        return 0

    names = list(dict.fromkeys([OURS, *(peer for one in chosen for peer in one.peers)]))
    machine, versions = report.machine(), report.versions(names)
    print(", ".join(f"{key} {value}" for key, value in machine.items()))
    for name, version in versions.items():
        print(f"{name} {version}" if version else f"{name}: not installed, skipped")
    print()
    print(report.row(*report.HEADER), report.rule(), sep="\n", flush=True)
    outcomes = []
    for workload in chosen:
        outcomes.append(run(workload, QUICK if options.quick else FULL))
        print("\n".join(report.rows(outcomes[-1])), flush=True)
    remarks = [line for one in outcomes for line in report.notes(one)]
    print(*(["", *remarks] if remarks else []), sep="\n")
    if options.json is not None:
        results = {
            "machine": machine,
            "versions": versions,
            "results": [report.as_json(one) for one in outcomes],
        }
        options.json.write_text(json.dumps(results, indent=1) + "\n")
    return 1 if any(one.disagreements for one in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
