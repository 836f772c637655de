"""The switch that sends every call to the slow path, where it can be traced."""

from __future__ import annotations

import ctypes
from typing import Final

from ..ir.locks import ForkLock

#: Not 0 while native entries must take the slow path: a thread is tracing, or jit is disabled. Native entries
#: read it at this address.
_COUNT: Final = ctypes.c_int64(0)
BYPASS_ADDRESS: Final = ctypes.addressof(_COUNT)
_LOCK = ForkLock()


def bypass_native_entries(change: int) -> None:
    """Count up or down those who need every call to take the slow path."""
    with _LOCK:
        _COUNT.value += change
