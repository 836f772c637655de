"""Threads of ours, and what they are in the middle of.

The handler of a signal may raise anywhere in the main thread's Python code. `threading.Thread.start` waits,
and `threading.Condition` is entered, in such code: after an exception there a lock stays taken or a thread is
lost. So threads are begun, and waited for, by calls into C alone.
"""

from __future__ import annotations

import _thread
import contextlib
from collections.abc import Callable, Iterator
from typing import Final

#: In place of the identifier of a thread that is about to run.
_NOT_YET: Final = 0


class Ongoing:
    """What threads are in the middle of, for others to wait for."""

    def __init__(self) -> None:
        self._ends: dict[_thread.LockType, int] = {}

    @contextlib.contextmanager
    def noted(self) -> Iterator[None]:
        """Let those who `wait` wait for what this thread does within."""
        end = _thread.allocate_lock()
        end.acquire()
        self._ends[end] = _thread.get_ident()
        try:
            yield
        finally:
            self._over(end)

    def begin(self, work: Callable[[], object]) -> None:
        """Do `work` in a thread of its own, which those who `wait` wait for. Raises RuntimeError where there
        cannot be one."""
        end = _thread.allocate_lock()
        end.acquire()
        # noted and begun with no point between where the handler of a signal runs
        self._ends[end] = _NOT_YET
        try:
            _thread.start_new_thread(self._run, (work, end))
        except RuntimeError:
            self._over(end)
            raise

    def _run(self, work: Callable[[], object], end: _thread.LockType) -> None:
        self._ends[end] = _thread.get_ident()
        try:
            work()
        finally:
            self._over(end)

    def _over(self, end: _thread.LockType) -> None:
        self._ends.pop(end, None)
        end.release()

    def wait(self) -> None:
        """Wait until what other threads are in the middle of has ended."""
        for end, thread in list(self._ends.items()):
            if thread != _thread.get_ident():
                end.acquire()
                end.release()

    def forget(self) -> None:
        """In a forked child the other threads are not there."""
        self._ends = {end: thread for end, thread in self._ends.items() if thread == _thread.get_ident()}
