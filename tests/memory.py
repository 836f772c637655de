"""Memory and references that calls leave behind, in processes that run other tests as well."""

from __future__ import annotations

import gc
import mmap
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

#: Turns of `is_given_back`.
TURNS = 3
#: Changes of the number of references to an object that all tests share, in one turn.
REFERENCES = 100


def resident() -> int:
    """Bytes of physical memory in use."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE


def mapped() -> int:
    """Bytes of addresses in use."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * mmap.PAGESIZE


def is_given_back(
    run: Callable[[], Any], below: int, shared: Sequence[Any] = (), measure: Callable[[], int] = resident
) -> bool:
    """Whether memory grows by less than `below` bytes over a run, and references to `shared` stay, in one of
    some turns. A process that has run other tests takes or frees memory of theirs once, and a leak shows in
    each turn."""
    return any(_holds(run, below, shared, measure) for _ in range(TURNS))


def _holds(run: Callable[[], Any], below: int, shared: Sequence[Any], measure: Callable[[], int]) -> bool:
    gc.collect()
    counts, before = [sys.getrefcount(value) for value in shared], measure()
    run()
    gc.collect()
    grown = measure() - before
    changes = [sys.getrefcount(value) - count for value, count in zip(shared, counts, strict=True)]
    print(f"grown by {grown} bytes of {below}, references by {changes}")
    return grown < below and all(abs(change) < REFERENCES for change in changes)
