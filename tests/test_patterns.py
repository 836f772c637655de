"""Random realistic patterns, jitted beside eager: values, gradients, gradients of gradients.

A failure names the seed and prints the pattern. `TRACEJIT_PATTERNS` says how many there are,
`TRACEJIT_PATTERNS_SEED` where they begin.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import tracejit as tj

from .patterns import Pattern, pattern, weighted
from .rotation import share_of

FIRST = int(os.environ.get("TRACEJIT_PATTERNS_SEED", "0"))
COUNT = int(os.environ.get("TRACEJIT_PATTERNS", "120"))
CHUNK = 20
#: Rounding of sums in another order, relative to the largest element: bounded functions of bounded values.
TOLERANCE = {"float64": 1e-9, "float32": 2e-3}


def difference(got: Sequence[Any], expected: Sequence[Any]) -> str:
    """The difference; empty where all results agree."""
    for position, (left, right) in enumerate(
        zip(map(np.asarray, got), map(np.asarray, expected), strict=True)
    ):
        if (left.dtype, left.shape) != (right.dtype, right.shape):
            return f"result {position} is {left.dtype}{left.shape}, not {right.dtype}{right.shape}"
        tolerance = TOLERANCE[right.dtype.name] * (1.0 + float(np.abs(right).max(initial=0.0)))
        off = np.abs(left - right)
        if not np.all(off <= tolerance):
            return f"result {position} is off by {off.max()}"
    return ""


def check_function(
    pattern: Pattern, stage: str, function: Callable[..., Any], arguments: Sequence[Any]
) -> None:
    """`function` jitted and eager give the same."""
    try:
        expected = function(*arguments)
        problem = difference(tj.jit(function)(*arguments), expected)
    except Exception as error:
        raise AssertionError(f"{stage}: {type(error).__name__}: {error}\n{pattern}") from error
    # a jump that is as near as rounding is, as between two equal sums, may go either way
    if problem and not difference(function(*map(nudged, arguments)), expected):
        raise AssertionError(f"{stage}: {problem}\n{pattern}")


def nudged(array: Any) -> Any:
    noise = np.random.default_rng(1).normal(size=array.shape).astype(array.dtype)
    return array * (1.0 + 8 * float(np.finfo(array.dtype).eps) * noise)


def check(seed: int, *, tiny: bool = False) -> None:
    with np.errstate(all="ignore"):  # as NumPy warns of the mean of nothing
        check_pattern(pattern(seed, tiny=tiny), seed)


def check_pattern(pattern: Pattern, seed: int) -> None:
    arrays = [tj.tensor(array) for array in pattern.arrays]
    check_function(pattern, "value", pattern, arrays)
    every = tuple(range(len(arrays)))
    gradient = tj.grad(pattern.loss, argnums=every)
    check_function(pattern, "gradient", gradient, arrays)
    if seed % 3 == 0:
        second = tj.grad(lambda *arguments: weighted(gradient(*arguments)), argnums=every)
        check_function(pattern, "second order", second, arrays)
    if seed % 4 == 1:
        rows = [tj.stack([array, 0.5 * array, -array]) for array in arrays]
        check_function(pattern, "vmap", tj.vmap(pattern), rows)


@pytest.mark.parametrize("first", share_of(range(FIRST, FIRST + COUNT, CHUNK), 2))
def test_patterns(first: int) -> None:
    for seed in range(first, first + CHUNK):
        check(seed)


@pytest.mark.parametrize("first", share_of(range(FIRST, FIRST + COUNT, CHUNK), 2))
def test_patterns_of_next_to_nothing(first: int) -> None:
    """Axes of 0 and 1 elements."""
    for seed in range(first, first + CHUNK):
        check(seed, tiny=True)
