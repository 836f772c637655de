"""Long runs of what goes wrong: ``python -m tests.reliability [NAME ...] [--share PART]``.

It prints a line of figures for each, as docs/reliability.md has them.
"""

from __future__ import annotations

import argparse
import os
import sys

# what is run has the code and the settings that users have, but no code of earlier runs
os.environ.setdefault("TRACEJIT_CACHE", "0")

from .running import ALL, run

_DAY = 86_400


def main() -> int:
    """Run the faults that are named, or all; 1 where one of them fails."""
    parser = argparse.ArgumentParser(prog="python -m tests.reliability", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *ALL], metavar="NAME", help=", ".join(ALL))
    parser.add_argument(
        "--share", type=float, default=1.0, help="part of the counts that docs/reliability.md states"
    )
    options = parser.parse_args()
    failed = 0
    for name in options.names or ALL:
        try:
            figures = run(name, max(1, round(ALL[name].many * options.share)), _DAY)
        except AssertionError as error:
            failed += 1
            figures = f"FAILED: {error}"
        print(f"{name}: {figures}", flush=True)
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
