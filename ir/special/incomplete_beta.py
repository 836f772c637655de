"""The incomplete beta function, with derivatives in all parameters, and its inverse.

DLMF's continued fraction 8.17.22, for x below the mean, and the reflection 8.17.4 above. The derivatives in
a and b are
those of the fraction term by term; those in x are the density's.
"""

from __future__ import annotations

import math
from typing import Any, Final

from .beta import beta_log
from .evaluator import TURNS, Evaluator
from .gamma import stirling_rest
from .incomplete_gamma import converging
from .information import log1p_less_x
from .jets import Index, Jet, value_of, write
from .table import define, define_by_jets

#: Argument from which Stirling's series stands for the gamma functions.
_LARGE: Final = 8.0


def _leading(m: Evaluator, a: Any, b: Any, x: Any, first: Any) -> Any:
    """x^a (1 - x)^b / (first beta(a, b)), where `first` is a or b."""

    def small(a: Any, b: Any, x: Any, first: Any) -> Any:
        value_a, value_b, value_x = map(value_of, (a, b, x))
        y, lost = m.two_sum(1.0 + value_x * 0.0, -value_x)
        powers = m.pow(value_x, value_a) * m.pow(y, value_b) * (1.0 + value_b * (lost / y))
        log_y = m.where(value_x < 0.5, m.log1p(-x), m.log(1.0 - x))
        exponent = a * m.log(x) + b * log_y - beta_log(m, a, b, first)
        beta = m.call("beta", value_a, value_b)
        value = m.where(
            (powers > 1e-290) & (beta > 1e-290), powers / beta / value_of(first), m.exp(value_of(exponent))
        )
        if not isinstance(exponent, Jet):
            return value
        return m.exp(exponent - value_of(exponent)) * value

    def large(a: Any, b: Any, x: Any, first: Any) -> Any:
        # with x0 = a / (a + b): a log(x / x0) + b log(y / y0), where a (x / x0 - 1) + b (y / y0 - 1) = 0
        total = a + b
        y = 1.0 - x
        deviation = x * b - y * a
        deviation = deviation - value_of(deviation) + _deviation(m, value_of(a), value_of(b), value_of(x))
        rest = stirling_rest(m, a) + stirling_rest(m, b) - stirling_rest(m, total)
        exponent = (
            log1p_of(m, deviation / a, x * total / a) * a + log1p_of(m, -deviation / b, y * total / b) * b
        )
        return m.exp(exponent - rest) * m.sqrt(a * b / (total * (2.0 * math.pi))) / first

    small_one = (value_of(a) < _LARGE) | (value_of(b) < _LARGE)
    return m.choose((a, b, x, first), (small_one, small), large)


def _deviation(m: Evaluator, a: Any, b: Any, x: Any) -> Any:
    """x b - (1 - x) a of numbers, to all digits."""
    y, lost = m.two_sum(1.0 + x * 0.0, -x)
    first, first_low = m.two_product(x, b)
    second, second_low = m.two_product(y, a)
    return (first - second) + (first_low - second_low - lost * a)


def log1p_of(m: Evaluator, t: Any, ratio: Any) -> Any:
    """log(ratio) - t, where ratio = 1 + t."""
    near = m.abs(value_of(t)) < 0.35
    far = m.log(m.where(near, 1.0, ratio)) - t
    return m.where(near, log1p_less_x(m, m.where(near, t, 0.0)), far)


