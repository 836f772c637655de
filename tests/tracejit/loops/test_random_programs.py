"""Random programs with loops: compiled = unrolled = Python on NumPy arrays, with their gradients."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from .checking import check_gradients, check_results

FIRST = int(os.environ.get("TRACEJIT_FUZZ_SEED", "0")) * 1000


@pytest.fixture(autouse=True)
def _short_loops_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracejit.loops.running.SHORT", -1)


@pytest.mark.parametrize("seed", range(FIRST, FIRST + 12))
def test_results(seed: int, tmp_path: Path) -> None:
    check_results(seed, tmp_path)


@pytest.mark.parametrize("seed", range(FIRST, FIRST + 6))
def test_gradients(seed: int, tmp_path: Path) -> None:
    check_gradients(seed, tmp_path)
