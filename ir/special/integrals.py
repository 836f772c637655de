"""Exponential, sine and cosine integrals, the dilogarithm, and complete elliptic integrals.

E1, Ei, Si and Ci are polynomials in pieces beside a logarithm near 0, and times their leading terms far away
(DLMF 6.6, 6.2.17 to 6.2.20); E(n) a power series or a continued fraction (8.19.8, 8.19.17); the dilogarithm a
polynomial around 1 with its reflections (25.12.4, 25.12.6); elliptic integrals means of Gauss (19.8).
"""

from __future__ import annotations

import math
from typing import Any, Final

from .coefficients import integral as tables
from .evaluator import Evaluator
from .jets import Index, derivative, value_of, variables, write
from .polynomials import Polynomial
from .table import define, define_by_jets

EULER: Final = 0.57721566490153286061
#: sin(x) / x in x^2, for x < 2: derivatives of fourth order, too.
_SINC: Final = Polynomial(0.0, 4.0, [(-1.0) ** k / math.factorial(2 * k + 1) for k in range(15)])
_ROOT: Final = 0.3725074107813666
_ROOT_LOW: Final = 1.3140183414386028e-17
#: Arithmetic-geometric means after which 1 and sqrt(1 - m) are equal to the last bit of float64: a mean takes
#: the root of their ratio until that is near 1, then squares the difference. Those of any m < 1, and those of
#: m from _FAR to 1.
_STEPS: Final = 12
_FEW_STEPS: Final = 9
_FAR: Final = -8192.0


def _pieces(m: Evaluator, t: Any, *pieces: tuple[float, float, Any]) -> Any:
    """The polynomial of its interval: (lower end, upper end, coefficients) of each, from high to low."""

    def of(low: float, high: float, table: Any) -> Any:
        return lambda t: m.polynomial(t - (low + high) * 0.5, table)

    branches = [(t >= low, of(low, high, table)) for low, high, table in pieces[:-1]]
    return m.choose((t,), *branches, of(*pieces[-1]))


def _e1(m: Evaluator, x: Any) -> Any:
    def low(x: Any) -> Any:
        return m.polynomial(x, tables.E1_LOW) * x - (m.log(x) + EULER)

    def high(x: Any) -> Any:
        inverse = 1.0 / x
        value = _pieces(
            m, inverse, (0.4, 1.0, tables.E1_A), (0.15, 0.4, tables.E1_B), (0.04, 0.15, tables.E1_C),
            (0.0, 0.04, tables.E1_D),
        )  # fmt: skip
        return value * m.exp(-x) * inverse

    value = m.choose((x,), (x < 1.0, low), high)
    return m.where(x < 0.0, math.nan, m.where(m.eq(x, 0.0), math.inf, value))


def _ei(m: Evaluator, x: Any) -> Any:
    def near_root(x: Any) -> Any:
        t = (x - _ROOT) - _ROOT_LOW
        return m.polynomial(t, tables.EI_ROOT) * t

    def low(x: Any) -> Any:
        return m.polynomial(x - 3.0, tables.EI_LOW) * x + (m.log(x) + EULER)

    def high(x: Any) -> Any:
        inverse = 1.0 / x
        value = _pieces(
            m, inverse, (1 / 12, 1 / 6, tables.EI_A), (1 / 24, 1 / 12, tables.EI_B),
            (1 / 48, 1 / 24, tables.EI_C),
            (0.0, 1 / 48, tables.EI_D),
        )  # fmt: skip
        half = m.exp(x * 0.5)
        return m.where(x < math.inf, value * inverse * half * half, math.inf)

    return m.choose(
        (x,), (x < 0.0, lambda x: -_e1(m, -x)), (m.abs(x - _ROOT) < 0.14, near_root), (x < 6.0, low), high
    )


def _auxiliary(m: Evaluator, x: Any) -> tuple[Any, Any]:
    """f and g for x > 4."""
    inverse = 1.0 / x
    t = inverse * inverse
    f = _pieces(
        m,
        t,
        (1 / 36, 1 / 16, tables.SICI_F_A),
        (1 / 100, 1 / 36, tables.SICI_F_B),
        (0.0, 1 / 100, tables.SICI_F_C),
    )
    g = _pieces(
        m,
        t,
        (1 / 36, 1 / 16, tables.SICI_G_A),
        (1 / 100, 1 / 36, tables.SICI_G_B),
        (0.0, 1 / 100, tables.SICI_G_C),
    )
    return f * inverse, g * t


