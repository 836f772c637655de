"""Pauses of Python's cyclic garbage collector, for work that makes many objects and few cycles.

The collector looks at all objects again whenever their number has grown by a quarter. In a compilation nearly
all of them live until its end: looking at them took a quarter of its time.
"""

from __future__ import annotations

import contextlib
import gc
import os
import threading
from collections.abc import Iterator

#: The threads that have paused the collector.
_PAUSING: set[int] = set()


@contextlib.contextmanager
def collector_paused() -> Iterator[None]:
    """Pause the collector, in all threads, if it is not off already.

    Where several threads pause it at a time, it is on again when the first of them is through.
    """
    if not gc.isenabled():
        yield
        return
    thread = threading.get_ident()
    try:
        _PAUSING.add(thread)
        gc.disable()
        yield
    finally:
        gc.enable()
        _PAUSING.discard(thread)


def count_as_old() -> None:
    """Count all objects as old, without a look at them. Where somebody has frozen objects, nothing changes.

    It is for objects that stay: functions and classes of modules that were loaded, some 100,000 of them. The
    collector looked at them for a tenth of a first call.
    """
    if gc.get_freeze_count() == 0:
        gc.freeze()
        gc.unfreeze()


def collect_young() -> None:
    """Collect the young generations, unless the collector is off. Otherwise one of the next compiling calls
    would collect the objects of ten compilations at once."""
    if gc.isenabled():
        gc.collect(1)


def _after_in_child() -> None:
    """Resume garbage collection in a child where another thread of the parent had paused it."""
    if _PAUSING - {threading.get_ident()}:
        gc.enable()
    _PAUSING.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_in_child)
