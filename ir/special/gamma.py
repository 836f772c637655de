"""The gamma function and its logarithm's derivatives, and zeta functions.

Small arguments go by recurrence to an interval around 1.5 or 2, where a polynomial serves; large ones have
Stirling's series (Abramowitz and Stegun, 6.1.40, 6.3.18), negative ones the reflections 6.1.17 and 6.3.7.
zeta is Euler and Maclaurin's sum (23.2.5).
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any, Final

from .coefficients import gamma as tables
from .evaluator import Evaluator
from .jets import Index, Jet, value_of, write
from .table import define, define_by_jets

#: Negative argument below which zeta's terms below 0 are too many.
LOWEST: Final = 10_000.0
LOG_2PI: Final = math.log(2.0 * math.pi)
HALF_LOG_2PI: Final = 0.5 * LOG_2PI
#: 2 pi less the float.
_2PI_LOW: Final = 2.4492935982947064e-16
_ROOT: Final = 1.4616321449683622
_ROOT_LOW: Final = 9.549995429965697e-17
#: B(2j) / (2j)!, j from 1.
BERNOULLI: Final = (
    0.083333333333333333333, -0.0013888888888888888889, 0.000033068783068783068783,
    -8.2671957671957671958e-7, 2.0876756987868098979e-8, -5.2841901386874931848e-10,
    1.3382536530684678833e-11, -3.3896802963225828668e-13, 8.5860620562778445641e-15,
    -2.174868698558061873e-16, 5.5090028283602295152e-18, -1.3954464685812523341e-19,
)  # fmt: skip


def sin_pi(m: Evaluator, x: Any) -> Any:
    """sin(pi x), right near every integer."""
    value = value_of(x)
    r = x - m.rint(value * 0.5) * 2.0
    r = m.where(r > 0.5, 1.0 - r, m.where(r < -0.5, -1.0 - r, r))
    return m.sin(r * math.pi)


def cos_pi(m: Evaluator, x: Any) -> Any:
    """cos(pi x), right near every half."""
    r = m.abs(x - m.rint(value_of(x) * 0.5) * 2.0)
    return m.sin((0.5 - r) * math.pi)


def stirling_rest(m: Evaluator, x: Any) -> Any:
    """The remainder of Stirling's formula: log gamma x less the leading terms, for x >= 8."""
    inverse = 1.0 / x
    return m.polynomial(inverse * inverse, tables.STIRLING) * inverse


def _reduced(
    m: Evaluator, x: Any, top: float, steps: int, begin: tuple[Any, ...], fold: Any
) -> tuple[Any, tuple[Any, ...]]:
    """x less as many ones as bring it below `top`, and what ``fold`` makes of the numbers on the way."""
    totals = begin
    for _ in range(steps):
        high = x >= top
        down = x - 1.0
        totals = tuple(map(partial(m.where, high), fold(totals, down), totals))
        x = m.where(high, down, x)
    return x, totals


def _log_gamma_positive(m: Evaluator, x: Any) -> Any:
    def low(x: Any) -> Any:
        # log gamma x = log gamma(1 + x) - log x
        small = x < 0.5
        t = m.where(small, x, x - 1.0)
        value = m.polynomial(t, tables.LGAMMA_1) * t + 0.0
        return m.where(small, value - m.log(x), value)

    def middle(x: Any) -> Any:
        y, (product,) = _reduced(m, x, 2.5, 6, (1.0,), lambda totals, down: (totals[0] * down,))
        t = y - 2.0
        return m.log(product) + (m.polynomial(t, tables.LGAMMA_2) * t + 0.0)

    def high(x: Any) -> Any:
        result = (x - 0.5) * (m.log(x) - 1.0) + (HALF_LOG_2PI - 0.5) + stirling_rest(m, x)
        return m.where(x > m.large, m.where(x < math.inf, result, math.inf), result)

    return m.choose((x,), (x < 1.5, low), (x < 8.0, middle), high)


def _pole_end(m: Evaluator) -> float:
    """The end of the numbers whose gamma is their inverse to a rounding. Its square is a normal number."""
    return 1e-9 if m.is_single else 1e-17


