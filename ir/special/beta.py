"""The beta function, its logarithm, and binomial coefficients.

By gamma functions where none overflows, else by Stirling's series (Abramowitz and Stegun, 6.1.40), of which
what is equal cancels. Derivatives of the logarithm are differences of polygamma functions, as Euler and
Maclaurin's sums of differences (23.1.30).
"""

from __future__ import annotations

import itertools
import math
from typing import Any, Final

from .coefficients import gamma as gamma_tables
from .evaluator import Evaluator
from .gamma import (
    BERNOULLI,
    HALF_LOG_2PI,
    log_gamma,
    log_gamma_1p,
    log_gamma_of,
    precise_power,
    stirling_rest,
)
from .information import TWICE_ATANH_REST
from .jets import Index, write
from .table import define

#: Stirling's series in 1 / x^2, times x: to 5e-12 for x >= 6.
_STIRLING: Final = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188)
#: Logarithms by three of those are nearer than this, for arguments of some tens.
_LIFTED_ERROR: Final = 2e-11
#: Argument from which Stirling's series serves: twice that has a gamma function that is finite.
_EDGE: Final = 20.0


def _log_gamma_step(m: Evaluator, a: Any, b: Any) -> Any:
    """log(gamma(b) / gamma(a + b)) for b, a + b >= 8 by Stirling's series, of which what is equal cancels."""
    total = a + b
    rest = stirling_rest(m, b) - stirling_rest(m, total)
    return rest + (a * (1.0 - m.log(total)) - (b - 0.5) * m.log1p(a / b))


def beta_log(m: Evaluator, a: Any, b: Any, factor: Any = None) -> Any:
    """log beta(a, b) for a, b > 0; of `factor` beta(a, b), where `factor` is a or b."""
    swapped = a > b
    a, b = m.where(swapped, b, a), m.where(swapped, a, b)

    def least(a: Any) -> Any:
        return log_gamma_of(m, a) if factor is None else log_gamma_1p(m, a)

    def small(a: Any, b: Any) -> Any:
        return least(a) + (log_gamma_of(m, b) - log_gamma_of(m, a + b))

    def tiny(a: Any, b: Any) -> Any:
        # gamma(b) / gamma(a + b), lifted by 8: above / below, whose difference is `excess`, is a product
        above, below, excess = a + b, b, a
        for n in range(1, 8):
            step = b + float(n)
            excess = excess * step + above * a
            above, below = above * (a + step), below * step
        lifted = m.log1p(excess / below)
        large = b + 8.0
        total = a + large
        rest = stirling_rest(m, large) - stirling_rest(m, total)
        main = a * (1.0 - m.log(total)) - (large - 0.5) * m.log1p(a / large)
        return least(a) + (lifted + (main + rest))

    def mixed(a: Any, b: Any) -> Any:
        return least(a) + _log_gamma_step(m, a, b)

    def large(a: Any, b: Any) -> Any:
        rest = stirling_rest(m, a) + stirling_rest(m, b) - stirling_rest(m, a + b)
        main = (a - 0.5) * m.log(a / (a + b)) - b * m.log1p(a / b)
        return main + (rest + HALF_LOG_2PI - m.log(b) * 0.5) + (0.0 if factor is None else m.log(a))

    apart = (b < 8.0) & (a < 0.5 * b) & ((a < 0.1) | (b > 3.0))
    value = m.choose((a, b), (apart, tiny), (b < 8.0, small), (a < 8.0, mixed), large)
    return value if factor is None else m.where(factor > a, value + m.log(factor / a), value)