def _fraction(m: Evaluator, a: Any, b: Any, x: Any, excess: Any) -> Any:
    """I(a, b, x) over x^a (1 - x)^b / (a beta(a, b)), where `excess` = a (1 - x) - b x > -1.

    The even part of the fraction of DLMF 8.17.22 (DiDonato and Morris, 1992, equation 9), by Steed's
    algorithm: convergents as a sum. Above the mean its terms would cancel.
    """
    kind = (a, b, x)
    total = a + b
    rest = 2.0 - x

    def going(d: Any, step: Any, h: Any, n: Any, last: Any) -> Any:
        return n < last + 1.0

    def turn(d: Any, step: Any, h: Any, n: Any, last: Any) -> tuple[Any, ...]:
        n = n + 1.0
        odd = a + (2.0 * n - 1.0)
        part = (b - n) * n * x / odd
        first = m.where(m.eq(n, 1.0), 1.0, a + (n - 1.0))  # all of the fraction is divided by a
        above = part * (first * (total + (n - 1.0)) * x / odd)
        below = n + part + (a + n) * (excess + 1.0 + rest * n) / (odd + 2.0)
        before, d = d, 1.0 / (above * d + below)
        step = -above * before * d * step
        h = h + step
        return d, step, h, n, m.where(converging(m, step, h, 8.0), n, last)

    start = m.constant((a + 1.0) / (excess + 1.0), *kind)
    _, _, h, n, _ = m.loop(going, turn, start, start, start, 0.0, 0.0)
    return m.where(n < TURNS, h, math.nan)


def _both(m: Evaluator, a: Any, b: Any, x: Any, upper: bool) -> Any:
    whole_a, whole_b, whole_x = value_of(a), value_of(b), value_of(x)
    # infinities, and what lies outside, would keep loops going
    usual = (whole_a < 1e300) & (whole_b < 1e300) & (whole_a > 0.0) & (whole_b > 0.0)
    usual = usual & (whole_x >= 0.0) & (whole_x <= 1.0)
    a, b, x = m.where(usual, a, 1.0), m.where(usual, b, 1.0), m.where(usual, x, 0.5)
    y = 1.0 - x
    deviation = x * b - y * a
    deviation = deviation - value_of(deviation) + _deviation(m, value_of(a), value_of(b), value_of(x))
    swapped = value_of(x) > (value_of(a) + 1.0) / (value_of(a) + value_of(b) + 2.0)
    first, second = m.where(swapped, b, a), m.where(swapped, a, b)
    fraction = _fraction(m, first, second, m.where(swapped, y, x), m.where(swapped, deviation, -deviation))
    part = _leading(m, a, b, x, first) * fraction
    value = m.where(swapped, part, 1.0 - part) if upper else m.where(swapped, 1.0 - part, part)
    empty, full = (1.0, 0.0) if upper else (0.0, 1.0)
    value_x, value_a, value_b = whole_x, whole_a, whole_b
    # all of the mass lies at 0 for a = 0 and for b = inf, and at 1 for the others
    at_zero = (m.eq(value_a, 0.0) & (value_b > 0.0)) | (m.eq(value_b, math.inf) & (value_a < math.inf))
    at_one = (m.eq(value_b, 0.0) & (value_a > 0.0)) | (m.eq(value_a, math.inf) & (value_b < math.inf))
    value = m.where(m.eq(value_x, 0.0) | at_one, empty, m.where(m.eq(value_x, 1.0) | at_zero, full, value))
    value = m.where(at_one & m.eq(value_x, 1.0), full, m.where(at_zero & m.eq(value_x, 0.0), empty, value))
    outside = (value_x < 0.0) | (value_x > 1.0) | (value_a < 0.0) | (value_b < 0.0)
    undefined = (m.eq(value_a, 0.0) & m.eq(value_b, 0.0)) | (
        m.eq(value_a, math.inf) & m.eq(value_b, math.inf)
    )
    return m.where(outside | undefined, math.nan, value)


def _density(m: Evaluator, a: Any, b: Any, x: Any) -> Any:
    """x^(a - 1) (1 - x)^(b - 1) / beta(a, b)."""
    y = 1.0 - x
    value = _leading(m, a, b, x, a) * a / (x * y)
    inside = (value_of(x) > 0.0) & (value_of(x) < 1.0)
    power = m.where(m.eq(value_of(x), 0.0), value_of(a), value_of(b))
    edge = m.where(power < 1.0, math.inf, m.where(m.eq(power, 1.0), value_of(a) * value_of(b), 0.0))
    outside = (value_of(x) < 0.0) | (value_of(x) > 1.0) | (value_of(a) < 0.0) | (value_of(b) < 0.0)
    return m.where(outside, math.nan, m.where(inside, value, edge))


