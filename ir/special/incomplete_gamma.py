"""The incomplete gamma functions, with derivatives in both parameters, and their inverses.

Below x = a + 1 the series of P (DLMF 8.7.1), above the continued fraction of Q (8.9.2), both times x^a e^-x
/ gamma(a +
1); for small a and x Q = 1 - P without its cancellation. Derivatives in a are those of series and fraction
term by term;
those in x are the density's.
"""

from __future__ import annotations

import math
from typing import Any, Final

from .evaluator import TURNS, Evaluator
from .gamma import log_gamma_1p, log_gamma_of, precise_power, stirling_rest
from .information import log1p_less_x
from .jets import Index, Jet, value_of, write
from .table import define, define_by_jets

#: Argument from which Stirling's series stands for gamma(a + 1).
_LARGE: Final = 12.0


def converging(m: Evaluator, term: Any, total: Any, ulps: float = 1.0) -> Any:
    """Whether `term` still counts in the sum `total`, or one of its derivatives in one of that's: is more
    than `ulps` of it.

    At integer parameters series and fractions may end where their derivatives do not.
    """
    least = m.epsilon * ulps
    going = m.abs(value_of(term)) > m.abs(value_of(total)) * least
    if isinstance(term, Jet) and isinstance(total, Jet):
        for index, part in term.terms.items():
            if any(index):
                whole = total.terms.get(index, 0.0)
                going = going | (m.abs(part) > m.abs(whole) * least + 1e-290)
    return going


def settled(m: Evaluator, delta: Any, n: Any, last: Any) -> Any:
    """The last turn of a continued fraction, up to the `n`-th, whose factor `delta` was not 1."""
    return m.where(m.abs(value_of(delta) - 1.0) > m.epsilon * 8.0, n, last)


def _leading(m: Evaluator, a: Any, x: Any) -> Any:
    """x^a e^-x / gamma(a + 1)."""

    def small(a: Any, x: Any) -> Any:
        value_a, value_x = value_of(a), value_of(x)
        # beyond 1e20 the exponential is 0, and the power would overflow
        power = m.pow(m.min(value_x, 1e20), value_a) * m.exp(-value_x) / m.call("gamma", value_a + 1.0)
        if not isinstance(a, Jet) and not isinstance(x, Jet):
            return power
        exponent = a * m.log(x) - x - log_gamma_of(m, a + 1.0)
        return m.exp(exponent - value_of(exponent)) * power

    def large(a: Any, x: Any) -> Any:
        # a (log(1 + t) - t), t = (x - a) / a
        t = (x - a) / a
        near = m.abs(value_of(t)) < 0.35
        ratio = x / a
        far = (m.log(m.where(near, 1.0, ratio)) - t) * a
        exponent = m.where(near, log1p_less_x(m, m.where(near, t, 0.0)) * a, far)
        power = m.exp(value_of(exponent))
        value_a, value_x = value_of(a), value_of(x)
        size = m.abs(m.log(value_of(ratio)) * value_a)
        difference, low = m.two_sum(value_a, -value_x)
        precise = precise_power(m, value_x, value_a, value_a) * m.exp(difference) * (1.0 + low)
        power = m.where(~near & (size < 650.0) & (m.abs(difference) < 650.0), precise, power)
        value = m.exp(exponent - value_of(exponent)) * power if isinstance(exponent, Jet) else power
        return value * m.exp(-stirling_rest(m, a)) / m.sqrt(a * (2.0 * math.pi))

    return m.choose((a, x), (value_of(a) < _LARGE, small), large)


def _series(m: Evaluator, a: Any, x: Any) -> Any:
    """P; four terms at a time, with one division."""

    def turn(term: Any, total: Any, n: Any) -> tuple[Any, Any, Any]:
        second, fourth = a + (n + 2.0), a + (n + 4.0)
        last_two = (a + (n + 3.0)) * fourth
        term = term * (x / ((a + (n + 1.0)) * second * last_two))
        total = total + term * (second * last_two + x * (last_two + x * (fourth + x)))
        return term * (x * x * x), total, n + 4.0

    unit = m.constant(1.0, a, x)
    _, total, n = m.loop(lambda term, total, n: converging(m, term, total), turn, unit, unit, 0.0)
    return m.where(n < TURNS, total * _leading(m, a, x), math.nan)


