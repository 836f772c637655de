"""Repetitions in straight-line code: where the same sequence of ops stands many times, one behind the other.

Each instruction is a letter, by its op and its source line. Windows of 1, 4, 16, ... letters are hashed, and
each is compared with the nearest window before it that is equal: where that stays equally far away, the
letters repeat with that period. A window longer than the period is what tells the period of an outer loop
from that of a loop in it. All of it is a few array operations, some 0.5 us an instruction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from ....base.records import record
from ...graph import Instruction
from ...registry import Op

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Each window is so many times as long as the one before.
_GROWTH: Final = 4
#: An odd number without structure (Knuth's, of the golden ratio): hashes are polynomials in it.
_MULTIPLIER: Final = np.uint64(0x9E3779B97F4A7C15)


@record
class Repetition:
    """A range, from `start` to `stop`, in which each letter equals the one `period` before it."""

    start: int
    stop: int
    period: int

    @property
    def steps(self) -> int:
        """The number of whole periods."""
        return (self.stop - self.start) // self.period


def letters(body: Sequence[Instruction]) -> list[int]:
    """A number for each instruction; equal for equal ops of one source line."""
    lines: dict[int, int] = {}
    line_numbers: dict[tuple[str, int, bool] | None, int] = {}
    numbers: dict[tuple[Op, int], int] = {}
    result = []
    for instruction in body:
        location = instruction.location
        line = lines.get(id(location))
        if line is None:
            key = None if location is None else (location.file, location.line, location.gradient)
            line = lines[id(location)] = line_numbers.setdefault(key, len(line_numbers))
        letter = (instruction.op, line)
        result.append(numbers.setdefault(letter, len(numbers)))
    return result


def repetitions(body: Sequence[Instruction], least_steps: int, least_ops: int) -> list[Repetition]:
    """Repetitions of at least `least_steps` steps and `least_ops` instructions, which may overlap: those of
    most instructions first, and of these the ones with the shortest period."""
    if len(body) < least_ops:
        return []
    hashes = np.array(letters(body), np.uint64) + np.uint64(1)
    seen: set[tuple[int, int, int]] = set()
    window = 1
    while True:
        seen.update(_of_windows(hashes, window, least_steps, least_ops))
        if window * least_steps > len(body) or len(hashes) <= window * _GROWTH:
            break  # no period is longer
        hashes = _longer(hashes, window)
        window *= _GROWTH
    ordered = sorted(seen, key=lambda bounds: (bounds[0] - bounds[1], bounds[2], bounds[0]))
    return [Repetition(*bounds) for bounds in ordered]


def _longer(hashes: NDArray[np.uint64], window: int) -> NDArray[np.uint64]:
    """The hashes of windows `_GROWTH` times as long, from those of windows of `window` letters."""
    factor = np.uint64(pow(int(_MULTIPLIER), window, 2**64))
    count = len(hashes) - window * (_GROWTH - 1)
    result = hashes[:count].copy()
    for part in range(1, _GROWTH):
        result *= factor
        result += hashes[part * window : part * window + count]
    return result


def _of_windows(
    hashes: NDArray[np.uint64], window: int, least_steps: int, least_ops: int
) -> list[tuple[int, int, int]]:
    """Find the ranges in which the nearest equal window before each window is equally far away, as (start,
    stop, period)."""
    order = np.argsort(hashes, kind="stable")
    equal = hashes[order[1:]] == hashes[order[:-1]]
    distance = np.zeros(len(hashes), np.int64)
    distance[order[1:][equal]] = (order[1:] - order[:-1])[equal]
    starts = np.concatenate([[0], np.flatnonzero(distance[1:] != distance[:-1]) + 1])
    stops = np.append(starts[1:], len(distance))
    period = distance[starts]
    start, stop = starts - period, stops + window - 1
    chosen = (period > 0) & (stop - start >= np.maximum(period * least_steps, least_ops))
    return [(int(start[i]), int(stop[i]), int(period[i])) for i in np.flatnonzero(chosen)]


def in_order(candidates: Sequence[Repetition]) -> list[Repetition]:
    """`candidates` in the order of the code, so that each knows the stacks of those before; of those that
    overlap, the longest first."""
    groups: list[list[Repetition]] = []
    stop = 0
    for candidate in sorted(candidates, key=lambda candidate: candidate.start):
        if candidate.start >= stop:
            groups.append([])
        groups[-1].append(candidate)
        stop = max(stop, candidate.stop)
    return [
        candidate
        for group in groups
        for candidate in sorted(group, key=lambda each: (each.start - each.stop, each.period, each.start))
    ]
