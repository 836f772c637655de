"""ln(x / (1 - x)) in machine code: its error in float32, and where its steps have seams and limits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import tracejit as tj

from .maths_exhaustive import errors

Array = NDArray[Any]
#: The bound that docs/special.md states.
BOUND = 3.0
LOGIT = tj.jit(tj.scipy.special.logit)


def bits(x: float) -> int:
    return int(np.array(x, np.float32).view(np.uint32))


def worst(low: float, high: float, step: int) -> tuple[float, float]:
    """The largest error in ulps over every so many floats from `low` to `high`, and where it is."""
    largest, where = 0.0, math.nan
    block = step << 20
    for start in range(bits(low), bits(high) + 1, block):
        numbers = np.arange(start, min(start + block, bits(high) + 1), step, np.uint32).view(np.float32)
        x = numbers.astype(np.float64)
        with np.errstate(all="ignore"):
            some = errors(np.asarray(LOGIT(numbers)).astype(np.float64), np.log(x) - np.log1p(-x))
        place = int(np.argmax(some))
        if some[place] > largest:
            largest, where = float(some[place]), float(x[place])
    return largest, where


@pytest.mark.parametrize(
    ("low", "high", "step"),
    [(0.0, 1.0, 4001), (0.5 - 2.0**-12, 0.5 + 2.0**-12, 1), (1 - 2.0**-12, 1.0, 1), (0.0, 2.0**-137, 1)],
)
def test_float32(low: float, high: float, step: int) -> None:
    error, where = worst(low, high, step)
    assert error <= BOUND, where


@pytest.mark.slow
@pytest.mark.parametrize(("low", "high", "step"), [(0.0, 0.25, 7), (0.25, 1.0, 1)])
def test_every_float32(low: float, high: float, step: int) -> None:
    error, where = worst(low, high, step)
    print(f"{error:.4f} at {where!r}")
    assert error <= BOUND, where


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_limits(dtype: Any) -> None:
    """The last numbers on either side of 0 and 1, and numbers so large that multiples of them overflow."""
    info = np.finfo(dtype)
    tiny, last = float(info.smallest_subnormal), 1.0 - float(info.epsneg)
    # in float64 ln(x / (1 - x)) of the last x below 1 is ln(1 / epsneg) less half a unit in its last place
    expected = [
        (0.0, -math.inf), (-0.0, -math.inf), (1.0, math.inf), (0.5, 0.0), (tiny, math.log(tiny)),
        (last, math.log(last / float(info.epsneg))),
    ]  # fmt: skip
    outside = [-tiny, 1.0 + float(info.eps), -1.0, 2.0, 0.7 * float(info.max), -0.7 * float(info.max)]
    outside += [float(info.max), -float(info.max), math.inf, -math.inf, math.nan]
    x = np.array([*(number for number, _ in expected), *outside], dtype)
    values = np.array([*(value for _, value in expected), *[math.nan] * len(outside)], dtype)
    np.testing.assert_array_max_ulp(np.asarray(LOGIT(x)), values, 2)
    # a number's result is the same whatever stands beside it
    alone = np.array([float(LOGIT(np.array(number, dtype))) for number in x], dtype)
    np.testing.assert_array_equal(alone, np.asarray(LOGIT(x)))
    repeated = np.asarray(LOGIT(np.repeat(x, 37)))
    np.testing.assert_array_equal(repeated, np.repeat(np.asarray(LOGIT(x)), 37))
