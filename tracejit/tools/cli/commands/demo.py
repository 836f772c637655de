"""``tracejit demo``: trains a small network, eagerly and jitted."""

from __future__ import annotations

import argparse
from typing import Any

from ...demo import main


def add_parser(commands: Any) -> None:
    """Add ``demo`` to the command line."""
    parser = commands.add_parser(
        "demo", help="train a small network on handwritten digits, eagerly and jitted", add_help=False
    )
    parser.set_defaults(takes_rest=True)


def run(options: argparse.Namespace) -> int:
    """Run the demo with the options that follow."""
    return main(options.rest)
