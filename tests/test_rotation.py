"""Shares of tests by day."""

from __future__ import annotations

import pytest

from . import rotation


def test_every_item_comes_once_in_so_many_days(monkeypatch: pytest.MonkeyPatch) -> None:
    items = list(range(23))
    shares = []
    for day in range(5):
        monkeypatch.setattr(rotation, "TENTH", str(day))
        shares += rotation.of_today(items, 5)
    assert sorted(shares) == items
    monkeypatch.setattr(rotation, "TENTH", "all")
    assert rotation.of_today(items, 5) == items
