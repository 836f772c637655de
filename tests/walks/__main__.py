"""A walk over the kernels beside protected pages: ``python -m tests.walks --minutes N --seed S``.

`cases.py` draws trials: a program of one of the families of kernels (`products.py`, `folds.py`, `signals.py`,
`matrices.py`, `moving.py`, `loops.py`), the memory of its operands, and the machine that code is made for
(`drawing.py`). `trial.py` runs it in both tiers, with some numbers of threads, on arrays that end or begin at
a protected page (`memory.py`), and compares with NumPy; `worker.py` does so in a process of its own, which
`runner.py` watches.
"""

from __future__ import annotations

import argparse
import secrets
import sys

from .cases import FAMILIES, trial
from .runner import walk
from .worker import failure_of


def main() -> int:
    """Walk over the kernels; 1 where something was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.walks", description=main.__doc__)
    parser.add_argument("--minutes", type=float, help="how long; 3, unless --trials says how many")
    parser.add_argument("--trials", type=int, help="how many")
    parser.add_argument("--seed", type=int, help="which trials; new ones each time")
    parser.add_argument("--first", type=int, default=0, help="the number of the first trial")
    parser.add_argument(
        "--family", action="append", default=[], choices=list(FAMILIES), help="only these families"
    )
    parser.add_argument("--here", type=int, metavar="NUMBER", help="run one trial in this process")
    options = parser.parse_args()
    seed = secrets.randbelow(1_000_000) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    if options.here is not None:
        each = trial(seed, options.here, options.family)
        print(each, flush=True)
        failure = failure_of(each)
        print(failure or "nothing found")
        return int(bool(failure))
    minutes = 3.0 if options.minutes is None and options.trials is None else options.minutes
    outcome = walk(
        seed, minutes=minutes, trials=options.trials, first=options.first, families=tuple(options.family)
    )
    print(outcome.summary())
    return int(bool(outcome.findings))


if __name__ == "__main__":
    sys.exit(main())
