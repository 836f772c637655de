"""``autograd.util``: what programs use of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

__all__ = ["func", "subval", "subvals"]

T = TypeVar("T")


def func(f: T) -> T:
    """`f`, which in Python 2 was a method to be taken apart."""
    return f


def subvals(x: Iterable[Any], ivs: Iterable[tuple[int, Any]]) -> tuple[Any, ...]:
    """`x` as a tuple in which each pair (position, value) is set."""
    items = list(x)
    for position, value in ivs:
        items[position] = value
    return tuple(items)


def subval(x: Iterable[Any], i: int, v: Any) -> tuple[Any, ...]:
    """`x` as a tuple with `v` at the position `i`."""
    return subvals(x, [(i, v)])
