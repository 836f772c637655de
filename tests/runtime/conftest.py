"""What tests of the runtime share."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from tracejit.runtime import tiers


@pytest.fixture
def held() -> Iterator[threading.Event]:
    """No full tier is made before this is set."""
    event = threading.Event()

    def hold() -> None:
        event.wait(60)

    tiers.BACKGROUND.submit(hold)
    yield event
    event.set()
