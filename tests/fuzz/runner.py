"""Watches workers: starts them, reads what they say, and notes crashes and hangs as failures."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .comparing import Failure
from .generator import write_program
from .program import Program
from .reducer import reduce_program
from .report import write_test

ROOT = Path(__file__).parents[2]
#: A program that takes longer is one that hangs.
SECONDS = 120.0
#: Number of failures of one kind that are reduced.
ALIKE = 2


class Worker:
    """A process that runs programs, and says a line of JSON about each."""

    def __init__(self, *arguments: str, module: str = "tests.fuzz.worker") -> None:
        self.errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 (closed by `end`)
        self.process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            cwd=ROOT,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
        )  # fmt: skip
        assert self.process.stdout is not None
        self.output = self.process.stdout.fileno()
        self.buffer = b""

    def read(self, seconds: float) -> dict[str, Any] | None:
        """The next line; None where the process ended. TimeoutError where nothing came for so long."""
        while b"\n" not in self.buffer:
            ready, _, _ = select.select([self.output], [], [], seconds)
            if not ready:
                raise TimeoutError
            data = os.read(self.output, 1 << 16)
            if not data:
                return None
            self.buffer += data
        line, self.buffer = self.buffer.split(b"\n", 1)
        return json.loads(line)  # type: ignore[no-any-return]

    def end(self) -> str:
        """End the process; how it ended and the end of what it wrote to standard error."""
        status = self.process.poll()
        if status is None:
            try:
                status = self.process.wait(0.5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()
        self.errors.seek(0)
        text = self.errors.read()[-1500:]
        self.errors.close()
        how = (
            f"signal {signal.Signals(-status).name}"
            if status is not None and status < 0
            else f"status {status}"
        )
        return f"{how}\n{text}"


@dataclass
class Tally:
    """The counts and failures of a run."""

    seed: int
    kind: str = "all"
    programs: int = 0
    modes: Counter[str] = field(default_factory=Counter)
    steps: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[int, Failure]] = field(default_factory=list)
    known: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0

    def summary(self) -> str:
        lines = [
            f"seed {self.seed}, {self.kind}: {self.programs} programs in {self.seconds:.0f} s, "
            f"{len(self.failures)} failures"
        ]
        lines.append("  ways: " + ", ".join(f"{name} {count}" for name, count in self.modes.most_common()))
        lines.append(f"  steps: {sum(self.steps.values())} of {len(self.steps)} kinds")
        lines += [f"  known: {count} x {reason}" for reason, count in self.known.most_common()]
        lines += [
            f"  program {index}, {f.mode}: {f.message.splitlines()[0][:200]}" for index, f in self.failures
        ]
        return "\n".join(lines)


def run_programs(
    seed: int,
    *,
    minutes: float | None = None,
    programs: int | None = None,
    first: int = 0,
    report: Path | None = None,
    kind: str = "all",
    arguments: tuple[str, ...] = (),
) -> Tally:
    """Run programs until the time is over or there were enough of them."""
    tally, begin = Tally(seed, kind), time.monotonic()
    arguments = (*arguments, "--kind", kind)
    index, mode = first, ""
    worker: Worker | None = None
    try:
        while (minutes is None or time.monotonic() - begin < 60 * minutes) and (
            programs is None or tally.programs < programs
        ):
            # a new process now and then: what one program leaves behind should not hide in the next
            worker = worker or Worker(str(seed), str(index), "1", *arguments)
            try:
                line = worker.read(SECONDS)
                problem = "" if line is not None else "crash"
            except TimeoutError:
                line, problem = None, "hang"
            if line is None:
                failure = Failure(mode, f"{problem}: {worker.end()}")
                worker = None
                note(tally, index, failure, report)
                tally.programs += 1
                index += 1
            elif "begin" in line:
                index, mode = line["begin"], "writing the program"
            elif "mode" in line:
                mode = line["mode"]
            else:
                tally.programs += 1
                tally.modes.update(line["counts"])
                tally.steps.update(line["steps"])
                for data in line["failures"]:
                    note(tally, index, Failure(**data), report)
                index += 1
                if tally.programs % 2000 == 0:
                    worker.end()
                    worker = None
    finally:
        if worker is not None:
            worker.process.kill()
            worker.end()
        tally.seconds = time.monotonic() - begin
    return tally


def note(tally: Tally, index: int, failure: Failure, report: Path | None) -> None:
    """Count a failure; reduce and write the first ones of a kind."""
    if failure.known:
        tally.known[failure.known] += 1
        return
    tally.failures.append((index, failure))
    print(f"program {index}, {failure.mode}: {failure.message.splitlines()[0][:300]}", flush=True)
    alike = sum(other.kind == failure.kind for _, other in tally.failures)
    if report is not None and alike <= ALIKE and failure.mode not in ("writing the program", "reference"):
        program = write_program(tally.seed, index, tally.kind)
        program, failure = reduced(program, failure)
        print(
            f"  reduced to {len(program.statements)} statements: {write_test(report, program, failure)}",
            flush=True,
        )


def reduced(program: Program, failure: Failure, seconds: float = 60.0) -> tuple[Program, Failure]:
    """The program made small, in another process; a process for each step where it crashes or hangs."""
    if not failure.message.startswith(("crash", "hang")):
        answer = asked(program, 2 * seconds + 30, "--reduce", failure.mode, "--seconds", str(seconds))
        if isinstance(answer, dict) and answer.get("failure") and "program" in answer:
            return Program.from_json(answer["program"]), Failure(**answer["failure"])
    ending = failure.message.split("\n")[0]

    def fails(smaller: Program) -> bool:
        answer = asked(smaller, 30.0, "--check", failure.mode)
        return isinstance(answer, str) and answer.split("\n")[0] == ending

    return (reduce_program(program, fails, 3 * seconds) if fails(program) else program), failure


def asked(program: Program, seconds: float, *arguments: str) -> dict[str, Any] | str:
    """A worker's answer about a program, or how it ended without one."""
    worker = Worker(*arguments)
    assert worker.process.stdin is not None
    try:
        worker.process.stdin.write(json.dumps(program.to_json()).encode())
        worker.process.stdin.close()
        answer = worker.read(seconds)
    except TimeoutError:
        worker.process.kill()
        worker.end()
        return "hang"
    ending = worker.end()
    return answer if answer is not None else f"crash: {ending}"
