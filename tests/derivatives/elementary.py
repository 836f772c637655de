"""Rows of the table: NumPy's elementwise functions."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import mpmath as mp

import tracejit as tj

from .entries import Entry, binary, by_sign, constant, steps, unary

ONE, ZERO = constant(1), constant(0)


def _cosh_inverse(x: Any) -> Any:
    return 1 / mp.cosh(x)


def sine_over(order: int) -> Any:
    """Derivatives of sin(y) / y: by its series where the quotients cancel."""

    def truth(y: Any) -> Any:
        if abs(y) < 0.5:
            return mp.fsum(
                (-1) ** k * y ** (2 * k - order) / ((2 * k + 1) * mp.factorial(2 * k - order))
                for k in range((order + 1) // 2, 30)
            )
        if order == 0:
            return mp.sin(y) / y
        if order == 1:
            return (mp.cos(y) - mp.sin(y) / y) / y
        return (-mp.sin(y) - 2 * mp.cos(y) / y + 2 * mp.sin(y) / y**2) / y

    return truth


def _sinc(order: int) -> Any:
    return lambda x: mp.pi**order * sine_over(order)(mp.pi * x)


def _power(which: str) -> Any:
    """Derivatives of x^y for x > 0, and for x <= 0 and integers y; conventions at 0 are NumPy's and ours."""

    def truth(x: Any, y: Any) -> Any:
        log = mp.log(x) if x > 0 else None
        if x == 0 and y < 0:
            return None
        if x == 0 and 0 < y < 2 and y != 1:
            return _limits_at_zero(y)[which]
        if which == "f":
            return mp.power(x, y)
        if which == "x":
            return y * mp.power(x, y - 1) if y else mp.mpf(0)
        if which == "xx":
            return y * (y - 1) * mp.power(x, y - 2) if y not in (0, 1) else mp.mpf(0)
        if x == 0:  # limits, and where there are none, for y = 0 and y = 1, those of the docstring
            return mp.mpf(0)
        if log is None:
            return None
        if which == "y":
            return mp.power(x, y) * log
        if which == "yy":
            return mp.power(x, y) * log**2
        return mp.power(x, y - 1) * (1 + y * log)

    return truth


def _limits_at_zero(y: Any) -> dict[str, Any]:
    """Derivatives of x^y as x goes to 0 from above, for 0 < y < 2 but 1."""
    below = y < 1
    return {
        "f": mp.mpf(0), "x": mp.inf if below else mp.mpf(0), "y": mp.mpf(0),
        "xx": -mp.inf if below else mp.inf, "xy": -mp.inf if below else mp.mpf(0), "yy": mp.mpf(0),
    }  # fmt: skip


def _usual_power(largest: float) -> Callable[[float, float], bool]:
    """Whether no power of x over- or underflows on the way, where the dtype's `largest` number is that, and
    y - 1 is odd where y is even."""

    def usual(x: float, y: float) -> bool:
        if x == 0:
            return True
        log = abs(math.log(abs(x)))
        return (
            max(abs(y), abs(y - 1), abs(y - 2)) * log < 0.98 * math.log(largest)
            and (y == 0 or abs(y) > 1e-6 or abs(x) > 1e-15)
            and (x > 0 or abs(y) < 2.0**23)
        )

    return usual


def _hypot(which: str) -> Any:
    def truth(x: Any, y: Any) -> Any:
        r = mp.hypot(x, y)
        if r == 0:
            return mp.mpf(0) if which == "f" else None
        return {
            "f": r, "x": x / r, "y": y / r, "xx": y * y / r**3, "xy": -x * y / r**3, "yy": x * x / r**3
        }[which]  # fmt: skip

    return truth


def _atan2(which: str) -> Any:
    """Distances of the first operand, y, and of the second, x."""

    def truth(y: Any, x: Any) -> Any:
        r = x * x + y * y
        if r == 0:
            return None
        return {
            "f": lambda: mp.atan2(y, x), "y": lambda: x / r, "x": lambda: -y / r,
            "yy": lambda: -2 * x * y / r**2, "xy": lambda: (y - x) * (y + x) / r**2,
            "xx": lambda: 2 * x * y / r**2,
        }[which]()  # fmt: skip

    return truth


