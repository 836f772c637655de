"""Rows of the table of derivatives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import mpmath as mp

#: A derivative in mpmath's numbers; None where a convention, and no limit, says what it is.
Truth = Callable[..., Any]
Orders = tuple[int, ...]


@dataclass(frozen=True)
class Entry:
    """A function with the truth of its value and derivatives by orders, such as (0, 1).

    `inside` says which operands count, and `near` are points of its own, such as its zeros and seams.
    """

    name: str
    function: Callable[..., Any]
    truth: Mapping[Orders, Truth]
    inside: Callable[..., bool] = field(default=lambda *operands: True)
    near: tuple[float, ...] = ()
    reason: str = ""
    #: A number by which rules divide, with `reason`: derivatives where its reciprocal overflows do not count.
    divisor: Callable[..., float] | None = None
    #: Whether rules take the value, with `reason`: derivatives where it overflows do not count.
    of_value: bool = False
    #: Parts of the roundings by which operands move: more where a whole one may be a period.
    ways: tuple[float, ...] = (1,)
    #: Digits that mpmath needs.
    digits: int = 50
    #: Whether it has results in float32.
    single: bool = True
    #: Number of the points that are looked at, where the truth takes long.
    points: int = 1000

    @property
    def arity(self) -> int:
        return len(next(iter(self.truth)))


def unary(name: str, function: Callable[..., Any], *truths: Truth, **more: Any) -> Entry:
    """A function of one operand: its value, its slope, its second derivative."""
    return Entry(name, function, {(order,): truth for order, truth in enumerate(truths)}, **more)


def binary(name: str, function: Callable[..., Any], *truths: Truth, **more: Any) -> Entry:
    """A function of two operands: f, fx, fy, fxx, fxy, fyy."""
    orders = [(0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2)]
    return Entry(name, function, dict(zip(orders, truths, strict=True)), **more)


def steps(name: str, function: Callable[..., Any], value: Truth, **more: Any) -> Entry:
    """A function of one operand that is constant between steps."""
    return unary(name, function, value, _off_steps(value), _off_steps(value), **more)


def _off_steps(value: Truth) -> Truth:
    return lambda x: mp.mpf(0)


def by_sign(below: Truth, above: Truth, at_zero: Any = None) -> Truth:
    """`below` where x < 0, `above` where x > 0, and `at_zero` at 0, which may be None."""
    return lambda x: above(x) if x > 0 else below(x) if x < 0 else at_zero


def constant(value: Any) -> Truth:
    return lambda *operands: mp.mpf(value)
