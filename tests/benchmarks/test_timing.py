"""Batches: what a clock says of them, and what is taken for the time of a call."""

from __future__ import annotations

import itertools
import time

import pytest

from benchmarks.timing import CLOCKS, least, processor


def _clock(batches: list[float]) -> itertools.chain[float]:
    """Clock readings before and after each batch."""
    return itertools.chain.from_iterable([(0.0, seconds) for seconds in batches])


def test_processor_time_is_the_median_of_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch whose work was counted to the next one is not the time of a call."""
    readings = _clock([1.0, 0.1, 1.9, 1.0, 1.0])
    monkeypatch.setattr(time, "process_time", lambda: next(readings))
    assert processor(lambda: None, (), None, 2, 5.0) == 0.5


def test_time_on_the_wall_is_the_least_of_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    readings = _clock([1.0, 1.5, 0.8, 1.2])
    monkeypatch.setattr(time, "perf_counter", lambda: next(readings))
    assert least(lambda: None, (), None, 2, 4.0) == 0.4


def test_clocks_measure_calls_with_what_waits_for_them() -> None:
    calls: list[str] = []
    for measure in CLOCKS.values():
        assert measure(lambda x: calls.append(x), ("f",), lambda _: calls.append("wait"), 1, 1e-6) >= 0
        assert calls[:2] == ["f", "wait"]
        calls.clear()
