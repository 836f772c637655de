"""``tracejit reduce``: a ``.tir`` file with inputs, smaller, that still shows what is wrong."""

from __future__ import annotations

import argparse
import shlex
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...repro import Case, Trials, Verdict, reduce_case
from ..colors import add_common_options
from ..documents import FUNCTIONS, is_document
from ..errors import OK, TargetError, UsageError
from ..inputs import read_inputs
from ..trials import add_trial_options, describe, load_setups, print_progress, setup_of
from .repro import write

_EXAMPLES = """\
examples:
  tracejit reduce wrong.tir --inputs wrong.npz             while native code is wrong in the same way
  tracejit reduce wrong.tir --inputs wrong.npz --if ./still_wrong.sh
  tracejit reduce wrong.tir --inputs wrong.npz --if 'python check.py {tir} {npz}' -o small

The command of --if gets the names of the two files, as {tir} and {npz} or as its last arguments, and ends
with exit code 0 where the program still shows the trouble.
"""


def add_parser(commands: Any) -> None:
    """Add ``reduce`` to the command line."""
    parser = commands.add_parser(
        "reduce",
        help="make a .tir file and its inputs smaller, as long as they show the same trouble",
        description="Make a program smaller by taking out results, instructions, elements and numbers,\n"
        "as long as native code is wrong in the same way, or a command says so.",
        epilog=_EXAMPLES,
    )
    parser.add_argument("target", metavar="FILE.tir", help="the program, or FILE.tir:FUNCTION")
    parser.add_argument("--inputs", metavar="FILE.npz", required=True, help="the arrays to run on")
    parser.add_argument("--if", dest="command_if", metavar="CMD", help="the command that says what to keep")
    parser.add_argument("-o", "--output", metavar="NAME", help="default: the file's name with -small")
    add_trial_options(parser)
    add_common_options(parser)


def run(options: argparse.Namespace) -> int:
    """Reduce and write; the exit code."""
    if not is_document(options.target) or options.target == "-":
        raise UsageError(f"{options.target}: expected a .tir file; `tracejit repro` writes one")
    load_setups(options)
    function, path = FUNCTIONS.part_of(options.target), FUNCTIONS.file_of(options.target)
    case = Case(function, tuple(read_inputs(function, options.inputs)))
    output = options.output or f"{Path(path).with_suffix('')}-small"
    if options.command_if is not None:
        reduced = _reduced(options, case, _asks(options.command_if, options.timeout))
        write(reduced, Verdict("kept by", options.command_if), output, options.setup)
        return OK
    with Trials(options.setup, rtol=options.rtol, timeout=options.timeout, check=options.check) as trials:
        verdict = trials.run(case)
        if not verdict.is_wrong:
            raise TargetError(f"{path}: nothing is wrong with it: {verdict}")
        print(verdict)
        reduced = _reduced(options, case, lambda case: trials.run(case).like(verdict))
        verdict = trials.run(reduced)
    write(reduced, verdict, output, setup_of(options))
    return OK


def _reduced(options: argparse.Namespace, case: Case, interesting: Callable[[Case], bool]) -> Case:
    if not interesting(case):
        raise TargetError(f"--if {options.command_if!r} does not hold for {options.target} as it is")
    print(f"before: {describe(case)}")
    return reduce_case(case, interesting, seconds=options.seconds, progress=print_progress)


def _asks(command: str, timeout: float) -> Callable[[Case], bool]:
    """Whether the user's command ends with 0."""
    try:
        parts = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"--if {command!r}: {error}") from error
    if not parts:
        raise UsageError("--if: expected a command")
    named = any("{tir}" in part or "{npz}" in part for part in parts)

    def holds(case: Case) -> bool:
        with tempfile.TemporaryDirectory(prefix="tracejit-") as folder:
            tir, npz = Path(folder) / "case.tir", Path(folder) / "case.npz"
            case.write(tir, npz)
            filled = [part.replace("{tir}", str(tir)).replace("{npz}", str(npz)) for part in parts]
            full = filled if named else [*filled, str(tir), str(npz)]
            try:
                done = subprocess.run(full, capture_output=True, timeout=timeout, check=False)
            except OSError as error:
                raise UsageError(f"--if {command!r} cannot be run: {error.strerror}") from error
            except subprocess.TimeoutExpired:
                return False
            return done.returncode == 0

    return holds