def _si(m: Evaluator, x: Any) -> Any:
    def high(size: Any) -> Any:
        f, g = _auxiliary(m, size)
        value = math.pi / 2 - (f * m.cos(size) + g * m.sin(size))
        return m.where(size < math.inf, value, math.pi / 2)

    size = m.abs(x)
    value = m.choose((size,), (size < 4.0, lambda x: m.polynomial(x * x, tables.SI_LOW) * x), high)
    return m.where(x < 0.0, -value, value)


def _sinc(m: Evaluator, x: Any) -> Any:
    """sin(x) / x, by its series where derivatives of the quotient would cancel."""
    near = m.abs(value_of(x)) < 2.0
    series = m.polynomial(m.where(near, x, 0.0) * m.where(near, x, 0.0), _SINC)
    safe = m.where(near, 2.0, x)
    return m.where(near, series, m.sin(safe) / safe)


def _ci(m: Evaluator, x: Any) -> Any:
    """The cosine integral, of negative numbers its real part."""

    def low(x: Any) -> Any:
        square = x * x
        return m.polynomial(square, tables.CI_LOW) * square + (m.log(x) + EULER)

    def high(x: Any) -> Any:
        f, g = _auxiliary(m, x)
        return m.where(x < math.inf, f * m.sin(x) - g * m.cos(x), 0.0)

    size = m.abs(x)
    value = m.choose((size,), (size < 4.0, low), high)
    return m.where(x > -math.inf, m.where(m.eq(x, 0.0), -math.inf, value), math.nan)


def _expn(m: Evaluator, n: Any, x: Any) -> Any:
    """E(n, x) for integers n >= 0 and x >= 0."""

    def series(n: Any, x: Any) -> Any:
        last = n - 1.0
        # (-x)^(n - 1) / (n - 1)! (digamma(n) - log x), less the others' (-x)^k / ((k - n + 1) k!)
        power = m.pow(x, last) / m.call("gamma", n)
        odd = ~m.eq(m.floor(last * 0.5) * 2.0, last)
        first = (m.call("digamma", n) - m.log(x)) * m.where(odd, -power, power)

        def turn(term: Any, total: Any, k: Any) -> tuple[Any, Any, Any]:
            here = m.eq(k, last)
            total = total - m.where(here, 0.0, term / m.where(here, 1.0, k - last))
            return term * -x / (k + 1.0), total, k + 1.0

        _, total, _ = m.loop(
            lambda term, total, k: m.abs(term) > 2.0**-60 * m.abs(total), turn, 1.0, first, 0.0
        )
        return total

    def fraction(n: Any, x: Any) -> Any:
        # from its last part on: errors of parts count the less the farther they are from the first
        def turn(k: Any, part: Any) -> tuple[Any, Any]:
            return k - 1.0, k * (n - 1.0 + k) / ((x + n + 2.0 * k) - part)

        # parts that count to 2^-56, for x >= 1 or n >= 60
        parts = m.floor(m.min(108.0 / x, 800.0 / n) + 8.0)
        _, part = m.loop(lambda k, part: k > 0.0, turn, parts, 0.0)
        return m.exp(-x) / (x + n - part)

    value = m.choose(
        (n, x), (m.eq(n, 0.0), lambda n, x: m.exp(-x) / x), ((x <= 1.0) & (n < 60.0), series), fraction
    )
    value = m.where(m.eq(x, 0.0), m.where(n > 1.0, 1.0 / (n - 1.0), math.inf), value)
    value = m.where(m.eq(x, math.inf), 0.0, value)
    return m.where((x >= 0.0) & (n >= 0.0) & m.eq(m.floor(n), n), value, math.nan)


def _spence(m: Evaluator, z: Any) -> Any:
    """The dilogarithm of 1 - z."""
    inverted = z > 1.5
    w = m.where(inverted, 1.0 / z, z)
    reflected = w < 0.5
    u = m.where(reflected, -w, w - 1.0)
    value = m.polynomial(u, tables.SPENCE) * u
    logarithm = m.log(w)
    product = m.where(m.eq(w, 0.0), 0.0, logarithm * m.log1p(-w))
    value = m.where(reflected, math.pi**2 / 6 - product - value, value)
    value = m.where(inverted, -(m.log(z) * m.log(z) * 0.5) - value, value)
    return m.where(z < 0.0, math.nan, m.where(m.eq(z, math.inf), -math.inf, value))


