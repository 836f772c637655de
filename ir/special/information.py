"""Terms of entropies: products with logarithms, right where factors are 0 and near each other."""

from __future__ import annotations

import math
from typing import Any, Final

from .coefficients import gamma as tables
from .evaluator import Evaluator, inverse_power
from .jets import Index, Jet, compose, value_of
from .polynomials import Polynomial
from .table import define


def log1p_less_x(m: Evaluator, t: Any) -> Any:
    """log(1 + t) - t without cancellation."""
    if isinstance(t, Jet):
        inverse = 1.0 / (t.value + 1.0)
        return compose(
            t,
            lambda k: (
                (log1p_less_x(m, t.value), -t.value * inverse)[k] if k < 2 else inverse_power(inverse, k)
            ),
        )
    near = m.polynomial(t, tables.LOG1PMX) * t * t
    return m.where(m.abs(t) <= 0.35, near, m.log1p(t) - t)


def _xlogy(m: Evaluator, x: Any, y: Any) -> Any:
    return m.where(m.eq(x, 0.0) & m.eq(y, y), 0.0, x * m.log(y))


def _entr(m: Evaluator, x: Any) -> Any:
    value = -(x * m.log(x))
    return m.where(value_of(x) < 0.0, -math.inf, m.where(m.eq(x, 0.0), 0.0, value))


#: 2 (atanh s / s - 1) / s^2 in s^2, for s < 1/3. Times x s^2 it is this part of x - y, or less.
TWICE_ATANH_REST: Final = Polynomial(0.0, 1 / 9, [2.0 / (2 * k + 3) for k in range(16)], part=0.16)


def _log_of_quotient(m: Evaluator, x: Any, y: Any) -> tuple[Any, Any]:
    """log(x / y), right where both are near each other, and where that is so: x and y are positive numbers
    of usual sizes."""
    if not isinstance(x, Jet) and not isinstance(y, Jet):
        direct = m.log_of_quotient(x, y)
        if direct is not None:
            return direct
    return _log_by_distance(m, x, y)


def _log_by_distance(m: Evaluator, x: Any, y: Any) -> tuple[Any, Any]:
    """Compute log(x / y) by log1p, and a mask of where it is accurate: where the quotient of the larger by
    the smaller is below `m.large`. x and y are positive numbers of any size."""
    down = x < y
    high, low = m.where(down, y, x), m.where(down, x, y)
    value = m.log1p((high - low) / low)
    return m.where(down, -value, value), high < low * m.large


def _log_of_any(m: Evaluator, x: Any, y: Any) -> Any:
    """Compute log(x / y) for any two positive numbers."""
    value, usual = _log_by_distance(m, x, y)
    return m.where(usual, value, m.log(x) - m.log(y))


def _log_ratio(m: Evaluator, x: Any, y: Any) -> Any:
    value, usual = _log_of_quotient(m, x, y)
    return m.rarely(value, ~usual, lambda x, y: _log_of_any(m, x, y), x, y)


def _edges(m: Evaluator, x: Any, y: Any, value: Any, at_zero: Any) -> Any:
    """`value` where x, y > 0, `at_zero` where x = 0 <= y, NaN for NaN, else infinity."""
    zero = m.eq(x, 0.0) & (y >= 0.0)
    value = m.where((x > 0.0) & (y > 0.0), value, m.where(zero, at_zero, math.inf))
    total = x + y
    return m.where(m.isnan(x) | m.isnan(y), total, value)


def _rel_entr(m: Evaluator, x: Any, y: Any) -> Any:
    logarithm, usual = _log_of_quotient(m, x, y)

    def careful(x: Any, y: Any) -> Any:
        return _edges(m, x, y, x * _log_of_any(m, x, y), 0.0)

    return m.rarely(x * logarithm, ~usual, careful, x, y)


