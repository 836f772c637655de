"""Measuring in one process, so that noise hits both sides: A B, then B A, and a ratio for each such round."""

from __future__ import annotations

import statistics
import timeit
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

#: Seconds of one contender's turn in a round.
Turn = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Effort:
    """How long to measure."""

    rounds: int
    #: Each turn repeats the call until it takes about as long.
    turn_seconds: float
    #: Fresh processes per contender.
    processes: int


FULL = Effort(rounds=21, turn_seconds=0.02, processes=7)
QUICK = Effort(rounds=3, turn_seconds=0.002, processes=1)


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
    """Samples of each contender, round by round, every other round in reverse order."""
    samples: dict[str, list[float]] = {name: [] for name in turns}
    order = list(turns)
    for _ in range(rounds):
        for name in order:
            samples[name].append(turns[name]())
        order.reverse()
    return samples


def call_turn(
    f: Callable[..., Any], args: tuple[Any, ...], wait: Callable[[Any], Any] | None, seconds: float
) -> Turn:
    """Seconds per call of ``f(*args)``, after a warm-up; the collector of garbage is off, as in `timeit`."""
    names = [f"a{position}" for position in range(len(args))]
    call = f"f({', '.join(names)})"
    timer = timeit.Timer(
        call if wait is None else f"wait({call})",
        globals={"f": f, "wait": wait, **dict(zip(names, args, strict=True))},
    )
    timer.timeit(2)
    calls = 1
    while (taken := timer.timeit(calls)) < seconds:
        calls = max(2 * calls, int(calls * seconds / max(taken, 1e-9)))
        if calls > 1_000_000:
            break
    return lambda: timer.timeit(calls) / calls
