"""The command line: measures program after program, and writes what it found."""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import secrets
import sys
import time
from pathlib import Path

from ..contest import Contest
from ..libraries import FLUSHING, OURS, chosen_peers, peers_option
from ..timing import CLOCKS, Effort
from . import findings
from .families import FAMILIES, candidate_of, name_of
from .findings import Finding

#: A program that seems slow is measured again, for longer: what it then takes counts.
_AGAIN = 3
#: Reasons why programs are slow that nobody could mend, by their keys.
REASONS = Path(__file__).with_name("reasons.json")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.explore", description=__doc__)
    parser.add_argument("--minutes", type=float, default=3.0, help="how long; 3 by default")
    parser.add_argument("--seed", type=int, help="which programs; a new one each time")
    parser.add_argument("--programs", type=int, help="how many at most")
    parser.add_argument("--families", nargs="*", choices=tuple(FAMILIES), default=(), help="of these alone")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="lines of JSON; a run goes on after them")
    parser.add_argument("--reasons", type=Path, metavar="FILE", default=REASONS, help="why programs are slow")
    parser.add_argument("--page", type=Path, metavar="FILE", help="write a report there")
    parser.add_argument("--show", type=int, metavar="NUMBER", help="print this program, measure nothing")
    parser.add_argument("--threads", type=int, default=1, help="threads of every library; 1 by default")
    parser.add_argument(
        "--clock", choices=tuple(CLOCKS), default="wall", help="processor time suits a busy machine"
    )
    peers_option(parser, "jax,numpy")
    options = parser.parse_args()
    options.libraries = (OURS, *chosen_peers(parser, options.peers))
    if options.seed is None:
        options.seed = secrets.randbelow(10**6)
    return options


def main() -> int:
    """Measure programs; 1 where values differ from a peer's, or tracejit fails."""
    options = _options()
    if options.show is not None:
        candidate = candidate_of(options.seed, options.show, options.families)
        print(candidate.source(), candidate.arguments, candidate.dtype, candidate.gradient, sep="\n")
        return 0
    kept = findings.read(options.keep) if options.keep else []
    number = 1 + max([finding.number for finding in kept if finding.seed == options.seed], default=-1)
    end, last = time.monotonic() + 60 * options.minutes, number + (options.programs or sys.maxsize)
    print(f"seed {options.seed}, from program {number} on", flush=True)
    short, long = (Effort(rounds, 0.01 * rounds, 1, options.clock) for rounds in (3, 3 * _AGAIN))
    with Contest(options.libraries, (options.threads,), short) as contest:
        while time.monotonic() < end and number < last:
            finding = _measured(contest, options, number, short)
            if finding.is_slow:
                finding = _explained(options, _measured(contest, options, number, long), long)
            kept.append(finding)
            if options.keep:
                findings.append(options.keep, finding)
            if finding.is_slow or finding.is_wrong:
                print(finding.text(), flush=True)
            number += 1
    report = findings.page(findings.with_reasons(kept, json.loads(options.reasons.read_text("utf-8"))))
    if options.page:
        options.page.write_text(report, encoding="utf-8")
    print("\n".join(report.split("\n## ")[0].splitlines()[2:]))
    return int(any(finding.is_wrong for finding in kept))


def _measured(contest: Contest, options: argparse.Namespace, number: int, effort: Effort) -> Finding:
    contest.effort = effort
    candidate = candidate_of(options.seed, number, options.families)
    outcome = contest.run(candidate.workload(name_of(options.seed, number, options.families)))
    return Finding.of(options.seed, number, candidate, outcome, options.families)


def _explained(options: argparse.Namespace, finding: Finding, effort: Effort) -> Finding:
    """A slow program is measured once more with denormal numbers flushed, as JAX does always: that it is then
    as fast as the best peer is a reason, see docs/decisions/0022."""
    if not finding.is_slow or finding.peer is None or OURS not in finding.seconds:
        return finding
    candidate = candidate_of(options.seed, finding.number, options.families)
    with Contest((FLUSHING,), (options.threads,), effort) as contest:
        outcome = contest.run(candidate.workload(name_of(options.seed, finding.number, options.families)))
    flushing = outcome.seconds[FLUSHING].median if FLUSHING in outcome.seconds else math.inf
    if finding.seconds[finding.peer] / flushing <= findings.SLOW:
        return finding
    text = f"denormal numbers; with flush_denormals=True, as JAX computes, {flushing * 1e6:.1f} us"
    return dataclasses.replace(finding, reason=text)


if __name__ == "__main__":
    sys.exit(main())
