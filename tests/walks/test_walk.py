"""Walks over the kernels, other trials at each run. A walk with a planted fault must find it."""

from __future__ import annotations

import functools
import random
import signal
from typing import Any

import numpy as np
import pytest

from tracejit.base.machine import Machine

from ..forked import forked
from ..fuzz.comparing import Mismatch
from ..fuzz.runner import Worker
from ..rotation import SEED
from . import runner
from . import trial as trials
from .cases import FAMILIES, trial
from .drawing import MAX_THREADS, OPERAND_ELEMENTS, ROWS, Case, draw_machine, draw_threads
from .memory import guarded
from .runner import walk
from .trial import try_case
from .worker import failure_of

#: Some 15 seconds of processor time.
TRIALS = 60


@pytest.mark.parametrize("number", range(2))
def test_the_kernels(number: int) -> None:
    """``TRACEJIT_FUZZ_SEED`` chooses the trials; ``python -m tests.walks`` runs more of them."""
    outcome = walk(SEED, trials=TRIALS // 2, first=number * TRIALS // 2)
    assert not outcome.findings, f"python -m tests.walks --seed {SEED}\n" + "\n".join(outcome.findings)


def test_a_seed_gives_the_same_trials() -> None:
    for number in range(3 * len(FAMILIES)):
        first, second = trial(5, number), trial(5, number)
        assert str(first) == str(second)
        for one, other in zip(first.case.arrays, second.case.arrays, strict=True):
            np.testing.assert_array_equal(one, other)
    assert len({str(trial(5, number)) for number in range(40)}) == 40


def test_each_family_and_feature_is_drawn() -> None:
    trials = [trial(7, number) for number in range(400)]
    assert {each.case.family for each in trials} == set(FAMILIES)
    assert len({each.machine.features for each in trials}) > 4
    assert len({each.machine.l2_bytes for each in trials}) > 4
    sizes = [size for each in trials for array in each.case.arrays for size in array.shape]
    assert max(sizes) >= 100_000
    views = {view.name.split("[")[0].split("(")[0] for each in trials for view in each.case.views}
    assert views >= {"rows", "columns", "turned", "strided", "reversed", "inner", "repeated"}


def test_plans_for_one_thread_to_64_are_drawn() -> None:
    """Real threads, and the parts that work is cut into for so many of them."""
    rng = random.Random(3)
    assert {draw_threads(rng) for _ in range(2000)} == set(range(1, MAX_THREADS + 1))
    assert {draw_machine(rng).chunks for _ in range(2000)} == set(range(1, MAX_THREADS + 1))


def test_as_many_threads_run_as_are_drawn() -> None:
    """Run in another process, which keeps that many workers."""
    program = """
import numpy as np
from tracejit.base.machine import Machine
from tracejit.runtime.threads import POOL
from tests.walks.drawing import ROWS, Case
from tests.walks.trial import try_case
case = Case("maps", "x", lambda xp, x: x + 1, [np.arange(100_000.0)], [ROWS])
try_case(case, Machine(task_cycles=1.0, least_tasks=0, chunks=64), 64, checked=False)
print("workers", POOL.started)
"""
    assert "workers 63" in forked(program)


def test_the_operands_of_the_largest_cases_fit() -> None:
    """Results of every trial are measured where it is run."""
    for number in range(600):
        arrays = trial(9, number, ("products", "batches", "transposes")).case.arrays
        assert sum(array.size for array in arrays) <= OPERAND_ELEMENTS


#: Trials that found something: seed and number.
PAST = ((8639, 14649),)


@pytest.mark.parametrize(("seed", "number"), PAST)
def test_past_findings(seed: int, number: int) -> None:
    assert not failure_of(trial(seed, number))


# -- the net itself ------------------------------------------------------------------------------------


def identity_case(program: Any) -> Case:
    return Case("maps", "x", program, [np.arange(100.0)], [ROWS])


def test_a_wrong_value_is_seen() -> None:
    case = identity_case(lambda xp, x: x + (xp is not np and xp.__name__ == "tracejit"))
    with pytest.raises(Mismatch, match="value: 100 of 100 elements"):
        try_case(case, Machine(), 2, checked=False)


def test_sums_that_numpy_rounds_more_are_compared_with_exact_ones() -> None:
    """NumPy adds up columns one term after the other: 200,000 times 0.1 is off by thousands of roundings."""
    x = np.full((200_000, 2), 0.1, "f4")
    arguments = "reductions", "sum", lambda xp, x: xp.sum(x, axis=0), [x], [ROWS], 100 * 20_000 * 2.0**-23
    with pytest.raises(Mismatch, match="value: 2 of 2 elements"):
        try_case(Case(*arguments), Machine(), 2, checked=False)
    exact = np.sum(x, axis=0, dtype="f8").astype("f4")
    case = Case(*arguments, exact=lambda x: exact, eager_tolerance=200_000 * 20_000 * 2.0**-23)
    try_case(case, Machine(), 2, checked=False)


def test_a_trial_that_takes_too_much_memory_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials, "TRIAL_BYTES", 10 * 800)
    try_case(identity_case(lambda xp, x: x), Machine(), 2, checked=False)
    with pytest.raises(Mismatch, match="memory: operands of 800 bytes, results of 1600 and an arena"):
        try_case(identity_case(lambda xp, x: [x, x + 1]), Machine(), 2, checked=False)


def test_a_read_beside_an_array_ends_the_process() -> None:
    for at_end, place in ((True, "nbytes"), (False, "-1")):
        program = f"""
import ctypes
import numpy as np
from tests.walks.memory import guarded
memory = guarded(np.arange(5000.0), {at_end})
x = memory.array
nbytes = x.nbytes
assert x.sum() == 4999 * 2500
print("still there", flush=True)
ctypes.string_at(x.ctypes.data + {place}, 1)
print("beside")
"""
        with pytest.raises(AssertionError, match=f"exit status -{signal.SIGSEGV.value}\n") as caught:
            forked(program)
        assert "still there" in str(caught.value)
        assert "beside\n" not in str(caught.value)


def test_a_write_on_the_other_side_is_seen() -> None:
    memory = guarded(np.arange(5.0), at_end=True)
    assert memory.check()
    memory._rest[-1] = 0
    assert not memory.check()


def test_a_crash_is_a_finding_and_the_walk_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gathers that copy one element too many write beside their results."""
    monkeypatch.setattr(runner, "Worker", functools.partial(_worker_of, "tests.walks.faulty"))
    outcome = walk(1, trials=8, families=("gathers",))
    assert outcome.trials.total() == 8
    crashes = [finding for finding in outcome.findings if "signal SIGSEGV" in finding]
    assert crashes
    assert all(finding.startswith("seed 1, trial ") and "gathers: " in finding for finding in crashes)


def _worker_of(fault: str, *arguments: str, module: str) -> Worker:
    assert module == "tests.walks.worker"
    return Worker(*arguments, module=fault)
