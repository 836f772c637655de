"""Random kernels in the loop form through random schedules: valid before and after each pass, the same to the
bit by the interpreter, with text that reads back. Some of them are compiled.

``TRACEJIT_LOOP_KERNELS=N`` runs N kernels in place of a few; ``TRACEJIT_LOOP_SEED`` chooses which.
``python -m tests.codegen.loops.schedule_walk`` walks for longer.
"""

from __future__ import annotations

import os

import numpy as np
import pytest

from tracejit.codegen.loops.nodes import Kernel
from tracejit.codegen.loops.parser import parse_kernel
from tracejit.codegen.loops.passes import PASSES, NotApplicable, parse_schedule, usage
from tracejit.codegen.loops.printer import print_kernel
from tracejit.codegen.loops.rewriting import loops_in
from tracejit.codegen.loops.verifier import LoopFormError, verify_kernel
from tracejit.codegen.tiers import OPTIMIZED
from tracejit.runtime.loop_kernels import NativeKernel

from ... import loop_cases
from ...loop_cases import check_native, outcome
from .random_kernels import KernelWriter
from .schedule_walk import Walk, take

KERNELS = int(os.environ.get("TRACEJIT_LOOP_KERNELS", "120"))
SEED = int(os.environ.get("TRACEJIT_LOOP_SEED", "0"))
#: Least number of passes that are applied to a kernel, on average: else the walk tests nothing.
MIN_STEPS = 1.5


@pytest.mark.parametrize("part", range(4))
def test_random_kernels_mean_the_same_by_any_schedule(part: int) -> None:
    walk = Walk(SEED)
    for number in range(part, KERNELS, 4):
        take(walk, number)
    assert walk.passes.total() >= MIN_STEPS * walk.kernels, walk.summary()
    assert walk.unproven <= 0.05 * walk.kernels, walk.summary()
    assert walk.compiled or part, walk.summary()  # the first part has those that are compiled


def _plain(seed: int) -> Kernel:
    return parse_kernel(KernelWriter(np.random.default_rng([1, seed]), plain=True).kernel())


def test_the_walk_finds_a_pass_that_is_wrong() -> None:
    """A kernel of one iteration is another one, and a kernel of too many is not valid."""
    found = 0
    for seed in range(12):
        kernel = _plain(seed)
        size = loops_in(kernel.body)[0].hi[0].constant
        wrong = parse_kernel(print_kernel(kernel).replace(f"in 0:{size} ", "in 0:1 ", 1))
        found += size > 1 and outcome(wrong, 0, {}) != outcome(kernel, 0, {})
        further = print_kernel(kernel).replace(f"in 0:{size} ", "in 0:99 ", 1)
        with pytest.raises(LoopFormError):
            verify_kernel(parse_kernel(further))
    assert found >= 6


def test_the_walk_finds_code_that_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """Code of another kernel than the one that is interpreted."""
    kernel = parse_kernel(
        "kernel @f(b0: f64[5], b1: out f64[5]) { for i in 0:5 { %x: f64 = load b0[i] store b1[i], %x } }"
    )
    other = parse_kernel(print_kernel(kernel).replace("load b0[i]", "load b0[4 - i]"))
    assert check_native(kernel, 0, OPTIMIZED)
    monkeypatch.setattr(loop_cases, "NativeKernel", lambda _, tier: NativeKernel(other, tier))
    with pytest.raises(AssertionError, match="optimized: b1"):
        check_native(kernel, 0, OPTIMIZED)


@pytest.mark.parametrize("name", PASSES)
def test_a_pass_refuses_arguments_that_it_does_not_take(name: str) -> None:
    """An error of the schedule names the pass with its arguments."""
    takes = usage(name)
    wrong = [f"{name}(i, 0, 0, 0, 0, 0, 0)"] if "*" not in takes else []
    wrong += [f"{name}(8)"] if takes.startswith(f"{name}(index") else []
    wrong += [f"{name}(i, 0)"] if takes == f"{name}(index, lanes: number)" else []
    for text in wrong:
        with pytest.raises(NotApplicable, match=f"expected {name}\\("):
            parse_schedule(text)


@pytest.mark.parametrize(
    "step", ["vectorize(i#x, 8)", "vectorize(i, 3)", "specialize(i, 3)", "tile(i, j, 3, 1)"]
)
def test_a_pass_refuses_numbers_that_make_no_sense(step: str) -> None:
    kernel = parse_kernel(
        "kernel @f(b1: out f64[20]) { for i in 0:4 { for j in 0:5 { store b1[5*i + j], 0.0:f64 } } }"
    )
    ((name, arguments),) = parse_schedule(step)
    with pytest.raises(NotApplicable):
        PASSES[name](kernel, *arguments)
