"""The native code that lets signals into native loops, and its state: see `codegen.native.interrupts`."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable
from typing import Any, Final

from ..base.process.locks import ForkLock
from ..codegen.interface import (
    CALL_BACK,
    INTERRUPT_STATE,
    INTERRUPTS_EXPORTS,
    INTERRUPTS_FUNCTIONS,
    POLL,
    RAISED,
    RUN_MAIN,
    Library,
)
from .loading.objects import load_support

_STATE: Final = (ctypes.c_int64 * len(INTERRUPT_STATE))()
#: The address of each of its words, by symbol.
STATE_ADDRESSES: Final = {
    name: ctypes.addressof(_STATE) + 8 * number for number, name in enumerate(INTERRUPT_STATE)
}
RAISED_ADDRESS: Final = STATE_ADDRESSES[RAISED]
_LOCK: Final = ForkLock()
_LIBRARIES: Final[list[Library]] = []


def _start_anew() -> None:
    """Clear the noted signals, and set the main thread to Python's."""
    _STATE[:] = [threading.main_thread().ident or 0, *[0] * (len(INTERRUPT_STATE) - 1)]


def _library() -> Library:
    with _LOCK:
        if not _LIBRARIES:
            functions = {
                name: ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0
                for name in INTERRUPTS_FUNCTIONS
            }
            imports = functions | STATE_ADDRESSES
            _LIBRARIES.append(load_support("interrupts", INTERRUPTS_EXPORTS, imports))
        return _LIBRARIES[0]


def poll_imports() -> dict[str, int]:
    """The addresses of the functions and data that polling code and code with callbacks refers to."""
    return {name: _library().addresses[name] for name in (POLL, CALL_BACK)} | STATE_ADDRESSES


def interruptible(main: int) -> Callable[..., int]:
    """``call(inputs, outputs, more=None)`` of the ``@main`` at this address, which raises what a signal's
    handler raised meanwhile."""
    run: Any = ctypes.PYFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 4)(_library().addresses[RUN_MAIN])

    def call(inputs: int, outputs: int, more: int | None = None) -> int:
        status: int = run(main, inputs, outputs, more)
        return status

    return call


_start_anew()
if hasattr(os, "register_at_fork"):
    # the thread that forked is the child's main thread; its parent's exceptions are not its own
    os.register_at_fork(after_in_child=_start_anew)
