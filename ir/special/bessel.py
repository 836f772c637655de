"""Bessel functions of real order, with derivatives in the order.

K is the integral of exp(-x cosh t) cosh(v t) (DLMF 10.32.9), whose trapezoidal sums converge exponentially.
I is its power series, and far out Hankel's expansion; J is the recurrence downwards from far above (Miller),
normalized by 10.23.15, and far out Hankel's. All of these are differentiated in the order term by term.
"""

from __future__ import annotations

import math
from typing import Any, Final

from .evaluator import TURNS, Evaluator
from .gamma import cos_pi, gamma_of, log_gamma_of, sin_pi
from .incomplete_gamma import converging
from .jets import Index, Jet, value_of, write
from .table import define_by_jets

#: Hankel's expansions serve from here on, for orders of which the square is smaller than x.
_FAR: Final = 22.0
_TERMS: Final = 40


def _scaled_k(m: Evaluator, v: Any, x: Any) -> Any:
    """e^x K(v, x) for x > 0."""
    order = m.abs(value_of(v))
    # the integrand is largest at t0, where sinh t0 = v / x, and there as wide as 1 / sqrt(cosh t0 x)
    ratio = order / x
    root = m.sqrt(ratio * ratio + 1.0)
    peak = m.log(ratio + root)
    width = 1.0 / m.sqrt(m.where(x > 1e100, x, m.sqrt(order * order + x * x)))
    step = m.min(width * 0.45, 0.18)

    def exponent(t: Any) -> Any:
        # x (1 - cosh t) = -2 x sinh^2(t / 2)
        half = m.expm1(t) * m.exp(t * -0.5)
        return half * half * x * -0.5

    top = exponent(peak) + order * peak

    def term(t: Any) -> Any:
        base = exponent(t) - top
        if not isinstance(v, Jet):
            return (m.exp(base + v * t) + m.exp(base - v * t)) * 0.5
        return (m.exp(v * t + base) + m.exp(-v * t + base)) * 0.5

    def turn(t: Any, total: Any, size: Any) -> tuple[Any, Any, Any]:
        value = term(t)
        return t + step, total + value, m.abs(value_of(value))

    def going(t: Any, total: Any, size: Any) -> Any:
        return (t <= peak) | (size > value_of(total) * 2.0**-58)

    start = m.constant(m.exp(-top) * 0.5, v)
    last, total, _ = m.loop(going, turn, step, start, 1.0)
    return m.where(last < step * (TURNS - 1.0), total * step * m.exp(top), math.nan)


def _moderate(m: Evaluator, v: Any) -> Any:
    """The order, and 0 in place of those whose loops would be too long."""
    return m.where(m.abs(value_of(v)) < 1e6, v, 0.0)


def _beyond(m: Evaluator, v: Any, limit: float, value: Any) -> Any:
    """`value`, but the `limit` for infinite orders and NaN for other huge ones."""
    size = m.abs(value_of(v))
    return m.where(size < 1e6, value, m.where(m.eq(value_of(v), math.inf), limit, math.nan))


def _k(m: Evaluator, v: Any, x: Any, scaled: bool) -> Any:
    value = m.choose((v, x), ((x > 0.0) & (x < math.inf), lambda v, x: _scaled_k(m, v, m.max(x, 1e-305))),
                     lambda v, x: m.constant(0.0, v))  # fmt: skip
    value = value if scaled else value * m.exp(-x)
    return m.where(x < 0.0, math.nan, m.where(m.eq(x, 0.0), math.inf, value))


