"""A walk over random kernels by random schedules: ``python -m tests.codegen.loops.schedule_walk``.

A kernel (`random_kernels.py`) must be valid before and after each pass, mean the same to the bit by the
interpreter, tasks in any order, and its text must read back. Where there is machine code for it, a part of
them is compiled, by the tiers in turn, and compared with the interpreter.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import json
import secrets
import sys
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from tracejit.codegen.loops.interpreter import InterpretedFailure
from tracejit.codegen.loops.nodes import Kernel
from tracejit.codegen.loops.parser import parse_kernel
from tracejit.codegen.loops.passes import PASSES, REORDERS_SUMS, NotApplicable, parse_schedule
from tracejit.codegen.loops.printer import print_kernel
from tracejit.codegen.loops.verifier import LoopFormError, verify_kernel
from tracejit.codegen.tiers import BASELINE, OPTIMIZED

from ...fuzz.runner import Worker
from ...loop_cases import check_native, check_same
from .random_kernels import KernelWriter, random_step

#: Kernels of which one is compiled where there is code for it, and kernels of which one is of the kind that
#: there is.
COMPILED, PLAIN = 4, 12
#: A kernel that takes longer is one that hangs.
SECONDS = 120.0


@dataclass
class Walk:
    """The outcome of a walk: kernels, those that the verifier could not prove to be valid, passes that were
    applied, kernels that were compiled, and findings."""

    seed: int
    kernels: int = 0
    unproven: int = 0
    compiled: int = 0
    passes: Counter[str] = field(default_factory=Counter)
    findings: list[str] = field(default_factory=list)

    def summary(self) -> str:
        applied = ", ".join(f"{name} {self.passes[name]}" for name in PASSES)
        return (
            f"seed {self.seed}: {self.kernels} kernels, {self.compiled} of them compiled, "
            f"{self.unproven} not proven, {self.passes.total()} passes applied, "
            f"{len(self.findings)} findings\n  {applied}"
        )

    def add(self, other: Walk) -> None:
        """Add the counts of a part of the walk."""
        self.kernels += other.kernels
        self.unproven += other.unproven
        self.compiled += other.compiled
        self.passes += other.passes


def text_of(seed: int, number: int) -> str:
    """The text of a kernel of the walk with `seed`."""
    return KernelWriter(np.random.default_rng([seed, number]), plain=number % PLAIN == 0).kernel()


def take(walk: Walk, number: int) -> None:
    """Take kernel `number` through a random schedule. What is wrong is raised, with notes that repeat it."""
    text = text_of(walk.seed, number)
    rng = np.random.default_rng([walk.seed, number, 1])
    steps: list[str] = []
    try:
        kernel = result = parse_kernel(text)
        walk.kernels += 1
        try:
            verify_kernel(kernel)
        except LoopFormError:
            if not kernel.symbols:  # ranges of numbers are proven
                raise
            walk.unproven += 1
            return
        for _ in range(int(rng.integers(2, 7))):
            steps.append(random_step(rng, result))
            before, result = result, _stepped(walk, result, steps[-1])
            if result is before:
                steps.pop()
            else:
                reordered = any(f"{name}(" in step for step in steps for name in REORDERS_SUMS)
                check_same(kernel, result, bits=not reordered)
        if number % COMPILED == 0:
            with contextlib.suppress(InterpretedFailure):
                tier = BASELINE if number % (2 * COMPILED) else OPTIMIZED
                walk.compiled += check_native(result, number, tier)
    except Exception as error:
        error.add_note(f"by {' '.join(steps)}:\n{text}")
        raise


def _stepped(walk: Walk, kernel: Kernel, text: str) -> Kernel:
    """`kernel` by the steps of `text`, as far as they apply."""
    with contextlib.suppress(NotApplicable):
        for name, arguments in parse_schedule(text):
            kernel = PASSES[name](kernel, *arguments)
            walk.passes[name] += 1
    return kernel


def walk_on(seed: int, number: int) -> None:
    """Take kernels from `number` on, and say two lines of JSON about each; until the process is ended."""
    while True:
        print(json.dumps({"begin": number}), flush=True)
        part, failure = Walk(seed), ""
        try:
            take(part, number)
        except Exception as error:
            failure = "".join(traceback.format_exception(error))[-4000:]
        counts = {"kernels": part.kernels, "unproven": part.unproven, "compiled": part.compiled}
        print(json.dumps({"counts": counts, "passes": part.passes, "failure": failure}), flush=True)
        number += 1


def watched(walk: Walk, first: int, kernels: int | None, minutes: float | None) -> None:
    """Walk in processes of their own, so that a crash or a hang is a finding, and the walk goes on."""
    number, begin = first, time.monotonic()
    worker: Worker | None = None
    while (kernels is None or number < first + kernels) and (
        minutes is None or time.monotonic() - begin < 60 * minutes
    ):
        worker = worker or Worker("--worker", str(walk.seed), str(number), module=__spec__.name)
        try:
            line = worker.read(SECONDS)
        except TimeoutError:
            worker.process.kill()
            line = None
        if line is not None and "begin" in line:
            continue
        failure = f"the process ended: {worker.end()}" if line is None else line["failure"]
        if line is None:
            worker = None
        else:
            walk.add(Walk(walk.seed, **line["counts"], passes=Counter(line["passes"])))
        if failure:
            walk.findings.append(f"kernel {number} of seed {walk.seed}: {failure}")
            print(walk.findings[-1], flush=True)
        number += 1
    if worker is not None:
        worker.process.kill()
        worker.end()


def main() -> int:
    """Walk; 1 where something was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.codegen.loops.schedule_walk", description=__doc__)
    parser.add_argument("--minutes", type=float, help="how long; 1, unless --kernels says how many")
    parser.add_argument("--kernels", type=int, help="how many")
    parser.add_argument("--seed", type=int, help="which kernels; new ones each time")
    parser.add_argument("--first", type=int, default=0, help="the number of the first kernel")
    parser.add_argument("--show", type=int, metavar="NUMBER", help="print one kernel")
    parser.add_argument("--here", type=int, metavar="NUMBER", help="take one kernel in this process")
    parser.add_argument("--worker", nargs=2, type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    faulthandler.enable()
    if options.worker is not None:
        walk_on(*options.worker)
    seed = secrets.randbelow(1_000_000) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    walk = Walk(seed)
    if options.show is not None:
        print(print_kernel(parse_kernel(text_of(seed, options.show))))
        return 0
    if options.here is not None:
        take(walk, options.here)
    else:
        minutes = 1.0 if options.minutes is None and options.kernels is None else options.minutes
        with contextlib.suppress(KeyboardInterrupt):
            watched(walk, options.first, options.kernels, minutes)
    print(walk.summary())
    return int(bool(walk.findings))


if __name__ == "__main__":
    sys.exit(main())