def log_gamma(m: Evaluator, x: Any) -> Any:
    """log |gamma x|."""

    def negative(x: Any) -> Any:
        # |gamma(-s)| = pi / (s |sin(pi s)| gamma(s)), s = -x
        s = -x
        sine = m.abs(sin_pi(m, s)) * s
        result = math.log(math.pi) - m.log(sine) - _log_gamma_positive(m, s)
        result = m.where(s < _pole_end(m), -m.log(s), m.where(s < math.inf, result, -math.inf))
        pole = m.eq(m.floor(s), s) & (s < math.inf)
        return m.where(pole, math.inf, result)

    def around_least(x: Any) -> Any:
        # between zeros, where the terms of `negative` cancel: gamma(x + 4) is x (x + 1) (x + 2) (x + 3) times
        # gamma(x), and that product is t^2 - 1, where t is 0 near the least value
        y, low = x + 1.5, x + 3.0
        t = y * y - 1.25
        return m.polynomial(low, tables.LGAMMA_1) * low - m.log1p(-t * t)

    least = (x > -2.8) & (x < -2.5)
    return m.choose((x,), (x > 0.0, lambda x: _log_gamma_positive(m, x)), (least, around_least), negative)


def _gamma_parts(m: Evaluator, x: Any) -> tuple[Any, Any]:
    """Two factors of gamma x, for x >= 12: neither overflows where their product is finite."""
    power = m.pow(x, x * 0.5 - 0.25)
    inverse = 1.0 / x
    factor = m.polynomial(inverse, tables.STIRLING_FACTOR) * inverse
    scale = m.exp(-x) * math.sqrt(2.0 * math.pi)
    return power, power * (scale + scale * factor)


def _scale(m: Evaluator, x: Any) -> Any:
    """A power of two by which gamma x is a number of full precision also where it is tiny, close to poles."""
    return m.where(x < (-20.0 if m.is_single else -100.0), 2.0 ** (60 if m.is_single else 200), 1.0)


def _gamma(m: Evaluator, x: Any, *, scaled: bool = False) -> Any:
    """gamma x, times `_scale` if `scaled`."""

    def small(size: Any) -> Any:
        # gamma x = gamma(1 + x) / x
        lifted = m.where(size < 1.0, size + 1.0, size)

        def turn(y: Any, product: Any, low: Any) -> tuple[Any, Any, Any]:
            y = y - 1.0
            high, missing = m.two_product(product, y)
            return y, high, low * y + missing

        # the roundings of the factors, ten at most, are more than all else
        y, product, low = m.loop(lambda y, product, low: y >= 2.0, turn, lifted, 1.0, 0.0)
        least = m.where(m.eq(y, 1.0), 1.0, m.polynomial(y - 1.5, tables.GAMMA))
        value = least * product + least * low
        return m.where(size < 1.0, value / size, value), 1.0

    def large(size: Any) -> Any:
        return _gamma_parts(m, m.min(size, end + margin))

    end, margin = (35.05, 10.0) if m.is_single else (171.7, 20.0)  # from the end on gamma overflows
    size = m.abs(x)
    whole = m.eq(m.floor(size), size) & (size < 24.0)  # factorials that are floats are exact
    first, second = m.choose((size,), ((size < 12.0) | whole, small), large)
    value = first * second
    positive = m.where(size < end, value, math.inf)

    def negative(x: Any, first: Any, second: Any) -> Any:
        top = _scale(m, x) * math.pi if scaled else math.pi
        result = top / (x * -sin_pi(m, x)) / first / second
        result = m.where(m.eq(m.floor(x), x), math.nan, result)
        tiny = m.copysign(0.0, sin_pi(m, x * 0.5) * -1.0)
        return m.where(
            x > -_pole_end(m), 1.0 / x, m.where((x < -end - margin) & (m.floor(x) < x), tiny, result)
        )

    return m.choose(
        (x, first, second, positive), (x > 0.0, lambda x, first, second, positive: positive),
        lambda x, first, second, positive: negative(x, first, second),
    )  # fmt: skip


def gamma_of(m: Evaluator, x: Any) -> Any:
    """gamma x of numbers or jets."""
    if not isinstance(x, Jet):
        return _gamma(m, x)
    # close to poles, derivatives are large where the value is too small for a number
    value, logarithm = _gamma(m, x.value, scaled=True), log_gamma_of(m, x)
    return m.exp(logarithm - logarithm.value) * value * (1.0 / _scale(m, x.value))


