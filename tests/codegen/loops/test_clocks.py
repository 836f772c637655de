"""Clocks on kernels in the loop form: every step is there, and nothing is noted for those who do not ask."""

from __future__ import annotations

import numpy as np

import tracejit as tj
from tracejit.codegen.llvm.target import host
from tracejit.codegen.loops.clocks import StepTime, timed_steps
from tracejit.codegen.module.writer import generate
from tracejit.codegen.nest.maps import ScheduledLoops


def test_every_step_of_every_kernel_is_timed() -> None:
    fused = tj.jit(lambda x: (np.exp(x), x.T * 2)).lower(np.zeros((20, 30))).fused
    with timed_steps() as times:
        module = generate(fused, host())
    count = len(times)
    generate(fused, host())
    assert len(times) == count
    assert all(isinstance(time, StepTime) and time.seconds >= 0 for time in times)
    kernels = [kernel.described for kernel in module.kernels]
    assert kernels
    for described in kernels:
        assert isinstance(described, ScheduledLoops)
        steps = [time.step for time in times if time.kernel == described.loops.name]
        assert steps == ["schedule", "algorithm", *described.loops.schedule, "emit"]


def test_times_inside_of_each_other() -> None:
    fused = tj.jit(lambda x: x + 1).lower(np.zeros(20)).fused
    with timed_steps() as outer:
        with timed_steps() as inner:
            generate(fused, host())
        assert inner
        assert not outer
        generate(fused, host())
    assert [time.step for time in outer] == [time.step for time in inner]
