"""Tables that load what is looked up."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from tracejit.base.on_use import OnUse


def test_a_table_loads_what_is_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    late = ModuleType("tracejit_late")
    late.__dict__.update(function=max)
    table = OnUse[str, object](
        {"largest": ("tracejit_late", "function"), "missing": ("tracejit_late", "nothing")}
    )
    assert list(table) == ["largest", "missing"]
    assert len(table) == 2
    assert "largest" in table
    assert "other" not in table
    with pytest.raises(ModuleNotFoundError):
        table["largest"]
    monkeypatch.setitem(sys.modules, "tracejit_late", late)
    assert table["largest"] is max
    monkeypatch.delitem(sys.modules, "tracejit_late")
    assert table["largest"] is max  # it is kept
    monkeypatch.setitem(sys.modules, "tracejit_late", late)
    with pytest.raises(AttributeError):
        table["missing"]
    with pytest.raises(KeyError):
        table["other"]
