"""``tj.flush_denormals``: whether this thread takes denormal numbers for zero."""

from __future__ import annotations

import platform
from typing import Final

from ..ir.errors import TracejitError
from .native.float_mode import set_flushing

#: The machines whose floating-point mode is known, by `platform.machine`.
_KNOWN: Final = ("x86_64", "amd64", "i686", "aarch64", "arm64")


def check_can_flush(caller: str) -> None:
    """Raise TracejitError where this machine's floating-point mode is not known."""
    machine = platform.machine()
    if machine.lower() not in _KNOWN:
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
