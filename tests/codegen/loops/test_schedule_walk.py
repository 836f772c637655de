"""The walk itself: a crash and a hang are findings, and the walk goes on behind them."""

from __future__ import annotations

from typing import Any

import pytest

from . import schedule_walk
from .schedule_walk import Walk, watched

COUNTS = {"kernels": 1, "unproven": 0, "compiled": 1}
#: The lines of each worker; "hang" is one that says nothing any more.
WORKERS: list[list[Any]] = [
    [{"begin": 5}, {"counts": COUNTS, "passes": {"peel": 2}, "failure": ""}, {"begin": 6}, None],
    [{"begin": 7}, "hang"],
    [
        {"begin": 8},
        {"counts": COUNTS, "passes": {"peel": 1}, "failure": "AssertionError"},
        {"begin": 9},
        {"counts": COUNTS, "passes": {}, "failure": ""},
    ],
]


class _Worker:
    started: list[tuple[str, ...]]

    def __init__(self, *arguments: str, module: str) -> None:
        self.lines = iter(WORKERS[len(self.started)])
        self.started.append(arguments)
        self.process = self

    def read(self, seconds: float) -> Any:
        line = next(self.lines)
        if line == "hang":
            raise TimeoutError
        return line

    def kill(self) -> None:
        """Kill no process: there is none."""

    def end(self) -> str:
        return "signal SIGSEGV"


def test_what_ends_a_process_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_Worker, "started", [], raising=False)
    monkeypatch.setattr(schedule_walk, "Worker", _Worker)
    walk = Walk(3)
    watched(walk, 5, 5, None)
    assert _Worker.started == [("--worker", "3", "5"), ("--worker", "3", "7"), ("--worker", "3", "8")]
    assert [text.split(":")[0] for text in walk.findings] == [f"kernel {n} of seed 3" for n in (6, 7, 8)]
    assert "SIGSEGV" in walk.findings[0]
    assert (walk.kernels, walk.compiled, walk.passes["peel"]) == (3, 3, 3)
    assert "3 findings" in walk.summary()
