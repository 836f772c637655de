"""Calls that hold the library to one thread.

Results then do not depend on how many it has, and no call waits for a thread that another process keeps from
running.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any, TypeVar

from .library import library

F = TypeVar("F", bound=Callable[..., Any])


@functools.lru_cache(maxsize=1)
def _functions() -> tuple[Callable[[], int], Callable[[int], None]] | None:
    """What tells and sets the number of threads; None where the library has no such functions."""
    lapack = library()
    if lapack is None or not (lapack.get_threads and lapack.set_threads):
        return None
    get = ctypes.CFUNCTYPE(ctypes.c_int)(lapack.get_threads)
    return get, ctypes.CFUNCTYPE(None, ctypes.c_int)(lapack.set_threads)


def on_one_thread(function: F) -> F:
    """Decorator: `function`, during which the library has one thread.

    Who finds one thread there leaves the number as it is: so nobody keeps a number that another one restores.
    """

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        functions = _functions()
        before = 1 if functions is None else functions[0]()
        if functions is None or before <= 1:
            return function(*args, **kwargs)
        functions[1](1)
        try:
            return function(*args, **kwargs)
        finally:
            functions[1](before)

    return call  # type: ignore[return-value]
