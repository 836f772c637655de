"""What runs on some days only: a run of the tests takes a share, and the next days the others."""

from __future__ import annotations

import datetime
import os
import zlib
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import pytest

T = TypeVar("T")
#: The day that tests go by, unless `TRACEJIT_TENTH` says 0 to 9, or ``all``.
DAY = os.environ.get("TRACEJIT_TENTH") or str(datetime.date.today().toordinal())
#: The share of today, 0 to 9, or ``all``.
TENTH = DAY if DAY == "all" else DAY[-1]
#: Where this variable is 1, half of the tests below `TURNS` rest, other ones each day.
RESTING = "TRACEJIT_TEST_TURNS"
#: Tests of values, many of each function: what one of them misses, others of its family see.
TURNS = (
    "codegen/kernels/", "codegen/nest/", "ir/special/", "ir/test_complex_ops.py", "ir/test_gradients.py",
    "ir/test_linalg.py", "test_batching.py", "test_empty_axes.py", "tracejit/array/", "tracejit/control/",
    "tracejit/fft/", "tracejit/linalg/", "tracejit/loops/", "tracejit/nn/", "tracejit/random/",
    "tracejit/scipy/", "tracejit/test_library_functions.py", "tracejit/transforms/",
)  # fmt: skip


def of_today(items: Sequence[T], days: int) -> Sequence[T]:
    """Today's share of `items`: each comes once in so many `days`, or always with ``TRACEJIT_TENTH=all``."""
    assert 10 % days == 0, "or some would come more often than others"
    return items if TENTH == "all" else items[int(TENTH) % days :: days]


def rests(path: str, name: str) -> bool:
    """Whether the test `name` of the file `path` rests today."""
    if DAY == "all" or os.environ.get(RESTING) != "1" or not path.startswith(TURNS):
        return False
    return zlib.crc32(f"{path}::{name} {DAY}".encode()) % 2 == 0


def every(days: int) -> Callable[[Any], Any]:
    """Decorator of a test that takes seconds: it runs once in so many `days`, by its place and name."""

    def decorated(test: Any) -> Any:
        day = zlib.crc32(f"{test.__module__}.{test.__name__}".encode()) % days
        rests = day not in of_today(range(days), days)
        return pytest.mark.skipif(rests, reason=f"it runs every {days} days")(test)

    return decorated
