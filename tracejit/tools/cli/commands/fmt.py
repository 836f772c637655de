"""``tracejit fmt``: files of the IR's text, and of the loop form's, in their one layout."""

from __future__ import annotations

import argparse
import difflib
import sys
from pathlib import Path
from typing import Any

from ....codegen.loops.formatter import format_kernels
from ....ir.text.formatter import format_text
from ..colors import add_common_options, colored, wants_color
from ..documents import parsed, read_text, shown
from ..errors import FAILED, OK
from ..kernels import KERNELS, form_of

_EXAMPLES = """\
examples:
  tracejit fmt loss.tir            rewrite the file
  tracejit fmt < loss.tir          standard input to standard output
  tracejit fmt sums.loops          the same of kernels in the loop form
  tracejit fmt --check *.tir       change nothing; exit code 1 where a file would change
  tracejit fmt --diff loss.tir     print what would change
"""


def add_parser(commands: Any) -> None:
    """Add ``fmt`` to the command line."""
    parser = commands.add_parser(
        "fmt",
        help="lay .tir and .loops files out anew; names and comments stay",
        description="Rewrite .tir and .loops files in their one layout. Names and comments stay.",
        epilog=_EXAMPLES,
    )
    parser.add_argument("files", nargs="*", default=["-"], metavar="FILE", help="default: standard input")
    parser.add_argument("--check", action="store_true", help="only say which files would change")
    parser.add_argument("--diff", action="store_true", help="print what would change, and change nothing")
    add_common_options(parser)


def run(options: argparse.Namespace) -> int:
    """Format the files; returns the exit code."""
    code = OK
    for path in options.files:
        text = read_text(path)
        layout = format_kernels if form_of(path, text) is KERNELS else format_text
        formatted = parsed(layout, text, path)
        if options.check or options.diff:
            if formatted != text:
                code = FAILED
                _report(options, path, text, formatted)
        elif path == "-":
            sys.stdout.write(formatted)
        elif formatted != text:
            Path(path).write_text(formatted, encoding="utf-8")
    return code


def _report(options: argparse.Namespace, path: str, text: str, formatted: str) -> None:
    if not options.diff:
        print(f"{shown(path)} would change")
        return
    before, after = text.splitlines(keepends=True), formatted.splitlines(keepends=True)
    shown_diff = "".join(difflib.unified_diff(before, after, shown(path), f"{shown(path)}, formatted"))
    sys.stdout.write(colored(shown_diff, "diff") if wants_color(options.color, sys.stdout) else shown_diff)