def _digamma(m: Evaluator, x: Any) -> Any:
    def positive(x: Any) -> Any:
        def low(x: Any) -> Any:
            # the reciprocals on the way are summed as one quotient
            small = x < 1.0
            y, (numerator, denominator) = _reduced(
                m, m.where(small, x + 1.0, x), 2.0, 2, (m.where(small, -1.0, 0.0), m.where(small, x, 1.0)),
                lambda totals, down: (totals[0] * down + totals[1], totals[1] * down),
            )  # fmt: skip
            value = m.polynomial(y - 1.5, tables.DIGAMMA) * ((y - _ROOT) - _ROOT_LOW)
            return value + numerator / denominator

        def high(x: Any) -> Any:
            inverse = 1.0 / x
            square = inverse * inverse
            rest = m.polynomial(square, tables.STIRLING_DIGAMMA) * square
            return m.log(x) - (rest + inverse * 0.5)

        return m.choose((x,), (x < 4.0, low), high)

    def negative(x: Any) -> Any:
        s = -x
        value = positive(s) + 1.0 / s + cos_pi(m, s) / sin_pi(m, s) * math.pi
        pole = m.eq(m.floor(x), x)
        return m.where(pole, m.where(m.eq(x, 0.0), -1.0 / x, math.nan), value)

    return m.choose((x,), (x > 0.0, positive), negative)


def hurwitz(m: Evaluator, s: Any, q: Any) -> Any:
    """The sum over n >= 0 of (q + n)^-s, for s > 1; q < 0 needs an integer s."""
    turns, terms_of_rest = (9, len(BERNOULLI)) if m.epsilon < 2.0**-40 else (5, 5)

    def below(total: Any, q: Any) -> tuple[Any, Any]:
        return total + m.pow(q, -s), q + 1.0

    total, a = m.loop(lambda total, q: (q < 0.0) & (q > -LOWEST), below, m.constant(0.0, s), q)
    terms = []
    for _ in range(turns):
        terms.append(m.pow(a, -s))
        a = a + 1.0
    last = m.pow(a, -s)
    rest = m.pow(a, 1.0 - s) / (s - 1.0) + last * 0.5
    square = 1.0 / (a * a)
    factor = last * s / a
    for j, bernoulli in enumerate(BERNOULLI[:terms_of_rest], 1):
        rest = rest + factor * bernoulli
        factor = factor * (s + (2.0 * j - 1.0)) * (s + 2.0 * j) * square
    # the largest come last, so that there are few roundings of their size
    for term in reversed(terms):
        rest = rest + term
    return rest + total


def _zeta(m: Evaluator, s: Any, q: Any) -> Any:
    value = hurwitz(m, s, q)
    size, whole = value_of(s), m.eq(m.floor(q), q)
    value = m.where((q < 0.0) & ~m.eq(m.floor(size), size), math.nan, value)
    value = m.where(q <= -LOWEST, math.nan, value)
    value = m.where((q <= 0.0) & whole, math.inf, value)
    value = m.where(m.eq(q, math.inf) & (size > 1.0), 0.0, value)
    limit = m.where(q > 1.0, 0.0, m.where(m.eq(q, 1.0), 1.0, math.inf))
    value = m.where(m.eq(size, math.inf), limit, value)
    return m.where(size > 1.0, value, m.where(m.eq(size, 1.0), math.inf, math.nan))


#: 1 / (2 pi e) and 2 / sqrt e, with what rounding takes off them.
_BASE, _BASE_LOW = 0.05854983152431916, -4.121231590292303e-19
_SCALE, _SCALE_LOW = 1.2130613194252668, -1.3186356830982827e-18


def _far_zeta(m: Evaluator, s: Any) -> Any:
    """zeta s for -150 < s < -12, of few factors, since at its extrema each rounding tells.

    With x = 1 - s and Stirling's sum S, 2 (2 pi)^-x gamma x is 2 / sqrt e (x / (2 pi e))^(x - 1/2) (1 + S):
    one power, for whose base's rounding a term makes up, as for that of 1 - s. Terms beside 1 are added.
    """
    x = 1.0 - s
    whole, low = m.two_sum(1.0, -value_of(s))
    base, rest = m.two_product(whole, whole * 0.0 + _BASE)
    power = m.pow(base, whole - 0.5)
    missing = (rest + whole * _BASE_LOW) * (whole - 0.5) / base
    missing = missing + low * (m.log(whole) - LOG_2PI - 0.5 / whole)
    if isinstance(x, Jet):
        exponent = (x - 0.5) * m.log(x * _BASE)
        power = m.exp(exponent - exponent.value) * power
    inverse = 1.0 / x
    stirling = m.polynomial(inverse, tables.STIRLING_FACTOR) * inverse
    one = 1.0 + whole * 0.0
    beyond = m.pow(one * 2.0, -x) + m.pow(one * 3.0, -x)
    terms = m.where(x >= 60.0, beyond, hurwitz(m, m.min(x, 60.0), one * 2.0))
    near = stirling + (terms + stirling * terms)
    total = power * _SCALE + power * ((near + missing) * _SCALE + _SCALE_LOW)
    return total * sin_pi(m, s * 0.5)


