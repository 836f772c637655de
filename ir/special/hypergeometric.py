"""Hypergeometric functions, Legendre functions, and Lambert's function.

1F1 and 2F1 are their series, with terms of one sign after the transformations of Kummer (DLMF 13.2.39) and
Pfaff (15.8.1); Legendre functions their recurrence in the degree (14.10.3). On jets all of them give
derivatives term by term. W is a polynomial around its branch point, elsewhere Newton's rule on logarithms
(Iacono and Boyd, 2017).
"""

from __future__ import annotations

import math
from typing import Any, Final

from .coefficients import hypergeometric as tables
from .evaluator import TURNS, Evaluator
from .gamma import gamma_of
from .incomplete_gamma import converging
from .jets import Index, value_of, write
from .table import define, define_by_jets

_E: Final = math.e
#: The rounding error of `_E`: e minus its float64 value.
_E_LOW: Final = 1.4456468917292502e-16


def _summed(m: Evaluator, ratio: Any, x: Any, *like: Any) -> Any:
    """The series with term k + 1 = ratio(k) x times term k; NaN where `TURNS` terms do not suffice."""

    def turn(term: Any, total: Any, k: Any) -> tuple[Any, Any, Any]:
        term = term * (ratio(k) * x)
        return term, total + term, k + 1.0

    unit = m.constant(1.0, x, *like)

    def going(term: Any, total: Any, k: Any) -> Any:
        return (k < 2.0) | converging(m, term, total)

    _, total, k = m.loop(going, turn, unit, unit, 0.0)
    return m.where(k < TURNS - 1.0, total, math.nan)


def _confluent(m: Evaluator, a: Any, b: Any, x: Any) -> Any:
    """1F1(a, b, x)."""
    negative = value_of(x) < 0.0
    first = m.where(negative, b - a, a)
    total = _summed(m, lambda k: (first + k) / ((b + k) * (k + 1.0)), m.where(negative, -x, x), a, b)
    value = m.where(negative, m.exp(m.where(negative, x, 0.0)) * total, total)
    lower = value_of(b)
    return m.where((lower <= 0.0) & m.eq(m.floor(lower), lower), math.inf, value)


def _gauss(m: Evaluator, a: Any, b: Any, c: Any, z: Any) -> Any:
    """2F1(a, b, c, z) for z <= 1."""

    def inside(a: Any, b: Any, c: Any, z: Any) -> Any:
        negative = value_of(z) < 0.0
        second = m.where(negative, c - b, b)
        x = m.where(negative, z / (z - 1.0), z)
        total = _summed(m, lambda k: (a + k) * (second + k) / ((c + k) * (k + 1.0)), x, a, b, c)
        return m.where(negative, m.exp(-a * m.log1p(-m.where(negative, z, 0.0))) * total, total)

    def at_one(a: Any, b: Any, c: Any, z: Any) -> Any:
        rest = c - a - b
        value = gamma_of(m, c) * gamma_of(m, rest) / (gamma_of(m, c - a) * gamma_of(m, c - b))
        return m.where(rest > 0.0, value, math.inf)

    argument, lower = value_of(z), value_of(c)
    first, second = _is_polynomial(m, value_of(a), lower), _is_polynomial(m, value_of(b), lower)
    finite = first | second
    at_limit = m.eq(argument, 1.0) & (lower - value_of(a) - value_of(b) > 0.0)
    value = m.choose((a, b, c, z), ((argument < 1.0) | (finite & ~at_limit), inside), at_one)
    value = m.where((argument > 1.0) & ~finite, math.nan, value)
    return m.where((lower <= 0.0) & m.eq(m.floor(lower), lower) & ~finite, math.inf, value)


def _is_polynomial(m: Evaluator, a: Any, c: Any) -> Any:
    """Whether the series ends by the factors of `a`, before those of `c` are 0."""
    pole = (c <= 0.0) & m.eq(m.floor(c), c)
    return (a <= 0.0) & m.eq(m.floor(a), a) & ~(pole & (c >= a))


