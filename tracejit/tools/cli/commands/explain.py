"""``tracejit explain``: what was compiled of a function, or of all functions of a program, and why."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections.abc import Sequence
from typing import Any

from ....jitted.explaining import Explanation
from ....jitted.function import JitFunction
from ....jitted.registry import keeping
from ..colors import add_common_options
from ..errors import OK, UsageError
from ..scripts import exit_code, is_program, run_script
from ..target_options import TARGET_HELP, add_target_options
from ..targets import subject_of

_EXAMPLES = """\
examples:
  tracejit explain train.py --epochs 3               every jitted function of a program, as it runs
  tracejit explain train.py -- --grad                the program's own options, where names are the same
  tracejit explain train.py:loss --arg f64[64,10] --arg f64[32,64] --grad
  tracejit explain train.py --json > explain.json    what the program prints goes to standard error

A program is run as Python would. A function is called once: with random numbers of the types of --arg, or
with what --args-from gives.
"""


def add_parser(commands: Any) -> None:
    """Add ``explain`` to the command line."""
    parser = commands.add_parser(
        "explain",
        help="say what was compiled and why: signatures, paths, guards, recompilation, compile times",
        description="Say of a function, or of every jitted function of a program, what was compiled, why.\n\n"
        f"{TARGET_HELP}\nSCRIPT.py alone is a program to run.\n",
        epilog=_EXAMPLES,
    )
    parser.add_argument("--json", action="store_true", help="a JSON array with an object for each function")
    add_target_options(parser)
    add_common_options(parser)
    parser.set_defaults(takes_rest=True)


def run(options: argparse.Namespace) -> int:
    """Run, and print what was compiled; returns the exit code."""
    program = is_program(options.target)
    if program:
        explanations, code = _of_program(options)
    else:
        if options.rest:
            raise UsageError(f"unrecognized arguments: {' '.join(options.rest)}")
        explanations, code = [_of_function(options)], OK
    if options.json:
        print(json.dumps([explanation.as_dict() for explanation in explanations]))
        return code
    if program:
        print(f"\n{_summary(explanations)}")
    for explanation in explanations:
        print(f"\n{explanation}" if len(explanations) > 1 else explanation)
    return code


def _of_program(options: argparse.Namespace) -> tuple[list[Explanation], int]:
    arguments = options.rest[1:] if options.rest[:1] == ["--"] else options.rest
    own = contextlib.redirect_stdout(sys.stderr) if options.json else contextlib.nullcontext()
    with keeping() as functions, own:
        code = run_script(options.target, arguments)
    explanations = [function.explain() for function in functions if isinstance(function, JitFunction)]
    return [explanation for explanation in explanations if explanation.signatures], exit_code(code)


def _of_function(options: argparse.Namespace) -> Explanation:
    subject = subject_of(options).with_random_values()
    subject.run()
    return subject.jitted.explain()


def _summary(explanations: Sequence[Explanation]) -> str:
    signatures = [signature for function in explanations for signature in function.signatures]
    again = len(signatures) - len(explanations) + sum(len(signature.earlier) for signature in signatures)
    spent = sum(signature.milliseconds for signature in signatures)
    count = len(explanations)
    return (
        f"{count} jitted function{'s' * (count != 1)} ran, {len(signatures)} "
        f"signature{'s' * (len(signatures) != 1)}, compiled again {again} times, {spent:.0f} ms compiling"
    )