def _riemann_zeta(m: Evaluator, s: Any) -> Any:
    def large(s: Any) -> Any:
        # far away derivatives are those of the second and third term
        one = 1.0 + value_of(s) * 0.0
        far = (m.pow(one * 2.0, -s) + m.pow(one * 3.0, -s)) + 1.0
        return m.where(s >= 60.0, far, hurwitz(m, m.min(s, 60.0), one))

    def inside(s: Any) -> Any:
        return m.polynomial(s - 0.5, tables.ZETA) / (s - 1.0)

    def reflected(s: Any) -> Any:
        # not near 0, where zeta(1 - s) has its pole:
        # zeta s = 2 (2 pi)^(s - 1) sin(pi s / 2) gamma(1 - s) zeta(1 - s)
        other = 1.0 - s
        half = m.pow(value_of(s) * 0.0 + 2.0 * math.pi, (s - 1.0) * 0.5)
        near = half * gamma_of(m, m.min(other, 150.0)) * half
        far = m.exp((s - 1.0) * LOG_2PI + log_gamma_of(m, other))
        # what rounding takes off 1 - s counts as often as the logarithm's slope of the two says, and what it
        # takes off 2 pi as often as the exponent
        whole, low = m.two_sum(1.0, -value_of(s))
        missing = low * (m.log(whole - 0.5) - LOG_2PI) - whole * (_2PI_LOW / (2.0 * math.pi))
        product = m.where(other < 150.0, near, far) * large(other)
        return (product + product * missing) * 2.0 * sin_pi(m, s * 0.5)

    # around the extremum of zeta'' between -8 and -7 the terms of the product's second derivative cancel
    centre, width = 7.28765, 0.1
    branches = [
        (m.abs(value_of(s) + centre) < width, lambda s: m.polynomial(s + centre, tables.ZETA_LOW)),
        (s < -1.0, reflected),
        (s < 1.0, inside),
    ]
    if not m.is_single:
        branches.insert(0, ((s < -12.0) & (s > -150.0), lambda s: _far_zeta(m, s)))
    value = m.choose((s,), *branches, large)
    return m.where(m.eq(value_of(s), 1.0), math.inf, value)


def log_gamma_of(m: Evaluator, x: Any) -> Any:
    """log |gamma x| of numbers or jets."""
    return m.call("gammaln", x)


def _polygamma(m: Evaluator, order: int, x: Any) -> Any:
    """The derivative of `order` of digamma: (-1)^(n + 1) n! zeta(n + 1, x)."""
    if order == 0:
        return _digamma(m, x)
    value = _zeta(m, order + 1.0 + x * 0.0, x)
    return value * ((-1.0) ** (order + 1) * math.factorial(order))


def _gammaln(m: Evaluator, orders: Index, x: Any) -> Any:
    return log_gamma(m, x) if not orders[0] else _polygamma(m, orders[0] - 1, x)


def log_gamma_1p(m: Evaluator, x: Any) -> Any:
    """log gamma(1 + x) for x >= 0, right for small x too."""
    small = value_of(x) <= 0.5
    near = m.polynomial(m.where(small, x, 0.0), tables.LGAMMA_1) * x
    return m.where(small, near, log_gamma_of(m, m.where(small, 1.0, x + 1.0)))


def precise_power(m: Evaluator, above: Any, below: Any, exponent: Any) -> Any:
    """(above / below)^exponent, where the rounding of the quotient is made good."""
    ratio = above / below
    product, low = m.two_product(ratio, below)
    # of large exponents, what rounding took off the logarithm is no small number
    return m.pow(ratio, exponent) * m.exp(exponent * (((above - product) - low) / above))


def _zeta_slope(b: Any, orders: Index, s: Any, q: Any) -> Any:
    # d zeta(s, q) / dq = -s zeta(s + 1, q); its derivatives in s by Leibniz
    order = orders[0]
    more = b.add(s, 1.0)
    value = b.mul(s, write(b, "zeta", more, q, orders=orders))
    if order:
        value = b.add(value, b.mul(float(order), write(b, "zeta", more, q, orders=(order - 1, orders[1]))))
    return b.neg(value)


define("gammaln", "x", _gammaln, True, single=True)
define_by_jets("gamma", "x", gamma_of, True, single=True)
define("digamma", "x", lambda m, orders, x: _polygamma(m, orders[0], x), True)
define_by_jets("zeta", "s q", _zeta, True, _zeta_slope, short=True)
define_by_jets("riemann_zeta", "s", _riemann_zeta, True)