def _means(m: Evaluator, parameter: Any, rest: Any) -> tuple[Any, Any]:
    """K and E of 0 <= m < 1, with `rest` = 1 - m, by arithmetic-geometric means."""
    a: Any = 1.0
    b = m.sqrt(rest)
    total = parameter * 0.5
    factor = 0.5
    for _ in range(_FEW_STEPS):
        difference = (a - b) * 0.5
        a, b = (a + b) * 0.5, m.sqrt(a * b)
        factor *= 2.0
        total = total + difference * difference * factor
    k = 0.5 * math.pi / a
    return k, k * (1.0 - total)


def _elliptic(m: Evaluator, parameter: Any, second: bool) -> Any:
    def positive(parameter: Any) -> Any:
        return _means(m, parameter, 1.0 - parameter)[second]

    def negative(parameter: Any) -> Any:
        # K(m) = K(m / (m - 1)) / sqrt(1 - m), and E with the root as a factor
        rest = 1.0 / (1.0 - parameter)
        root = m.sqrt(1.0 - parameter)
        value = _means(m, parameter / (parameter - 1.0), rest)[second]
        return value * root if second else value / root

    def far(parameter: Any) -> Any:
        # E is the integral of d^2 / d: by means it would be K times a small difference of numbers next to 1
        rest = 1.0 - parameter
        return _landen(m, 1.0, m.sqrt(rest), 1.0, rest if second else 1.0)

    value = m.choose((parameter,), (parameter < _FAR, far), (parameter < 0.0, negative), positive)
    at_one, at_end = (1.0, math.inf) if second else (math.inf, 0.0)
    value = m.where(m.eq(parameter, 1.0), at_one, m.where(m.eq(parameter, -math.inf), at_end, value))
    return m.where(parameter > 1.0, math.nan, value)


def _landen(m: Evaluator, a: Any, b: Any, high: Any, low: Any, steps: int = _STEPS) -> Any:
    """The integral of (high cos^2 + low sin^2) / sqrt(a^2 cos^2 + b^2 sin^2) over a quarter turn.

    By Landen's transformation, which makes it one with the means of a, b > 0. If all are positive, terms are
    too.
    """
    for step in range(steps):
        total, mean = a + b, (high + low) * 0.5
        if step == 0:
            low = (high * b + low * a) / total
        else:  # the same: b is no larger than a now, and what is added rounds less and less
            low = low + (high - low) * (b / total)
        high, a, b = mean, total * 0.5, m.sqrt(a * b)
    return (high + low) / a * (0.25 * math.pi)


def _elliptic_slope(m: Evaluator, parameter: Any, second: bool, steps: int) -> Any:
    """The derivative of K or of E.

    K' is the integral of cos^2 / d over 2 (1 - m), E' that of -sin^2 / d over 2, where d is
    sqrt(cos^2 + (1 - m) sin^2).
    """
    rest = 1.0 - parameter
    root = m.sqrt(rest)
    if second:
        return _landen(m, 1.0, root, 0.0, 1.0, steps) * -0.5
    return _landen(m, 1.0, root, 1.0, 0.0, steps) * 0.5 / rest


def _elliptic_bend(m: Evaluator, parameter: Any, second: bool) -> Any:
    """The second derivative of K, or of E.

    With the integrals B of cos^2 / d, D of sin^2 / d, and C = (D - B) / m, K'' is (C / 4 + B / (2 (1 - m))) /
    (1 - m), and E'' is (C - D) / (4 (1 - m)). One step of Landen's takes the differences out of them.
    """
    rest = 1.0 - parameter
    root = m.sqrt(rest)
    inverse = 1.0 / (root + 1.0)
    a, b = (root + 1.0) * 0.5, m.sqrt(root)
    if second:
        return _landen(m, a, b, 0.5, root * inverse * inverse) * -0.25 / rest
    return _landen(m, a, b, 0.25 / rest, inverse * (inverse * 0.25 + 0.5 / root)) / rest