def _betaln(m: Evaluator, a: Any, b: Any) -> Any:
    def positive(a: Any, b: Any) -> Any:
        infinite = m.eq(m.max(a, b), math.inf)
        return m.where(infinite, -math.inf, beta_log(m, a, b))

    def mixed(a: Any, b: Any) -> Any:
        # a negative number and a large one: their logarithms nearly cancel
        low, high = m.min(a, b), m.max(a, b)
        return m.where(high < math.inf, log_gamma(m, low) + _log_gamma_step(m, low, high), math.inf)

    def any_sign(a: Any, b: Any) -> Any:
        value = log_gamma(m, a) + log_gamma(m, b) - log_gamma(m, a + b)
        pole_a, pole_b = _is_pole(m, a), _is_pole(m, b)
        other = m.where(pole_a, b, a)
        return m.choose(
            (other, 1.0 - (a + b), value), (pole_a | pole_b, at_pole), lambda other, rest, value: value
        )

    def at_pole(other: Any, rest: Any, value: Any) -> Any:
        # as of `_beta`: the poles of integers cancel
        finite = m.eq(m.floor(other), other) & (rest > 0.0) & (other > 0.0)
        lifted = beta_log(m, m.where(finite, rest, 1.0), m.where(finite, other, 1.0))
        return m.where(finite, lifted, math.inf)

    def short(a: Any, b: Any) -> Any:
        power, factor = _lifted(m, a, b)
        value = power + m.log(factor)
        return m.where(m.abs(value) < _LIFTED_ERROR, 0.0, value)  # as of beta(1, 1)

    branches = [((a > 0.0) & (b > 0.0), positive), (_is_step(m, a, b), mixed)]
    if m.epsilon > 2.0**-40:
        branches.insert(0, (_are_moderate(m, a, b), short))
    return m.choose((a, b), *branches, any_sign)


def _is_step(m: Evaluator, a: Any, b: Any) -> Any:
    """Whether one of the two is large, and the other no pole, and too small to take much off that."""
    low, high = m.min(a, b), m.max(a, b)
    return (high >= _EDGE) & (low > -8.0) & ((low > 0.0) | (m.floor(low) < low))


def _betaln_derivative(m: Evaluator, orders: Index, a: Any, b: Any) -> Any:
    """The derivative of log |beta|: polygamma(a) - polygamma(a + b), or -polygamma(a + b) if in both."""
    if not any(orders):
        return _betaln(m, a, b)
    order = sum(orders)

    def plain(a: Any, b: Any) -> Any:
        return m.call_values("digamma", (order - 1,), (a,)) - whole(a, b)

    def whole(a: Any, b: Any) -> Any:
        return m.call_values("digamma", (order - 1,), (a + b,))

    if all(orders):
        return -whole(a, b)
    own, other = (a, b) if orders[0] else (b, a)
    return m.choose(
        (own, other), ((own > 0.0) & (other > 0.0), lambda x, step: _polygamma_step(m, order, x, step)), plain
    )


def _polygamma_step(m: Evaluator, order: int, x: Any, step: Any) -> Any:
    """polygamma(order - 1, x) - polygamma(order - 1, x + step) for x, step > 0, where nothing cancels.

    The sum of (x + k)^-order - (x + step + k)^-order over k >= 0, up to a factor, by Euler and Maclaurin's
    formula; u^n - v^n is (u - v) (u^(n - 1) + ... + v^(n - 1)).
    """

    def differences(x: Any, count: int) -> list[Any]:
        """u^n - v^n for n from 1 to `count`, where u = 1 / x, v = 1 / (x + step)."""
        u, v = 1.0 / x, 1.0 / (x + step)
        first = m.where(step < math.inf, step * v, 1.0) * u
        results, power = [first], first
        for _ in range(count - 1):
            power = power * v
            results.append(results[-1] * u + power)
        return results

    total: Any = 0.0
    for k in range(10):
        total = total + differences(x + float(k), order)[-1]
    x = x + 10.0
    rest = differences(x, order + 15)
    tail = m.log1p(step / x) if order == 1 else rest[order - 2] / (order - 1.0)
    correction: Any = 0.0
    for j in range(8, 0, -1):
        rising = math.prod(range(order, order + 2 * j - 1))
        correction = correction + rest[order + 2 * j - 2] * (BERNOULLI[j - 1] * rising)
    total = total + (correction + rest[order - 1] * 0.5 + tail)
    return total * ((-1.0) ** order * math.factorial(order - 1))


