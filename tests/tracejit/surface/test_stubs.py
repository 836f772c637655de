"""Stubs are what the table makes of them."""

from __future__ import annotations

import pytest

from tracejit.surface.stubs import stubs

STUBS = stubs()


@pytest.mark.parametrize("path", STUBS, ids=lambda path: path.parent.name)
def test_stubs_are_those_of_the_table(path):
    assert path.read_text() == STUBS[path], "run python -m tracejit.surface"
