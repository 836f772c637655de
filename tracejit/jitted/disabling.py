"""``disable_jit``: jitted functions as plain Python, in one thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from ..runtime.bypass import bypass_native_entries

_disabled = threading.local()


def jit_is_disabled() -> bool:
    """Whether this thread runs jitted functions as plain Python."""
    return getattr(_disabled, "on", False)


@contextmanager
def disable_jit() -> Iterator[None]:
    """Jitted functions run as plain Python inside the ``with`` block, for debugging.

    Example:
        >>> import tracejit as tj
        >>> with tj.disable_jit():
        ...     _ = tj.jit(lambda x: print("runs", x) or x)(tj.tensor(2.0))
        runs tensor(2.)
    """
    before = getattr(_disabled, "on", False)
    _disabled.on = True
    bypass_native_entries(+1)
    try:
        yield
    finally:
        bypass_native_entries(-1)
        _disabled.on = before
