"""The functions around erf: scaled, inverse, and of the normal distribution.

exp(x^2) erfc x is P(q) / (1 + 2 x) with q = (x - 4) / (x + 4) and P near 1 (Shepherd and Laframboise 1981).
The inverse of erf y is y times a polynomial of -log(1 - y^2) (Giles 2010), but near 1, where that of erfc z
is a polynomial of sqrt(-log z) on four intervals.
"""

from __future__ import annotations

import math
from typing import Any, Final

from .coefficients import gamma as tables
from .error_function import exp_of_minus_square
from .evaluator import Evaluator
from .jets import Index, Jet, compose, value_of, write
from .polynomials import Polynomial
from .table import define, define_by_jets

_ROOT_2: Final = math.sqrt(2.0)
_ROOT_HALF: Final = math.sqrt(0.5)
#: Upper end of the interval on which derivatives of erfcx follow its differential equation: those of the
#: polynomial have 13 roundings at 1/2, and either has 9 here.
_NEAR: Final = 0.8
#: 2 atanh t / t in t^2, for t < 1/3.
_TWICE_ATANH: Final = Polynomial(0.0, 1 / 9, [2.0 / (2 * k + 1) for k in range(17)])
#: Largest -log(1 - y^2) for which `tables.ERFINV` serves.
_CENTRAL: Final = 6.25
#: Upper ends and middles of the intervals of sqrt(-log z).
_TAILS: Final = (
    (4.0, 3.3, tables.ERFCINV_A), (8.0, 6.0, tables.ERFCINV_B), (15.0, 11.5, tables.ERFCINV_C),
    (28.0, 21.5, tables.ERFCINV_D),
)  # fmt: skip


def exp_of_square(m: Evaluator, x: Any, factor: float) -> Any:
    """exp(factor x^2), where `factor` is a power of two or its negative."""
    if isinstance(x, Jet):
        square = x * x
        value = exp_of_square(m, x.value, factor)
        return m.exp((square - square.value) * factor) * value
    high, low = m.two_product(x, x)
    power = m.exp(high * factor)
    return power + power * (low * factor)


def erfcx_positive(m: Evaluator, x: Any) -> Any:
    """exp(x^2) erfc x, for x >= 0, as if it were 1e15 at most."""
    size = m.min(x, 1e15)
    if not isinstance(x, Jet) and (value := m.scaled_erfc(size)) is not None:
        return value
    above, below = size + 4.0, size * 2.0 + 1.0
    inverse = 1.0 / (above * below)
    q = (size * 2.0) * (below * inverse) - 1.0
    if not isinstance(x, Jet):
        return m.polynomial(q, tables.ERFCX) * (above * inverse)
    far = m.polynomial(q, tables.ERFCX_DERIVATIVES) * (above * inverse)
    return m.where(x < _NEAR, _erfcx_near_zero(m, x), far)


def _erfcx_near_zero(m: Evaluator, x: Jet) -> Jet:
    """Evaluate `erfcx_positive` on jets near zero, by f' = 2 x f - 2 / sqrt(pi) and its derivatives."""
    values = [erfcx_positive(m, x.value)]

    def coefficient(k: int) -> Any:
        while len(values) <= k:
            order = len(values) - 1
            before = values[order - 1] * (2.0 * order) if order else -2.0 / math.sqrt(math.pi)
            values.append(x.value * values[order] * 2.0 + before)
        return values[k] * (1.0 / math.factorial(k))

    return compose(x, coefficient)


def _erfcx(m: Evaluator, x: Any) -> Any:
    mirrored = erfcx_positive(m, m.abs(x))
    # where twice exp(x^2) is infinite, and that itself is not
    least = -9.4 if m.is_single else -26.64

    def negative(x: Any, mirrored: Any) -> Any:
        value = exp_of_square(m, m.max(x, least), 1.0) * 2.0 - mirrored
        # derivatives are infinite, too, with the signs of e^-x
        infinite = m.exp(-x) * math.inf if isinstance(x, Jet) else math.inf
        return m.where(value_of(x) <= least, infinite, value)

    return m.choose(
        (x, mirrored), (x < 0.0, negative), (x > 1e15, lambda x, mirrored: math.sqrt(1.0 / math.pi) / x),
        lambda x, mirrored: mirrored,
    )  # fmt: skip


