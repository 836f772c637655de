"""First calls of loops are measured; Numba need not be there."""

from __future__ import annotations

import json

import pytest

from benchmarks.first_calls import _GOALS, _child, _names


def test_goals_are_of_rows() -> None:
    assert set(_GOALS) <= set(_names(None))
    assert _names(["loop-log"]) == ["loop-logistic"]


def test_a_first_call_takes_longer_than_a_later_one(capsys: pytest.CaptureFixture[str]) -> None:
    _child("tracejit", ["loop-logistic"])
    measured = json.loads(capsys.readouterr().out)
    assert list(measured) == ["loop-logistic"]
    first, later = measured["loop-logistic"]
    assert first > later > 0
