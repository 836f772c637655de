"""The machine that decisions are derived from: another one changes decisions, and results stay equal."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.base.machine import DEFAULT, Machine, machine, use_machine
from tracejit.codegen.llvm.target import Target, host
from tracejit.codegen.lowering.kernel import Kernel
from tracejit.codegen.module.writer import generate
from tracejit.ir.graph import Function
from tracejit.ir.passes import run_passes
from tracejit.runtime import compiling, tiers
from tracejit.runtime.cache import store
from tracejit.runtime.executable import Executable

#: Machines with the least and the most memory near a core; with tasks that cost nothing, and much.
NEAR = Machine(l1_bytes=1 << 9, l2_bytes=1 << 12, l3_bytes=1 << 14)
FAR = Machine(l1_bytes=1 << 24, l2_bytes=1 << 26, l3_bytes=1 << 30)
FREE_TASKS = Machine(task_cycles=1.0, least_tasks=0, product_task_cycles=1.0, task_multiplications=64)
DEAR_TASKS = Machine(task_cycles=1e12, product_task_cycles=1e12, task_multiplications=1 << 40, chunks=1)


def numbers(*shape: int) -> np.ndarray[Any, Any]:
    """Small integers: their sums are exact, in whatever order they are taken."""
    return np.random.default_rng(5).integers(-9, 9, shape).astype(np.float64)


def centred(x: Any) -> Any:
    return x - x.max(axis=1, keepdims=True) + x.sum(axis=1, keepdims=True)


def two_sides(x: Any, v: Any) -> Any:
    return x @ v, x.T @ x[:, 0]


def gathered(x: Any, index: Any) -> Any:
    return tj.take(x, index, axis=0)


def counted(x: Any) -> Any:
    return tj.bincount(x, length=7)


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[np.ndarray[Any, Any], ...]]] = {
    "rows": (centred, (numbers(40, 700),)),
    "siblings": (lambda x: (x.sum(axis=1), (x * 2.0).max(axis=1)), (numbers(64, 100),)),
    "both axes": (lambda x: ((x + x[0]).sum(axis=0), (x + x[0]).sum(axis=1)), (numbers(100, 300),)),
    "total": (lambda x: (x * 3.0).sum(), (numbers(70_000),)),
    "columns": (lambda x: x.sum(axis=0), (numbers(9000, 5),)),
    "losses": (lambda x: (x * x).sum(axis=1).sum(), (numbers(900, 40),)),
    "large map": (lambda x: x * 2.0 + 1.0, (numbers(3000),)),
    "gemv pair": (two_sides, (numbers(4000, 30), numbers(30))),
    "product": (lambda x, y: x @ y, (numbers(90, 70), numbers(70, 130))),
    "few rows": (lambda x, y: x @ y, (numbers(2, 90), numbers(90, 200))),
    "large product": (lambda x, y: x @ y, (numbers(300, 200), numbers(200, 250))),
    "convolution": (lambda x, k: tj.nn.conv2d(x, k), (numbers(2, 3, 20, 20), numbers(5, 3, 3, 3))),
    "running sum": (lambda x: tj.cumsum(x), (numbers(40_000),)),
    "sorted": (lambda x: tj.sort(x), (numbers(40_000).astype(np.int16),)),
    "gathered": (gathered, (numbers(400, 9), np.arange(399, -1, -1))),
    "counted": (counted, (np.arange(9000) % 7,)),
    "arena": (lambda x, y: tj.sort(x @ y) @ y, (numbers(60, 60), numbers(60, 60))),
}


def text_for(function: Function, other: Machine) -> str:
    with use_machine(other):
        return generate(run_passes(function), host()).text


def test_a_machine_holds_within_its_block() -> None:
    assert machine() is DEFAULT
    with use_machine(NEAR):
        assert machine() is NEAR
        with use_machine(FAR):
            assert machine() is FAR
        assert machine() is NEAR
    assert machine() is DEFAULT
    with pytest.raises(ZeroDivisionError), use_machine(NEAR):
        _ = 1 // 0
    assert machine() is DEFAULT


def test_a_machine_is_that_of_one_thread() -> None:
    seen = []
    with use_machine(NEAR):
        thread = threading.Thread(target=lambda: seen.append(machine()))
        thread.start()
        thread.join()
    assert seen == [DEFAULT]


@pytest.mark.parametrize("name", PROGRAMS)
def test_decisions_change_and_results_do_not(name: str) -> None:
    function, arrays = PROGRAMS[name]
    traced = tj.trace(function, *arrays)
    want = Executable(traced)(arrays)
    texts = {text_for(traced, DEFAULT)}
    for other in (NEAR, FAR, FREE_TASKS, DEAR_TASKS):
        texts.add(text_for(traced, other))
        with use_machine(other):
            results = Executable(traced)(arrays)
        for result, expected in zip(results, want, strict=True):
            np.testing.assert_array_equal(result, expected)
    assert len(texts) > 1, "no machine decides otherwise"


def kernels(function: Function, other: Machine) -> list[Kernel]:
    with use_machine(other):
        return generate(run_passes(function), host()).kernels


def test_long_rows_are_not_passed_over_twice_where_caches_are_small() -> None:
    rows = tj.trace(centred, numbers(40, 700))
    assert len(kernels(rows, DEFAULT)) == 1
    assert len(kernels(rows, NEAR)) == 2


def test_work_is_cut_where_tasks_cost_little() -> None:
    total = tj.trace(lambda x: x.sum(), numbers(30_000))
    (whole,), (cut,) = kernels(total, DEAR_TASKS), kernels(total, FREE_TASKS)
    assert whole.nest is not None
    assert whole.nest.split is None
    assert cut.nest is not None
    assert cut.nest.split is not None
    assert cut.nest.split.chunks + 1 == FREE_TASKS.chunks  # and what fills no chunk


def test_results_larger_than_the_last_cache_are_written_past_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Target, "asks_for_lines", property(lambda target: False))
    doubled = tj.trace(lambda x: x * 2.0, numbers(3000))
    assert "!nontemporal" not in text_for(doubled, DEFAULT)
    assert "!nontemporal" in text_for(doubled, NEAR)


def test_machines_have_code_of_their_own_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRACEJIT_CACHE")
    monkeypatch.setenv("TRACEJIT_CACHE_DIR", str(tmp_path))
    traced = tj.trace(lambda x: x * 2.0, numbers(3))
    for other, entries in ((DEFAULT, 1), (DEFAULT, 1), (NEAR, 2)):
        with use_machine(other):
            Executable(traced)
        assert store.CACHE.info().entries == entries


def test_the_optimized_tier_is_for_the_same_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEJIT_TIERS", "always")
    # so that the baseline tier's kernel is a shorter one, without stores past the cache
    monkeypatch.setattr(Target, "asks_for_lines", property(lambda target: False))
    seen, original = [], compiling.generate

    def noted(*args: Any, **more: Any) -> Any:
        seen.append(machine())
        return original(*args, **more)

    monkeypatch.setattr(compiling, "generate", noted)
    x = numbers(2200, 2100)
    with use_machine(NEAR):
        executable = Executable(tj.trace(lambda x: x * 2.0, x))
        executable([x])
    assert tiers.BACKGROUND.wait(60)
    assert executable.tier == "optimized"
    assert seen == [NEAR, NEAR]
    executable([x])
