"""Bessel functions of the orders 0 and 1: polynomials in pieces.

J and Y: around two middles below 9, above by the two functions of Hankel's form (DLMF 10.17.1). I and K: in
x^2 near 0, in 1 / x far away. Y and K have a logarithm times J or I below 2 and 1 (10.8.1, 10.31.1), beyond
which it would cancel.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from .coefficients import bessel as tables
from .evaluator import Evaluator
from .jets import Index, Jet, derivative, variables, write
from .table import define

_LOW, _END = 4.5, 9.0
_FIRST: Final = {0: (tables.J0_LOW, tables.J0_HIGH), 1: (tables.J1_LOW, tables.J1_HIGH)}
_SECOND: Final = {
    0: (tables.Y0_LOW, tables.Y0_MIDDLE, tables.Y0_HIGH),
    1: (tables.Y1_LOW, tables.Y1_MIDDLE, tables.Y1_HIGH),
}  # fmt: skip
_HANKEL: Final = {0: (tables.BESSEL_P0, tables.BESSEL_Q0), 1: (tables.BESSEL_P1, tables.BESSEL_Q1)}
_I: Final = {0: (tables.I0_LOW, tables.I0_HIGH), 1: (tables.I1_LOW, tables.I1_HIGH)}
_K: Final = {
    0: (tables.K0_LOW, tables.K0_MIDDLE, tables.K0_HIGH),
    1: (tables.K1_LOW, tables.K1_MIDDLE, tables.K1_HIGH),
}  # fmt: skip
#: Polynomials for derivatives, whose errors at the ends of an interval are many times those of the functions.
_I_DERIVATIVES: Final = {
    0: (
        tables.I0_ORIGIN_DERIVATIVES, tables.I0_LOW_DERIVATIVES, tables.I0_UPPER_DERIVATIVES,
        tables.I0_MIDDLE_DERIVATIVES, tables.I0_HIGH_DERIVATIVES,
    ),
    1: (
        tables.I1_ORIGIN_DERIVATIVES, tables.I1_LOW_DERIVATIVES, tables.I1_UPPER_DERIVATIVES,
        tables.I1_MIDDLE_DERIVATIVES, tables.I1_HIGH_DERIVATIVES,
    ),
}  # fmt: skip
_K_DERIVATIVES: Final = {
    0: (
        tables.K0_NEAR_DERIVATIVES, tables.K0_LOW_DERIVATIVES, tables.K0_MIDDLE_DERIVATIVES,
        tables.K0_HIGH_DERIVATIVES,
    ),
    1: (
        tables.K1_NEAR_DERIVATIVES, tables.K1_LOW_DERIVATIVES, tables.K1_MIDDLE_DERIVATIVES,
        tables.K1_HIGH_DERIVATIVES,
    ),
}  # fmt: skip
#: J1 x / x in x^2, for x < 0.7, near its zero (10.2.2).
_J1_SERIES: Final = tuple(0.5 * (-0.25) ** k / math.factorial(k) / math.factorial(k + 1) for k in range(8))
_TWO_OVER_PI: Final = 2.0 / math.pi


def _far(m: Evaluator, order: int, x: Any) -> tuple[Any, Any]:
    """J and Y beyond 9."""
    p, q = _HANKEL[order]
    inverse = 1.0 / x
    square = inverse * inverse
    even, odd = m.polynomial(square, p), m.polynomial(square, q) * inverse
    sine, cosine = m.sin(x), m.cos(x)
    # cos and sin of x - pi / 4, times the root of 2; for the order 1 a quarter turn on
    across, along = sine + cosine, sine - cosine
    if order == 1:
        across, along = along, -across
    scale = m.sqrt(inverse) * math.sqrt(1.0 / math.pi)
    return (across * even - along * odd) * scale, (along * even + across * odd) * scale


def _j(m: Evaluator, order: int, x: Any) -> Any:
    size = m.abs(x)
    low, high = _FIRST[order]

    def near(x: Any) -> Any:
        value = m.polynomial(x - _LOW * 0.5, low)
        if order == 0:
            return value
        return m.where(x < 0.7, m.polynomial(x * x, _J1_SERIES) * x, value)

    value = m.choose(
        (size,), (size < _LOW, near), (size < _END, lambda x: m.polynomial(x - _LOW * 1.5, high)),
        lambda x: m.where(x < math.inf, _far(m, order, x)[0], 0.0),
    )  # fmt: skip
    return value if order == 0 else m.where(x < 0.0, -value, value)


def _y(m: Evaluator, order: int, x: Any) -> Any:
    low, middle, high = _SECOND[order]

    def near(x: Any) -> Any:
        rest = m.polynomial(x * x, low)
        if order == 1:
            rest = rest * x - _TWO_OVER_PI / x
        return rest + m.log(x) * _j(m, order, x) * _TWO_OVER_PI

    value = m.choose(
        (x,), (x < 2.0, near), (x < _LOW, lambda x: m.polynomial(x - 3.25, middle)),
        (x < _END, lambda x: m.polynomial(x - _LOW * 1.5, high)),
        lambda x: m.where(x < math.inf, _far(m, order, x)[1], 0.0),
    )  # fmt: skip
    return m.where(x > 0.0, value, m.where(m.eq(x, 0.0), -math.inf, math.nan))


def _i_far(m: Evaluator, order: int, x: Any) -> Any:
    """e^-x I, for x >= 8."""
    inverse = 1.0 / x
    return m.polynomial(inverse - 0.0625, _I[order][1]) * m.sqrt(inverse)


def _i_jet(m: Evaluator, order: int, x: Jet) -> Any:
    """e^-x I of jets, for x >= 0."""
    origin, low, upper, middle, high = _I_DERIVATIVES[order]
    inverse = 1.0 / m.max(x, 1.0)
    return m.choose(
        (x, inverse), (x < 2.0, lambda x, t: m.polynomial(x - 1.0, origin)),
        (x < 4.5, lambda x, t: m.polynomial(x - 3.25, low)),
        (x < 8.0, lambda x, t: m.polynomial(x - 6.25, upper)),
        # not times the root of 1 / x, of whose derivatives the parts underflow where these do not
        (x <= 16.0, lambda x, t: m.polynomial(t - 0.09375, middle) / m.sqrt(x)),
        lambda x, t: m.polynomial(t - 0.03125, high) / m.sqrt(x),
    )  # fmt: skip


def _i(m: Evaluator, order: int, x: Any, scaled: bool) -> Any:
    size = m.abs(x)
    low, _ = _I[order]

    def near(x: Any) -> Any:
        value = m.polynomial(x * x, low)
        value = value * x if order else value
        return value * m.exp(-x) if scaled else value

    def far(x: Any) -> Any:
        value = _i_far(m, order, x)
        if scaled:
            return value
        half = m.exp(x * 0.5)
        return m.where(x < math.inf, value * half * half, math.inf)

    value = m.choose((size,), (size < 8.0, near), far)
    return value if order == 0 else m.where(x < 0.0, -value, value)


def _k_far(m: Evaluator, order: int, x: Any) -> Any:
    """e^x K, for x >= 1."""
    _, middle, high = _K[order]
    _, low, _, _ = _K_DERIVATIVES[order]
    inverse = 1.0 / x
    value = m.choose(
        (inverse,), (inverse < 0.2, lambda t: m.polynomial(t, high)),
        (inverse < 0.5, lambda t: m.polynomial(t, middle)),
        lambda t: m.polynomial(t - 0.75, low),
    )  # fmt: skip
    return value * m.sqrt(inverse)


def _k_jet(m: Evaluator, order: int, x: Jet) -> Any:
    """e^x K of jets, for x >= 1 / 2."""
    near, low, middle, high = _K_DERIVATIVES[order]
    inverse = 1.0 / x
    value = m.choose(
        (inverse,), (inverse < 0.2, lambda t: m.polynomial(t, high)),
        (inverse < 0.5, lambda t: m.polynomial(t - 0.35, middle)),
        (inverse < 1.0, lambda t: m.polynomial(t - 0.75, low)),
        lambda t: m.polynomial(t - 1.5, near),
    )  # fmt: skip
    return value / m.sqrt(x)  # as in `_i_jet`


def _k(m: Evaluator, order: int, x: Any, scaled: bool) -> Any:
    low, _, _ = _K[order]

    def near(x: Any) -> Any:
        rest = m.polynomial(x * x, low)
        logarithm = (m.log(x) - math.log(2.0)) * _i(m, order, x, False)
        value = rest - logarithm if order == 0 else rest * x + (logarithm + 1.0 / x)
        return value * m.exp(x) if scaled else value

    def far(x: Any) -> Any:
        value = _k_far(m, order, x)
        return value if scaled else value * m.exp(-x)

    value = m.choose((x,), (x < 1.0, near), far)
    return m.where(x > 0.0, value, m.where(m.eq(x, 0.0), math.inf, math.nan))


#: The functions of the orders 0 and 1, the sign in the equation of the latter,
#: (1 / x^2 + sign) f = f'' + f' / x, and that in its slope, sign f0 - f1 / x.
_KINDS: Final[dict[str, tuple[Any, float, float]]] = {
    "j": (_j, -1.0, 1.0), "y": (_y, -1.0, 1.0),
    "i": (lambda m, order, x: _i(m, order, x, False), 1.0, 1.0),
    "k": (lambda m, order, x: _k(m, order, x, False), 1.0, -1.0),
}  # fmt: skip


def _first_derivatives(m: Evaluator, kind: str, x: Any, count: int) -> list[Any]:
    """The function of order 1 and its first `count` derivatives, x > 0 or anything.

    By the derivatives of its equation; those of J and I near 0, where these cancel, by their series.
    """
    function, c, first = _KINDS[kind]
    f = function(m, 1, x)
    regular = kind in "ij"
    small = m.abs(x) < 1.0
    inverse = 1.0 / (m.where(small, 1.0, x) if regular else x)
    zeroth = function(m, 0, x)
    result = [f, zeroth * first - f * inverse]
    for n in range(count - 1):
        value = result[n] * (inverse * inverse * (1.0 - n * n) + c) - result[n + 1] * inverse * (
            2.0 * n + 1.0
        )
        if n:
            value = value + result[n - 1] * inverse * (2.0 * n * c)
        if n > 1:
            value = value + result[n - 2] * inverse * inverse * (n * (n - 1.0) * c)
        result.append(value)
    if not regular:
        return result
    near, square = m.where(small, x, 0.0), m.where(small, x * x, 0.0)
    terms = [0.5 * (0.25 * c) ** k / (math.factorial(k) * math.factorial(k + 1)) for k in range(14)]
    for n in range(1, count + 1):
        # d^n x^(2k+1): an odd power remains for even n
        series = [terms[k] * math.perm(2 * k + 1, n) for k in range(len(terms)) if 2 * k + 1 >= n]
        value = m.polynomial(square, series)
        result[n] = m.where(small, value if n % 2 else value * near, result[n])
    if kind == "i":  # beyond, they are differences of infinities
        infinite = m.eq(zeroth, math.inf)
        for n in range(1, count + 1):
            limit = math.inf if n % 2 else m.where(x < 0.0, -math.inf, math.inf)
            result[n] = m.where(infinite, limit, result[n])
    return result


def _of_first_order(kind: str, value: Callable[[Evaluator, Any], Any]) -> Any:
    """The algorithm of a function of order 1 and its derivatives."""

    def compute(m: Evaluator, orders: Index, x: Any) -> Any:
        count = orders[0]
        return _first_derivatives(m, kind, x, count)[count] if count else value(m, x)

    return compute


def _scaled_i(order: int) -> Any:
    """The algorithm of e^-|x| I and its derivatives."""

    def compute(m: Evaluator, orders: Index, x: Any) -> Any:
        (count,) = orders
        if not count:
            return _i(m, order, x, True)
        (jet,) = variables(orders, (m.abs(x),))
        result = derivative(_i_jet(m, order, jet), orders)
        if (order + count) % 2:
            result = m.where(x < 0.0, -result, result)
            if order == 0:
                result = m.where(m.eq(x, 0.0), 0.0, result)
        return result

    return compute


def _scaled_k(order: int) -> Any:
    """The algorithm of e^x K and its derivatives."""

    def near(m: Evaluator, x: Any, count: int) -> Any:
        # Leibniz' rule
        first = _first_derivatives(m, "k", x, count)
        parts = first if order else [_k(m, 0, x, False), *[-part for part in first[:count]]]
        total = parts[count]
        for k in range(count):
            total = total + parts[k] * math.comb(count, k)
        # the largest of infinities, next to 0
        total = m.where(m.eq(m.abs(parts[count]), math.inf), parts[count], total)
        return total * m.exp(x)

    def compute(m: Evaluator, orders: Index, x: Any) -> Any:
        (count,) = orders
        if not count:
            return _k(m, order, x, True)
        (jet,) = variables(orders, (m.max(x, 0.5),))
        far = derivative(_k_jet(m, order, jet), orders)
        return m.where(x >= 0.0, m.where(x < 0.5, near(m, m.min(x, 0.5), count), far), math.nan)

    return compute


def _negated(name: str) -> Any:
    """The slope that is minus another function."""
    return lambda b, orders, x: b.neg(write(b, name, x))


define("j0", "x", lambda m, orders, x: _j(m, 0, x), _negated("j1"))
define("j1", "x", _of_first_order("j", lambda m, x: _j(m, 1, x)), True)
define("y0", "x", lambda m, orders, x: _y(m, 0, x), _negated("y1"))
define("y1", "x", _of_first_order("y", lambda m, x: _y(m, 1, x)), True)
define(
    "i0", "x", lambda m, orders, x: _i(m, 0, x, False), lambda b, orders, x: write(b, "i1", x), single=True
)
define("i1", "x", _of_first_order("i", lambda m, x: _i(m, 1, x, False)), True, single=True)
define("i0e", "x", _scaled_i(0), True, single=True)
define("i1e", "x", _scaled_i(1), True, single=True)
define("k0", "x", lambda m, orders, x: _k(m, 0, x, False), _negated("k1"))
define("k1", "x", _of_first_order("k", lambda m, x: _k(m, 1, x, False)), True)
define("k0e", "x", _scaled_k(0), True)
define("k1e", "x", _scaled_k(1), True)