def _fraction(m: Evaluator, a: Any, x: Any) -> Any:
    """Q, by Steed's algorithm: convergents as a sum."""

    def turn(b: Any, d: Any, step: Any, h: Any, n: Any, last: Any) -> tuple[Any, ...]:
        n = n + 1.0
        b = b + 2.0
        numerator = (a - n) * n
        before, d = d, 1.0 / (numerator * d + b)
        step = -numerator * before * d * step
        h = h + step
        return b, d, step, h, n, m.where(converging(m, step, h, 8.0), n, last)

    def going(b: Any, d: Any, step: Any, h: Any, n: Any, last: Any) -> Any:
        return n < last + 1.0

    start = m.constant(x + 1.0 - a, a, x)
    inverse = 1.0 / start
    _, _, _, h, n, _ = m.loop(going, turn, start, inverse, inverse, inverse, 0.0, 0.0)
    return m.where(n < TURNS, h * a * _leading(m, a, x), math.nan)


def _small_upper(m: Evaluator, a: Any, x: Any) -> Any:
    """Q for small a and x: 1 - x^a / gamma(a + 1) - x^a / gamma(a + 1) sum of a (-x)^n / ((a + n) n!)."""

    def turn(power: Any, term: Any, total: Any, n: Any) -> tuple[Any, ...]:
        n = n + 1.0
        power = power * -x / n
        term = power / (a + n)
        return power, term, total + term, n

    zero = m.constant(0.0, a, x)
    start = m.constant(1.0, a, x)
    _, _, total, _ = m.loop(
        lambda power, term, total, n: (value_of(n) < 2.0) | converging(m, term, total), turn,
        m.constant(1.0, x), start, zero, 0.0,
    )  # fmt: skip
    exponent = a * m.log(x) - log_gamma_1p(m, a)
    return -m.expm1(exponent) - m.exp(exponent) * total * a


def _both(m: Evaluator, a: Any, x: Any, upper: bool) -> Any:
    """Q, or P."""

    def by_series(a: Any, x: Any) -> Any:
        value = _series(m, a, x)
        return 1.0 - value if upper else value

    def by_fraction(a: Any, x: Any) -> Any:
        value = _fraction(m, a, x)
        return value if upper else 1.0 - value

    value_a, value_x = value_of(a), value_of(x)
    branches: list[Any] = []
    if upper:
        branches.append(((value_x < 1.1) & (value_a < value_x + 0.4), lambda a, x: _small_upper(m, a, x)))
    branches.append(((value_x < 1.1) | (value_x < value_a + 1.0), by_series))
    # infinities would keep loops going, and products of large parameters overflow
    usual = (value_a < 1e70) & (value_x < 1e300)
    value = m.choose((m.where(usual, a, 1.0), m.where(usual, x, 1.0)), *branches, by_fraction)
    empty, full = (1.0, 0.0) if upper else (0.0, 1.0)
    value = m.where(m.eq(value_x, 0.0), empty, value)
    beyond = ~usual & (value_x > value_a)
    value = m.where(beyond | (m.eq(value_a, 0.0) & (value_x > 0.0)), full, value)
    value = m.where(~usual & (value_x < value_a), empty, value)
    undefined = (value_a < 0.0) | (value_x < 0.0) | (m.eq(value_a, 0.0) & m.eq(value_x, 0.0))
    return m.where(undefined | (~usual & m.eq(value_a, value_x)), math.nan, value)


def _density(m: Evaluator, a: Any, x: Any) -> Any:
    """x^(a - 1) e^-x / gamma(a)."""
    value = _leading(m, a, x) * a / x
    at_zero = m.where(value_of(a) < 1.0, math.inf, m.where(m.eq(value_of(a), 1.0), 1.0, 0.0))
    value = m.where(m.eq(value_of(x), 0.0), at_zero, m.where(m.eq(value_of(x), math.inf), 0.0, value))
    return m.where((value_of(a) < 0.0) | (value_of(x) < 0.0), math.nan, value)


