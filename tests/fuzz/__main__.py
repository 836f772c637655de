"""Random programs, run every way there is and compared: ``python -m tests.fuzz --minutes N --seed S``.

`generator.py` writes a program (`program.py`) as Python source over a namespace `xp`; `reference.py` is NumPy
with the functions that only tracejit has, and the oracle; `modes.py`, `gradients.py` and `processes.py` are
the ways to run a program; `oracle.py` chooses among them; `reducer.py` makes a failing program small and
`report.py` writes it as a test; `worker.py` runs programs in a process of its own, which `runner.py` watches.
"""

from __future__ import annotations

import argparse
import secrets
import sys
from pathlib import Path

from .generator import GENERATORS, write_program
from .oracle import MODES
from .runner import run_programs


def main() -> int:
    """Run random programs; 1 where one failed in a way that is not known."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=main.__doc__)
    parser.add_argument("--minutes", type=float, help="how long; 3, unless --programs says how many")
    parser.add_argument("--programs", type=int, help="how many")
    parser.add_argument("--seed", type=int, help="which programs; a new one each time")
    parser.add_argument("--first", type=int, default=0, help="the number of the first program")
    parser.add_argument(
        "--report", type=Path, metavar="FOLDER", help="reduce failures and write them there as tests"
    )
    parser.add_argument(
        "--modes", nargs="*", choices=tuple(MODES), default=(), help="these ways for each program"
    )
    parser.add_argument("--kind", choices=tuple(GENERATORS), default="all", help="programs of this kind")
    parser.add_argument("--all", action="store_true", help="write what is known to fail, too (known.py)")
    parser.add_argument(
        "--show", type=int, metavar="NUMBER", help="print this program and its modes, run nothing"
    )
    options = parser.parse_args()
    seed = secrets.randbelow(10**6) if options.seed is None else options.seed
    if options.show is not None:
        print(write_program(seed, options.show, options.kind).source())
        return 0
    print(f"seed {seed}", flush=True)
    minutes = 3.0 if options.minutes is None and options.programs is None else options.minutes
    arguments = (
        *(("--modes", *options.modes) if options.modes else ()),
        *(("--all",) if options.all else ()),
    )
    tally = run_programs(
        seed,
        minutes=minutes,
        programs=options.programs,
        first=options.first,
        report=options.report,
        kind=options.kind,
        arguments=arguments,
    )
    print(tally.summary())
    return 1 if tally.failures else 0


if __name__ == "__main__":
    sys.exit(main())
