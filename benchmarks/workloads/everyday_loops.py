"""Loops of Numba's users that are about indices: tables, counts, sieves, windows. See `plain_loops`."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ..workload import Function
from .inputs import generator
from .plain_loops import row

Array = Any


def _knapsack(outer: Any, items: int, capacity: int) -> Function:
    def kernel(weights: Array, values: Array) -> Any:
        best = np.zeros(capacity + 1)
        for i in outer(len(weights)):
            w = weights[i]
            for c in range(capacity, w - 1, -1):
                v = best[c - w] + values[i]
                if v > best[c]:
                    best[c] = v
        return best[capacity]

    return kernel


def _histogram(outer: Any, count: int) -> Function:
    def kernel(x: Array) -> Any:
        h = np.zeros(100, np.int64)
        for i in outer(len(x)):
            h[int(x[i] * 100)] += 1
        return h

    return kernel


def _collatz(outer: Any, count: int) -> Function:
    def kernel(first: Array) -> Any:
        longest, at = 0, 0
        for i in outer(1, count):
            k, steps = i, first[0]
            while k != 1:
                if k % 2 == 0:
                    k = k // 2
                else:
                    k = 3 * k + 1
                steps += 1
            if steps > longest:
                longest, at = steps, i
        return np.array([at, longest])

    return kernel


def _sieve(outer: Any, count: int) -> Function:
    def kernel(first: Array) -> Any:
        prime = np.ones(count, np.bool_)
        prime[0] = False
        prime[1] = False
        i = first[0]
        while i * i < count:
            if prime[i]:
                for j in range(i * i, count, i):
                    prime[j] = False
            i += 1
        total = 0
        for k in outer(count):
            if prime[k]:
                total += 1
        return total

    return kernel


def _moving_sum(outer: Any, count: int, width: int) -> Function:
    def kernel(x: Array) -> Any:
        n = len(x)
        y = np.zeros(n - width + 1)
        s = 0.0
        for i in outer(width):
            s += x[i]
        y[0] = s / width
        for i in range(width, n):
            s += x[i] - x[i - width]
            y[i - width + 1] = s / width
        return y

    return kernel


def _windows(outer: Any, count: int, width: int) -> Function:
    def kernel(x: Array) -> Any:
        n = len(x)
        y = np.zeros(n - width + 1)
        for i in outer(n - width + 1):
            s = 0.0
            for j in range(width):
                s += x[i + j]
            y[i] = s / width
        return y

    return kernel


def _numbers(count: int, *_: int) -> tuple[Any, ...]:
    return (generator().random(count),)


def _items(items: int, capacity: int) -> tuple[Any, ...]:
    return generator().integers(1, 100, items), generator().random(items)


WORKLOADS: Final = (
    *row("knapsack", "knapsack of 100 items and 10,000 units", _knapsack, _items, (100, 10_000), (5, 120)),
    *row("histogram", "100 bins of a million numbers", _histogram, _numbers, (10**6,), (70,)),
    *row(
        "collatz", "the longest Collatz sequence below 100,000", _collatz,
        lambda _: (np.zeros(1, np.int64),), (10**5,), (30,),
    ),
    *row(
        "sieve", "primes below a million", _sieve, lambda _: (np.full(1, 2),), (10**6,), (70,),
    ),
    *row(
        "moving", "moving means of a million numbers, by differences", _moving_sum, _numbers,
        (10**6, 50), (70, 5), gradient=(0,),
    ),
    *row(
        "windows", "means of all windows of 50 of 100,000 numbers", _windows, _numbers,
        (10**5, 50), (70, 5), gradient=(0,),
    ),
)  # fmt: skip
