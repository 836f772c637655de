"""Helpers of ``repro`` and ``reduce``: the options of trials, and output."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ..repro import Case
from ..repro.server import load_setup
from .documents import is_document
from .errors import TargetError, UsageError
from .loading import explained


def add_trial_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how a case is tried, and for how long it is made smaller."""
    parser.add_argument(
        "--setup",
        action="append",
        default=[],
        metavar="FILE.py",
        help="a program that registers ops or kernels",
    )
    parser.add_argument("--rtol", type=float, help="what results may differ by; default: as `tracejit run`")
    parser.add_argument("--timeout", type=float, default=60.0, metavar="S", help="seconds for one trial")
    parser.add_argument(
        "--seconds", type=float, default=120.0, metavar="S", help="seconds for making it smaller"
    )
    parser.add_argument("--check", action="store_true", help="check accesses to memory, as TRACEJIT_CHECK=1")


def load_setups(options: argparse.Namespace) -> None:
    """Load --setup here too, so that text with its ops can be read. Raises UsageError or TargetError."""
    for setup in options.setup:
        if setup.endswith(".py") and not Path(setup).is_file():
            raise UsageError(f"there is no file {setup}")
        try:
            load_setup(setup)
        except Exception as error:
            raise TargetError(f"--setup {setup} failed{explained(error)}") from error


def setup_of(options: argparse.Namespace) -> list[str]:
    """The files that trials load first: --setup, and the module of a Python target, which may register
    ops."""
    setups = list(options.setup)
    if not is_document(options.target):
        place = options.target.rpartition(":")[0]
        if place not in setups:
            setups.append(place)
    return setups


def print_progress(edit: str, case: Case) -> None:
    """A line on standard error, where that is a terminal."""
    if sys.stderr.isatty():
        print(f"  {edit}: {describe(case)}", file=sys.stderr)


def describe(case: Case) -> str:
    """The size of a case in words."""
    count = sum(1 for _ in case.function.instructions())
    params, results = len(case.function.params), len(case.function.results)
    return (
        f"{count} instruction{'s' * (count != 1)}, {params} parameter{'s' * (params != 1)}, "
        f"{results} result{'s' * (results != 1)}"
    )
