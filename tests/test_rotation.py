"""Tests that take turns: each comes again, and none rests where paths are named or all are asked for."""

from __future__ import annotations

import pytest

from . import rotation

PATH, NAMES = "tracejit/linalg/test_values.py", [f"test_values[{i}]" for i in range(40)]


def _resting(day: str, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    monkeypatch.setattr(rotation, "DAY", day)
    return {name for name in NAMES if rotation.rests(PATH, name)}


def test_each_rests_on_some_days_and_runs_on_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(rotation.RESTING, "1")
    days = [_resting(str(740_000 + day), monkeypatch) for day in range(20)]
    assert set.union(*days) == set(NAMES)
    assert not set.intersection(*days)
    assert all(10 < len(names) < 30 for names in days)


def test_none_rests_where_all_or_paths_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(rotation.RESTING, "1")
    assert not _resting("all", monkeypatch)
    monkeypatch.setattr(rotation, "DAY", "740000")
    assert not any(rotation.rests("codegen/native/test_writer.py", name) for name in NAMES)
    monkeypatch.delenv(rotation.RESTING)
    assert not _resting("740000", monkeypatch)
