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
from .jets import Index, write
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


def _i(m: Evaluator, order: int, x: Any, scaled: bool) -> Any:
    size = m.abs(x)
    low, high = _I[order]

    def near(x: Any) -> Any:
        value = m.polynomial(x * x, low)
        value = value * x if order else value
        return value * m.exp(-x) if scaled else value

    def far(x: Any) -> Any:
        inverse = 1.0 / x
        value = m.polynomial(inverse - 0.0625, high) * m.sqrt(inverse)
        if scaled:
            return value
        half = m.exp(x * 0.5)
        return m.where(x < math.inf, value * half * half, math.inf)

    value = m.choose((size,), (size < 8.0, near), far)
    return value if order == 0 else m.where(x < 0.0, -value, value)


def _k(m: Evaluator, order: int, x: Any, scaled: bool) -> Any:
    low, middle, high = _K[order]

    def near(x: Any) -> Any:
        rest = m.polynomial(x * x, low)
        logarithm = m.log(x * 0.5) * _i(m, order, x, False)
        value = rest - logarithm if order == 0 else rest * x + (logarithm + 1.0 / x)
        return value * m.exp(x) if scaled else value

    def far(x: Any) -> Any:
        inverse = 1.0 / x
        value = m.choose(
            (inverse,), (inverse < 0.2, lambda t: m.polynomial(t, high)), lambda t: m.polynomial(t, middle)
        )
        value = value * m.sqrt(inverse)
        return value if scaled else value * m.exp(-x)

    value = m.choose((x,), (x < 2.0, near), far)
    return m.where(x > 0.0, value, m.where(m.eq(x, 0.0), math.inf, math.nan))


def _define(
    name: str, function: Callable[[Evaluator, Any], Any], slope: Callable[..., Any], single: bool = False
) -> None:
    define(name, "x", lambda m, orders, x: function(m, x), slope, single=single)


def _over_x(b: Any, value: Any, x: Any, at_zero: float) -> Any:
    """value / x, and its limit at 0."""
    zero = b.eq(x, 0.0)
    return b.where(zero, at_zero, b.div(value, b.where(zero, 1.0, x)))


def _slope(*terms: tuple[float, str], over: str = "", sign: float = 0.0, at_zero: float = 0.0) -> Any:
    """The derivative: a sum of functions, and `sign` times the function `over` divided by x."""

    def rule(b: Any, orders: Index, x: Any) -> Any:
        total = None
        for factor, name in terms:
            term = b.mul(factor, write(b, name, x))
            total = term if total is None else b.add(total, term)
        if over:
            total = b.add(total, b.mul(sign, _over_x(b, write(b, over, x), x, at_zero)))
        return total

    return rule


def _scaled_slope(own: str, other: str, over: bool) -> Any:
    """The derivative of e^-|x| I: as that of I, less the sign of x times the function."""

    def rule(b: Any, orders: Index, x: Any) -> Any:
        value = write(b, own, x)
        total = b.sub(write(b, other, x), b.mul(b.sign(x), value))
        return b.sub(total, _over_x(b, value, x, 0.5)) if over else total

    return rule


_define("j0", lambda m, x: _j(m, 0, x), _slope((-1.0, "j1")))
_define("j1", lambda m, x: _j(m, 1, x), _slope((1.0, "j0"), over="j1", sign=-1.0, at_zero=0.5))
_define("y0", lambda m, x: _y(m, 0, x), _slope((-1.0, "y1")))
_define("y1", lambda m, x: _y(m, 1, x), _slope((1.0, "y0"), over="y1", sign=-1.0, at_zero=-math.inf))
_define("i0", lambda m, x: _i(m, 0, x, False), _slope((1.0, "i1")), single=True)
_define(
    "i1", lambda m, x: _i(m, 1, x, False), _slope((1.0, "i0"), over="i1", sign=-1.0, at_zero=0.5), single=True
)
_define("i0e", lambda m, x: _i(m, 0, x, True), _scaled_slope("i0e", "i1e", False), single=True)
_define("i1e", lambda m, x: _i(m, 1, x, True), _scaled_slope("i1e", "i0e", True), single=True)
_define("k0", lambda m, x: _k(m, 0, x, False), _slope((-1.0, "k1")))
_define("k1", lambda m, x: _k(m, 1, x, False), _slope((-1.0, "k0"), over="k1", sign=-1.0, at_zero=math.inf))
_define("k0e", lambda m, x: _k(m, 0, x, True), _slope((1.0, "k0e"), (-1.0, "k1e")))
_define("k1e", lambda m, x: _k(m, 1, x, True),
        _slope((1.0, "k1e"), (-1.0, "k0e"), over="k1e", sign=-1.0, at_zero=math.inf))  # fmt: skip
