"""``tracejit profile``: a program or a function, with the time of each compiled function and kernel."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from typing import Any

from ....profiling import profile
from ..colors import add_common_options
from ..errors import OK, UsageError
from ..scripts import exit_code, is_program, run_script
from ..target_options import TARGET_HELP, add_target_options
from ..targets import subject_of

_EXAMPLES = """\
examples:
  tracejit profile train.py --epochs 3
  tracejit profile --trace trace.json train.py       open trace.json at https://ui.perfetto.dev
  tracejit profile --json train.py > profile.json    what the program prints goes to standard error
  tracejit profile -m package.module
  tracejit profile train.py:loss --arg f64[64,10] --arg f64[32,64] --grad

A function is called --calls times: with random numbers of the types of --arg, or with what --args-from
gives. What stands behind a program is the program's own. docs/profiling.md says how to read the table.
"""


def add_parser(commands: Any) -> None:
    """Add ``profile`` to the command line."""
    parser = commands.add_parser(
        "profile",
        help="say where the time of a program or function goes: per compiled function, kernel, eager op",
        description="Run a program as Python would, or call a function, then print the time of each\n"
        "compiled function, each of its kernels with achieved GFLOP/s and GB/s, and each eager operation.\n\n"
        f"{TARGET_HELP}\nSCRIPT.py alone is a program to run.\n",
        epilog=_EXAMPLES,
    )
    _add_options(parser)
    parser.add_argument("arguments", metavar="ARG", nargs=argparse.REMAINDER, help="the program's arguments")


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--trace", metavar="FILE", help="write a Chrome trace file, for Perfetto")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    parser.add_argument("--limit", type=int, default=20, metavar="N", help="functions, kernels and ops shown")
    parser.add_argument(
        "--calls", type=int, default=10, metavar="N", help="how often a function is called (default: 10)"
    )
    parser.add_argument("-m", dest="module", action="store_true", help="TARGET is a module to run")
    add_target_options(parser)
    add_common_options(parser)


def run(options: argparse.Namespace) -> int:
    """Run and print the profile; the program's exit code."""
    program = options.module or is_program(options.target)
    if not program:  # what stands behind it are options of the command
        parser = argparse.ArgumentParser(prog="tracejit profile", usage="tracejit profile [options] TARGET")
        _add_options(parser)
        parser.parse_args([options.target, *options.arguments], options)
    for name in ("limit", "calls"):
        if getattr(options, name) < 1:
            raise UsageError(f"--{name}: expected a positive number, got {getattr(options, name)}")
    own = contextlib.redirect_stdout(sys.stderr) if options.json else contextlib.nullcontext()
    if program:
        with profile() as recorded, own:
            code = run_script(options.target, options.arguments, module=options.module)
    else:
        subject = subject_of(options).with_random_values()
        with profile() as recorded:
            for _ in range(options.calls):
                subject.run()
        code = OK
    if options.json:
        print(json.dumps(recorded.as_dict()))
    else:
        print(f"\n{recorded.table(options.limit)}\n\n{recorded.summary()}")
    if options.trace is not None:
        recorded.save_trace(options.trace)
        print(f"{options.trace}: open it at https://ui.perfetto.dev", file=sys.stderr)
    return exit_code(code)
