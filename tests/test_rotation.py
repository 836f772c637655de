"""Tests that take turns: the share follows from the sources alone, and none rests where paths are named or
all are asked for."""

from __future__ import annotations

import ast
import os
from pathlib import Path

import pytest

from . import rotation

PATH, NAMES = "tracejit/linalg/test_values.py", [f"test_values[{i}]" for i in range(40)]


def _resting(key: str, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    monkeypatch.setattr(rotation, "KEY", key)
    return {name for name in NAMES if rotation.rests(PATH, name)}


def test_each_rests_with_some_sources_and_runs_with_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(rotation.RESTING, "1")
    runs = [_resting(str(740_000 + number), monkeypatch) for number in range(20)]
    assert set.union(*runs) == set(NAMES)
    assert not set.intersection(*runs)
    assert all(10 < len(names) < 30 for names in runs)


def test_none_rests_where_all_or_paths_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(rotation.RESTING, "1")
    assert not _resting("all", monkeypatch)
    monkeypatch.setattr(rotation, "KEY", "740000")
    assert not any(rotation.rests("codegen/native/test_writer.py", name) for name in NAMES)
    monkeypatch.delenv(rotation.RESTING)
    assert not _resting("740000", monkeypatch)


def test_what_holds_a_change_does_not_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(rotation.RESTING, "1")
    monkeypatch.delenv(rotation.TOUCHED, raising=False)
    assert _resting("740000", monkeypatch)
    for place in (PATH, "tracejit/linalg"):
        monkeypatch.setenv(rotation.TOUCHED, os.pathsep.join(["codegen/nest", place]))
        assert not _resting("740000", monkeypatch)
    monkeypatch.setenv(rotation.TOUCHED, "tracejit/lin")
    assert _resting("740000", monkeypatch)


def test_the_number_follows_from_names_and_contents_of_sources(tmp_path: Path) -> None:
    (tmp_path / "ir" / "ops").mkdir(parents=True)
    (tmp_path / "ir" / "ops" / "sums.py").write_text("SUM = 1\n")
    number = rotation.tree_number(tmp_path)
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "copy.py").write_text("SUM = 1\n")
    os.utime(tmp_path / "ir" / "ops" / "sums.py", (0, 0))
    assert rotation.tree_number(tmp_path) == number
    (tmp_path / "ir" / "ops" / "sums.py").write_text("SUM = 2\n")
    changed = rotation.tree_number(tmp_path)
    (tmp_path / "ir" / "ops" / "sums.py").rename(tmp_path / "ir" / "ops" / "totals.py")
    assert len({number, changed, rotation.tree_number(tmp_path)}) == 3


def _dates(text: str) -> list[int]:
    """The lines where a file asks for the date, but for programs that it holds as texts."""
    asking = (
        "date.today",
        "datetime.today",
        "datetime.now",
        "datetime.utcnow",
        "localtime",
        "gmtime",
        "ctime",
    )
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    return [call.lineno for call in calls if ast.unparse(call.func).endswith((*asking, "strftime"))]


def test_no_test_asks_for_the_date() -> None:
    """A test that goes by the date fails days later, for somebody else."""
    files = Path(__file__).parent.rglob("*.py")
    asking = {path.name: lines for path in files if (lines := _dates(path.read_text()))}
    assert not asking


@pytest.mark.parametrize(
    "call",
    ["datetime.date.today()", "date.today().day", "datetime.now()", "time.localtime().tm_yday"],
)
def test_a_test_that_asks_for_the_date_is_seen(call: str) -> None:
    assert _dates(f"import datetime\nif {call}:\n    pass") == [2]
    assert not _dates(f"PROGRAM = '{call}'\ntime.monotonic()")