def _tail(m: Evaluator, z: Any) -> Any:
    """The inverse of erfc, for 0 <= z <= 1/4."""
    w = m.sqrt(-m.log(z))
    pieces: list[Any] = []
    for end, middle, table in _TAILS[:-1]:
        pieces.append((w < end, lambda w, middle=middle, table=table: w - m.polynomial(w - middle, table)))
    _, middle, table = _TAILS[-1]
    value = m.choose((w,), *pieces, lambda w: w - m.polynomial(w - middle, table))
    return m.where(m.eq(z, 0.0), math.inf, value)


def _inverse(m: Evaluator, y: Any, z: Any) -> Any:
    """The inverse of erf at y > 0, where z = 1 - y is at least as exact as `y`; minus that at -y < 0, where z
    = 1 + y."""
    w = -m.log(z * (2.0 - z))

    def far(w: Any, y: Any, z: Any) -> Any:
        low = z < 1.0
        value = _tail(m, m.where(low, z, 2.0 - z))
        value = m.where(low, value, -value)
        return m.where((z >= 0.0) & (z <= 2.0), value, math.nan)

    return m.choose(
        (w, y, z), (w < _CENTRAL, lambda w, y, z: m.polynomial(w - _CENTRAL * 0.5, tables.ERFINV) * y), far
    )


def _erfinv(m: Evaluator, y: Any) -> Any:
    size = m.abs(y)
    return m.copysign(_inverse(m, size, 1.0 - size), y)


def _erfcinv(m: Evaluator, z: Any) -> Any:
    return _inverse(m, 1.0 - z, z)


def _ndtri(m: Evaluator, p: Any) -> Any:
    z = p * 2.0
    return _inverse(m, 1.0 - z, z) * -_ROOT_2


def _upper(m: Evaluator, x: Any, scaled: Any) -> Any:
    """The normal distribution's upper tail at x >= 0, where `scaled` is erfcx(x / sqrt(2))."""
    x = m.min(40.0, x)  # NaN stays
    high, low = m.two_product(x, x)
    return m.exp_product(high * -0.5, low * -0.5, scaled * 0.5)


def _ndtr(m: Evaluator, x: Any) -> Any:
    size = m.abs(x)
    tail = _upper(m, size, erfcx_positive(m, size * _ROOT_HALF))
    return m.where(x < 0.0, tail, 1.0 - tail)


def _log_ndtr(m: Evaluator, x: Any) -> Any:
    if isinstance(x, Jet):
        return _log_ndtr_jet(m, x)
    # log(erfcx(-x / sqrt(2)) / 2) - x^2 / 2, or the logarithm of 1 - tail, to which rounding is added
    size = m.abs(x)
    scaled = erfcx_positive(m, size * _ROOT_HALF)
    tail = _upper(m, size, scaled)
    upper = 1.0 - tail
    rest = (1.0 - upper) - tail
    negative = x < 0.0
    return m.log(m.where(negative, scaled * 0.5, upper)) + m.where(negative, (x * -0.5) * x, rest)


def _log_ndtr_jet(m: Evaluator, x: Jet) -> Jet:
    """Evaluate `_log_ndtr` on jets: above -1.25 by its slope h, the density over the distribution, and
    h' = -h (x + h). Terms are up to 3.1 times as large as h', so h has to be right to about a rounding."""
    size = m.abs(x)
    scaled = erfcx_positive(m, size * _ROOT_HALF)
    value = m.min(40.0, x.value)  # beyond, the density is 0; NaN stays
    density = exp_of_square(m, value, -0.5) * math.sqrt(0.5 / math.pi)
    upper = 1.0 - _upper(m, size.value, scaled.value)
    near = m.polynomial(m.min(m.max(value, -1.25), 0.5) + 0.375, tables.LOG_NDTR_SLOPE)
    slopes = [m.where(x < 0.5, near, density / upper)]

    def coefficient(k: int) -> Any:
        if k == 0:
            return _log_ndtr(m, x.value)
        while len(slopes) < k:
            others = [slopes[0] + value, *slopes[1:]]
            if len(others) > 1:
                others[1] = others[1] + 1.0
            terms = [slope * other for slope, other in zip(slopes, reversed(others), strict=True)]
            total = terms[0]
            for term in terms[1:]:
                total = total + term
            slopes.append(total * (-1.0 / len(slopes)))
        return slopes[k - 1] * (1.0 / k)

    far = m.log(scaled * 0.5) + (x * -0.5) * x
    result: Jet = m.where(x < -1.25, far, compose(x, coefficient))
    return result


def _expit(m: Evaluator, x: Any) -> Any:
    # exp(-|x|) does not overflow, and small results keep their digits
    power = m.exp(-m.abs(x))
    return m.where(x < 0.0, power, 1.0) / (power + 1.0)


