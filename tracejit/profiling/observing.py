"""Observers of running code: profilers, and checkers of results.

Eager kernels come here while anybody looks at any thread (`extend.backends`), and so do calls of compiled
code, whose native entries are switched off meanwhile. Nobody looking costs nothing.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, Protocol

import numpy as np

from ..base.process.locks import ForkLock
from ..base.records import record
from ..extend.backends import ACTIVE, watch_kernels
from ..ir.registry import Op
from ..runtime.bypass import bypass_native_entries
from ..runtime.executable import Executable
from ..runtime.observing import OBSERVER
from ..runtime.timing import CallTimes, timed


class Profiler(Protocol):
    """Observer of what ran and when. Times are nanoseconds of `time.monotonic_ns`."""

    def ran_kernel(self, ran: KernelRun) -> None:
        """An eager kernel ran."""

    def ran_call(self, ran: CallRun) -> None:
        """A compiled function ran."""


class Checker(Protocol):
    """Observer of results before anybody else gets them; it may raise."""

    def check_kernel(
        self, op: Op, operands: Sequence[Any], attrs: dict[str, Any], arrays: Sequence[Any]
    ) -> None:
        """An eager kernel gave `arrays`."""

    def check_call(self, executable: Executable, args: Sequence[Any], results: Sequence[Any]) -> None:
        """Compiled code gave `results`."""


@record
class KernelRun:
    """One run of an eager kernel."""

    op: Op
    backend: str
    operands: Sequence[Any]
    arrays: Sequence[Any]
    begin: int
    end: int


@record
class CallRun:
    """One call of compiled code."""

    executable: Executable
    args: Sequence[Any]
    results: Sequence[Any]
    times: CallTimes
    begin: int
    end: int


class _Here(threading.local):
    profilers: tuple[Profiler, ...] = ()
    checkers: tuple[Checker, ...] = ()
    #: Whether something that is observed is running: what it runs is a part of it.
    busy: bool = False


@record(eq=False, frozen=False)
class _Everywhere:
    profilers: tuple[Profiler, ...] = ()
    checkers: tuple[Checker, ...] = ()
    count: int = 0


_HERE: Final = _Here()
_EVERYWHERE: Final = _Everywhere()
_LOCK: Final = ForkLock()


@contextmanager
def profiling(profiler: Profiler, *, everywhere: bool) -> Iterator[None]:
    """Report to `profiler` what this thread runs, or every thread."""
    place: Any = _EVERYWHERE if everywhere else _HERE
    with _LOCK:
        place.profilers = (*place.profilers, profiler)
    _look(+1)
    try:
        yield
    finally:
        _look(-1)
        with _LOCK:
            place.profilers = tuple([other for other in place.profilers if other is not profiler])


def start_checking(checker: Checker, *, everywhere: bool) -> None:
    """Show `checker` the results of this thread, or of every one, until `stop_checking`."""
    place: Any = _EVERYWHERE if everywhere else _HERE
    with _LOCK:
        place.checkers = (*place.checkers, checker)
    _look(+1)


def stop_checking(checker: Checker, *, everywhere: bool) -> None:
    """The end of `start_checking`."""
    _look(-1)
    place: Any = _EVERYWHERE if everywhere else _HERE
    with _LOCK:
        kept = list(place.checkers)
        kept.remove(checker)
        place.checkers = tuple(kept)


def _look(change: int) -> None:
    with _LOCK:
        _EVERYWHERE.count += change
        OBSERVER.call = observed_call if _EVERYWHERE.count else None
        ACTIVE.observed = observed_kernel if _EVERYWHERE.count else None
        watch_kernels(change)
    bypass_native_entries(change)


def observed_kernel(
    op: Op, backend: str, operands: Sequence[Any], attrs: dict[str, Any], run: Callable[[], Any]
) -> Any:
    """The outcome of an eager kernel, after everybody saw it."""
    profilers = _HERE.profilers + _EVERYWHERE.profilers
    checkers = _HERE.checkers + _EVERYWHERE.checkers
    if _HERE.busy or not (profilers or checkers):
        return run()
    _HERE.busy = True
    begin = time.monotonic_ns()
    try:
        outcome = run()
        end = time.monotonic_ns()
    finally:
        _HERE.busy = False
    several = isinstance(outcome, (tuple, list))
    # arrays that live as long as the results: of NumPy's scalars eager mode would make others
    arrays = [np.asarray(output) for output in (outcome if several else [outcome])]
    for profiler in profilers:
        profiler.ran_kernel(KernelRun(op, backend, operands, arrays, begin, end))
    for checker in checkers:
        checker.check_kernel(op, operands, attrs, arrays)
    return type(outcome)(arrays) if several else arrays[0]


def observed_call(executable: Executable, args: Sequence[Any]) -> Sequence[Any]:
    """The results of compiled code, after everybody saw them."""
    profilers = _HERE.profilers + _EVERYWHERE.profilers
    checkers = _HERE.checkers + _EVERYWHERE.checkers
    if _HERE.busy or not (profilers or checkers):
        return executable.run(args)
    _HERE.busy = True
    try:
        if profilers:
            variant = timed(executable)
            begin = time.monotonic_ns()
            results, times = variant.run_timed(args)
            end = time.monotonic_ns()
        else:
            results = executable.run(args)
    finally:
        _HERE.busy = False
    for profiler in profilers:
        profiler.ran_call(CallRun(executable, args, results, times, begin, end))
    for checker in checkers:
        checker.check_call(executable, args, results)
    return results
