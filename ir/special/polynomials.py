"""Polynomials on an interval, and shorter ones that serve fewer digits."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

#: Polynomials in float32 are this near to the longer ones, relative to their smallest value and its part.
SINGLE: Final = 2.0**-27
#: Polynomials in float64, and sums of series, whose results are rounded to float32, are this near.
SHORT: Final = 2.0**-30


class Polynomial(tuple[float, ...]):
    """Coefficients, lowest power first, that serve from `low` to `high`.

    Its value is added to what is at least 1 / `part` times as large.
    """

    low: float
    high: float
    part: float

    def __new__(cls, low: float, high: float, coefficients: Iterable[float], part: float = 1.0) -> Polynomial:
        self = super().__new__(cls, coefficients)
        self.low, self.high, self.part = low, high, part
        return self


@functools.cache
def shortened(polynomial: Polynomial, error: float) -> Sequence[float]:
    """A polynomial of a lower degree that is as near as `error`: terms of high degree in Chebyshev's
    polynomials are left out."""
    low, high, degree = polynomial.low, polynomial.high, len(polynomial) - 1
    chebyshev, powers = np.polynomial.Chebyshev, np.polynomial.Polynomial  # which numpy loads at first use
    whole = powers(list(polynomial))
    series = chebyshev.interpolate(whole, degree, [low, high])
    # what is left out has no larger sum than this
    rest = np.cumsum(np.abs(series.coef[::-1]))[::-1]
    bound = error / polynomial.part * np.abs(whole(np.linspace(low, high, 101))).min()
    count = max(int(np.count_nonzero(rest > bound)), 2)
    short = series.truncate(count).convert(kind=powers)
    return tuple(map(float, short.coef))