def _legendre(m: Evaluator, n: Any, x: Any) -> Any:
    """The Legendre polynomial of integer degree `n`."""
    degree = m.where(n < 0.0, -n - 1.0, n)

    def turn(k: Any, now: Any, before: Any) -> tuple[Any, Any, Any]:
        k = k + 1.0
        # no factor overflows before the result does, and of two infinite terms the first is the result
        rest = m.where(m.abs(value_of(now)) < math.inf, before * ((k - 1.0) / k), 0.0)
        return k, now * x * ((2.0 * k - 1.0) / k) - rest, now

    start = m.constant(1.0, x)
    _, value, _ = m.loop(lambda k, now, before: k < degree, turn, 0.0, start, m.constant(0.0, x))
    return m.where(m.eq(m.floor(n), n), value, math.nan)


def _associated(m: Evaluator, order: Any, n: Any, x: Any) -> Any:
    """The associated Legendre function of integer `order` and degree `n`, with the phase (-1)^order."""
    size = m.abs(order)
    degree = m.where(n < 0.0, -n - 1.0, n)
    root = m.sqrt((1.0 - x) * (x + 1.0))
    # from the order itself as degree: (-1)^m (2 m - 1)!! (1 - x^2)^(m / 2)
    _, now = m.loop(
        lambda i, total: i < size,
        lambda i, total: (i + 1.0, total * root * -(2.0 * i + 1.0)),
        0.0,
        m.constant(1.0, x),
    )

    def turn(k: Any, now: Any, before: Any) -> tuple[Any, Any, Any]:
        k = k + 1.0
        return k, (now * x * (2.0 * k - 1.0) - before * (k + size - 1.0)) / (k - size), now

    _, value, _ = m.loop(lambda k, now, before: k < degree, turn, size, now, m.constant(0.0, x))
    # negative orders: times (-1)^m (n - m)! / (n + m)!
    _, ratio = m.loop(
        lambda i, total: i <= degree + size, lambda i, total: (i + 1.0, total / -i), degree - size + 1.0, 1.0
    )
    value = m.where(
        order < 0.0, value * m.abs(ratio) * m.where(m.eq(m.floor(size * 0.5) * 2.0, size), 1.0, -1.0), value
    )
    value = m.where(size > degree, 0.0, value)
    whole = m.eq(m.floor(n), n) & m.eq(m.floor(order), order)
    return m.where(whole & (m.abs(value_of(x)) <= 1.0), value, math.nan)


def _spherical(m: Evaluator, n: Any, order: Any, theta: Any) -> Any:
    """The spherical harmonic of integer degree `n` and `order` at the polar angle `theta` and azimuth 0.

    By the recurrence of normalized functions, whose coefficients are square roots, so that nothing overflows.
    """
    size = m.abs(order)
    sine, cosine = m.abs(m.sin(theta)), m.cos(theta)
    # from the order itself as degree: (-1)^m sqrt((2 m + 1)!! / (4 pi (2 m)!!)) sin(theta)^m
    _, now = m.loop(
        lambda i, total: i <= size,
        lambda i, total: (i + 1.0, total * sine * -m.sqrt(1.0 + 0.5 / i)),
        1.0,
        m.constant(math.sqrt(0.25 / math.pi), theta),
    )

    def turn(k: Any, now: Any, before: Any) -> tuple[Any, Any, Any]:
        low = (k - size) * (k + size)
        k = k + 1.0
        high = (k - size) * (k + size)
        outer, inner = 4.0 * k * k - 1.0, 4.0 * (k - 1.0) * (k - 1.0) - 1.0
        part = before * m.sqrt(m.where(low > 0.0, low / inner, 0.0))
        return k, (now * cosine - part) * m.sqrt(outer / high), now

    _, value, _ = m.loop(lambda k, now, before: k < n, turn, size, now, m.constant(0.0, theta))
    odd = ~m.eq(m.floor(size * 0.5) * 2.0, size)
    value = m.where((order < 0.0) & odd, -value, value)
    value = m.where(size > n, 0.0, value)
    whole = m.eq(m.floor(n), n) & m.eq(m.floor(order), order) & (n < TURNS)
    return m.where(whole, value, math.nan)


