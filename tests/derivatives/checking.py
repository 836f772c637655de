"""Values and derivatives in every mode, beside their truth.

The rule, for all functions alike: a result of the operands x is right where it is no farther from the truth
than the truth moves when each operand moves by 4 roundings, ``4 eps |x|``, and 4 roundings of the truth
itself; results next to the smallest normal number may be off by that number, and those next to the largest
may be infinite. So a result is as good as that of an exact function of operands with four roundings behind
them, and no formula may cancel or overflow on the way.
"""

from __future__ import annotations

import functools
import itertools
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import mpmath as mp
import numpy as np

import tracejit as tj

from .entries import Entry, Orders

#: Roundings of operands and of results that are allowed.
ROUNDINGS = 4


@dataclass(frozen=True)
class Fault:
    """A result that breaks the rule."""

    entry: str
    mode: str
    dtype: str
    orders: Orders
    point: tuple[float, ...]
    result: float
    truth: float
    times: float

    def __str__(self) -> str:
        point = ", ".join(f"{x!r}" for x in self.point)
        what = f"{self.entry}({point}) {self.dtype}, derivative {self.orders}, {self.mode}"
        return f"{what}: {self.result!r}, not {self.truth!r} ({self.times:.3g} times what is allowed)"


def _total(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *operands: function(*operands).sum()


def derivatives(entry: Entry) -> Iterator[tuple[Orders, str, Callable[..., Any]]]:
    """The value and every derivative, in every mode, as functions of the operands."""
    f, count = entry.function, entry.arity
    zero = (0,) * count
    unit = [tuple(int(i == place) for i in range(count)) for place in range(count)]

    def pushed(function: Callable[..., Any], place: int) -> Callable[..., Any]:
        def run(*operands: Any) -> Any:
            def of_place(x: Any) -> Any:
                return function(*operands[:place], x, *operands[place + 1 :])

            return tj.jvp(of_place, (operands[place],), (tj.ones_like(operands[place]),))[1]

        return run

    yield zero, "value", f
    slopes = [tj.grad(_total(f), argnums=place) for place in range(count)]
    for place in range(count):
        if unit[place] in entry.truth:
            yield unit[place], "reverse", slopes[place]
            yield unit[place], "forward", pushed(f, place)
    for first, second in itertools.product(range(count), repeat=2):
        orders = tuple(a + b for a, b in zip(unit[first], unit[second], strict=True))
        if orders in entry.truth:
            yield (
                orders,
                f"reverse {second} of reverse {first}",
                tj.grad(_total(slopes[first]), argnums=second),
            )
            yield orders, f"forward {second} of reverse {first}", pushed(slopes[first], second)


def results(
    entry: Entry, operands: Sequence[np.ndarray], jitted: bool
) -> Iterator[tuple[Orders, str, np.ndarray]]:
    """The derivatives that each mode gives at `operands`."""
    modes = [*derivatives(entry)]
    tensors = [tj.tensor(x) for x in operands]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if jitted:
            values = tj.jit(lambda *xs: [function(*xs) for _, _, function in modes])(*tensors)
        else:
            values = [function(*tensors) for _, _, function in modes]
    for (orders, mode, _), value in zip(modes, values, strict=True):
        yield orders, ("jitted " if jitted else "eager ") + mode, np.asarray(value)


def _number(truth: Callable[..., Any], operands: Sequence[Any]) -> Any:
    """The truth as a real mpf, or None where there is none."""
    try:
        value = truth(*operands)
    except (ZeroDivisionError, ValueError, OverflowError):
        return None
    if value is None or isinstance(value, mp.mpc):
        return None
    value = mp.mpf(value)
    return None if mp.isnan(value) else value


def value_at(entry: Entry, row: Sequence[float]) -> Any:
    """The value of a row's function for one operand of each parameter; None where it is no real number, or
    the operands do not count."""
    if not entry.inside(*row):
        return None
    with mp.workdps(entry.digits):
        return _number(entry.truth[(0,) * entry.arity], [mp.mpf(x) for x in row])


class Truths:
    """The truths of one entry at one set of operands, and what is allowed around each."""

    def __init__(self, entry: Entry, operands: Sequence[np.ndarray]) -> None:
        self.entry = entry
        self.dtype = operands[0].dtype
        self.rows = [tuple(map(float, row)) for row in zip(*operands, strict=True)]

    @functools.cache  # noqa: B019
    def of(self, orders: Orders) -> list[tuple[Any, Any] | None]:
        return [self._at(orders, row) for row in self.rows]

    def _at(self, orders: Orders, row: tuple[float, ...]) -> tuple[Any, Any] | None:
        entry, info = self.entry, np.finfo(self.dtype)
        largest = float(info.max)
        if not entry.inside(*row):
            return None
        if any(orders) and entry.divisor is not None and abs(entry.divisor(*row)) * largest < 1:
            return None
        truth, step = entry.truth[orders], mp.mpf(float(info.eps)) * ROUNDINGS
        smallest = mp.mpf(float(info.smallest_subnormal))
        with mp.workdps(entry.digits):
            point = [mp.mpf(x) for x in row]
            if any(orders) and entry.of_value and abs(entry.truth[(0,) * len(row)](*point)) > largest:
                return None
            value = _number(truth, point)
            if value is None:
                return None
            if mp.isinf(value):
                return value, mp.mpf(0)
            allowed = abs(value) * step + mp.mpf(float(info.tiny))
            for place, x in enumerate(point):
                if not x:
                    continue
                moves = [mp.mpf(0)]
                way = max(abs(x) * step, smallest * ROUNDINGS)
                for part in (sign * part for part in entry.ways for sign in (1, -1)):
                    moved_x = x + way * part
                    moved = _number(truth, [*point[:place], moved_x, *point[place + 1 :]])
                    if moved is not None:
                        moves.append(abs(moved - value))
                allowed += max(moves)
            return value, allowed


def faults(entry: Entry, operands: Sequence[np.ndarray], truths: Truths, jitted: bool) -> list[Fault]:
    """The results at `operands` that break the rule."""
    broken = []
    info = np.finfo(operands[0].dtype)
    largest = mp.mpf(float(info.max))
    for orders, mode, values in results(entry, operands, jitted):
        if values.dtype != operands[0].dtype:
            raise AssertionError(f"{entry.name}: {mode} gives {values.dtype}")
        for row, expected, value in zip(truths.rows, truths.of(orders), values.tolist(), strict=True):
            if expected is None:
                continue
            truth, allowed = expected
            if math.isinf(value):
                right = (abs(truth) + allowed) * (1 + ROUNDINGS * float(info.eps)) >= largest and (
                    mp.sign(truth) == math.copysign(1, value)
                )
                times = 0.0 if right else math.inf
            elif math.isnan(value) or mp.isinf(truth):
                times = math.inf
            else:
                times = float(abs(mp.mpf(value) - truth) / allowed)
            if times > 1:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    broken.append(
                        Fault(entry.name, mode, str(values.dtype), orders, row, value, float(truth), times)
                    )
    return broken
