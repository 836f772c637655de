"""Options of commands that name a target."""

from __future__ import annotations

import argparse
from typing import Final

from .errors import UsageError
from .specs import parse_argnums

#: Examples of ``--vmap`` without a number.
BATCH: Final = 8


TARGET_HELP = """\
TARGET is FILE.py:FUNCTION, package.module:FUNCTION, FILE.tir, FILE.tir:FUNCTION, or - for the text of
a .tir file on standard input. Each --arg is the type of an argument, in order or as NAME=TYPE:
  f32[128,64]   i64[]   float, int, bool (Python numbers)
  {w: f64[3], b: f64[]}   [f64[2], float]   (f64[2], f64[])
"""


def add_target_options(parser: argparse.ArgumentParser) -> None:
    """TARGET, and the options that say with which arguments and transformed how."""
    parser.add_argument(
        "target", metavar="TARGET", help="FILE.py:FUNCTION, package.module:FUNCTION or FILE.tir"
    )
    parser.add_argument(
        "--arg",
        action="append",
        default=[],
        metavar="TYPE",
        help="an argument's type: f32[128,64], float, ...",
    )
    parser.add_argument(
        "--args-from", metavar="FILE.py:FUNCTION", help="a function that returns the arguments, in a tuple"
    )
    parser.add_argument(
        "--static", action="append", default=[], metavar="NAME=VALUE", help="an argument that is a constant"
    )
    parser.add_argument(
        "--grad",
        nargs="?",
        const="0",
        type=_argnums_text,
        metavar="ARGNUMS",
        help="the gradient instead, by the first argument or by those numbered: 0,2",
    )
    parser.add_argument(
        "--vmap",
        nargs="?",
        type=_size,
        const=BATCH,
        metavar="SIZE",
        help=f"map over a new first axis of every argument, {BATCH} examples unless told; after --grad",
    )


def _argnums_text(text: str) -> str:
    try:
        parse_argnums(text)
    except UsageError as error:
        hint = "; put TARGET before --grad" if ":" in text or "." in text else ""
        raise argparse.ArgumentTypeError(f"{str(error).removeprefix('--grad: ')}{hint}") from None
    return text


def _size(text: str) -> int:
    if text.isascii() and text.isdigit() and int(text) > 0:
        return int(text)
    hint = "; put TARGET before --vmap" if ":" in text or "." in text else ""
    raise argparse.ArgumentTypeError(f"expected a positive number of examples, got {text!r}{hint}")
