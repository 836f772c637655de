"""Watches workers: a crash or a hang is a finding, with its seed and number, and the walk goes on."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field

from ..fuzz.runner import Worker

#: A trial that takes longer is one that hangs.
SECONDS = 120.0
#: Trials of one process: what they leave behind should not hide in the next.
TOGETHER = 400


@dataclass
class Walk:
    """The outcome of a walk: trials by family, plans, numbers of threads, the most memory of a worker, and
    findings."""

    seed: int
    trials: Counter[str] = field(default_factory=Counter)
    plans: set[str] = field(default_factory=set)
    threads: set[int] = field(default_factory=set)
    peak: int = 0
    findings: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def summary(self) -> str:
        counts = ", ".join(f"{name} {count}" for name, count in sorted(self.trials.items()))
        return (
            f"seed {self.seed}: {self.trials.total()} trials in {self.seconds:.0f} s, "
            f"{len(self.findings)} findings\n  {counts}\n"
            f"  {len(self.plans)} plans for {len(self.threads)} numbers of threads; "
            f"workers took {self.peak >> 20} MiB at most"
        )


def walk(
    seed: int,
    *,
    minutes: float | None = None,
    trials: int | None = None,
    first: int = 0,
    families: tuple[str, ...] = (),
) -> Walk:
    """Run trials until the time is over or there were enough of them."""
    outcome, begin, number = Walk(seed), time.monotonic(), first
    worker: Worker | None = None

    def goes_on() -> bool:
        in_time = minutes is None or time.monotonic() - begin < 60 * minutes
        return in_time and (trials is None or number < first + trials)

    try:
        while goes_on():
            worker = worker or Worker(str(seed), str(number), *families, module="tests.walks.worker")
            text = family = ""
            ending: str | None = None
            while ending is None:
                try:
                    line = worker.read(SECONDS)
                except TimeoutError:
                    worker.process.kill()
                    line, family = None, family or "drawing"
                if line is None:
                    ending = f"the process ended: {worker.end()}"
                    worker = None
                elif "trial" in line:
                    text, family = line["trial"], line["family"]
                    outcome.plans.add(line["plan"])
                    outcome.threads.add(line["threads"])
                elif "failure" in line:
                    ending = line["failure"]
                    outcome.peak = max(outcome.peak, line["peak"])
            outcome.trials[family] += 1
            if ending:
                outcome.findings.append(f"seed {seed}, trial {number}: {text}\n  {ending}")
                print(outcome.findings[-1][:3000], flush=True)
            number += 1
            if worker is not None and number % TOGETHER == 0:
                worker.process.kill()
                worker.end()
                worker = None
    finally:
        if worker is not None:
            worker.process.kill()
            worker.end()
        outcome.seconds = time.monotonic() - begin
    return outcome
