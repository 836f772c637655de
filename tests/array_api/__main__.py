"""The Array API standard's own tests: ``python -m tests.array_api [--long] [--module NAME]``.

The suite is data-apis/array-api-tests at a pinned commit. It is on no package index, so `suite.py` clones it
with git, or copies the folder that ``TRACEJIT_ARRAY_API_TESTS`` names; where neither can be had, a line says
so and nothing fails. Expected failures stand with their reasons in `expected.py`; others fail the run.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import tempfile
from pathlib import Path

from .expected import reason_for, unused
from .suite import fetch, run

_EXAMPLES, _MANY_EXAMPLES = 10, 200


def main() -> int:
    """Run the suite; 1 where a test failed that `expected.py` does not list."""
    parser = argparse.ArgumentParser(prog="python -m tests.array_api", description=main.__doc__)
    parser.add_argument("--long", action="store_true", help="new random examples, and twenty times as many")
    parser.add_argument("--module", default="tracejit", help="the library to test, tracejit by default")
    options = parser.parse_args()
    library = importlib.import_module(options.module)
    with tempfile.TemporaryDirectory() as folder:
        suite = fetch(Path(folder) / "suite")
        if isinstance(suite, str):
            print(f"SKIPPED the Array API's tests, which could not be fetched: {suite}")
            return 0
        examples = _MANY_EXAMPLES if options.long else _EXAMPLES
        outcome = run(suite, library, examples=examples, short=not options.long)
    reasons = {name: reason_for(name, options.module) for name in outcome.failed}
    unexpected = [name for name, reason in reasons.items() if reason is None]
    expected = len(outcome.failed) - len(unexpected)
    counts = f"{outcome.passed} passed, {expected} failed as expected, {len(unexpected)} otherwise"
    print(f"{options.module}: {counts}")
    for name in unexpected:
        print(f"FAILED {name}\n{outcome.failed[name]}")
    stale = [] if options.module != "tracejit" else unused(outcome.failed)
    for pattern in stale:
        print(f"nothing fails any more of what expected.py lists as {pattern}: take it out")
    if not outcome.passed:
        print(outcome.output)
    return 1 if unexpected or stale or not outcome.passed else 0


if __name__ == "__main__":
    sys.exit(main())
