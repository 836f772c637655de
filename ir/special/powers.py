"""Derivatives of x^y: one product of a power with an exact exponent and of a polynomial in y and log x.

The derivative by x, `by_x` times, and by y, `by_y` times, is x^(y - by_x) P(y, log x). It is finite where
the power and P are. Where x is 0 it is the limit from above; where y is 0, 1, 2, ... and `by_y` is not 0, it
is 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np


def falling_factorial(order: int) -> list[int]:
    """Coefficients of ``y (y - 1) ... (y - order + 1)``, the constant one first."""
    coefficients = [1]
    for k in range(order):
        raised, kept = [0, *coefficients], [*coefficients, 0]
        coefficients = [high - k * low for high, low in zip(raised, kept, strict=True)]
    return coefficients


def factor(y: Any, log: Any, by_x: int, by_y: int, mul: Callable[..., Any], add: Callable[..., Any]) -> Any:
    """``P(y, log) = sum_i binomial(by_y, i) F^(i)(y) log^(by_y - i)``, F the falling factorial of order
    `by_x`; None for 1."""
    total: Any = None
    for k in range(by_x):
        step = add(y, float(-k)) if k else y
        total = step if total is None else mul(total, step)
    slopes = falling_factorial(by_x)
    for i in range(1, by_y + 1):
        slopes = [n * slope for n, slope in enumerate(slopes)][1:]
        term: Any = None
        for slope in reversed(slopes):
            value = float(slope * math.comb(by_y, i))
            term = value if term is None else add(mul(y, term), value)
        total = log if total is None else mul(total, log)
        total = total if term is None else add(total, term)
    return total


def derivative(x: Any, y: Any, by_x: int, by_y: int) -> Any:
    """The derivative of x^y, of arrays of one floating dtype."""
    exponent, size = y - by_x, np.abs(x)
    small = np.abs(y) < 1
    if by_x and np.any(small):
        # what rounding took off the exponent: more than a rounding of y, and powers of large x tell it
        low = np.where(small, y - (exponent + by_x), 0)
        power = np.asarray(np.power(np.where(low != 0, x + 0.0, x), exponent))
        places = np.isfinite(x) & (size > 0) & (low != 0)
        low, size_there = (np.broadcast_to(part, power.shape)[places] for part in (low, size))
        power[places] *= 1 + low * np.log(size_there)
    else:
        power = np.power(x, exponent)
    log = np.log(np.where(size > 0, x, 1)) if by_y else None
    polynomial = factor(y, log, by_x, by_y, np.multiply, np.add)
    if by_y:
        leading = factor(y, None, by_x, 0, np.multiply, np.add) if by_x else np.ones_like(y)
        leading = np.where((y >= 0) & (np.floor(y) == y), 0, leading * (-1) ** by_y)
        polynomial = np.where(size == 0, leading, polynomial)
    product = power * polynomial
    undefined = np.isnan(product)
    if np.any(undefined):
        product = np.where(undefined & ((power == 0) | (polynomial == 0)), 0, product)
    return product
