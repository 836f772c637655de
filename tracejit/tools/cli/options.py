"""Options that commands share."""

from __future__ import annotations

import argparse


def add_common_options(parser: argparse.ArgumentParser) -> None:
    """What every command takes."""
    parser.add_argument(
        "--color", choices=("auto", "always", "never"), default="auto", help="default: on a terminal"
    )
    parser.add_argument(
        "--traceback",
        action="store_true",
        default=argparse.SUPPRESS,
        help="show Python's traceback of an error",
    )