def _rising_sum(m: Evaluator, x: Any, step: Any) -> Any:
    """The sum of 1 / ((x + k) (x + k + step)^2) over k >= 0 for x >= 1 and step > 0, where nothing cancels.

    By Euler and Maclaurin's formula.
    """
    total: Any = 0.0
    for k in range(10):
        here = x + float(k)
        other = here + step
        total = total + 1.0 / (here * other) / other
    x = x + 10.0
    u, v = 1.0 / x, 1.0 / (x + step)
    # coefficients of the term's expansion around x, up to signs: those of its factors are powers of u and v
    power = u * v * v
    expansion, coefficient = [power], power
    for n in range(1, 16):
        power = power * v
        coefficient = coefficient * u + power * (n + 1.0)
        expansion.append(coefficient)
    correction: Any = 0.0
    for j in range(8, 0, -1):
        correction = correction + expansion[2 * j - 1] * (BERNOULLI[j - 1] * math.factorial(2 * j - 1))
    # the integral, (log1p(step / x) - step / (x + step)) / step^2, by atanh(s) where it cancels
    inverse = 1.0 / (x + x + step)
    s = step * inverse
    near = s < 1 / 3
    inside = m.where(near, s, 0.0)
    series = 2.0 / (inside + 1.0) + m.polynomial(inside * inside, TWICE_ATANH_REST) * inside
    far = m.where(near, 1.0, step)
    quotient = (m.log1p(far * u) - far * v) / far / far
    integral = m.where(near, series * inverse * inverse, quotient)
    return total + (correction + expansion[0] * 0.5 + integral)


def _beta_rate(m: Evaluator, orders: Index, a: Any, b: Any) -> Any:
    """The derivative `orders` of beta, over beta."""
    if not any(orders):
        return a * 0.0 + 1.0
    if sum(orders) == 1:
        return m.call_values("betaln", orders, (a, b))
    if orders != (1, 1):
        # by Leibniz' rule, as the derivative of beta times that of its logarithm
        place = 0 if orders[0] else 1
        lower = (orders[0] - 1 + place, orders[1] - place)
        total: Any = 0.0
        for step in itertools.product(*(range(order + 1) for order in lower)):
            count = math.prod(map(math.comb, lower, step))
            raised = (step[0] + 1 - place, step[1] + place)
            rest = (lower[0] - step[0], lower[1] - step[1])
            term = m.call_values("betaln", raised, (a, b)) * float(count)
            total = total + (term * m.call_values("beta_rate", rest, (a, b)) if any(rest) else term)
        return total

    def plain(a: Any, b: Any) -> Any:
        first, second = (m.call_values("betaln", unit, (a, b)) for unit in ((1, 0), (0, 1)))
        return first * second + m.call_values("betaln", (1, 1), (a, b))

    def positive(a: Any, b: Any) -> Any:
        # beta is (1 / a + 1 / b) g, where g is the inverse of a binomial coefficient: of the terms that are
        # left, all are positive
        product = _polygamma_step(m, 1, a + 1.0, b) * _polygamma_step(m, 1, b + 1.0, a)
        sums = _rising_sum(m, a + 1.0, b) + _rising_sum(m, b + 1.0, a)
        return product + a * (b / (a + b)) * sums

    return m.choose((a, b), ((a > 0.0) & (b > 0.0), positive), plain)


def _is_pole(m: Evaluator, x: Any) -> Any:
    """Whether gamma x is infinite."""
    return (x <= 0.0) & m.eq(m.floor(x), x)


