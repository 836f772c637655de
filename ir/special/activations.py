"""Activations x sigmoid(v): SiLU, where v is x, and GELU as Hendrycks and Gimpel (2016) approximate it, where
v is 2 sqrt(2 / pi) (x + 0.044715 x^3).

Derivatives with sigma for the sigmoid of v:

    f'  = sigma + x v' sigma'
    f'' = sigma' v' (2 + x v'' / v' - x v' tanh(v / 2))

Where the second one is least, its terms cancel in part. So SiLU's has exact ones, and of GELU's factors the
roundings are made good.
"""

from __future__ import annotations

from typing import Any, Final

from .evaluator import Evaluator
from .jets import Index, derivative, value_of, variables, write
from .table import define, define_by_jets

_LINEAR: Final = 1.5957691216057308
#: 2 sqrt(2 / pi) less its float64 value.
_LINEAR_LOW: Final = -9.96930880911092e-17
_CUBIC: Final = 0.07135481627260025
#: The end beyond which the sigmoid is 0 or 1, and cubes may overflow.
_END: Final = 25.0


#: The end beyond which the exponential of minus a number is 0.
_EXPONENTIAL_END: Final = 800.0


def _silu(m: Evaluator, x: Any) -> Any:
    power = m.exp(-m.abs(x))
    return x * m.where(value_of(x) < 0.0, power, 1.0) / (power + 1.0)


def _size(m: Evaluator, x: Any) -> Any:
    """The magnitude of `x`, with the derivatives of one side."""
    size = m.where(value_of(x) < 0.0, -x, x)
    return m.where(value_of(size) > _EXPONENTIAL_END, _EXPONENTIAL_END, size)


def _silu_slope(m: Evaluator, x: Any) -> Any:
    size = _size(m, x)
    power = m.exp(-size)
    total = power + 1.0
    below = power * ((1.0 - size) + power) / (total * total)
    return m.where(value_of(x) < 0.0, below, (size * power / total + 1.0) / total)


def _silu_bend(m: Evaluator, x: Any) -> Any:
    size = _size(m, x)
    power = m.exp(-size)
    total = power + 1.0
    return power * ((2.0 - size) + size * (power * 2.0 / total)) / (total * total)


def _bounded(m: Evaluator, x: Any) -> Any:
    """`x`, limited to where the sigmoid is not constant; NaN remains."""
    return m.where(value_of(x) > _END, _END, m.where(value_of(x) < -_END, -_END, x))


def _value(m: Evaluator, x: Any) -> Any:
    inside = _bounded(m, x)
    v = inside * (inside * inside * _CUBIC + _LINEAR)
    # as of expit
    power = m.exp(-m.abs(v))
    return x * m.where(value_of(v) < 0.0, power, 1.0) / (power + 1.0)


def _slope(m: Evaluator, x: Any) -> Any:
    x = _bounded(m, x)
    cubic = x * x * _CUBIC
    power = m.exp(-m.abs(x * (cubic + _LINEAR)))
    inverse = 1.0 / (power + 1.0)
    steep = x * (cubic * 3.0 + _LINEAR) * (power * inverse)
    return (m.where(value_of(x) < 0.0, power, 1.0) + steep) * inverse


def _bend(m: Evaluator, orders: Index, x: Any) -> Any:
    if any(orders):
        value = derivative(_plain_bend(m, *variables(orders, (x,))), orders)
    else:
        value = _bend_of_value(m, x)
    return m.where(m.abs(x) < _END, value, m.where(m.isnan(x), x, 0.0))


def _plain_bend(m: Evaluator, x: Any) -> Any:
    x = _bounded(m, x)
    cubic = x * x * _CUBIC
    power = m.exp(-m.abs(x * (cubic + _LINEAR)))
    inverse = 1.0 / (power + 1.0)
    slope = cubic * 3.0 + _LINEAR
    tanh = 1.0 - power * inverse * 2.0
    return power * inverse * inverse * (slope * 2.0 + cubic * 6.0 - m.abs(x) * slope * slope * tanh)


def _bend_of_value(m: Evaluator, x: Any) -> Any:
    size = m.min(m.abs(x), _END)
    cubic = size * size * _CUBIC
    # v and x v' as sums of two numbers, of factors that are so too
    factor, factor_low = m.two_sum(_LINEAR, cubic)
    slope, slope_low = m.two_sum(_LINEAR, cubic * 3.0)
    v, v_low = m.two_product(size, factor)
    reach, reach_low = m.two_product(size, slope)
    v_low = v_low + size * (factor_low + _LINEAR_LOW)
    reach_low = reach_low + size * (slope_low + _LINEAR_LOW)
    power = m.exp(-v)
    total, total_low = m.two_sum(1.0, power)
    # tanh(v / 2) is 1 - 2 power / total
    rest, rest_low = m.two_sum(2.0, -reach)
    terms = rest + ((rest_low - reach_low) + (cubic / slope * 6.0 + reach * (power * 2.0 / total)))
    value = power * slope * terms / (total * total)
    # what roundings took off the first three factors
    return value + value * ((slope_low + _LINEAR_LOW) / slope - (v_low + total_low * 2.0))


define("silu", "x", lambda m, orders, x: _silu(m, x),
       lambda b, orders, x: write(b, "silu_slope", x), single=True, inline=True)  # fmt: skip
define("silu_slope", "x", lambda m, orders, x: _silu_slope(m, x),
       lambda b, orders, x: write(b, "silu_bend", x), single=True, inline=True)  # fmt: skip
define_by_jets("silu_bend", "x", _silu_bend, True, single=True, inline=True)
define("gelu_tanh", "x", lambda m, orders, x: _value(m, x),
       lambda b, orders, x: write(b, "gelu_tanh_slope", x), single=True, inline=True)  # fmt: skip
define("gelu_tanh_slope", "x", lambda m, orders, x: _slope(m, x),
       lambda b, orders, x: write(b, "gelu_tanh_bend", x), single=True, inline=True)  # fmt: skip
define("gelu_tanh_bend", "x", _bend, True)
