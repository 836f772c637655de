"""Long runs of the table of derivatives: ``python -m tests.derivatives --minutes 10 --seed 1``.

New points each round, all functions, both dtypes, half of them `hard_points`; prints each kind of fault
once, and ends with 1 if there are any.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from .checking import Truths, faults
from .hard_points import hard
from .points import chosen, drawn, fixed
from .table import ENTRIES


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests.derivatives", description=__doc__)
    parser.add_argument("--minutes", type=float, default=0.0, help="0 for one round, with the fixed points")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--only", default="", help="what names of functions begin with, separated by |")
    parser.add_argument("--eager", action="store_true", help="no compiled code")
    parser.add_argument("--jitted", action="store_true", help="compiled code alone")
    parser.add_argument("--all", action="store_true", help="every fault, not the worst of each kind")
    arguments = parser.parse_args()
    seed = arguments.seed if arguments.seed is not None else time.time_ns() % 2**32
    print(f"seed {seed}", flush=True)
    end = time.monotonic() + arguments.minutes * 60
    rng = np.random.default_rng(seed)
    entries = [
        e for e in ENTRIES if not arguments.only or any(map(e.name.startswith, arguments.only.split("|")))
    ]
    kinds: dict[object, int] = {}
    total, checked, first = 0, 0, True
    while first or time.monotonic() < end:
        for entry in entries:
            for dtype in (np.float64, np.float32)[: 1 + entry.single]:
                points = fixed(dtype, entry.near) if first else drawn(rng, dtype, entry, 60)
                known, found = chosen(rng, points, entry), hard(rng, dtype, entry, 60)
                operands = [np.concatenate(parts) for parts in zip(known, found, strict=True)]
                truths = Truths(entry, operands)
                bad = []
                for jitted in [False] * (not arguments.jitted) + [True] * (not arguments.eager):
                    bad += faults(entry, operands, truths, jitted)
                checked += len(operands[0])
                total += len(bad)
                by_kind: dict[object, list] = {}
                for fault in bad:
                    by_kind.setdefault((fault.entry, fault.mode, fault.dtype), []).append(fault)
                for kind, group in by_kind.items():
                    if kind not in kinds:
                        for fault in sorted(group, key=lambda f: -f.times)[: None if arguments.all else 1]:
                            print(f"{fault} [{len(group)}]", flush=True)
                    kinds[kind] = kinds.get(kind, 0) + len(group)
        first = False
    print(f"seed {seed}: {checked} points, {total} faults of {len(kinds)} kinds")
    return int(bool(total))


if __name__ == "__main__":
    raise SystemExit(main())
