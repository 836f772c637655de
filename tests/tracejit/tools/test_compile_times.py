"""Times of compiling: what is added up, and what the loop form takes of it."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj
from tracejit.codegen.loops.clocks import StepTime
from tracejit.tools.compile_times import CompileTimes, compile_times


def test_both_tiers() -> None:
    baseline, optimized = compile_times(tj.trace(lambda x: np.exp(x) * 2, np.zeros(1000)))
    assert (baseline.tier, optimized.tier) == ("baseline", "optimized")
    for times in (baseline, optimized):
        assert min(times.passes, times.loops, times.other, times.llvm) > 0
        assert 0 < times.share < 1
        assert {step.step for step in times.steps} >= {"algorithm", "normalize()", "emit"}
        data = times.as_json()
        assert data["milliseconds"]["total"] == pytest.approx(times.total * 1e3)
        assert len(data["steps"]) == len(times.steps)


@pytest.mark.parametrize(("seconds", "verdict"), [(0.002, "20.0% of the time, within"), (0.004, "over")])
def test_the_budget(seconds: float, verdict: str) -> None:
    steps = [StepTime("k0", "algorithm", seconds / 2), StepTime("k0", "emit", seconds / 2)]
    text = str(CompileTimes("baseline", 0.002, steps, 0.002, 0.004))
    assert verdict in text.splitlines()[1]
    assert text.splitlines()[2].endswith("k0  algorithm")
