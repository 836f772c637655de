"""``tracejit profile``: a program, with the time of each compiled function and kernel."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from typing import Any

from ...profiling import profile
from ..colors import add_common_options
from ..errors import UsageError
from ..loading import add_script_options, exit_code, run_script

_EXAMPLES = """\
examples:
  tracejit profile train.py --epochs 3
  tracejit profile --trace trace.json train.py       open trace.json at https://ui.perfetto.dev
  tracejit profile --json train.py > profile.json    what the program prints goes to standard error
  tracejit profile -m package.module

docs/profiling.md says how to read the table.
"""


def add_parser(commands: Any) -> None:
    """Add ``profile`` to the command line."""
    parser = commands.add_parser(
        "profile",
        help="run a program and say where its time goes: per compiled function, per kernel, per eager op",
        description="Run a program as Python would, then print the time of each compiled function,\n"
        "each of its kernels with achieved GFLOP/s and GB/s, and each eager operation.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--trace", metavar="FILE", help="write a Chrome trace file, for Perfetto")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    parser.add_argument("--limit", type=int, default=20, metavar="N", help="functions, kernels and ops shown")
    add_common_options(parser)
    add_script_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the program and print the profile; the program's exit code."""
    if options.limit < 1:
        raise UsageError(f"--limit: expected a positive number, got {options.limit}")
    own = contextlib.redirect_stdout(sys.stderr) if options.json else contextlib.nullcontext()
    with profile() as recorded, own:
        code = run_script(options.script, options.arguments, module=options.module)
    if options.json:
        print(json.dumps(recorded.as_dict()))
    else:
        print(f"\n{recorded.table(options.limit)}\n\n{recorded.summary()}")
    if options.trace is not None:
        recorded.save_trace(options.trace)
        print(f"{options.trace}: open it at https://ui.perfetto.dev", file=sys.stderr)
    return exit_code(code)
