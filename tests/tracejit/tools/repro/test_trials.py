"""Trials in another process: agreement, differences, crashes, errors, endless loops."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.base.errors import TracejitError
from tracejit.ir.graph import Function
from tracejit.tools.repro import Case, Trials, reduce_case
from tracejit.tools.repro.cases import check_writable
from tracejit.tools.repro.server import load_setup

#: An op that native code gets wrong above 1, and one that crashes.
BROKEN = """\
import ctypes
import numpy as np
import tracejit as tj

tj.register_op("wobble", inputs="x", elementwise=True)
tj.register_kernel("wobble", "numpy", lambda x: np.where(x > 1, x * x, x))
tj.register_kernel("wobble", "llvm", lambda b, x: b.mul(x, 1.0))
tj.register_op("boom", inputs="x", elementwise=True)
tj.register_kernel("boom", "numpy", np.sin)
tj.register_kernel("boom", "llvm", ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(8))
print("what a setup prints is no answer")
"""


@pytest.fixture(scope="module")
def setup(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    path = tmp_path_factory.mktemp("setup") / "broken.py"
    path.write_text(BROKEN)
    with tj.extend.isolated():
        load_setup(str(path))
        yield str(path)


@pytest.fixture(scope="module")
def trials(setup: str) -> Iterator[Trials]:
    with Trials([setup], timeout=300) as started:
        yield started


def case_of(f: Callable[..., Any], *arrays: Any) -> Case:
    return Case(tj.trace(f, *arrays), tuple(np.asarray(array) for array in arrays))


def test_agreement(trials: Trials) -> None:
    verdict = trials.run(case_of(lambda x: tj.exp(x).sum(), np.ones(5)))
    assert (verdict.kind, verdict.is_wrong) == ("agrees", False)
    verdict = trials.run(case_of(lambda x, i: x[i], np.ones(5), np.array([9])))
    assert verdict.kind == "agrees"
    assert verdict.detail.startswith("both raise: OutOfBoundsError")
    assert trials.run(case_of(lambda x: tj.log(x), np.array([-1.0, 0.0]))).kind == "agrees"


def test_a_difference(trials: Trials) -> None:
    verdict = trials.run(case_of(lambda x: tj.ops.wobble(x), np.array([0.5, 3.0])))
    assert str(verdict) == "differs: result 0 (f64[2]): native 3.0, interpreter 9.0 at [1]"


def test_a_crash_ends_nothing_else(trials: Trials) -> None:
    crash = case_of(lambda x: tj.ops.boom(x), np.ones(3))
    assert str(trials.run(crash)) == "crash: SIGSEGV"
    assert trials.run(case_of(lambda x: x + 1, np.ones(3))).kind == "agrees"
    assert str(trials.run(crash)) == "crash: SIGSEGV"


def test_no_valid_function(trials: Trials) -> None:
    right = case_of(lambda x: tj.exp(x), np.ones(3))
    (instruction,) = right.function.body
    broken = Function("f", right.function.params, (), (instruction.result,))
    assert trials.run(Case(broken, right.inputs)).kind == "unusable"


def test_an_endless_loop(setup: str) -> None:
    endless = case_of(lambda x: tj.while_loop(lambda c: c > 0, lambda c: c + 1, x), np.array(1.0))
    for seconds in (1.5, 6, 30):  # which is long enough for the other case depends on the machine
        with Trials(timeout=seconds) as trials:
            verdict = trials.run(endless)
            assert (verdict.kind, verdict.is_wrong) == ("timeout", True)
            if trials.run(case_of(lambda x: x + 1, np.ones(3))).kind == "agrees":
                return
    raise AssertionError("nothing runs after an endless loop")


def test_tolerance() -> None:
    case = case_of(lambda x: tj.exp(x * 1.1).sum(), np.random.default_rng(0).normal(size=1000))
    with Trials(rtol=0.0) as exact:
        kinds = {exact.run(case).kind for _ in range(2)}
    assert kinds in ({"agrees"}, {"differs"}), "the same each time"


def test_reducing_a_difference_and_a_crash(trials: Trials) -> None:
    rng = np.random.default_rng(0)

    def model(w: Any, x: Any) -> Any:
        hidden = tj.tanh(x @ w)
        for _ in range(3):
            hidden = tj.ops.wobble(hidden * 3.0) + tj.sin(hidden)
        return tj.nn.log_softmax(hidden, axis=-1).sum(), hidden.mean(axis=0)

    def crashing(w: Any, x: Any) -> Any:
        return tj.ops.boom(tj.exp(x @ w).sum(0)) + x.sum()

    for f, op in ((model, "wobble"), (crashing, "boom")):
        case = case_of(f, rng.normal(size=(6, 4)), rng.normal(size=(8, 6)))
        verdict = trials.run(case)
        assert verdict.is_wrong
        small = reduce_case(case, lambda case, v=verdict: trials.run(case).like(v), seconds=60)
        assert [instruction.op.name for instruction in small.function.instructions()] == [op]
        assert small.function.params[0].type.size == 1


def test_a_setup_that_fails(tmp_path: Path) -> None:
    path = tmp_path / "bad.py"
    path.write_text("raise ValueError('not today')\n")
    with pytest.raises(TracejitError, match=r"loading .*bad.py for a trial failed: ValueError: not today"):
        Trials([str(path)])


def test_what_text_cannot_hold() -> None:
    f = tj.trace(lambda x: tj.pure_callback(np.sin, tj.TensorType(tj.float64, ()), x), 1.0)
    with pytest.raises(TracejitError, match=r"calls a Python function .*which text cannot hold"):
        check_writable(f)
