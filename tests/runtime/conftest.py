"""Fixtures that tests of the runtime share."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tracejit.runtime import tiers


@pytest.fixture
def held() -> Iterator[threading.Event]:
    """No optimized tier is made before this is set."""
    event = threading.Event()

    def hold() -> None:
        event.wait(60)

    tiers.BACKGROUND.submit(hold)
    yield event
    event.set()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own for this test."""
    place = tmp_path / "cache"
    monkeypatch.setenv("TRACEJIT_CACHE_DIR", str(place))
    monkeypatch.delenv("TRACEJIT_CACHE")
    return place
