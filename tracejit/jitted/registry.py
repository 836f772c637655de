"""The set of all jitted functions: registrations that change compiled code reach them here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Protocol

from ..base.process.finalization import WeakTable
from ..base.process.locks import ForkLock


class Compiled(Protocol):
    """An object with compiled code that it can forget."""

    def clear_cache(self, reason: str) -> None:
        """Forget the compiled code; `reason` says why."""


_LOCK: Final = ForkLock()
_FUNCTIONS: Final[WeakTable[Compiled, None]] = WeakTable()

_KEPT: Final[list[list[Compiled]]] = []


def watch(function: Compiled) -> None:
    """Register `function`, so that registrations of ops and kernels reach it."""
    with _LOCK:
        _FUNCTIONS[function] = None
        for functions in _KEPT:
            functions.append(function)


@contextmanager
def keeping() -> Iterator[list[Compiled]]:
    """A list that gets every jitted function made meanwhile, and keeps it alive."""
    functions: list[Compiled] = []
    with _LOCK:
        _KEPT.append(functions)
    try:
        yield functions
    finally:
        with _LOCK:
            _KEPT[:] = [items for items in _KEPT if items is not functions]


def recompile_all(reason: str) -> None:
    """Make every jitted function compile again at its next call, native entries included.

    A function that is compiling just now finishes first. Do not call it with a lock held that compiling
    takes.
    """
    with _LOCK:
        functions = _FUNCTIONS.alive()
    for function in functions:
        function.clear_cache(reason)
