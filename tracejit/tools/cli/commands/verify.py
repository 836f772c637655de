"""``tracejit verify``: whether files of the IR's text, and of the loop form's, are valid."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from ..colors import add_common_options
from ..documents import read_text, shown
from ..errors import FAILED, OK, TargetError, UsageError
from ..kernels import form_of

_EXAMPLES = """\
examples:
  tracejit verify loss.tir step.tir sums.loops
  tracejit dump train.py:loss --arg f64[8] | tracejit verify
  tracejit verify --json *.tir

Prints a line for each file; what is wrong goes to standard error, with its place: FILE:LINE:COLUMN.
The exit code is 1 where a file is malformed or not valid.
"""


def add_parser(commands: Any) -> None:
    """Add ``verify`` to the command line."""
    parser = commands.add_parser(
        "verify",
        help="check that .tir and .loops files are well formed and valid",
        description="Parse .tir files and check the invariants of the IR (docs/ir.md);\nparse .loops files "
        "and check those of the loop form (docs/developing/loops.md).",
        epilog=_EXAMPLES,
    )
    parser.add_argument("files", nargs="*", default=["-"], metavar="FILE", help="default: standard input")
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing about valid files")
    parser.add_argument("--json", action="store_true", help="one JSON array with an object for each file")
    add_common_options(parser)


def run(options: argparse.Namespace) -> int:
    """Check the files; returns the exit code."""
    code, reports = OK, []
    for path in options.files:
        report: dict[str, Any] = {"file": shown(path), "valid": True}
        reports.append(report)
        try:
            names = _valid(path)
        except (TargetError, UsageError) as error:
            code = FAILED
            report |= {"valid": False, "problem": str(error)}
            if isinstance(error, TargetError) and error.place:
                report |= {"line": error.place[1], "column": error.place[2], "problem": error.problem}
            if not options.json:
                print(f"tracejit verify: {error}", file=sys.stderr)
                if isinstance(error, TargetError) and error.detail:
                    print(error.detail, file=sys.stderr)
            continue
        report |= names
        if not options.json and not options.quiet:
            ((what, found),) = names.items()
            print(f"{shown(path)}: valid, {len(found)} {what if len(found) != 1 else what[:-1]}")
    if options.json:
        print(json.dumps(reports))
    return code


def _valid(path: str) -> dict[str, list[str]]:
    """The names of the ``functions`` or ``kernels`` in a valid file. Raises UsageError or TargetError."""
    text = read_text(path)
    form = form_of(path, text)
    return {f"{form.kind}s": [part.name for part in form.parts(form.valid(text, path))]}