def _logaddexp(which: str, base: Any) -> Any:
    def truth(x: Any, y: Any) -> Any:
        log = mp.log(base)
        high, low = max(x, y), min(x, y)
        if which == "f":
            return high + mp.log1p(mp.power(base, low - high)) / log

        def share(t: Any) -> Any:
            return 1 / (1 + mp.power(base, -t))

        d = x - y
        return {
            "x": lambda: share(d), "y": lambda: share(-d),
            "xx": lambda: log * share(d) * share(-d),
        }[which]()  # fmt: skip

    return truth


def _negated(truth: Any) -> Any:
    return lambda *operands: -truth(*operands)


def _apart(truth: Any) -> Any:
    """`truth` where the operands differ: at a tie a convention says what it is."""
    return lambda x, y: None if x == y else truth(x, y)


def _remainder(whole: Any) -> list[Any]:
    def quotient(x: Any, y: Any) -> Any:
        exact = x / y
        q = whole(exact)
        # next to a step a rounding decides
        return None if abs(exact - mp.nint(exact)) <= abs(exact) * mp.mpf(2) ** -20 else q

    def value(x: Any, y: Any) -> Any:
        q = quotient(x, y)
        return None if q is None else x - q * y

    def slope(x: Any, y: Any) -> Any:
        q = quotient(x, y)
        return None if q is None else -q

    return [value, ONE, slope, ZERO, ZERO, ZERO]


def _off_zero(truth: Any) -> Any:
    return lambda x, y: None if x == 0 or y == 0 else truth(x, y)


_MOD_RANGE = {"inside": lambda x, y: y != 0}
#: The reason of divisors: the exact derivative is 0 or infinite, or in range by two numbers of a few digits.
STEEP = "the reciprocal of a subnormal number, a factor of derivatives, is infinite"

