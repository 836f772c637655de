"""Timing calls: batches long enough for the clock, one sample of several batches, and spreads over rounds."""

from __future__ import annotations

import statistics
import time
import timeit
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

#: Seconds of one contender's turn in a round.
Turn = Callable[[], float]
Wait = Callable[[Any], Any] | None
Clock = Callable[[], float]

#: A batch of calls takes at least about as long: the clock and the loop around it are then nothing.
BATCH_SECONDS: Final = 0.001
#: Contenders that take longer a call are asked in two rounds alone.
SLOW_SECONDS: Final = 0.3


@dataclass(frozen=True, slots=True)
class Effort:
    """Extent of a measurement."""

    rounds: int
    #: Each turn repeats the call for about as long.
    turn_seconds: float
    #: Fresh processes per contender.
    processes: int
    #: The clock of `CLOCKS` by which the worker measures.
    clock: str = "wall"


FULL: Final = Effort(rounds=9, turn_seconds=0.03, processes=7)
QUICK: Final = Effort(rounds=3, turn_seconds=0.005, processes=1)


@dataclass(frozen=True, slots=True)
class Spread:
    """The median of some samples, with their extremes."""

    median: float
    least: float
    most: float

    @staticmethod
    def of(samples: list[float]) -> Spread:
        return Spread(statistics.median(samples), min(samples), max(samples))


def interleave(turns: Mapping[str, Turn], rounds: int) -> dict[str, list[float]]:
    """Samples of each contender, round by round, every other round in reverse order.

    Slow ones take two turns; their last sample stands for the rounds that they miss.
    """
    samples: dict[str, list[float]] = {name: [] for name in turns}
    order = list(turns)
    for number in range(rounds):
        for name in order:
            slow = number >= 2 and samples[name][0] > SLOW_SECONDS
            samples[name].append(samples[name][-1] if slow else turns[name]())
        order.reverse()
    return samples


def _timer(
    f: Callable[..., Any], args: tuple[Any, ...], wait: Wait, clock: Clock = time.perf_counter
) -> timeit.Timer:
    names = [f"a{position}" for position in range(len(args))]
    call = f"f({', '.join(names)})"
    return timeit.Timer(
        call if wait is None else f"wait({call})",
        timer=clock,
        globals={"f": f, "wait": wait, **dict(zip(names, args, strict=True))},
    )


def calls_for(f: Callable[..., Any], args: tuple[Any, ...], wait: Wait, seconds: float) -> int:
    """Number of calls of ``f(*args)`` in a batch, after a warm-up."""
    timer, calls, target = _timer(f, args, wait), 1, min(BATCH_SECONDS, seconds)
    taken = timer.timeit(1)
    if taken < SLOW_SECONDS:
        timer.timeit(2)
    while (taken := timer.timeit(calls)) < target:
        calls = max(2 * calls, int(calls * target / max(taken, 1e-9)))
    return calls


def _batches(
    f: Callable[..., Any], args: tuple[Any, ...], wait: Wait, calls: int, seconds: float, clock: Clock
) -> list[float]:
    """Seconds of `clock` per call of batches of `calls`, run for about `seconds` in all; the collector of
    garbage is off, as in `timeit`."""
    timer, spent, samples = _timer(f, args, wait, clock), 0.0, list[float]()
    while spent < seconds:
        taken = timer.timeit(calls)
        spent += taken
        samples.append(taken / calls)
    return samples


def least(f: Callable[..., Any], args: tuple[Any, ...], wait: Wait, calls: int, seconds: float) -> float:
    """The least seconds per call among batches of `calls`, by the clock on the wall."""
    return min(_batches(f, args, wait, calls, seconds, time.perf_counter))


def processor(f: Callable[..., Any], args: tuple[Any, ...], wait: Wait, calls: int, seconds: float) -> float:
    """The median seconds of processor time per call among batches of `calls`.

    The least would be no time of the call: Linux counts what a thread did on another core when that core next
    schedules, so that a batch may end before what a library's own threads did in it counts, and the next one
    pays for both. On a busy machine one batch in a hundred of JAX's took a tenth of the time.
    """
    return statistics.median(_batches(f, args, wait, calls, seconds, time.process_time))


def mean(f: Callable[..., Any], args: tuple[Any, ...], wait: Wait, calls: int, seconds: float) -> float:
    """The mean seconds per call over about `seconds`, in batches of `calls`."""
    timer, spent, done = _timer(f, args, wait), 0.0, 0
    while spent < seconds:
        spent += timer.timeit(calls)
        done += calls
    return spent / done


def call_turn(f: Callable[..., Any], args: tuple[Any, ...], wait: Wait, seconds: float) -> Turn:
    """A turn of ``f(*args)`` in this process."""
    calls = calls_for(f, args, wait, seconds)
    return lambda: least(f, args, wait, calls, seconds)


#: Clocks by name: the time that passes, and the processor time of all threads of the process, which other
#: processes do not add to.
CLOCKS: Final[dict[str, Callable[..., float]]] = {"wall": least, "processor": processor}
