"""Bessel functions of the orders 0 and 1: polynomials in pieces.

J and Y: around two middles below 9, above by the two functions of Hankel's form (DLMF 10.17.1). I and K: in
x^2 near 0, in 1 / x far away. Y and K have a logarithm times J or I below 2 (10.8.1, 10.31.1), beyond which
that of Y would cancel.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from .coefficients import bessel as tables
from .evaluator import Evaluator
from .jets import Index, derivative, variables, write
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
    """e^-x I, for x >= 8; of jets, too."""
    inverse = 1.0 / x
    return m.polynomial(inverse - 0.0625, _I[order][1]) * m.sqrt(inverse)


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
    """e^x K, for x >= 2; of jets, too."""
    _, middle, high = _K[order]
    inverse = 1.0 / x
    value = m.choose(
        (inverse,), (inverse < 0.2, lambda t: m.polynomial(t, high)), lambda t: m.polynomial(t, middle)
    )
    return value * m.sqrt(inverse)


def _k(m: Evaluator, order: int, x: Any, scaled: bool) -> Any:
    low, _, _ = _K[order]

    def near(x: Any) -> Any:
        rest = m.polynomial(x * x, low)
        logarithm = m.log(x * 0.5) * _i(m, order, x, False)
        value = rest - logarithm if order == 0 else rest * x + (logarithm + 1.0 / x)
        return value * m.exp(x) if scaled else value

    def far(x: Any) -> Any:
        value = _k_far(m, order, x)
        return value if scaled else value * m.exp(-x)

    value = m.choose((x,), (x < 2.0, near), far)
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


def _of_scaled(kind: str, order: int, value: Callable[[Evaluator, Any], Any]) -> Any:
    """The algorithm of e^-|x| I or e^x K and its derivatives: far away those of what scaled functions are."""
    sign, begin = (-1.0, 8.0) if kind == "i" else (1.0, 2.0)
    function, _, _ = _KINDS[kind]

    def near(m: Evaluator, x: Any, count: int) -> Any:
        # Leibniz' rule
        first = _first_derivatives(m, kind, x, count)
        parts = first
        if order == 0:
            parts = [function(m, 0, x), *[part if kind == "i" else -part for part in first[:count]]]
        total = parts[count]
        for k in range(count):
            total = total + parts[k] * (math.comb(count, k) * sign ** (count - k))
        # the largest of infinities, next to 0
        total = m.where(m.eq(m.abs(parts[count]), math.inf), parts[count], total)
        return total * m.exp(x * sign)

    def compute(m: Evaluator, orders: Index, x: Any) -> Any:
        (count,) = orders
        if not count:
            return value(m, x)
        size = m.abs(x) if kind == "i" else x
        (jet,) = variables(orders, (m.max(size, begin),))
        far = derivative((_i_far if kind == "i" else _k_far)(m, order, jet), orders)
        result = m.where(size < begin, near(m, m.min(size, begin), count), far)
        if kind == "k":
            return m.where(x >= 0.0, result, math.nan)
        if (order + count) % 2:
            result = m.where(x < 0.0, -result, result)
            if order == 0:
                result = m.where(m.eq(x, 0.0), 0.0, result)
        return result

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
define("i0e", "x", _of_scaled("i", 0, lambda m, x: _i(m, 0, x, True)), True, single=True)
define("i1e", "x", _of_scaled("i", 1, lambda m, x: _i(m, 1, x, True)), True, single=True)
define("k0", "x", lambda m, orders, x: _k(m, 0, x, False), _negated("k1"))
define("k1", "x", _of_first_order("k", lambda m, x: _k(m, 1, x, False)), True)
define("k0e", "x", _of_scaled("k", 0, lambda m, x: _k(m, 0, x, True)), True)
define("k1e", "x", _of_scaled("k", 1, lambda m, x: _k(m, 1, x, True)), True)
