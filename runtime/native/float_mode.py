"""Flushing of denormal numbers by this thread, and by compiled functions: see `codegen.native.pool`."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

from ...codegen.interface import FLUSHED_MAIN, SET_FLUSHING, Library
from ..cache.objects import link, load_support, support_image


@functools.cache
def _set_flushing() -> Callable[[int], int]:
    library = load_support("float mode", (SET_FLUSHING,), {})
    # PYFUNCTYPE: it does not let go of the GIL, and is in the thread that calls
    function: Any = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(library.addresses[SET_FLUSHING])
    function.library = library
    return function  # type: ignore[no-any-return]


def set_flushing(flushes: bool) -> bool:
    """Have this thread flush denormals or not; whether it did before."""
    return bool(_set_flushing()(int(flushes)))


def is_flushing() -> bool:
    """Whether this thread flushes denormals."""
    return bool(_set_flushing()(-1))


def flushing(library: Library) -> Library:
    """`library` with a ``@main`` that flushes denormals."""
    imports = {FLUSHED_MAIN: library.addresses["main"]}
    outer = link(support_image("flushing main"), ("main",), imports)
    return Library(
        {**library.addresses, **outer.addresses},
        (outer.tracker, library.tracker),
        library.polls,
        library.milliseconds,
    )
