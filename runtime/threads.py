"""Threads: how many, and the pool's workers, which live in native code and never take the GIL.

Nothing starts at import. The pool is compiled and its workers are created when the first function whose work
pays for threads is linked. After a fork the child begins anew.
"""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..base.errors import TracejitError
from ..base.process.locks import ForkLock
from ..codegen.interface import PARALLEL_FOR, POOL_EXPORTS, THREADS, Library
from .interrupts import poll_imports
from .loading.objects import load_support


def available_cores() -> int:
    """The cores this process may use: its affinity, limited by a cgroup's CPU quota."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:
        cores = os.cpu_count() or 1
    return max(1, min(cores, _cgroup_quota() or cores))


def _cgroup_quota() -> int | None:
    """Whole cores of the cgroup v2 quota, None where there is none."""
    try:
        with open("/sys/fs/cgroup/cpu.max", encoding="utf-8") as file:
            quota, period = file.read().split()
    except (OSError, ValueError):
        return None
    return None if quota == "max" else max(1, -(-int(quota) // int(period)))


class _Pool:
    """The native pool of this process."""

    def __init__(self) -> None:
        self.lock = ForkLock()
        self.library: Library | None = None
        self.started = 0
        self.wanted = _initial()

    def address(self) -> int:
        """The address of ``parallel_for``, with the workers running."""
        with self.lock:
            if self.library is None:
                self.library = load_support("pool", POOL_EXPORTS, poll_imports())
                self._call("tracejit_pool_init", 0)
            self._set_workers()
            return self.library.addresses[PARALLEL_FOR]

    def imports(self) -> dict[str, int]:
        """The addresses of the functions that kernels call for threads; the workers then run."""
        address = self.address()
        assert self.library is not None
        return {PARALLEL_FOR: address, THREADS: self.library.addresses[THREADS]}

    def set_wanted(self, count: int) -> None:
        with self.lock:
            self.wanted = count
            if self.library is not None:
                self._set_workers()

    def _call(self, name: str, argument: int) -> None:
        assert self.library is not None
        ctypes.CFUNCTYPE(None, ctypes.c_int64)(self.library.addresses[name])(argument)

    def _set_workers(self) -> None:
        assert self.library is not None
        while self.started < self.wanted - 1:
            _start_thread(self.library.addresses["tracejit_worker"])
            self.started += 1
        place = self.library.addresses["tracejit_workers"]
        ctypes.c_int64.from_address(place).value = self.wanted - 1

    def after_fork(self) -> None:
        """Reset the pool in a forked child, which does not have its parent's workers."""
        self.started = 0
        if self.library is not None:
            self._call("tracejit_pool_init", 0)
            self._set_workers()


def _initial() -> int:
    text = os.environ.get("TRACEJIT_NUM_THREADS", "")
    if not text:
        return available_cores()
    if not text.isdigit() or int(text) < 1:
        raise TracejitError(f"TRACEJIT_NUM_THREADS must be a positive integer, got {text!r}")
    return int(text)


def _start_thread(entry: int) -> None:
    """A detached native thread with all signals blocked: those belong to Python's threads."""
    libc: Any = ctypes.CDLL(None)
    handle = ctypes.c_ulong()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        status = libc.pthread_create(ctypes.byref(handle), None, ctypes.c_void_p(entry), None)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    if status != 0:
        raise TracejitError(f"could not start a worker thread: {os.strerror(status)}")
    libc.pthread_detach(handle)


POOL = _Pool()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=POOL.after_fork)


def num_threads() -> int:
    """Number of threads that compiled functions may use, including the caller's.

    Example:
        >>> import tracejit as tj
        >>> with tj.threads(1):
        ...     tj.num_threads()
        1
    """
    return POOL.wanted


def set_num_threads(count: int) -> None:
    """Use at most `count` threads, the caller's included. ``TRACEJIT_NUM_THREADS`` sets the initial value.

    Example:
        >>> import tracejit as tj
        >>> before = tj.num_threads()
        >>> tj.set_num_threads(1)
        >>> tj.num_threads()
        1
        >>> tj.set_num_threads(before)
    """
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise TracejitError(f"set_num_threads: expected a positive integer, got {count!r}")
    POOL.set_wanted(count)


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Use at most `count` threads inside the ``with`` block.

    Example:
        >>> import tracejit as tj
        >>> with tj.threads(1):
        ...     tj.num_threads()
        1
    """
    before = num_threads()
    set_num_threads(count)
    try:
        yield
    finally:
        set_num_threads(before)
