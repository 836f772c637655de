"""Random Python programs, jitted and compared with Python: ``python -m tests.python_programs``."""

from __future__ import annotations

import argparse
import secrets
import sys
import time
from collections import Counter
from pathlib import Path

from ..fuzz.runner import Worker
from .checking import SECONDS, Finding, Refused, TooLong, examine
from .reducer import reduce_text
from .worker import number_of, program_of

#: A new process now and then: what one program leaves behind should not hide in the next.
_PER_PROCESS = 500


def main() -> int:
    """Run random programs; 1 where one does not do what Python does."""
    parser = argparse.ArgumentParser(prog="python -m tests.python_programs", description=main.__doc__)
    parser.add_argument("--minutes", type=float, help="how long; 2, unless --programs says how many")
    parser.add_argument("--programs", type=int, help="how many")
    parser.add_argument("--seed", type=int, help="which programs; new ones each time")
    parser.add_argument("--first", type=int, default=0, help="the number of the first program")
    parser.add_argument("--show", type=int, metavar="NUMBER", help="print this program, check and reduce it")
    parser.add_argument("--failures", type=int, default=50, help="end after so many failures")
    parser.add_argument("--refusals", action="store_true", help="print the reasons of refusals")
    parser.add_argument("--write", type=Path, metavar="FOLDER", help="write programs that fail there")
    options = parser.parse_args()
    seed = secrets.randbelow(10**6) if options.seed is None else options.seed
    if options.show is not None:
        return _show(number_of(seed, options.show))
    print(f"seed {seed}", flush=True)
    minutes = 2.0 if options.minutes is None and options.programs is None else options.minutes
    begin, index, done = time.monotonic(), options.first, 0
    failures: list[int] = []
    refused: Counter[str] = Counter()
    long: list[int] = []
    worker: Worker | None = None
    while (
        (minutes is None or time.monotonic() - begin < 60 * minutes)
        and (options.programs is None or done < options.programs)
        and len(failures) < options.failures
    ):
        if worker is None:
            worker = Worker(str(seed), str(index), module="tests.python_programs.worker")
        try:
            line = worker.read(20.0 * SECONDS)
        except TimeoutError:
            line = {"finding": ("hang", "no end", 0)}
        if line is None or "end" not in line:
            if line is not None and "begin" in line:
                index = line["begin"]
                continue
            finding: Finding | None = Finding("crash", worker.end()) if line is None else Finding("hang", "")
            if line is not None:
                worker.end()
            worker = None
        elif "refused" in line:
            finding = None
            refused[line["refused"].split(": ", 1)[-1]] += 1
        elif "long" in line:
            finding = None
            long.append(index)
            print(f"program {index} does not compile in {SECONDS} s of processor time", flush=True)
        else:
            finding = Finding(*line["finding"]) if line["finding"] else None
        if finding is not None:
            failures.append(index)
            print(f"program {index}, call {finding.call}: {finding.kind}: {finding.message}", flush=True)
            if options.write is not None:
                options.write.mkdir(exist_ok=True, parents=True)
                text = program_of(number_of(seed, index))
                (options.write / f"{seed}_{index}.py").write_text(text)
        done, index = done + 1, index + 1
        if done % 100 == 0:
            print(f"{done} programs, {len(failures)} failures", flush=True)
        if worker is not None and done % _PER_PROCESS == 0:
            worker.end()
            worker = None
    if worker is not None:
        worker.process.kill()
        worker.end()
    print(
        f"seed {seed}: {done} programs in {time.monotonic() - begin:.0f} s, {sum(refused.values())} refused, "
        f"{len(long)} too long to compile, {len(failures)} failures"
    )
    if options.refusals:
        for reason, count in refused.most_common(40):
            print(f"  {count} x {reason[:200]}")
    return 1 if failures else 0


def _show(number: int) -> int:
    text = program_of(number)
    print(text)
    try:
        finding = examine(text, number)
    except Refused as refusal:
        print(f"refused: {refusal}")
        return 0
    except TooLong:
        print(f"does not compile in {SECONDS} s of processor time")
        return 0
    print(finding)
    if finding is None:
        return 0

    def fails(smaller: str) -> bool:
        try:
            other = examine(smaller, number)
        except Exception:  # refused, or no program any more
            return False
        return other is not None and other.kind == finding.kind

    smaller = reduce_text(text, fails)
    print(smaller)
    print(examine(smaller, number))
    return 1


if __name__ == "__main__":
    sys.exit(main())