def _beta(m: Evaluator, a: Any, b: Any) -> Any:
    def by_gamma(a: Any, b: Any) -> Any:
        total, low = m.two_sum(a, b)
        # what rounding takes off a + b counts as often as digamma says, which is near log
        below = m.call("gamma", total)
        ratio = m.call("gamma", a) / below * m.call("gamma", b)
        ratio = m.where(m.eq(below, math.inf), math.inf, ratio)
        return m.where((total > 2.0) & (ratio < math.inf), ratio - ratio * (low * m.log(total)), ratio)

    def any_sign(a: Any, b: Any) -> Any:
        pole_a, pole_b = _is_pole(m, a), _is_pole(m, b)
        small = (m.abs(a) < 80.0) & (m.abs(b) < 80.0)
        value = m.choose((a, b), (small, by_gamma), by_logarithm)
        # at the poles of gamma(a + b) beta is 0; at those of the others it is infinite
        value = m.where(_is_pole(m, a + b), 0.0, value)
        other = m.where(pole_a, b, a)
        return m.choose((other, a + b, value), (pole_a | pole_b, at_pole), lambda other, total, value: value)

    def at_pole(other: Any, total: Any, value: Any) -> Any:
        # both poles of integers cancel: (-1)^b beta(1 - a - b, b) for a < 0 < b
        rest = 1.0 - total
        finite = m.eq(m.floor(other), other) & (rest > 0.0) & (other > 0.0)
        lifted = m.call("gamma", rest) * m.call("gamma", other) / m.call("gamma", rest + other)
        return m.where(finite, m.where(_is_odd(m, other), -lifted, lifted), math.inf)

    def by_logarithm(a: Any, b: Any) -> Any:
        sign = _gamma_sign(m, a) * _gamma_sign(m, b) * _gamma_sign(m, a + b)
        return m.exp(_betaln(m, a, b)) * sign

    def by_power(a: Any, b: Any) -> Any:
        # gamma(b) / gamma(a + b) by Stirling's series, for the larger b
        swapped = a > b
        a, b = m.where(swapped, b, a), m.where(swapped, a, b)
        total, low = m.two_sum(a, b)
        rest = stirling_rest(m, b) - stirling_rest(m, total) - low
        powers = m.pow(total, -a) * precise_power(m, b, total, b - 0.5)
        factor = m.call("gamma", a)
        value = factor * (powers * (m.exp(a) * m.exp(rest)))
        return m.where(b < math.inf, value, m.where(a > 0.0, 0.0, m.copysign(math.inf, factor)))

    def by_powers(a: Any, b: Any) -> Any:
        # Stirling's series; the roundings of the bases are made good
        total, low = m.two_sum(a, b)
        rest = stirling_rest(m, a) + stirling_rest(m, b) - stirling_rest(m, total) - low
        powers = precise_power(m, a, total, a - 0.5) * precise_power(m, b, total, b)
        value = powers * m.exp(rest) * (math.sqrt(2.0 * math.pi) / m.sqrt(b))
        return m.where(m.min(a, b) < 1e4, value, 0.0)  # it underflows long before

    def near_zero(a: Any, b: Any) -> Any:
        # of gamma(1 + x) / x the quotients are most, and the rest is e to a small number
        total = a + b
        parts = [m.polynomial(x, gamma_tables.LGAMMA_1) * x for x in (a, b, total)]
        return total / a / b * m.exp(parts[0] + parts[1] - parts[2])

    small = (a > 0.0) & (b > 0.0) & (a < _EDGE) & (b < _EDGE)
    large = (a >= 8.0) & (b >= 8.0)
    if m.epsilon > 2.0**-40:

        def short(a: Any, b: Any) -> Any:
            power, factor = _lifted(m, a, b)
            return m.exp(power) * factor

        return m.choose((a, b), (_are_moderate(m, a, b), short), any_sign)
    tiny = (a > 0.0) & (b > 0.0) & (a + b < 0.5)
    return m.choose(
        (a, b),
        (tiny, near_zero),
        (small, by_gamma),
        (large, by_powers),
        (_is_step(m, a, b), by_power),
        any_sign,
    )


def _are_moderate(m: Evaluator, a: Any, b: Any) -> Any:
    """Whether `_lifted` serves."""
    return (a > 0.0) & (b > 0.0) & (m.max(a, b) < 1e5)