def _elliptic_derivative(m: Evaluator, orders: Index, parameter: Any, second: bool) -> Any:
    (order,) = orders
    if order == 0:
        return _elliptic(m, parameter, second)
    if order == 1:
        value = m.choose(
            (parameter,), (parameter < _FAR, lambda x: _elliptic_slope(m, x, second, _STEPS)),
            lambda x: _elliptic_slope(m, x, second, _FEW_STEPS),
        )  # fmt: skip
    else:
        further = (order - 2,)
        (argument,) = variables(further, (parameter,))
        value = derivative(_elliptic_bend(m, argument, second), further)
    at_one = -math.inf if second else math.inf
    value = m.where(m.eq(parameter, 1.0), at_one, m.where(m.eq(parameter, -math.inf), 0.0, value))
    return m.where(parameter > 1.0, math.nan, value)


#: Derivatives of e^x / x that it gives itself, also where it is infinite.
_OWN_ORDERS: Final = 4


def _quotient_terms(order: int) -> list[float]:
    """The derivative of e^x / x over e^x / x, as a polynomial in 1 / x, lowest power first."""
    return [math.perm(order, k) * (-1.0) ** k for k in range(order + 1)]


def _exp_quotient(m: Evaluator, orders: Index, x: Any) -> Any:
    """e^x / x and its derivatives, where e^x may be infinite, and e^x / x, too."""
    (order,) = orders
    half = m.exp(x * 0.5)
    value = half / x
    if order:
        value = value * m.polynomial(1.0 / x, _quotient_terms(order))
    return value * half


def _exp_quotient_slope(b: Any, orders: Index, x: Any) -> Any:
    order = orders[0] + 1
    if order <= _OWN_ORDERS:
        return write(b, "exp_quotient", x, orders=(order,))
    inverse, (*lower, total) = b.reciprocal(x), _quotient_terms(order)
    for term in reversed(lower):
        total = b.add(b.mul(inverse, total), term)
    return b.mul(write(b, "exp_quotient", x), total)


def _expn_slope(b: Any, orders: Index, n: Any, x: Any) -> Any:
    zero = b.eq(n, 0.0)
    lower = b.neg(write(b, "expn", b.where(zero, 1.0, b.sub(n, 1.0)), x))
    safe = b.where(zero, x, 1.0)
    at_zero = b.neg(b.mul(b.div(b.exp(b.neg(safe)), safe), b.add(b.reciprocal(safe), 1.0)))
    return b.where(zero, at_zero, lower)


def _spence_slope(b: Any, orders: Index, z: Any) -> Any:
    # log z / (1 - z) = -2 atanh(s) / (s (z + 1)) with s = (z - 1) / (z + 1), near 1 by the series of atanh:
    # the derivative of the quotient is a difference of large numbers there
    whole = b.add(z, 1.0)
    s = b.div(b.sub(z, 1.0), whole)
    near = b.lt(b.abs(s), 0.3)
    inside = b.where(near, s, 0.0)
    square, series = b.mul(inside, inside), None
    for k in range(15, -1, -1):
        term = 1.0 / (2 * k + 1)
        series = term if series is None else b.add(b.mul(series, square), term)
    outside = b.where(near, 3.0, z)
    return b.where(near, b.div(b.mul(series, -2.0), whole), b.div(b.log(outside), b.sub(1.0, outside)))


define("exp1", "x", lambda m, orders, x: _e1(m, x), lambda b, orders, x: b.neg(b.div(b.exp(b.neg(x)), x)))
define("expi", "x", lambda m, orders, x: _ei(m, x), lambda b, orders, x: write(b, "exp_quotient", x))
define("exp_quotient", "x", _exp_quotient, _exp_quotient_slope, single=True, inline=True)
define("expn", "n x", lambda m, orders, n, x: _expn(m, n, x), None, _expn_slope)
define_by_jets("sinc", "x", _sinc, True, single=True, inline=True)
define("si", "x", lambda m, orders, x: _si(m, x), lambda b, orders, x: write(b, "sinc", x), short=True)
define("ci", "x", lambda m, orders, x: _ci(m, x), lambda b, orders, x: b.div(b.cos(x), x), short=True)
define("spence", "z", lambda m, orders, z: _spence(m, z), _spence_slope)
define("ellipk", "m", lambda m, orders, x: _elliptic_derivative(m, orders, x, False), True)
define("ellipe", "m", lambda m, orders, x: _elliptic_derivative(m, orders, x, True), True)