def _log_sigmoid(m: Evaluator, x: Any) -> Any:
    return m.where(x < 0.0, x, 0.0) - m.log1p(m.exp(-m.abs(x)))


def _logit(m: Evaluator, x: Any) -> Any:
    if (value := m.log_odds(x)) is not None:
        return value
    # near 1/2 twice the inverse hyperbolic tangent of 2 x - 1, which is exact there
    t = x * 2.0 - 1.0
    square = t * t
    near = m.polynomial(square, _TWICE_ATANH) * t
    return m.where(square < 1 / 9, near, m.log(x / (1.0 - x)))


def _error_slope(sign: float) -> Any:
    def slope(b: Any, orders: Index, x: Any) -> Any:
        return b.mul(sign * 2.0 / math.sqrt(math.pi), exp_of_minus_square(b, x))

    return slope


def _expit_slope(b: Any, orders: Index, x: Any) -> Any:
    # sech(x / 2)^2 / 4, of which no derivative cancels
    return b.mul(b.sech_squared(b.mul(x, 0.5)), 0.25)


def _log_expit_slope(b: Any, orders: Index, x: Any) -> Any:
    return write(b, "expit", b.neg(x))


def _erfinv_slope(b: Any, orders: Index, y: Any) -> Any:
    return b.mul(0.5 * math.sqrt(math.pi), b.exp(b.square(write(b, "erfinv", y))))


def _scaled_exp_of_square(b: Any, scale: float, x: Any, tail: Any) -> Any:
    """`scale` times exp(x^2) where `tail` is erfc |x|: where that is small the quotient erfcx |x| / erfc |x|,
    since the square of a large x has an error that counts.

    The quotient's own derivative is a difference of terms that overflow before it does, so a gradient passes
    through the square alone."""
    far = b.logical_and(b.lt(tail, 0.1), b.gt(tail, 0.0))
    square = b.square(x)
    near = b.mul(scale, b.exp(b.where(far, 0.0, square)))
    value = b.div(b.mul(scale, write(b, "erfcx", b.abs(x))), b.where(far, tail, 1.0))
    one = b.exp(b.where(far, b.sub(square, b.stop_gradient(square)), 0.0))
    return b.where(far, b.mul(b.stop_gradient(value), one), near)


def _erfcinv_slope(b: Any, orders: Index, z: Any) -> Any:
    tail = b.minimum(z, b.sub(2.0, z))
    return _scaled_exp_of_square(b, -0.5 * math.sqrt(math.pi), write(b, "erfcinv", z), tail)


def _ndtri_slope(b: Any, orders: Index, p: Any) -> Any:
    tail = b.mul(2.0, b.minimum(p, b.sub(1.0, p)))
    x = b.mul(_ROOT_HALF, write(b, "ndtri", p))
    return _scaled_exp_of_square(b, math.sqrt(2.0 * math.pi), x, tail)


def _ndtr_slope(b: Any, orders: Index, x: Any) -> Any:
    # not half of the square, whose derivative 2 x may be infinite where the exponential is 0
    return b.mul(1.0 / math.sqrt(2.0 * math.pi), b.exp(b.mul(b.mul(x, -0.5), x)))


def _logit_slope(b: Any, orders: Index, x: Any) -> Any:
    return b.add(b.reciprocal(x), b.reciprocal(b.sub(1.0, x)))


define("erf", "x", lambda m, orders, x: m.elementary("erf", x), _error_slope(1.0),
       single=True, inline=True)  # fmt: skip
define("erfc", "x", lambda m, orders, x: m.elementary("erfc", x), _error_slope(-1.0),
       single=True, inline=True)  # fmt: skip
define("expit", "x", lambda m, orders, x: _expit(m, x), _expit_slope, single=True, inline=True)
define_by_jets("erfcx", "x", _erfcx, True, single=True)
define("erfinv", "y", lambda m, orders, y: _erfinv(m, y), _erfinv_slope, single=True)
define("erfcinv", "y", lambda m, orders, y: _erfcinv(m, y), _erfcinv_slope, single=True)
define("ndtri", "p", lambda m, orders, p: _ndtri(m, p), _ndtri_slope, single=True)
define("ndtr", "x", lambda m, orders, x: _ndtr(m, x), _ndtr_slope, single=True, inline=True)
define_by_jets("log_ndtr", "x", _log_ndtr, True, single=True)
define("log_expit", "x", lambda m, orders, x: _log_sigmoid(m, x), _log_expit_slope, single=True, inline=True)
define("logit", "x", lambda m, orders, x: _logit(m, x), _logit_slope, single=True, inline=True)
