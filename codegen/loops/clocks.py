"""Clocks on the work that kernels in the loop form take: building, each pass of the schedule, and writing.

They run for those who ask, in their own context; others pay a look at a variable for each kernel.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, ParamSpec, TypeVar

from ...base.records import record

P = ParamSpec("P")
T = TypeVar("T")


@record
class StepTime:
    """The seconds that a step took: ``algorithm``, ``schedule``, a pass with its arguments, or ``emit``."""

    kernel: str
    step: str
    seconds: float


_TIMES: Final[ContextVar[list[StepTime] | None]] = ContextVar("times of loops", default=None)


@contextmanager
def timed_steps() -> Iterator[list[StepTime]]:
    """Times of the steps that run in the block, in their order."""
    times: list[StepTime] = []
    token = _TIMES.set(times)
    try:
        yield times
    finally:
        _TIMES.reset(token)


def clocked(step: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Put a clock on a function of a kernel, or of a nest, or of what has one, which is called as `step`."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        @functools.wraps(function)
        def run(*args: P.args, **kwargs: P.kwargs) -> T:
            if _TIMES.get() is None:
                return function(*args, **kwargs)
            named: Any = args[0]
            return at_step(getattr(named, "nest", named).name, step, function, *args, **kwargs)

        return run

    return decorate


def at_step(kernel: str, step: str, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """The result of ``work(*args, **kwargs)``, whose time is noted."""
    times = _TIMES.get()
    start = time.perf_counter()
    result = work(*args, **kwargs)
    if times is not None:
        times.append(StepTime(kernel, step, time.perf_counter() - start))
    return result


def are_running() -> bool:
    """Whether anybody asks for times."""
    return _TIMES.get() is not None