def _kl_div(m: Evaluator, x: Any, y: Any) -> Any:
    """x log(x / y) - x + y.

    With s = (x - y) / (x + y) that is (x - y) s + 2 x (atanh s - s), where nothing cancels, for x and y
    within a factor of two of each other.
    """

    def by_parts(x: Any, y: Any, near: Any, s: Any, logarithm: Any) -> Any:
        square, difference = s * s, x - y
        close = s * (difference + m.polynomial(square, TWICE_ATANH_REST) * square * x)
        return m.where(near, close, x * logarithm - difference)

    def quotient(x: Any, y: Any, near: Any) -> Any:
        return m.where(near, x - y, x) / m.where(near, x + y, y)

    def careful(x: Any, y: Any) -> Any:
        # x / y or x + y may be no number
        scale = m.where(x + y > m.large, 0.25, 1.0)
        u, v = x * scale, y * scale
        near = Evaluator.are_near(m, u, v)  # they may be any numbers
        s = quotient(u, v, near)
        in_range = (s * m.large > 1.0) & (s < m.large)
        logarithm = m.where(in_range, m.log(s), m.log(x) - m.log(y))
        return _edges(m, x, y, by_parts(u, v, near, s, logarithm) / scale, y)

    near = m.are_near(x, y)
    s = quotient(x, y, near)
    # the logarithm is of no use where they are near
    value = by_parts(x, y, near, s, m.log(s))
    return m.rarely(value, ~(m.is_usual(x) & m.is_usual(y)), careful, x, y)


def _log_or_zero(b: Any, x: Any, y: Any) -> Any:
    # where x = 0 = y the product is 0 by convention, and does not depend on y
    return b.where(b.logical_and(b.eq(x, 0.0), b.eq(y, 0.0)), 0.0, b.div(x, y))


def _kl_div_slope(b: Any, orders: Index, x: Any, y: Any) -> Any:
    # 1 - x / y: near 1 the difference is exact, and far from it the derivative x / y^2 is no difference
    small = b.lt(x, b.mul(y, 0.5))
    far = b.sub(1.0, b.div(b.where(small, x, 0.0), y))
    return b.where(small, far, b.div(b.sub(y, b.where(small, y, x)), y))


def _quotient_slope(b: Any, orders: Index, x: Any, y: Any) -> Any:
    return b.neg(b.div(x, y))


define("xlogy", "x y", lambda m, orders, x, y: _xlogy(m, x, y),
       lambda b, orders, x, y: b.log(y), lambda b, orders, x, y: _log_or_zero(b, x, y),
       single=True, inline=True)  # fmt: skip
define("xlog1py", "x y",
       lambda m, orders, x, y: m.where(m.eq(x, 0.0) & m.eq(y, y), 0.0, x * m.log1p(y)),
       lambda b, orders, x, y: b.log1p(y),
       lambda b, orders, x, y: _log_or_zero(b, x, b.add(y, 1.0)), single=True, inline=True)  # fmt: skip
define("entr", "x", lambda m, orders, x: _entr(m, x),
       lambda b, orders, x: b.sub(-1.0, b.log(x)), single=True, inline=True)  # fmt: skip
define("rel_entr", "x y", lambda m, orders, x, y: _rel_entr(m, x, y),
       lambda b, orders, x, y: b.add(1.0, b.special2(x, y, function="log_ratio", orders=orders)),
       _quotient_slope, single=True, inline=True)  # fmt: skip
define("kl_div", "x y", lambda m, orders, x, y: _kl_div(m, x, y),
       lambda b, orders, x, y: b.special2(x, y, function="log_ratio", orders=orders),
       _kl_div_slope, single=True, inline=True)  # fmt: skip
define("log_ratio", "x y", lambda m, orders, x, y: _log_ratio(m, x, y),
       lambda b, orders, x, y: b.reciprocal(x), lambda b, orders, x, y: b.neg(b.reciprocal(y)),
       single=True)  # fmt: skip
