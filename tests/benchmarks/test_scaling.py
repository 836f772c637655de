"""Workloads on one thread and on all cores: what is measured, and what is too slow."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import scaling
from benchmarks.pairs import Pair
from benchmarks.timing import Spread
from benchmarks.workloads import WORKLOADS

from ..rotation import one_in

ROOT = Path(__file__).resolve().parents[2]
BY_NAME = {workload.name: workload for workload in WORKLOADS}


@one_in(5)
def test_a_quick_run() -> None:
    command = "-m benchmarks.scaling --quick --only dispatch-arr --peers numpy --threads 2"
    done = subprocess.run(
        [sys.executable, *command.split()],
        cwd=ROOT, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.stdout, done.stderr
    lines = done.stdout.splitlines()
    assert [line.split("|")[2].strip() for line in lines if line.startswith("| dispatch-array")] == [
        "tracejit", "numpy"
    ]  # fmt: skip
    slower = "dispatch-array" in lines[-1]  # on a crowded machine it may be
    assert slower or lines[-1] == "slower on 2 threads: none"
    assert done.returncode == slower, done.stderr


def test_what_is_slower_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Name tracejit's times alone, by the median."""
    once = Spread(1e-3, 1e-3, 1e-3)
    ratios = {"dispatch-array": 0.95, "chain-10k-f32": 0.85}

    def found(contest: Any, library: str, workload: Any) -> Pair:
        ratio = ratios[workload.name] if library == "tracejit" else 0.1
        return Pair(library, once, once, Spread(ratio, 0.1, 9.0))

    monkeypatch.setattr(scaling, "speedup", found)
    chosen = [BY_NAME[name] for name in ratios]
    assert scaling.run(chosen, ("tracejit", "numpy"), 2, scaling.QUICK) == ["chain-10k-f32"]
