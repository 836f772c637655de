"""Tiered compilation: a quick baseline tier first where LLVM takes long, then the optimized tier in a
background thread.

The baseline code is slower, and gives the same bits (save those of NaN), since both are made of the same text
(`codegen.llvm.multiply_add`). It answers calls until the optimized code takes its place. One thread works off
the queue; LLVM runs without the GIL, one compilation at a time.
"""

from __future__ import annotations

import _thread
import atexit
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Final

from ..base.process.collector import collect_young
from ..base.process.forking import free_lock_of_llvmlite
from .cache.store import CACHE

#: The time that the baseline tier saves LLVM over the optimized one, in milliseconds, measured on the
#: benchmarks: for a module, and for a character of its text.
_SAVED_PER_MODULE: Final = 3.0
_SAVED_PER_CHARACTER: Final = 0.0009
_CYCLES_PER_MILLISECOND: Final = 3e6
#: Milliseconds that a baseline tier must save: for less the thread and the second linking cost what it gains.
_MIN_SAVED: Final = 1.0
#: The background begins when no call has compiled for so long.
_QUIET_SECONDS: Final = 0.03
#: Seconds for which the end of a process, and what sends functions to others, wait for code that later ones
#: will find on disk. Without a baseline tier the first call would have waited for it.
_ENDING_SECONDS: Final = 1.0


def tiers_are_on() -> bool:
    """Whether there are baseline tiers: not with ``TRACEJIT_TIERS=0``."""
    return os.environ.get("TRACEJIT_TIERS") != "0"


def saves_time(text: str, slower: float) -> bool:
    """Whether compiling the module `text` quickly makes the first call faster, which takes about `slower`
    cycles more then.

    The bits of results do not follow from it: both tiers are made of text with the same meaning.
    """
    if os.environ.get("TRACEJIT_TIERS") == "always":
        return True
    saved = _SAVED_PER_MODULE + _SAVED_PER_CHARACTER * len(text)
    return saved - slower / _CYCLES_PER_MILLISECOND > _MIN_SAVED


class Abandoned(Exception):
    """Exception for a background compilation whose result is no longer needed."""


class _Background:
    """Jobs, and the thread that does them one after the other."""

    def __init__(self) -> None:
        self._queue: deque[Callable[[], None]] = deque()
        self._current: Callable[[], None] | None = None
        # entered as it is, in C: a `Condition` is in Python, where the handler of a signal may raise
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._working = False
        self._ending = False
        #: Time when somebody last compiled code that a call waits for, and number of those that wait for the
        #: queue.
        self._last = 0.0
        self._hurried = 0

    def submit(self, job: Callable[[], None]) -> None:
        """Queue `job` for the background thread. Nobody waits for it: its exceptions go to
        `threading.excepthook`."""
        with self._lock:
            if self._ending:
                return
            self._queue.append(job)
            self._last = time.monotonic()
            self._begin()

    def _begin(self) -> bool:
        """Start the worker thread if jobs wait and it does not run. Returns False where no thread can be
        started."""
        if self._queue and not self._working:
            self._working = True
            try:
                # not a `threading.Thread`: it would be waited for until it runs, 0.2 ms of a first call, and
                # joined before `end` could say that it is time
                _thread.start_new_thread(self._work, ())
            except RuntimeError:  # too many threads, or Python is ending: tried again with the next job
                self._working = False
                return False
        return True

    def _work(self) -> None:
        while True:
            with self._lock:
                self._let_callers_compile()
                if not self._queue:
                    self._working = False  # an idle thread would be in the way of those who fork
                    return
                self._current = self._queue.popleft()
            collect_young()
            try:
                self._current()
            except Abandoned:
                pass
            except BaseException:  # nobody waits for it: reported as any thread's
                threading.excepthook(threading.ExceptHookArgs([*sys.exc_info(), threading.current_thread()]))
            with self._lock:
                self._current = None
                self._changed.notify_all()

    def calling(self) -> None:
        """Note that a call is going to need LLVM."""
        self._last = time.monotonic()

    def give_way(self, is_needed: Callable[[], bool]) -> None:
        """Wait between two pieces of a job while callers compile. Raises `Abandoned` unless the job
        `is_needed` still."""
        with self._lock:
            while not self._hurried and not self._ending:
                left = self._last + _QUIET_SECONDS - time.monotonic()
                if left <= 0:
                    break
                self._changed.wait(left)
            if self._ending or not is_needed():
                raise Abandoned

    def _let_callers_compile(self) -> None:
        """Wait for a moment in which no call compiled: those would have to wait for LLVM."""
        while self._queue and not self._hurried:
            left = self._last + _QUIET_SECONDS - time.monotonic()
            if left <= 0:
                return
            self._changed.wait(left)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until everything is done that was submitted; whether it is, after `timeout` seconds."""
        free_lock_of_llvmlite()
        with self._lock:
            if not self._begin():
                return False
            self._hurried += 1
            self._changed.notify_all()
            done = self._changed.wait_for(lambda: not self._queue and self._current is None, timeout)
            self._hurried -= 1
            return done

    def settle(self) -> None:
        """Wait, a second at most, for code that the disk cache is to keep, before functions go to other
        processes. It keeps optimized code alone."""
        if not CACHE.problem and (self._queue or self._current is not None):
            self.wait(_ENDING_SECONDS)

    def end(self) -> None:
        """Shut down at the end of the process: finish, for a limited time, code that the disk cache is to
        keep, and drop the rest. Waits for work that has begun, since LLVM's own memory is torn down next."""
        free_lock_of_llvmlite()
        self.settle()
        with self._lock:
            self._ending = True
            self._queue.clear()
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._current is None)

    def after_fork_in_child(self) -> None:
        """Queue the unfinished jobs again in a forked child, which does not have the background thread."""
        jobs = [self._current] if self._current is not None else []
        jobs += self._queue
        self.__init__()  # type: ignore[misc]
        for job in jobs:
            self.submit(job)


BACKGROUND: Final = _Background()
atexit.register(BACKGROUND.end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=BACKGROUND.after_fork_in_child)
