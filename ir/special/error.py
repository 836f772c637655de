"""The functions around erf: scaled, inverse, and of the normal distribution.

exp(x^2) erfc x is P(q) / (x + 4) with q = (x - 4) / (x + 4) (Shepherd and Laframboise 1981); the inverse of
erfc z is a
polynomial of sqrt(-log z) on five intervals.
"""

from __future__ import annotations

import math
from typing import Any, Final

from . import coefficients_gamma as tables
from .evaluator import Evaluator
from .jets import Index, Jet, compose, value_of
from .table import define, define_by_jets
from .writing import write

_ROOT_2: Final = math.sqrt(2.0)
_ROOT_HALF: Final = math.sqrt(0.5)
#: Upper ends and middles of the intervals of sqrt(-log z).
_TAILS: Final = (
    (2.25, 1.625, tables.ERFCINV_A), (4.0, 3.125, tables.ERFCINV_B), (8.0, 6.0, tables.ERFCINV_C),
    (15.0, 11.5, tables.ERFCINV_D), (28.0, 21.5, tables.ERFCINV_E),
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
    """exp(x^2) erfc x, for x >= 0."""
    size = m.min(x, 1e300)
    inverse = 1.0 / (size + 4.0)
    return m.polynomial((size - 4.0) * inverse, tables.ERFCX) * inverse


def _erfcx(m: Evaluator, x: Any) -> Any:
    def negative(x: Any) -> Any:
        near = m.max(x, -26.7)
        value = exp_of_square(m, near, 1.0) * 2.0 - erfcx_positive(m, -near)
        return m.where(value_of(x) < -26.65, math.inf, value)

    return m.choose((x,), (x < 0.0, negative), lambda x: m.where(x < math.inf, erfcx_positive(m, x), 0.0))


def _tail(m: Evaluator, z: Any) -> Any:
    """The inverse of erfc, for 0 <= z <= 1/4."""
    w = m.sqrt(-m.log(z))
    pieces: list[Any] = []
    for end, middle, table in _TAILS[:-1]:
        pieces.append((w < end, lambda w, middle=middle, table=table: w - m.polynomial(w - middle, table)))
    _, middle, table = _TAILS[-1]
    value = m.choose((w,), *pieces, lambda w: w - m.polynomial(w - middle, table))
    return m.where(m.eq(z, 0.0), math.inf, value)


def _central(m: Evaluator, y: Any) -> Any:
    return m.polynomial(y * y, tables.ERFINV) * y


def _erfinv(m: Evaluator, y: Any) -> Any:
    def far(y: Any) -> Any:
        size = m.abs(y)
        value = m.copysign(_tail(m, 1.0 - size), y)
        return m.where(size <= 1.0, value, math.nan)

    return m.choose((y,), (m.abs(y) <= 0.7, lambda y: _central(m, y)), far)


def _erfcinv(m: Evaluator, z: Any) -> Any:
    def far(z: Any) -> Any:
        low = z < 1.0
        value = _tail(m, m.where(low, z, 2.0 - z))
        value = m.where(low, value, -value)
        return m.where((z >= 0.0) & (z <= 2.0), value, math.nan)

    return m.choose((z,), (m.abs(z - 1.0) <= 0.7, lambda z: _central(m, 1.0 - z)), far)


def _ndtri(m: Evaluator, p: Any) -> Any:
    def far(p: Any) -> Any:
        low = p < 0.5
        value = _tail(m, m.where(low, p, 1.0 - p) * 2.0) * _ROOT_2
        value = m.where(low, -value, value)
        return m.where((p >= 0.0) & (p <= 1.0), value, math.nan)

    return m.choose((p,), (m.abs(p - 0.5) <= 0.35, lambda p: _central(m, p * 2.0 - 1.0) * _ROOT_2), far)


def _upper(m: Evaluator, x: Any) -> Any:
    """The normal distribution's upper tail at x >= 1."""
    return exp_of_square(m, m.min(x, 40.0), -0.5) * erfcx_positive(m, x * _ROOT_HALF) * 0.5


def _ndtr(m: Evaluator, x: Any) -> Any:
    return m.choose(
        (x,), (x < -1.0, lambda x: _upper(m, -x)), (x > 1.0, lambda x: 1.0 - _upper(m, x)),
        lambda x: m.elementary("erf", x * _ROOT_HALF) * 0.5 + 0.5,
    )  # fmt: skip


def _log_ndtr(m: Evaluator, x: Any) -> Any:
    def low(x: Any) -> Any:
        scaled = m.log(erfcx_positive(m, -x * _ROOT_HALF) * 0.5)
        return m.where(value_of(x) < -1e160, -math.inf, scaled - x * x * 0.5)

    def middle(x: Any) -> Any:
        return m.log(_normal_middle(m, x))

    return m.choose(
        (x,), (x < -1.0, low), (x > 1.0, lambda x: m.log1p(-_upper(m, x))), middle,
    )  # fmt: skip


def _normal_middle(m: Evaluator, x: Any) -> Any:
    """The normal distribution of numbers or jets near 0."""
    if not isinstance(x, Jet):
        return m.elementary("erf", x * _ROOT_HALF) * 0.5 + 0.5
    density = m.exp(x * x * -0.5) * (1.0 / math.sqrt(2.0 * math.pi))
    slope = _hermite(m, x.value, density)
    return compose(x, lambda k: slope(k) if k else _normal_middle(m, x.value))


def _hermite(m: Evaluator, x: Any, density: Any) -> Any:
    """The k-th derivative of the normal distribution over k!, by the polynomials of Hermite."""
    value = value_of(density)

    def coefficient(k: int) -> Any:
        before, now = None, value
        for n in range(k - 1):
            following = x * now if before is None else x * now - before * float(n)
            before, now = now, following
        return now * ((-1.0) ** (k - 1) / math.factorial(k))

    return coefficient


def _log_sigmoid(m: Evaluator, x: Any) -> Any:
    return m.where(x < 0.0, x, 0.0) - m.log1p(m.exp(-m.abs(x)))


def _logit(m: Evaluator, x: Any) -> Any:
    def middle(x: Any) -> Any:
        return m.log1p((x * 2.0 - 1.0) / (1.0 - x))

    return m.choose((x,), (m.abs(x - 0.5) < 0.2, middle), lambda x: m.log(x / (1.0 - x)))


def _erfinv_slope(b: Any, orders: Index, y: Any) -> Any:
    return b.mul(0.5 * math.sqrt(math.pi), b.exp(b.square(write(b, "erfinv", y))))


def _erfcinv_slope(b: Any, orders: Index, z: Any) -> Any:
    return b.mul(-0.5 * math.sqrt(math.pi), b.exp(b.square(write(b, "erfcinv", z))))


def _ndtri_slope(b: Any, orders: Index, p: Any) -> Any:
    half_square = b.mul(0.5, b.square(write(b, "ndtri", p)))
    return b.mul(math.sqrt(2.0 * math.pi), b.exp(half_square))


def _ndtr_slope(b: Any, orders: Index, x: Any) -> Any:
    return b.mul(1.0 / math.sqrt(2.0 * math.pi), b.exp(b.mul(-0.5, b.square(x))))


def _logit_slope(b: Any, orders: Index, x: Any) -> Any:
    return b.div(1.0, b.mul(x, b.sub(1.0, x)))


define_by_jets("erfcx", "x", _erfcx, True)
define("erfinv", "y", lambda m, orders, y: _erfinv(m, y), _erfinv_slope)
define("erfcinv", "y", lambda m, orders, y: _erfcinv(m, y), _erfcinv_slope)
define("ndtri", "p", lambda m, orders, p: _ndtri(m, p), _ndtri_slope)
define("ndtr", "x", lambda m, orders, x: _ndtr(m, x), _ndtr_slope)
define_by_jets("log_ndtr", "x", _log_ndtr, True)
define_by_jets("log_expit", "x", _log_sigmoid, True)
define("logit", "x", lambda m, orders, x: _logit(m, x), _logit_slope)