ENTRIES: list[Entry] = [
    # arithmetic
    binary("add", tj.add, lambda x, y: x + y, ONE, ONE, ZERO, ZERO, ZERO),
    binary("subtract", tj.subtract, lambda x, y: x - y, ONE, constant(-1), ZERO, ZERO, ZERO),
    binary("multiply", tj.multiply, lambda x, y: x * y, lambda x, y: y, lambda x, y: x, ZERO, ONE, ZERO),
    binary("divide", tj.divide, lambda x, y: x / y, lambda x, y: 1 / y, lambda x, y: -x / y**2, ZERO,
           lambda x, y: -1 / y**2, lambda x, y: 2 * x / y**3, divisor=lambda x, y: y, reason=STEEP),
    binary("floor_divide", tj.floor_divide, lambda x, y: None, ZERO, ZERO, ZERO, ZERO, ZERO),
    binary("remainder", tj.remainder, *_remainder(mp.floor), **_MOD_RANGE),
    binary("fmod", tj.fmod, *_remainder(lambda q: mp.floor(q) if q > 0 else mp.ceil(q)), **_MOD_RANGE),
    unary("negative", tj.negative, lambda x: -x, constant(-1), ZERO),
    unary("positive", tj.positive, lambda x: x, ONE, ZERO),
    unary("absolute", tj.absolute, abs, mp.sign, ZERO),
    unary("fabs", tj.fabs, abs, mp.sign, ZERO),
    unary("reciprocal", tj.reciprocal, lambda x: 1 / x, lambda x: -1 / x**2, lambda x: 2 / x**3),
    unary("square", tj.square, lambda x: x * x, lambda x: 2 * x, constant(2)),
    unary("sqrt", tj.sqrt, mp.sqrt, lambda x: 0.5 / mp.sqrt(x), lambda x: -0.25 / mp.sqrt(x) / x),
    unary("rsqrt", tj.rsqrt, lambda x: 1 / mp.sqrt(x), lambda x: -0.5 / mp.sqrt(x) / x,
          lambda x: 0.75 / mp.sqrt(x) / x**2),
    unary("cbrt", tj.cbrt, lambda x: mp.sign(x) * mp.cbrt(abs(x)), lambda x: 1 / (3 * mp.cbrt(abs(x)) ** 2),
          lambda x: mp.sign(x) * -2 / (9 * mp.cbrt(abs(x)) ** 5)),
    binary("power", tj.power, *map(_power, ("f", "x", "y", "xx", "xy", "yy")), inside=_usual_power(3e38)),
    binary("float_power", tj.float_power, *map(_power, ("f", "x", "y", "xx", "xy", "yy")), single=False,
           inside=_usual_power(sys.float_info.max)),
    binary("hypot", tj.hypot, *map(_hypot, ("f", "x", "y", "xx", "xy", "yy")), divisor=math.hypot,
           of_value=True, reason=f"{STEEP}; slopes are quotients by the value"),
    steps("floor", tj.floor, mp.floor),
    steps("ceil", tj.ceil, mp.ceil),
    steps("trunc", tj.trunc, lambda x: mp.floor(x) if x > 0 else mp.ceil(x)),
    steps("fix", tj.fix, lambda x: mp.floor(x) if x > 0 else mp.ceil(x)),
    steps("rint", tj.rint, mp.nint),
    steps("round", tj.round, mp.nint),
    steps("sign", tj.sign, mp.sign),
    binary("maximum", tj.maximum, max, _apart(lambda x, y: int(x > y)), _apart(lambda x, y: int(x < y)),
           *[_apart(ZERO)] * 3),
    binary("minimum", tj.minimum, min, _apart(lambda x, y: int(x < y)), _apart(lambda x, y: int(x > y)),
           *[_apart(ZERO)] * 3),
    binary("fmax", tj.fmax, max, _apart(lambda x, y: int(x > y)), _apart(lambda x, y: int(x < y)),
           *[_apart(ZERO)] * 3),
    binary("fmin", tj.fmin, min, _apart(lambda x, y: int(x < y)), _apart(lambda x, y: int(x > y)),
           *[_apart(ZERO)] * 3),
    binary("copysign", tj.copysign, _off_zero(lambda x, y: abs(x) * mp.sign(y)),
           _off_zero(lambda x, y: mp.sign(x) * mp.sign(y)), ZERO, ZERO, ZERO, ZERO),
    binary("heaviside", tj.heaviside, lambda x, y: y if x == 0 else mp.mpf(int(x > 0)), ZERO,
           lambda x, y: mp.mpf(int(x == 0)), ZERO, ZERO, ZERO),
    unary("clip", lambda x: tj.clip(x, -2.0, 3.0), lambda x: min(max(x, -2), 3),
          lambda x: mp.mpf(int(-2 <= x <= 3)), ZERO),
    unary("nan_to_num", tj.nan_to_num, lambda x: x, ONE, ZERO),
    unary("modf", lambda x: tj.modf(x)[0], lambda x: x - (mp.floor(x) if x > 0 else mp.ceil(x)), ONE, ZERO),
    unary("ldexp", lambda x: tj.ldexp(x, -3), lambda x: x / 8, constant(0.125), ZERO),
    unary("frexp", lambda x: tj.frexp(x)[0], lambda x: mp.frexp(x)[0],
          lambda x: mp.mpf(2) ** -mp.frexp(x)[1] if x else None, ZERO),
    unary("deg2rad", tj.deg2rad, lambda x: x * mp.pi / 180, lambda x: mp.pi / 180, ZERO),
    unary("rad2deg", tj.rad2deg, lambda x: x / mp.pi * 180, lambda x: 180 / mp.pi, ZERO),
    unary("sinc", tj.sinc, _sinc(0), _sinc(1), _sinc(2), near=(2 / math.pi, 0.5 / math.pi),
          inside=lambda x: abs(x) < 1e6, ways=(1, 0.55, 0.29), reason="pi x is rounded, as NumPy's"),
    unary("where", lambda x: tj.where(x > 1.0, x, 2.0 * x), lambda x: x if x > 1 else 2 * x,
          lambda x: mp.mpf(1 if x > 1 else 2), ZERO),
    # exponentials and logarithms
    unary("exp", tj.exp, mp.exp, mp.exp, mp.exp),
    unary("exp2", tj.exp2, lambda x: mp.power(2, x), lambda x: mp.power(2, x) * mp.log(2),
          lambda x: mp.power(2, x) * mp.log(2) ** 2, near=(1023.9, -1074.0, -1022.5, 127.9),
          of_value=True, reason="slopes are products with the value"),
    unary("expm1", tj.expm1, mp.expm1, mp.exp, mp.exp, near=(-36.7, -37.5, -17.0)),
    unary("log", tj.log, mp.log, lambda x: 1 / x, lambda x: -1 / x**2, inside=lambda x: x >= 0),
    unary("log2", tj.log2, lambda x: mp.log(x, 2), lambda x: 1 / x / mp.log(2),
          lambda x: -1 / x**2 / mp.log(2), inside=lambda x: x >= 0),
    unary("log10", tj.log10, mp.log10, lambda x: 1 / x / mp.log(10), lambda x: -1 / x**2 / mp.log(10),
          inside=lambda x: x >= 0),
    unary("log1p", tj.log1p, mp.log1p, lambda x: 1 / (1 + x), lambda x: -1 / (1 + x) ** 2,
          inside=lambda x: x >= -1),
    binary("logaddexp", tj.logaddexp, *[_logaddexp(which, mp.e) for which in ("f", "x", "y", "xx")],
           _negated(_logaddexp("xx", mp.e)), _logaddexp("xx", mp.e)),
    binary("logaddexp2", tj.logaddexp2, *[_logaddexp(which, 2) for which in ("f", "x", "y", "xx")],
           _negated(_logaddexp("xx", 2)), _logaddexp("xx", 2)),
    # trigonometric and hyperbolic functions
    unary("sin", tj.sin, mp.sin, mp.cos, lambda x: -mp.sin(x)),
    unary("cos", tj.cos, mp.cos, lambda x: -mp.sin(x), lambda x: -mp.cos(x)),
    unary("tan", tj.tan, mp.tan, lambda x: mp.sec(x) ** 2, lambda x: 2 * mp.tan(x) * mp.sec(x) ** 2),
    unary("arcsin", tj.arcsin, mp.asin, lambda x: 1 / mp.sqrt((1 - x) * (1 + x)),
          lambda x: x / mp.sqrt((1 - x) * (1 + x)) ** 3),
    unary("arccos", tj.arccos, mp.acos, lambda x: -1 / mp.sqrt((1 - x) * (1 + x)),
          lambda x: -x / mp.sqrt((1 - x) * (1 + x)) ** 3),
    unary("arctan", tj.arctan, mp.atan, lambda x: 1 / (1 + x * x), lambda x: -2 * x / (1 + x * x) ** 2,
          near=(7.3e10,)),
    binary("arctan2", tj.arctan2, *map(_atan2, ("f", "y", "x", "yy", "xy", "xx")),
           inside=lambda y, x: y != 0 or math.copysign(1.0, y) > 0, divisor=math.hypot,
           reason=f"{STEEP}; mpmath has no zero below 0"),
    unary("sinh", tj.sinh, mp.sinh, mp.cosh, mp.sinh),
    unary("cosh", tj.cosh, mp.cosh, mp.sinh, mp.cosh),
    unary("tanh", tj.tanh, mp.tanh, lambda x: _cosh_inverse(x) ** 2,
          lambda x: -2 * mp.tanh(x) * _cosh_inverse(x) ** 2, near=(18.0, 19.1, 353.0, 374.0, 44.0)),
    unary("arcsinh", tj.arcsinh, mp.asinh, lambda x: 1 / mp.sqrt(1 + x * x),
          lambda x: -x / mp.sqrt(1 + x * x) ** 3),
    unary("arccosh", tj.arccosh, mp.acosh, lambda x: 1 / mp.sqrt((x - 1) * (x + 1)),
          lambda x: -x / mp.sqrt((x - 1) * (x + 1)) ** 3, inside=lambda x: x >= 1),
    unary("arctanh", tj.arctanh, mp.atanh, lambda x: 1 / ((1 - x) * (1 + x)),
          lambda x: 2 * x / ((1 - x) * (1 + x)) ** 2, inside=lambda x: abs(x) <= 1),
    # the error function
    unary("erf", tj.erf, mp.erf, lambda x: 2 / mp.sqrt(mp.pi) * mp.exp(-x * x),
          lambda x: -4 * x / mp.sqrt(mp.pi) * mp.exp(-x * x), near=(26.5, 27.2, 0.84375, 9.2)),
    unary("erfc", tj.erfc, mp.erfc, lambda x: -2 / mp.sqrt(mp.pi) * mp.exp(-x * x),
          lambda x: 4 * x / mp.sqrt(mp.pi) * mp.exp(-x * x), near=(26.5, 27.2, 0.84375, 9.2)),
    # choices whose other side is infinite
    unary("where of log", lambda x: tj.where(x > 0, tj.log(x), x * x),
          by_sign(lambda x: x * x, mp.log, 0), by_sign(lambda x: 2 * x, lambda x: 1 / x, 0),
          by_sign(constant(2), lambda x: -1 / x**2, 2)),
    unary("where of exp", lambda x: tj.where(x < 0, tj.exp(x), 1 + x), by_sign(mp.exp, lambda x: 1 + x, 1),
          by_sign(mp.exp, ONE, 1), by_sign(mp.exp, ZERO)),
]  # fmt: skip