def _inverse(m: Evaluator, a: Any, b: Any, p: Any) -> Any:
    """x with I(a, b, x) = p: Newton's rule on logarithms within a bracket, which else is halved."""

    def solved(a: Any, b: Any, p: Any, q: Any) -> Any:
        # for p <= 1/2: log I as a function of log x
        goal = m.log(p)
        mean = a / (a + b)
        leading = m.exp((goal + m.log(a) + beta_log(m, a, b)) / a)
        guess = m.max(m.min(m.where(leading < mean * 0.5, leading, mean), 1.0 - 2.0**-50), 1e-305)

        def turn(x: Any, low: Any, high: Any, step: Any) -> tuple[Any, ...]:
            value = m.call("betainc", a, b, x)
            below = value < p
            low, high = m.where(below, x, low), m.where(below, high, x)
            change = (m.log(value) - goal) * value / (m.call("beta_density", a, b, x) * x)
            new = x * m.exp(-change)
            inside = (new >= low) & (new <= high)
            halved = m.where(low > high * 0.25, (low + high) * 0.5, m.sqrt(low) * m.sqrt(high))
            middle = m.where(low > 0.0, halved,
                             high * 0.0009765625)  # fmt: skip
            new = m.where(inside, new, middle)
            return new, low, high, (new - x) / x

        return m.loop(
            lambda x, low, high, step: (m.abs(step) > 1e-10) & (x > 1e-306),
            turn,
            guess,
            0.0,
            1.0,
            1.0,
            limit=200,
        )[0]

    def lower(a: Any, b: Any, p: Any) -> Any:
        return solved(a, b, p, 1.0 - p)

    def upper(a: Any, b: Any, p: Any) -> Any:
        return 1.0 - solved(b, a, 1.0 - p, p)

    usual = (a > 0.0) & (b > 0.0) & (a < 1e300) & (b < 1e300)
    a, b = m.where(usual, a, 1.0), m.where(usual, b, 1.0)
    value_at_mean = m.call("betainc", a, b, a / (a + b))
    value = m.choose((a, b, p), (p <= m.max(value_at_mean, 0.5), lower), upper)
    value = m.where(m.eq(p, 0.0), 0.0, m.where(m.eq(p, 1.0), 1.0, value))
    return m.where(usual & (p >= 0.0) & (p <= 1.0), value, math.nan)


def _density_slope(sign: float) -> Any:
    def slope(b: Any, orders: Index, x: Any, y: Any, z: Any) -> Any:
        return b.mul(sign, write(b, "beta_density", x, y, z, orders=orders))

    return slope


def _inverse_slope(place: int | None) -> Any:
    def slope(b: Any, orders: Index, x: Any, y: Any, p: Any) -> Any:
        value = write(b, "betaincinv", x, y, p)
        density = write(b, "beta_density", x, y, value)
        if place is None:
            return b.div(1.0, density)
        own = (1, 0, 0) if place == 0 else (0, 1, 0)
        return b.neg(b.div(write(b, "betainc", x, y, value, orders=own), density))

    return slope


define_by_jets(
    "betainc", "a b x", lambda m, a, b, x: _both(m, a, b, x, False), True, True, _density_slope(1.0),
    short=True,
)  # fmt: skip
define_by_jets(
    "betaincc", "a b x", lambda m, a, b, x: _both(m, a, b, x, True), True, True, _density_slope(-1.0)
)
define_by_jets("beta_density", "a b x", _density, True, True, True)
define("betaincinv", "a b p", lambda m, orders, a, b, p: _inverse(m, a, b, p),
       _inverse_slope(0), _inverse_slope(1), _inverse_slope(None))  # fmt: skip
