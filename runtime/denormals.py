"""``tj.flush_denormals``: whether this thread takes denormal numbers for zero, and how compiled functions see
to it.
"""

from __future__ import annotations

import ctypes
import functools
import platform
from collections.abc import Callable
from typing import Any, Final

from ..base.errors import TracejitError
from ..codegen.interface import FLUSHED_MAIN, SET_FLUSHING, Library
from .loading.objects import link, load_support, support_image


@functools.cache
def _set_flushing() -> Callable[[int], int]:
    library = load_support("float mode", (SET_FLUSHING,), {})
    # PYFUNCTYPE: it does not let go of the GIL, and is in the thread that calls
    function: Any = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(library.addresses[SET_FLUSHING])
    function.library = library
    return function  # type: ignore[no-any-return]


def set_flushing(flushes: bool) -> bool:
    """Switch the flushing of denormals in this thread on or off, and return whether it was on."""
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


#: The machines whose floating-point mode is known, by `platform.machine`.
_MACHINES: Final = ("x86_64", "amd64", "i686", "aarch64", "arm64")


def check_can_flush(caller: str) -> None:
    """Raise TracejitError where this machine's floating-point mode is not known."""
    machine = platform.machine()
    if machine.lower() not in _MACHINES:
        raise TracejitError(f"{caller}: denormal numbers can be flushed on x86 and Arm, this is {machine}")


class flush_denormals:
    """Take denormal numbers for zero in this thread from now on, or only inside a ``with`` block.

    A denormal number is smaller than the smallest normal one of its dtype, 1.2e-38 in float32 and 2.2e-308 in
    float64. Many CPUs take some hundred cycles for an instruction that meets one, so code whose values decay
    (gradients through many steps) may run ten times slower. A thread that flushes them reads them as zero and
    gives zero where a result would be one. This holds for all floating-point code of the thread: eager
    operations, compiled functions with the tasks that other threads do for them, NumPy, and Python's own
    floats. ``tj.jit(flush_denormals=True)`` flushes in the calls of one function.

    Args:
        on: whether to flush.

    Example:
        >>> import tracejit as tj
        >>> small = tj.tensor([1e-30], dtype="float32")
        >>> small * 1e-10
        tensor([1.e-40], dtype=float32)
        >>> with tj.flush_denormals(True):
        ...     print(bool((small * 1e-10 == 0).all()))
        True

    Raises TracejitError on machines other than x86 and Arm. Semantics: ``torch.set_flush_denormal``, which is
    no context manager; XLA flushes always.
    """

    def __init__(self, on: bool = True) -> None:
        if not isinstance(on, bool):
            raise TracejitError(f"flush_denormals: expected True or False, got {on!r}")
        check_can_flush("flush_denormals")
        self._before = set_flushing(on)

    def __enter__(self) -> None:
        return None

    def __exit__(self, *error: object) -> None:
        set_flushing(self._before)
