"""The switch that sends every call to the slow path, where it can be traced."""

from __future__ import annotations

import ctypes
import os
import threading
from typing import Final

from ..base.process.locks import ForkLock

#: Counter that is not 0 while native entries must take the slow path: a thread is tracing, or jit is
#: disabled. Native entries read it at this address.
_COUNT: Final = ctypes.c_int64(0)
BYPASS_ADDRESS: Final = ctypes.addressof(_COUNT)
_LOCK = ForkLock()


#: The number of requests for the slow path, tracing apart.
_asked = 0
#: The threads that trace.
_TRACING: Final[set[int]] = set()


def bypass_native_entries(change: int) -> None:
    """Count up or down those who need every call to take the slow path."""
    global _asked
    with _LOCK:
        _asked += change
        _COUNT.value = _asked + len(_TRACING)


def bypass_while_tracing(traces: bool) -> None:
    """Set whether this thread traces. This is a state, not a change of one. So where a signal's handler
    raised at the wrong moment, the next trace of the thread puts it right."""
    with _LOCK:
        (_TRACING.add if traces else _TRACING.discard)(threading.get_ident())
        _COUNT.value = _asked + len(_TRACING)


def _forget_other_threads() -> None:
    """Drop the other threads from those that trace, as a forked child has none of them."""
    _TRACING.intersection_update({threading.get_ident()})
    _COUNT.value = _asked + len(_TRACING)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_other_threads)