def _lifted(m: Evaluator, a: Any, b: Any) -> tuple[Any, Any]:
    """(x, y) with beta(a, b) = e^x y to the digits of float32, for 0 < a, b < 1e5, in float64.

    gamma(x) x (x + 1) ... (x + 5) = gamma(x + 6) by Stirling's series; one division gives all reciprocals.
    """

    def rising(x: Any) -> Any:
        """x (x + 1) ... (x + 5), by x (x + 5) = u, (x + 1) (x + 4) = u + 4, (x + 2) (x + 3) = u + 6."""
        u = x * (x + 5.0)
        return u * ((u + 4.0) * (u + 6.0))

    def exponent(x: Any, inverse: Any) -> Any:
        return (x - 0.5) * m.log(x) + m.polynomial(inverse * inverse, _STIRLING) * inverse

    total = a + b
    first, second, whole = a + 6.0, b + 6.0, total + 6.0
    product, below = first * second, rising(a) * rising(b)
    inverse = 1.0 / (product * whole * below)
    each = inverse * below
    power = (
        exponent(first, each * (second * whole)) + exponent(second, each * (first * whole))
        - exponent(whole, each * product)
    )  # fmt: skip
    return power + (HALF_LOG_2PI - 6.0), rising(total) * (inverse * (product * whole))


def _is_odd(m: Evaluator, x: Any) -> Any:
    return ~m.eq(m.floor(x * 0.5) * 2.0, x)


def _gamma_sign(m: Evaluator, x: Any) -> Any:
    """The sign of gamma x: negative below 0 where the next integer below is odd."""
    return m.where((x < 0.0) & _is_odd(m, m.floor(x)), -1.0, 1.0)


def _binom(m: Evaluator, n: Any, k: Any) -> Any:
    """The binomial coefficient; exact where all products are."""
    whole = m.eq(m.floor(n), n) & m.eq(m.floor(k), k)
    k = m.where(whole & (k > n * 0.5) & (n > 0.0), n - k, k)

    def product(n: Any, k: Any) -> Any:
        start = n - k

        def turn(total: Any, i: Any) -> tuple[Any, Any]:
            return total * (start + i) / i, i + 1.0

        total, _ = m.loop(lambda total, i: i <= k, turn, 1.0, 1.0)
        return m.where(k < 0.0, 0.0, total)

    def by_beta(n: Any, k: Any) -> Any:
        inside = 1.0 / ((n + 1.0) * m.call("beta", n - k + 1.0, k + 1.0))
        outside = m.eq(m.floor(n), n) & (n < 0.0)
        return m.where(outside, math.nan, inside)

    few = m.eq(m.floor(k), k) & (m.abs(k) <= 30.0)
    return m.choose((n, k), (few, product), by_beta)


def _binom_slope(place: int) -> Any:
    def slope(b: Any, orders: Index, n: Any, k: Any) -> Any:
        rest = write(b, "digamma", b.add(b.sub(n, k), 1.0))
        if place:
            difference = b.sub(rest, write(b, "digamma", b.add(k, 1.0)))
        else:
            difference = b.sub(write(b, "digamma", b.add(n, 1.0)), rest)
        return b.mul(write(b, "binom", n, k), difference)

    return slope


def _beta_slope(place: int) -> Any:
    def slope(b: Any, orders: Index, x: Any, y: Any) -> Any:
        # the derivative of the rate is that of a higher order, and beta has none here: the rule of products
        # gives differences of numbers that nearly cancel
        own = (0, 1) if place else (1, 0)
        return b.mul(b.stop_gradient(write(b, "beta", x, y)), write(b, "beta_rate", x, y, orders=own))

    return slope


define("betaln", "a b", _betaln_derivative, True, True, short=True)
define("beta_rate", "a b", _beta_rate, True, True, short=True)
define("beta", "a b", lambda m, orders, a, b: _beta(m, a, b), _beta_slope(0), _beta_slope(1), short=True)
define("binom", "n k", lambda m, orders, n, k: _binom(m, n, k), _binom_slope(0), _binom_slope(1))
