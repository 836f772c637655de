"""Which jitted functions there are, so that a registration that changes what they compiled reaches them."""

from __future__ import annotations

import threading
import weakref
from typing import Final, Protocol


class Compiled(Protocol):
    """What has compiled code to forget."""

    def clear_cache(self, reason: str) -> None:
        """Forget it; `reason` says why."""


_LOCK: Final = threading.Lock()
_FUNCTIONS: Final[weakref.WeakSet[Compiled]] = weakref.WeakSet()


def watch(function: Compiled) -> None:
    """Let `function` hear of registrations."""
    with _LOCK:
        _FUNCTIONS.add(function)


def recompile_all(reason: str) -> None:
    """Make every jitted function compile again at its next call, native entries included.

    A function that is compiling just now finishes first. Do not call it with a lock held that compiling
    takes.
    """
    with _LOCK:
        known = list(_FUNCTIONS)
    for function in known:
        function.clear_cache(reason)
