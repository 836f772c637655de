"""``tracejit view``: every stage of a function, from its source to assembly, as one HTML page."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from ...viewer import View, view_function
from ..colors import add_common_options
from ..errors import UsageError
from ..target_options import TARGET_HELP, add_target_options
from ..targets import CommandSubject, subject_of

_EXAMPLES = """\
examples:
  tracejit view train.py:loss --arg f64[64,10] --arg f64[32,64]
  tracejit view train.py:loss --args-from train.py:make_args --grad -o loss.html --no-open
  tracejit view train.py:loss --arg f64[64,10] --arg f64[32,64] --json > loss.json
"""


def add_parser(commands: Any) -> None:
    """Add ``view`` to the command line."""
    parser = commands.add_parser(
        "view",
        help="show what became of a function, from its source to assembly, as one HTML page",
        description=(
            "Trace, compile and time a function, and show every stage, pass and kernel in the browser: where "
            f"the time goes, and why.\n\n{TARGET_HELP}"
        ),
        epilog=_EXAMPLES,
    )
    add_target_options(parser)
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="where to write the page; else a temporary file"
    )
    parser.add_argument("--no-open", action="store_true", help="do not show the page in the browser")
    parser.add_argument("--no-timing", action="store_true", help="compile, but run nothing")
    parser.add_argument("--json", action="store_true", help="print what the page shows as JSON instead")
    add_common_options(parser)


def run(options: argparse.Namespace) -> int:
    """Write the page and show it, or print the document; returns the exit code."""
    if options.output is not None:
        _check_writable(Path(options.output))
    shown = view_of(subject_of(options), timing=not options.no_timing)
    if options.json:
        json.dump(shown.document, sys.stdout)
        print()
        return 0
    path = shown.write_temporary() if options.output is None else shown.save(options.output)
    print(path)
    if not options.no_open:
        shown.open(path)
    return 0


def view_of(subject: CommandSubject, *, timing: bool) -> View:
    """The page of what a command line names. Raises TargetError where it cannot be traced."""
    if subject.function is not None:
        return view_function(subject.function, (), subject.label, timing=timing)
    traced = subject.traced()
    return view_function(
        traced.function, subject.values(traced), subject.label, timing=timing, loops=traced.loops,
        flush_denormals=subject.jitted._flush_denormals,
    )  # fmt: skip


def _check_writable(path: Path) -> None:
    """Say before the work rather than after it that `path` cannot be written. Raises UsageError."""
    existed = path.exists()
    try:
        with open(path, "ab"):
            pass
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error
    if not existed:
        path.unlink()
