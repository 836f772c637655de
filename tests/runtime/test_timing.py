"""Clocks around kernels: `measure_kernels`, and the buffer behind it."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.codegen.instrument.variants import PLAIN
from tracejit.runtime.executable import Executable
from tracejit.runtime.timing import MAX_EVENTS, TimedExecutable, measure_kernels, timed

from ..fuzz.graphs import program
from ..support import sometimes


def executable(f: Any, *args: Any) -> Executable:
    return Executable(tj.trace(f, *args))


def two_products(x: Any) -> Any:
    return tj.tanh(x @ x) @ x


def test_every_kernel_has_a_time_within_the_calls() -> None:
    x = np.random.default_rng(0).normal(size=(128, 128))
    code = executable(two_products, x)
    variant = timed(code)
    begin = time.monotonic_ns()
    results, times = variant.run_timed([x])
    end = time.monotonic_ns()
    np.testing.assert_array_equal(results[0], code([x])[0])
    assert [site.site.kind for site in times.sites] == ["contraction", "map nest", "contraction"]
    assert [site.runs for site in times.sites] == [1, 1, 1]
    assert all(site.nanoseconds > 0 for site in times.sites)
    assert times.events[:, 0].tolist() == [0, 1, 2]
    assert begin <= times.events[0, 1]
    assert (times.events[:, 2] >= times.events[:, 1]).all()
    assert (times.events[1:, 1] >= times.events[:-1, 2]).all(), "one after the other"
    assert times.events[-1, 2] <= end
    assert [site.nanoseconds for site in times.sites] == (times.events[:, 2] - times.events[:, 1]).tolist()


def test_a_slow_host_call_takes_what_it_takes() -> None:
    def slow(x: Any) -> Any:
        time.sleep(0.02)
        return x

    timed = executable(lambda x: tj.pure_callback(slow, tj.TensorType(tj.float64, (3,)), x) * 2, tj.ones(3))

    def right() -> bool:
        kernels = measure_kernels(timed, [np.ones(3)], repeats=1)
        seconds = {kernel.kind: kernel.seconds for kernel in kernels}
        assert seconds["host call"] >= 0.02
        return seconds["map nest"] < seconds["host call"]

    assert sometimes(right)


def test_loops_have_their_kernels_as_children() -> None:
    def f(x: Any) -> Any:
        return tj.fori_loop(0, 50, lambda i, c: tj.tanh(c @ x), x)

    x = np.eye(32) * 0.5
    loop, product, map_ = measure_kernels(executable(f, x), [x])
    assert (loop.kind, loop.parent, loop.runs) == ("loop", None, 1)
    assert [(kernel.parent, kernel.runs) for kernel in (product, map_)] == [(0, 50), (0, 50)]
    assert product.cost.flops == 50 * 2 * 32**3
    assert loop.seconds >= 0.5 * (product.seconds + map_.seconds)
    assert product.gflops == pytest.approx(product.cost.flops / product.seconds / 1e9)


def test_more_events_than_there_is_room_for() -> None:
    def f(x: Any) -> Any:
        return tj.fori_loop(0, 3 * MAX_EVENTS, lambda i, c: tj.tanh(c @ x), x)

    x = np.eye(20) * 0.5
    _, times = TimedExecutable(tj.trace(f, x)).run_timed([x])
    assert [site.runs for site in times.sites] == [1, 3 * MAX_EVENTS, 3 * MAX_EVENTS]
    assert len(times.events) == MAX_EVENTS


def test_calls_at_the_same_time_do_not_meet() -> None:
    x = np.random.default_rng(0).normal(size=(64, 64))
    variant = timed(executable(two_products, x))
    results: list[Any] = []

    def run() -> None:
        for _ in range(50):
            results.append(variant.run_timed([x])[1])

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 200
    assert all([site.runs for site in times.sites] == [1, 1, 1] for times in results)
    assert all(len(times.events) == 3 for times in results)


def test_nothing_is_added_to_ordinary_code() -> None:
    code = executable(two_products, tj.ones((8, 8)))
    assert "probe" not in code.module.text
    assert code.timed_variant is None
    assert "@probe_clock" in timed(code).module.text
    assert timed(code) is timed(code)


def test_a_failing_call_raises_as_ever() -> None:
    code = executable(lambda x, i: x[i] * 2, tj.ones(3), tj.asarray([1]))
    with pytest.raises(tj.OutOfBoundsError):
        timed(code).run_timed([np.ones(3), np.array([7])])


@pytest.mark.parametrize("seed", range(25))
def test_random_programs_compute_what_they_did(seed: int) -> None:
    generated = program(seed)
    results, times = TimedExecutable(generated.function).run_timed(generated.arrays)
    for got, want in zip(results, Executable(generated.function, PLAIN)(generated.arrays), strict=True):
        np.testing.assert_array_equal(got, want)
    assert all(site.runs >= 0 and site.nanoseconds >= 0 for site in times.sites)
    assert (times.events[:, 2] >= times.events[:, 1]).all()
