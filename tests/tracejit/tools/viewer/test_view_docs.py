"""docs/view.md is true, and names pictures that are there."""

from __future__ import annotations

import re
from pathlib import Path

from ....support import check_document

_DOCS = Path(__file__).parents[4] / "docs"


def test_the_examples_of_the_document(monkeypatch):
    monkeypatch.chdir(_DOCS.parent)
    check_document("view.md", least=12)


def test_its_pictures_are_there_and_small():
    named = re.findall(r"\]\((images/[^)]+)\)", (_DOCS / "view.md").read_text())
    assert len(named) >= 4
    for name in named:
        data = (_DOCS / name).read_bytes()
        assert data[:4] == b"\x89PNG"
        assert len(data) < 450_000, name
