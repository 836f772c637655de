"""What runs on some days only: a run of the tests takes a share, and the next days the others."""

from __future__ import annotations

import datetime
import os
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")
#: The share of today, 0 to 9 by date unless `TRACEJIT_TENTH` says which, or ``all``.
TENTH = os.environ.get("TRACEJIT_TENTH") or str(datetime.date.today().toordinal() % 10)


def of_today(items: Sequence[T], days: int) -> Sequence[T]:
    """Today's share of `items`: each comes once in so many `days`, or always with ``TRACEJIT_TENTH=all``."""
    assert 10 % days == 0, "or some would come more often than others"
    return items if TENTH == "all" else items[int(TENTH) % days :: days]
