"""Derivatives of x^y by the op that all of them are, to third order, beside mpmath's."""

from __future__ import annotations

import itertools
import operator
from typing import Any

import mpmath
import numpy as np
import pytest

import tracejit as tj
from tracejit.ir.special import powers

ORDERS = [(by_x, by_y) for by_x, by_y in itertools.product(range(4), repeat=2) if 1 <= by_x + by_y <= 3]
#: Powers of small and large numbers, and exponents next to those at which factors are 0.
X = np.array([0.3, 1.0, 2.5, 1e-30, 1e30, 7.0, 1e20])
Y = np.array([1.7, -2.5, 1e-17, -3e-20, 1 + 1e-15, 2.0, 1.0])


def test_falling_factorials() -> None:
    assert [powers.falling_factorial(order) for order in range(4)] == [[1], [0, 1], [0, -1, 1], [0, 2, -3, 1]]


def exact(by_x: int, by_y: int, x: float, y: float) -> tuple[Any, Any]:
    """The derivative, and the sum of the absolute terms of it."""
    with mpmath.workdps(60):
        x, y = mpmath.mpf(x), mpmath.mpf(y)
        log, total, size = mpmath.log(x), mpmath.mpf(0), mpmath.mpf(0)
        for i in range(by_y + 1):
            factor = mpmath.diff(lambda y: mpmath.ff(y, by_x), y, i) if by_x or not i else mpmath.mpf(0)
            term = mpmath.binomial(by_y, i) * factor * log ** (by_y - i)
            total, size = total + term, size + abs(term)
        power = x ** (y - by_x)
        return power * total, power * size


def kernel(by_x: int, by_y: int) -> Any:
    return lambda x, y: powers.derivative(np.asarray(x), np.asarray(y), by_x, by_y)


def by_grad(by_x: int, by_y: int) -> Any:
    function: Any = operator.pow
    for place in [0] * by_x + [1] * by_y:
        function = tj.grad(lambda x, y, f=function: f(x, y).sum(), argnums=place)
    return function


@pytest.mark.parametrize(
    "by", [kernel, by_grad, lambda *orders: tj.jit(by_grad(*orders))], ids=["kernel", "eager", "jit"]
)
@pytest.mark.parametrize("orders", ORDERS)
def test_derivatives_are_mpmaths(orders: tuple[int, int], by: Any) -> None:
    result = by(*orders)(X, Y)
    for x, y, value in zip(X.tolist(), Y.tolist(), np.asarray(result).tolist(), strict=True):
        expected, size = exact(*orders, x, y)
        # roundings of y count by the logarithm of x
        bound = 4e-16 * (8 + abs(y * np.log(x))) * size + 1e-300
        assert abs(value - expected) <= bound, f"{orders} at {x} ** {y}: {value}, not {expected}"