def _quantile_guess(m: Evaluator, a: Any, p: Any, q: Any) -> Any:
    """Estimate the x with P(a, x) = p = 1 - q: by Wilson and Hilferty, or by the leading term for small x."""
    low = p < q
    normal = m.call("ndtri", m.where(low, p, q))
    z = m.where(low, normal, -normal)
    ninth = 1.0 / (a * 9.0)
    root = 1.0 - ninth + z * m.sqrt(ninth)
    hilferty = a * root * root * root
    leading = m.exp((m.log(p) + log_gamma_1p(m, a)) / a)
    guess = m.where((a > 0.5) & (root > 0.2) & (p > 1e-250), hilferty, leading)
    # for small a and q the tail x^(a - 1) e^-x / gamma(a) is q
    tail = -m.log(q) - log_gamma_of(m, a)
    tail = m.max(tail, 1.0)
    tail = tail + (a - 1.0) * m.log(tail)
    return m.where((a <= 0.5) & (q < 0.2) & (tail > 0.5), tail, guess)


def _inverse(m: Evaluator, a: Any, p: Any, q: Any) -> Any:
    """x with P(a, x) = p, Q(a, x) = q, of which the smaller is exact.

    Newton's rule on log P or log Q as a function of log x: both are concave, so that from some step on all
    come from one
    side.
    """

    def toward(a: Any, p: Any, q: Any, name: str, goal: Any, sign: float) -> Any:
        guess = m.max(_quantile_guess(m, a, p, q), 1e-305)

        def turn(x: Any, step: Any) -> tuple[Any, Any]:
            value = m.call(name, a, x)
            step = (m.log(value) - goal) * value / (m.call("gamma_density", a, x) * x) * sign
            step = m.where(value > 1e-307, m.max(m.min(step, 30.0), -3.0), -0.7 * sign)
            return x * m.exp(-step), step

        x = m.loop(lambda x, step: (m.abs(step) > 1e-10) & (x > 1e-300), turn, guess, 1.0, limit=80)[0]
        leading = m.exp((m.log(p) + log_gamma_1p(m, a)) / a)
        return m.where(leading < 1e-300, leading, x)

    def lower(a: Any, p: Any, q: Any) -> Any:
        return toward(a, p, q, "gammainc", m.log(p), 1.0)

    def upper(a: Any, p: Any, q: Any) -> Any:
        return toward(a, p, q, "gammaincc", m.log(q), -1.0)

    value = m.choose((m.where(a < 1e300, a, 1.0), p, q), (p < 0.5, lower), upper)
    value = m.where(m.eq(p, 0.0), 0.0, m.where(m.eq(q, 0.0), math.inf, value))
    return m.where((a > 0.0) & (a < 1e300) & (p >= 0.0) & (q >= 0.0), value, math.nan)


def _density_slope(sign: float) -> Any:
    def slope(b: Any, orders: Index, a: Any, x: Any) -> Any:
        return b.mul(sign, write(b, "gamma_density", a, x, orders=orders))

    return slope


def _inverse_slopes(inverse: str, own: str, sign: float) -> tuple[Any, Any]:
    def in_a(b: Any, orders: Index, a: Any, p: Any) -> Any:
        x = write(b, inverse, a, p)
        change = write(b, own, a, x, orders=(1, 0))
        return b.neg(b.div(change, b.mul(sign, write(b, "gamma_density", a, x))))

    def in_p(b: Any, orders: Index, a: Any, p: Any) -> Any:
        return b.div(sign, write(b, "gamma_density", a, write(b, inverse, a, p)))

    return in_a, in_p


define_by_jets(
    "gammainc", "a x", lambda m, a, x: _both(m, a, x, False), True, _density_slope(1.0), short=True
)
define_by_jets(
    "gammaincc", "a x", lambda m, a, x: _both(m, a, x, True), True, _density_slope(-1.0), short=True
)
define_by_jets("gamma_density", "a x", _density, True, True)
define("gammaincinv", "a p", lambda m, orders, a, p: _inverse(m, a, p, 1.0 - p),
       *_inverse_slopes("gammaincinv", "gammainc", 1.0))  # fmt: skip
define("gammainccinv", "a q", lambda m, orders, a, q: _inverse(m, a, 1.0 - q, q),
       *_inverse_slopes("gammainccinv", "gammaincc", -1.0))  # fmt: skip
