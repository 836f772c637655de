"""Runs programs in a process that may crash or hang, and says what it is at in lines of JSON.

``python -m tests.fuzz.worker SEED FIRST STRIDE [--modes ...] [--kind KIND]`` runs programs until it is ended;
``--check MODE`` runs the program on standard input in one mode; ``--reduce MODE`` makes that program small.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import sys
from collections import Counter
from dataclasses import asdict
from typing import Any

from . import known
from .comparing import Failure, Skipped
from .generator import write_program
from .oracle import modes_of, run_mode, run_program
from .program import Program
from .reducer import reduce_program
from .subject import Subject


def say(message: dict[str, Any]) -> None:
    """One line to the runner, at once."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def run(seed: int, first: int, stride: int, modes: tuple[str, ...], kind: str) -> None:
    """Run programs first, first + stride, ... until the runner ends this process."""
    index = first
    while True:
        counts: Counter[str] = Counter()
        say({"begin": index})
        program = write_program(seed, index, kind)
        failures = []
        for name in modes or modes_of(index):
            say({"mode": name})
            failures += run_program(program, (name,), counts)
            if any(not failure.known for failure in failures):
                break
        say(
            {
                "end": index,
                "steps": program.steps,
                "counts": counts,
                "failures": [asdict(f) for f in failures],
            }
        )
        index += stride


def failing(mode: str, kind: str) -> Any:
    """Whether a program fails in this mode in this way."""

    def fails(program: Program) -> bool:
        failure = checked(program, mode)
        return failure is not None and failure.kind == kind

    return fails


def checked(program: Program, mode: str) -> Failure | None:
    try:
        return run_mode(Subject.of(program), mode, program.source())
    except Skipped:
        return None


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("numbers", nargs="*", type=int)
    parser.add_argument("--modes", nargs="*", default=())
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--kind", default="all")
    parser.add_argument("--check")
    parser.add_argument("--reduce")
    parser.add_argument("--seconds", type=float, default=60.0)
    options = parser.parse_args()
    faulthandler.enable()
    # every pass is verified; nothing is taken from the user's disk cache; the optimised code at once
    os.environ.update(TRACEJIT_VERIFY="1", TRACEJIT_TIERS="0", TRACEJIT_CACHE="0")
    known.WRITE_ALL = options.all
    if options.check:
        failure = checked(Program.from_json(json.load(sys.stdin)), options.check)
        say({"failure": None if failure is None else asdict(failure)})
    elif options.reduce:
        program = Program.from_json(json.load(sys.stdin))
        failure = checked(program, options.reduce)
        if failure is None:
            say({"failure": None})
            return
        program = reduce_program(program, failing(options.reduce, failure.kind), options.seconds)
        failure = checked(program, options.reduce)
        say({"program": program.to_json(), "failure": None if failure is None else asdict(failure)})
    else:
        seed, first, stride = options.numbers
        run(seed, first, stride, tuple(options.modes), options.kind)


if __name__ == "__main__":
    main()
