"""``tracejit repro``: files that reproduce a wrong result or a crash of compiled code."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from ...repro import Case, Trials, Verdict, reduce_case
from ...repro.cases import check_writable
from ..colors import add_common_options
from ..errors import FAILED, OK, TargetError, UsageError
from ..inputs import random_array, read_inputs
from ..target_options import TARGET_HELP, add_target_options
from ..targets import CommandSubject, subject_of
from ..trials import add_trial_options, describe, load_setups, print_progress, setup_of

_EXAMPLES = """\
examples:
  tracejit repro train.py:loss --arg f64[64,10] --arg f64[32,64] --grad
  tracejit repro train.py:loss --args-from train.py:make_args -o wrong
  tracejit repro slow.tir --inputs data.npz --check
  tracejit reduce wrong.tir --inputs wrong.npz                     go on making it smaller

It runs the function by the interpreter and as native code, in a process of its own, on the arguments given
or on random ones. Where they differ, or native code crashes, fails or does not end, it makes the program
smaller and writes NAME.tir and NAME.npz; the exit code is 1 then, and 0 where both agree.
"""


def add_parser(commands: Any) -> None:
    """Add ``repro`` to the command line."""
    parser = commands.add_parser(
        "repro",
        help="compare interpreter and native code, and write down what reproduces a difference or a crash",
        description="Find out whether native code is wrong, and write a small program that shows it.\n\n"
        f"{TARGET_HELP}",
        epilog=_EXAMPLES,
    )
    add_target_options(parser)
    parser.add_argument("--inputs", metavar="FILE.npz", help="the arrays to run on")
    parser.add_argument(
        "--seeds", type=int, default=5, metavar="N", help="how many sets of random arguments are tried"
    )
    parser.add_argument("-o", "--output", default="repro", metavar="NAME", help="default: repro")
    parser.add_argument("--no-reduce", action="store_true", help="write the program as it is")
    add_trial_options(parser)
    add_common_options(parser)


def run(options: argparse.Namespace) -> int:
    """Try, reduce and write; 1 where something is wrong."""
    if options.seeds < 1:
        raise UsageError(f"--seeds: expected a positive number, got {options.seeds}")
    load_setups(options)
    subject = subject_of(options)
    with Trials(setup_of(options), rtol=options.rtol, timeout=options.timeout, check=options.check) as trials:
        case, verdict = _find(options, subject, trials)
        if not verdict.is_wrong:
            tried = 1 if _is_given(options, subject) else options.seeds
            print(f"interpreter and native code agree on {tried} set{'s' * (tried != 1)} of arguments")
            return OK
        print(f"{verdict}")
        if not options.no_reduce:
            case = reduce_case(
                case,
                lambda case: trials.run(case).like(verdict),
                seconds=options.seconds,
                progress=print_progress,
            )
            verdict = trials.run(case)
    write(case, verdict, options.output, setup_of(options))
    return FAILED


def write(case: Case, verdict: Verdict, name: str, setup: list[str]) -> None:
    """Write both files and say how to go on."""
    tir, npz = Path(f"{name}.tir"), Path(f"{name}.npz")
    more = "".join(f" --setup {text}" for text in setup)
    try:
        case.write(tir, npz, [str(verdict), f"tracejit reduce {tir} --inputs {npz}{more}"])
    except OSError as error:
        raise UsageError(f"{tir} cannot be written: {error.strerror}") from error
    print(f"{tir}, {npz}: {describe(case)}")


def _is_given(options: argparse.Namespace, subject: CommandSubject) -> bool:
    return options.inputs is not None or subject.valued


def _find(options: argparse.Namespace, subject: CommandSubject, trials: Trials) -> tuple[Case, Verdict]:
    """The first case that is wrong, or the last that is not."""
    for seed in range(options.seeds):
        case = _case(options, subject, seed)
        check_writable(case.function)
        verdict = trials.run(case)
        if verdict.kind == "unusable":
            raise TargetError(f"{subject.label}: {verdict.detail}")
        if verdict.is_wrong or _is_given(options, subject):
            break
    return case, verdict


def _case(options: argparse.Namespace, subject: CommandSubject, seed: int) -> Case:
    """The Function with arguments, and with what it closes over."""
    rng = np.random.default_rng(seed)
    if subject.function is not None:
        function = subject.function
        inputs = (
            read_inputs(function, options.inputs)
            if options.inputs is not None
            else [random_array(rng, param.type) for param in function.params]
        )
        return Case(function, tuple(inputs))
    traced = subject.traced()
    if options.inputs is not None:
        return Case(traced.function, tuple(read_inputs(traced.function, options.inputs)))
    arrays = [
        random_array(rng, param.type) if value is None else np.asarray(value, order="C")
        for param, value in zip(traced.function.params, subject.values(traced), strict=True)
    ]
    return Case(traced.function, tuple(arrays))
