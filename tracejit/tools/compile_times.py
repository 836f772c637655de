"""Times of compiling a Function, in either tier: passes, the loop form step by step, other code, and LLVM."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Final

from ..base.records import record
from ..codegen.llvm.target import host
from ..codegen.loops.clocks import StepTime, timed_steps
from ..codegen.module.writer import generate
from ..codegen.plan.recovery import Recovery
from ..codegen.tiers import BASELINE, OPTIMIZED, Tier
from ..ir.graph import Function
from ..ir.passes import PIPELINE, run_passes
from ..runtime.compiling import machine_code

#: Share of the time of compiling that the loop form may take.
BUDGET: Final = 0.2
#: Compilations that are measured; one more before them loads what is loaded once.
REPEATS: Final = 4


@record
class CompileTimes:
    """Seconds of compiling a Function in a tier: its passes, the steps of kernels in the loop form, other
    work on the text of its code, and LLVM."""

    tier: str
    passes: float
    steps: Sequence[StepTime]
    other: float
    llvm: float

    @property
    def loops(self) -> float:
        """The seconds in the loop form."""
        return sum(step.seconds for step in self.steps)

    @property
    def total(self) -> float:
        """The seconds of all of it."""
        return self.passes + self.loops + self.other + self.llvm

    @property
    def share(self) -> float:
        """The part of the time that the loop form takes."""
        return self.loops / self.total

    def __str__(self) -> str:
        parts = {"passes": self.passes, "loop form": self.loops, "other code": self.other, "LLVM": self.llvm}
        listed = ", ".join(f"{name} {seconds * 1e3:.2f}" for name, seconds in parts.items())
        verdict = "within" if self.share <= BUDGET else "over"
        lines = [
            f"{self.tier} tier: {self.total * 1e3:.2f} ms: {listed}",
            f"  loop form: {self.share:.1%} of the time, {verdict} its budget of {BUDGET:.0%}",
        ]
        width = max([len(step.kernel) for step in self.steps], default=0)
        for step in self.steps:
            share = step.seconds / self.total
            lines.append(f"  {step.seconds * 1e3:8.3f} ms {share:6.1%}  {step.kernel:{width}}  {step.step}")
        return "\n".join(lines)

    def as_json(self) -> dict[str, Any]:
        """The times as data, in milliseconds."""
        return {
            "tier": self.tier,
            "milliseconds": {
                "passes": self.passes * 1e3, "loops": self.loops * 1e3, "other": self.other * 1e3,
                "llvm": self.llvm * 1e3, "total": self.total * 1e3,
            },
            "share": self.share,
            "budget": BUDGET,
            "steps": [
                {"kernel": step.kernel, "step": step.step, "milliseconds": step.seconds * 1e3}
                for step in self.steps
            ],
        }  # fmt: skip


def compile_times(function: Function) -> list[CompileTimes]:
    """The times of compiling `function` for this machine in the baseline tier, and in the optimized tier."""
    return [_shortest(function, tier) for tier in (BASELINE, OPTIMIZED)]


def _shortest(function: Function, tier: Tier) -> CompileTimes:
    """The shortest time of each part of some compilations: what else the machine does is not in it."""
    _once(function, tier)
    runs = [_once(function, tier) for _ in range(REPEATS)]
    steps = [
        StepTime(parts[0].kernel, parts[0].step, min(part.seconds for part in parts))
        for parts in zip(*[run.steps for run in runs], strict=True)
    ]
    passes, other, llvm = (
        min(seconds) for seconds in zip(*[(run.passes, run.other, run.llvm) for run in runs], strict=True)
    )
    return CompileTimes(tier.name, passes, steps, other, llvm)


def _once(function: Function, tier: Tier) -> CompileTimes:
    start = time.perf_counter()
    fused = run_passes(function, PIPELINE)
    passes = time.perf_counter() - start
    start = time.perf_counter()
    with timed_steps() as steps:
        module = generate(fused, host(), recovery=Recovery(fused), parameters=tier.parameters)
    _, _, milliseconds = machine_code(module, (), tier=tier, between=lambda: None)
    total = time.perf_counter() - start
    llvm = sum(milliseconds[phase] for phase in milliseconds if phase != "generate") / 1e3
    other = total - llvm - sum(step.seconds for step in steps)
    return CompileTimes(tier.name, passes, tuple(steps), other, llvm)
