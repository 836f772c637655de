"""The ``tracejit`` command: dump, demo, doctor."""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Sequence

from ..ir.errors import TracejitError
from . import doctor, dump


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code. Errors are one line on standard error."""
    parser = argparse.ArgumentParser(
        prog="tracejit", description="Look inside tracejit: what it makes of a function, and of this machine."
    )
    parser.add_argument("--traceback", action="store_true", help="show Python's traceback of an error")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    dump.add_parser(commands)
    doctor.add_parser(commands)
    demo = commands.add_parser(
        "demo", help="train a small network on handwritten digits, eagerly and jitted", add_help=False
    )
    demo.set_defaults(run=None)
    options, rest = parser.parse_known_args(argv)
    try:
        if options.command == "demo":
            from ..demo import main as run_demo  # loads data and compiles; only the demo needs it

            return run_demo(rest)
        if rest:
            parser.error(f"unrecognized arguments: {' '.join(rest)}")
        code: int = options.run(options)
        return code
    except BrokenPipeError:
        sys.stderr.close()
        return 1
    except (TracejitError, dump.UsageError, OSError) as error:
        if options.traceback:
            traceback.print_exc()
        print(f"tracejit {options.command}: {' '.join(str(error).splitlines())}", file=sys.stderr)
        return 2 if isinstance(error, dump.UsageError) else 1
