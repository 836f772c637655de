"""What runs on some days only: a run of the tests takes a share, and the next days the others."""

from __future__ import annotations

import datetime
import os
import zlib
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import pytest

T = TypeVar("T")
#: The share of today, 0 to 9 by date unless `TRACEJIT_TENTH` says which, or ``all``.
TENTH = os.environ.get("TRACEJIT_TENTH") or str(datetime.date.today().toordinal() % 10)


def of_today(items: Sequence[T], days: int) -> Sequence[T]:
    """Today's share of `items`: each comes once in so many `days`, or always with ``TRACEJIT_TENTH=all``."""
    assert 10 % days == 0, "or some would come more often than others"
    return items if TENTH == "all" else items[int(TENTH) % days :: days]


def every(days: int) -> Callable[[Any], Any]:
    """Decorator of a test that takes seconds: it runs once in so many `days`, by its place and name."""

    def decorated(test: Any) -> Any:
        day = zlib.crc32(f"{test.__module__}.{test.__name__}".encode()) % days
        rests = day not in of_today(range(days), days)
        return pytest.mark.skipif(rests, reason=f"it runs every {days} days")(test)

    return decorated