def _hankel(m: Evaluator, v: Any, x: Any, sign: float) -> tuple[Any, Any]:
    """The sums of even and of odd terms a(k) / x^k of Hankel's expansion, terms times sign^(k // 2)."""
    square = v * v * 4.0
    inverse = 0.125 / x
    term: Any = m.constant(1.0, v)
    sums: list[Any] = [term, m.constant(0.0, v)]
    smallest = m.abs(value_of(term)) + x * 0.0
    alive = x > 0.0
    for k in range(1, _TERMS):
        term = term * ((square - (2.0 * k - 1.0) ** 2) * inverse) / float(k)
        size = m.abs(value_of(term))
        # an asymptotic series: terms that grow again do not count
        alive = alive & ((size <= smallest) | (size > 2.0**-40))
        smallest = m.min(size, smallest)
        factor = sign ** (k // 2)
        sums[k % 2] = m.where(alive, sums[k % 2] + term * factor, sums[k % 2])
    return sums[0], sums[1]


def _i_positive(m: Evaluator, v: Any, x: Any) -> Any:
    """e^-x I(v, x) for v >= 0, x > 0."""

    def series(v: Any, x: Any) -> Any:
        quarter = x * x * 0.25

        def turn(term: Any, total: Any, k: Any) -> tuple[Any, Any, Any]:
            k = k + 1.0
            term = term * quarter / ((v + k) * k)
            return term, total + term, k

        unit = m.constant(1.0, v)
        order = value_of(v)
        _, total, k = m.loop(lambda term, total, k: converging(m, term, total), turn, unit, unit, 0.0)
        total = m.where(k < TURNS, total, math.nan)
        half = x * 0.5
        power = m.pow(half, order) / gamma_of(m, order + 1.0) * m.exp(-x)
        exponent = v * m.log(half) - log_gamma_of(m, v + 1.0) - x
        usual = (power > 1e-290) & (power < 1e290) & (order < 100.0)
        size = m.where(usual, power, m.exp(value_of(exponent)))
        if isinstance(v, Jet):
            return m.exp(exponent - value_of(exponent)) * size * total
        return total * size

    def far(v: Any, x: Any) -> Any:
        even, odd = _hankel(m, v, x, 1.0)
        return (even - odd) / m.sqrt(x * (2.0 * math.pi))

    return m.choose((v, x), ((x > _FAR) & (x > value_of(v) * value_of(v)), far), series)


def _i(m: Evaluator, v: Any, x: Any, scaled: bool) -> Any:
    """I(v, x), or e^-|x| I(v, x); for negative x of integer order."""
    order = value_of(v)
    whole = m.eq(m.floor(order), order)
    size, magnitude = m.abs(v), m.abs(x)
    value = _i_positive(m, size, m.min(m.max(magnitude, 1e-305), 1e300))

    def negative(v: Any, size: Any, x: Any, value: Any) -> Any:
        # I(-s, x) = I(s, x) + 2 / pi sin(pi s) K(s, x)
        k = _scaled_k(m, size, m.min(m.max(x, 1e-305), 1e300)) * m.exp(x * -2.0)
        return value + k * sin_pi(m, size) * (2.0 / math.pi)

    # of integer orders the second term is 0, but its derivatives in the order are not
    needed = order < 0.0 if isinstance(v, Jet) else (order < 0.0) & ~whole
    value = m.choose((v, size, magnitude, value), (needed, negative), lambda v, s, x, value: value)
    if not scaled:
        value = value * m.exp(magnitude)
    odd = whole & ~m.eq(m.floor(order * 0.5), order * 0.5)
    value = m.where((x < 0.0) & odd, -value, value)
    at_zero = m.where(m.eq(order, 0.0), 1.0, m.where((order > 0.0) | whole, 0.0, math.inf))
    value = m.where(m.eq(x, 0.0), at_zero, value)
    infinite = m.eq(magnitude, math.inf)
    value = m.where(infinite, m.where(odd & (x < 0.0), -math.inf, math.inf) if not scaled else 0.0, value)
    return m.where((x < 0.0) & ~whole, math.nan, value)


def _modulus(m: Evaluator, v: Any, x: Any) -> tuple[Any, Any]:
    """J and Y of order v for large x."""
    even, odd = _hankel(m, v, x, -1.0)
    # the phase x - (v / 2 + 1 / 4) pi, of which the multiple of pi / 4 is taken apart
    sine, cosine = m.sin(x), m.cos(x)
    turned = (v + 0.5) * 0.5
    c, s = cos_pi(m, turned), sin_pi(m, turned)
    first = cosine * c + sine * s
    second = sine * c - cosine * s
    scale = m.sqrt(2.0 / (x * math.pi))
    return (first * even - second * odd) * scale, (second * even + first * odd) * scale


def _miller(m: Evaluator, v: Any, x: Any) -> Any:
    """J(v, x) for v >= 0: recurrences down to an order between 0 and 1, normalized by 10.23.15."""
    order = value_of(v)
    whole = m.floor(order)
    base = v - whole
    larger = m.max(order, x)
    above = m.floor((larger + 18.0 + m.pow(larger, 1.0 / 3.0) * 9.0 - whole) * 0.5) * 2.0 + 2.0
    count = whole + above
    even = m.floor(m.min(count, float(TURNS)) * 0.5) * 2.0
    # with n = count .. 0: f(n - 1) = 2 (base + n) / x f(n) - f(n + 1)
    half = x * 0.5
    # weights of the sum: (base + 2 k) gamma(base + k) / k!, from the largest k down
    k = even * 0.5
    weight = m.exp(log_gamma_of(m, base + k) - log_gamma_of(m, 1.0 + k))
    zero, tiny = m.constant(0.0, v), m.constant(1e-250, v)

    def turn(n: Any, now: Any, after: Any, total: Any, picked: Any, weight: Any) -> tuple[Any, ...]:
        is_even = m.eq(m.floor(n * 0.5) * 2.0, n)
        k = n * 0.5
        total = m.where(is_even, total + now * weight * (base + n), total)
        # gamma(base + k - 1) / (k - 1)! from gamma(base + k) / k!
        lower = weight * k / (base + k - 1.0)
        weight = m.where(is_even & (n > 2.0), lower, weight)
        picked = m.where(m.eq(n, whole), now, picked)
        before = now * ((base + n) * 2.0) / x - after
        huge = m.abs(value_of(before)) > 1e200
        shrink = m.where(huge, 1e-200, 1.0)
        return n - 1.0, before * shrink, now * shrink, total * shrink, picked * shrink, weight

    _, now, _, total, picked, _ = m.loop(lambda n, *rest: n > 0.0, turn, even, tiny, zero, zero, zero, weight)
    # k = 0 has base gamma(base) = gamma(base + 1)
    total = total + now * gamma_of(m, base + 1.0)
    picked = m.where(m.eq(whole, 0.0), now, picked)
    return m.where(count < TURNS, picked / total * m.pow(half, base), math.nan)


def _j_series(m: Evaluator, v: Any, x: Any) -> Any:
    """J(v, x) by its power series, where terms do not cancel."""
    quarter = x * x * -0.25

    def turn(term: Any, total: Any, k: Any) -> tuple[Any, Any, Any]:
        k = k + 1.0
        term = term * quarter / ((v + k) * k)
        return term, total + term, k

    unit = m.constant(1.0, v)
    _, total, _ = m.loop(lambda term, total, k: converging(m, term, total), turn, unit, unit, 0.0)
    half = x * 0.5
    order = value_of(v)
    exponent = v * m.log(half) - log_gamma_of(m, v + 1.0)
    power = m.pow(half, order) / gamma_of(m, order + 1.0)
    usual = (power > 1e-290) & (power < 1e290) & (order < 100.0)
    size = m.where(usual, power, m.exp(value_of(exponent)))
    if isinstance(v, Jet):
        return m.exp(exponent - value_of(exponent)) * size * total
    return total * size


def _j_positive(m: Evaluator, v: Any, x: Any) -> Any:
    order = value_of(v)
    return m.choose(
        (v, x),
        (x * x < (order + 1.0) * 2.0, lambda v, x: _j_series(m, v, x)),
        ((x > _FAR) & (x > order * order), lambda v, x: _modulus(m, v, x)[0]),
        lambda v, x: _miller(m, v, x),
    )  # fmt: skip


def _j(m: Evaluator, v: Any, x: Any) -> Any:
    """J(v, x) for v >= 0, or an integer v; for negative x of integer order."""
    order = value_of(v)
    whole = m.eq(m.floor(order), order)
    odd = whole & ~m.eq(m.floor(order * 0.5), order * 0.5)
    value = _j_positive(m, m.abs(v), m.max(m.abs(x), 1e-305))
    flip = odd & (((x < 0.0) & (order >= 0.0)) | ((x >= 0.0) & (order < 0.0)))
    value = m.where(flip, -value, value)
    value = m.where(m.eq(x, 0.0), m.where(m.eq(order, 0.0), 1.0, 0.0), value)
    value = m.where(m.eq(m.abs(x), math.inf), 0.0, value)
    undefined = ((x < 0.0) | (order < 0.0)) & ~whole
    if isinstance(v, Jet):  # among negative orders, integers alone have values
        undefined = undefined | (order < 0.0)
    return m.where(undefined, math.nan, value)


def _recurrence(name: str, own: float, lower: float, upper: float) -> Any:
    """The derivative in x: own f(v) + lower f(v - 1) + upper f(v + 1)."""

    def slope(b: Any, orders: Index, v: Any, x: Any) -> Any:
        total = b.add(
            b.mul(lower, write(b, name, b.sub(v, 1.0), x, orders=orders)),
            b.mul(upper, write(b, name, b.add(v, 1.0), x, orders=orders)),
        )
        return b.add(total, b.mul(own, write(b, name, v, x, orders=orders))) if own else total

    return slope


def _scaled_i_slope(b: Any, orders: Index, v: Any, x: Any) -> Any:
    # of e^-|x| I(v, x): the factor's derivative has the sign of x
    value = _recurrence("ive", 0.0, 0.5, 0.5)(b, orders, v, x)
    return b.sub(value, b.mul(b.sign(x), write(b, "ive", v, x, orders=orders)))


def _j_slope(b: Any, orders: Index, v: Any, x: Any) -> Any:
    # v / x J(v, x) - J(v + 1, x), whose derivatives in v are Leibniz'; at 0 its limit
    zero = b.eq(x, 0.0)
    above = b.mul(v, write(b, "jv", v, x, orders=orders))
    if orders[0]:
        above = b.add(above, b.mul(float(orders[0]), write(b, "jv", v, x, orders=(orders[0] - 1, 0))))
    value = b.sub(b.div(above, b.where(zero, 1.0, x)), write(b, "jv", b.add(v, 1.0), x, orders=orders))
    return b.where(b.logical_and(zero, b.eq(v, 1.0)), 0.5, value)


def _guarded(function: Any, limit: float) -> Any:
    """The function without long loops for huge orders."""
    return lambda m, v, x: _beyond(m, v, limit, function(m, _moderate(m, v), x))


define_by_jets(
    "kv",
    "v x",
    _guarded(lambda m, v, x: _k(m, v, x, False), math.inf),
    True,
    _recurrence("kv", 0.0, -0.5, -0.5),
)
define_by_jets(
    "kve",
    "v x",
    _guarded(lambda m, v, x: _k(m, v, x, True), math.inf),
    True,
    _recurrence("kve", 1.0, -0.5, -0.5),
)
define_by_jets(
    "iv", "v x", _guarded(lambda m, v, x: _i(m, v, x, False), 0.0), True, _recurrence("iv", 0.0, 0.5, 0.5)
)
define_by_jets("ive", "v x", _guarded(lambda m, v, x: _i(m, v, x, True), 0.0), True, _scaled_i_slope)
define_by_jets("jv", "v x", _guarded(_j, 0.0), True, _j_slope)
