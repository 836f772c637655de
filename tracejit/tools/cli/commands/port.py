"""``tracejit port``: programs written for HIPS autograd, with their imports changed."""

from __future__ import annotations

import argparse
import ast
import difflib
import sys
from pathlib import Path
from typing import Any

from ...porting import missing_names, ported
from ..colors import add_common_options, colored, wants_color
from ..documents import read_text, shown
from ..errors import FAILED, OK, error_in_text

_EXAMPLES = """\
examples:
  tracejit port model.py           print what would change, and what is missing
  tracejit port --write *.py       change the files
"""


def add_parser(commands: Any) -> None:
    """Add ``port`` to the command line."""
    parser = commands.add_parser(
        "port",
        help="change the imports of programs written for HIPS autograd",
        description=(
            "Change imports of HIPS autograd to tracejit.compat.autograd, and say which of the names that a\n"
            "program uses are missing there. Prints a diff; exit code 1 where a name is missing."
        ),
        epilog=_EXAMPLES,
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="a Python file; - for standard input")
    parser.add_argument("--write", action="store_true", help="change the files in place of printing a diff")
    add_common_options(parser)


def run(options: argparse.Namespace) -> int:
    """Port the files; returns the exit code."""
    code = OK
    for path in options.files:
        text = read_text(path)
        try:
            tree = ast.parse(text)
        except SyntaxError as error:
            caret = f"{(error.text or '').rstrip()}\n{' ' * ((error.offset or 1) - 1)}^"
            raise error_in_text(
                shown(path), error.lineno or 1, error.offset or 1, error.msg, caret
            ) from error
        missing = missing_names(tree)
        _give(options, path, text, ported(text))
        for use in missing:
            print(f"{shown(path)}:{use.line}: {use}", file=sys.stderr)
        if missing:
            code = FAILED
    return code


def _give(options: argparse.Namespace, path: str, before: str, after: str) -> None:
    """Write the program, or print how it differs."""
    if options.write and path == "-":
        sys.stdout.write(after)
    elif after == before:
        print(f"{shown(path)}: nothing to change", file=sys.stderr)
    elif options.write:
        Path(path).write_text(after, encoding="utf-8")
    else:
        lines = before.splitlines(keepends=True), after.splitlines(keepends=True)
        difference = "".join(difflib.unified_diff(*lines, shown(path), f"{shown(path)}, ported"))
        sys.stdout.write(
            colored(difference, "diff") if wants_color(options.color, sys.stdout) else difference
        )
