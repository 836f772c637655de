"""Workloads beside a busy process: what is measured, and what is too slow."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from benchmarks import busy
from benchmarks.pairs import Pair
from benchmarks.timing import Spread, mean
from benchmarks.workloads import WORKLOADS

from ..rotation import one_in

ROOT = Path(__file__).resolve().parents[2]
BY_NAME = {workload.name: workload for workload in WORKLOADS}


@one_in(5)
def test_a_quick_run() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.busy", "--quick", "--only", "dispatch-arr", "--peers", "numpy"],
        cwd=ROOT, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    lines = done.stdout.splitlines()
    rows = [line.split("|") for line in lines if line.startswith("|") and "dispatch-array" in line]
    assert [row[2].strip() for row in rows] == ["tracejit", "numpy"], done.stdout
    late = "dispatch-array" in lines[-1]  # on a crowded machine it may be
    assert late or lines[-1] == "more than 2.5 times slower: none"
    assert done.returncode == late, done.stderr


def test_what_is_too_slow_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Name tracejit's times alone, by the median."""
    once = Spread(1e-3, 1e-3, 1e-3)
    ratios = {"dispatch-array": 2.4, "chain-10k-f32": 2.6}

    def found(contest: Any, library: str, workload: Any, rival: Any) -> Pair:
        ratio = ratios[workload.name] if library == "tracejit" else 9.0
        return Pair(library, once, once, Spread(ratio, 1.0, 99.0))

    monkeypatch.setattr(busy, "slowdown", found)
    chosen = [BY_NAME[name] for name in ratios]
    assert busy.run(chosen, ("tracejit", "numpy"), 1, busy.QUICK) == ["chain-10k-f32"]


def test_a_rival_runs_only_while_it_is_let() -> None:
    def ticks() -> int:
        fields = Path(f"/proc/{rival.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return int(fields[11]) + int(fields[12])

    if not Path("/proc/self/stat").exists():
        pytest.skip("reads /proc")
    rival = busy.Rival()
    try:
        time.sleep(0.1)
        before = ticks()
        time.sleep(0.2)
        assert ticks() - before <= 1
        with rival.running():
            end = time.monotonic() + 300
            while ticks() - before < 5 and time.monotonic() < end:
                time.sleep(0.05)
        assert ticks() - before >= 5
    finally:
        rival.close()
    assert rival.process.poll() is not None


def test_means_count_every_call() -> None:
    """One call in ten takes long: the mean says so, the least would not."""
    calls = 0

    def f() -> None:
        nonlocal calls
        calls += 1
        if calls % 10 == 0:
            time.sleep(0.01)

    assert mean(f, (), None, 5, 0.1) > 0.0009
    assert calls >= 10
