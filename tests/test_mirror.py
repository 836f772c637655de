"""Tests mirror the sources, by path or by the table, and a change is followed to the tests that hold it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from . import mirror


def _sources() -> list[str]:
    return [
        path.relative_to(mirror.ROOT).as_posix()
        for folder in mirror.SOURCES
        for path in sorted((mirror.ROOT / folder).rglob("*.py"))
        if not any(parent.is_symlink() for parent in path.parents)  # tracejit/ir is ir
    ]


def _without(sources: Iterable[str]) -> list[str]:
    """The sources that have no test file at their own path, and are not named."""
    return [
        source
        for source in sources
        if not (mirror.ROOT / "tests" / mirror.own_test(source)).exists() and not mirror.is_named(source)
    ]


def test_every_source_is_held_by_tests_that_exist() -> None:
    assert not _without(_sources()), "give them a test file at the same path, or name them in UNMIRRORED"
    assert not [source for source in _sources() if not mirror.holders(source, {})], "lacks a row of TESTED_BY"
    for place, tests in mirror.TESTED_BY.items():
        assert (mirror.ROOT / place).exists(), place
        for test in tests:
            assert (mirror.ROOT / "tests" / test).exists(), f"{place}: {test}"


def test_a_source_without_tests_is_seen() -> None:
    assert _without(["codegen/plan/arena.py", "ir/ops/new.py", "ir/ops/shape.py", "ir/ops/__init__.py"]) == [
        "ir/ops/new.py"
    ]


def test_each_name_is_needed() -> None:
    """A module is named while it is there and has no test file of its own."""
    named = {f"{folder}/{name}.py" for folder, names in mirror.UNMIRRORED.items() for name in names.split()}
    lacking = {
        source for source in _sources() if not (mirror.ROOT / "tests" / mirror.own_test(source)).exists()
    }
    assert not named - lacking


def test_each_row_is_needed() -> None:
    """A row stays while one of its sources has no test file of its own."""
    lacking = {
        mirror.room_of(source)
        for source in _sources()
        if not (mirror.ROOT / "tests" / mirror.own_test(source)).exists()
    }
    assert not set(mirror.TESTED_BY) - lacking


def test_a_change_touches_what_mirrors_it_what_imports_it_and_itself() -> None:
    assert "codegen/plan/test_arena.py" in mirror.touched(["codegen/plan/arena.py"])
    assert "ir/test_origins.py" in mirror.touched(["ir/passes/fusion/fuse.py"])
    assert "ir/passes/fusion" in mirror.touched(["ir/passes/fusion/fuse.py"])
    assert mirror.touched(["tests/ir/test_verifier.py", "docs/index.md"]) == {"ir/test_verifier.py"}


def test_a_change_begins_at_the_commit_that_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[tuple[str, ...]] = []

    def git(*words: str) -> str:
        said.append(words)
        return {"diff": "ir/graph.py\n", "rev-parse": "b\n", "merge-base": "b\n"}.get(words[0], "")

    monkeypatch.setattr(mirror, "_git", git)
    monkeypatch.setenv(mirror.SINCE, "abc")
    assert mirror.changed() == ["ir/graph.py"]
    assert said == [("diff", "--name-only", "abc")]
    monkeypatch.delenv(mirror.SINCE)
    assert mirror.changed() == ["ir/graph.py"]
    assert said[-1] == ("diff", "--name-only", "HEAD^")


def test_nothing_is_touched_where_there_is_no_repository(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(mirror, "ROOT", tmp_path)
    assert mirror.changed() == []