def _lambert(m: Evaluator, z: Any, lower: bool) -> Any:
    """The branch 0 of W, or the branch -1."""
    small = m.min(1.0, z)  # of others it does not count, and overflows; NaN stays
    high, low = m.two_product(small * 0.0 + _E, small)
    excess = (high + 1.0) + (low + small * _E_LOW)  # e z + 1
    p = m.sqrt(m.max(excess, 0.0) * 2.0)

    def near(z: Any, p: Any) -> Any:
        t = -p if lower else p
        return m.polynomial(t, tables.LAMBERT) * t - 1.0

    def far(z: Any, p: Any) -> Any:
        if lower:
            logarithm = m.log(-z)
            guess = logarithm - m.log(-logarithm)
            guess = m.where(z < -0.25, -1.0 - p - p * p * (1.0 / 3.0), guess)
        else:
            logarithm = m.log1p(z)
            guess = logarithm * (1.0 - m.log1p(logarithm) / (logarithm + 2.0))
        w = m.where(m.eq(z, 0.0), 1.0, guess)

        # z / w may be less than any number
        tiny = m.abs(z) < 1e-290
        scaled, rest = m.where(tiny, z * 2.0**100, z), m.where(tiny, 1.0 - 100.0 * math.log(2.0), 1.0)

        def turn(w: Any, step: Any) -> tuple[Any, Any]:
            new = w / (w + 1.0) * (m.log(scaled / w) + rest)
            return new, m.abs(new - w)

        w, _ = m.loop(lambda w, step: step > 1e-9 * m.abs(w), turn, w, math.inf, limit=12)
        at_zero = -math.inf if lower else 0.0
        value = m.where(m.eq(z, 0.0), at_zero, m.where(m.eq(z, math.inf), math.inf, w))
        return m.where(m.abs(z) < 1e-300, z, value) if not lower else value

    value = m.choose((z, p), (p < 0.6, near), far)
    outside = (excess < 0.0) | (z > 0.0) if lower else excess < 0.0
    return m.where(outside, math.nan, value)


def _lambert_slope(b: Any, orders: Index, z: Any) -> Any:
    # w / z is e^-w: a quotient where the exponential is that of a large number
    w = write(b, "lambertw_0", z)
    large = b.gt(b.abs(w), 1.0)
    power = b.where(large, b.div(w, b.where(large, z, 1.0)), b.exp(b.neg(b.where(large, 1.0, w))))
    return b.div(power, b.add(w, 1.0))


def _lower_lambert_slope(b: Any, orders: Index, z: Any) -> Any:
    # w / z / (w + 1), whose own slope is one product: both terms of the quotient's slope may be infinite. So
    # it is a number times e^(g - g), where g = -w - log |w + 1| has the slope
    w = write(b, "lambertw_m1", z)
    rest = b.add(w, 1.0)
    exponent = b.neg(b.add(w, b.log(b.neg(rest))))
    finite = b.gt(w, -math.inf)
    size = b.where(finite, b.div(b.div(w, rest), z), -1.0)
    start = b.where(finite, exponent, 0.0)
    return b.mul(b.stop_gradient(size), b.exp(b.sub(exponent, b.stop_gradient(start))))


define_by_jets("hyp1f1", "a b x", _confluent, True, True, True)
define_by_jets("hyp2f1", "a b c z", _gauss, True, True, True, True)
define_by_jets("eval_legendre", "n x", _legendre, None, True)
define_by_jets("lpmv", "m v x", _associated, None, None, True)
define_by_jets("sph_legendre_p", "n m theta", _spherical, None, None, True)
define("lambertw_0", "z", lambda m, orders, z: _lambert(m, z, False), _lambert_slope)
define("lambertw_m1", "z", lambda m, orders, z: _lambert(m, z, True), _lower_lambert_slope)
