"""Rows of the table: SciPy's special functions of one operand and of two."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np

import tracejit as tj
import tracejit.scipy.special as sp

from .activations import density, log_sigmoid, ncdf, sigmoid, sigmoid_bend, sigmoid_slope
from .elementary import STEEP, ZERO, sine_over
from .entries import Entry, binary, unary

_FEW = {"points": 40}


def _between(low: float, high: float) -> Callable[..., bool]:
    return lambda x: low < x < high


def _off_zero(low: float, high: float) -> Callable[..., bool]:
    """Predicate of the points between `low` and `high`, but for negative numbers next to 0: their reciprocals
    are infinite, and differ from that."""
    return lambda x: low < x < high and not -1e-300 < x < 0


def _sizes(low: float, high: float) -> Callable[..., bool]:
    return lambda x: x == 0 or low < abs(x) < high


def _bessel(kind: Callable[..., Any], order: int, sign: int) -> tuple[Any, Any, Any]:
    """J and Y have sign -1, I has 1; K is I's with the sign of every second term turned."""
    f = kind
    if order == 0:
        return (lambda x: f(0, x), lambda x: sign * f(1, x), lambda x: (f(2, x) + sign * f(0, x)) / 2)
    return (
        lambda x: f(1, x),
        lambda x: (f(0, x) + sign * f(2, x)) / 2,
        lambda x: (f(3, x) + sign * 3 * f(1, x)) / 4,
    )


def _turned(order: int) -> tuple[Any, Any, Any]:
    value, slope, bend = _bessel(mp.besselk, order, 1)
    return value, lambda x: -slope(x), bend


def _scaled(truths: tuple[Any, Any, Any], sign: int, odd: bool = False) -> tuple[Any, Any, Any]:
    """e^(sign |x|) f: with a kink at 0."""
    value, slope, bend = truths

    def first(x: Any) -> Any:
        side = sign * mp.sign(x)
        return mp.exp(sign * abs(x)) * (slope(x) + side * value(x))

    def second(x: Any) -> Any:
        side = sign * mp.sign(x)
        return None if x == 0 else mp.exp(sign * abs(x)) * (bend(x) + 2 * side * slope(x) + value(x))

    def with_tail(order: int, near: Any) -> Any:
        """`near`, and far away the leading term, of which the others differ by less than 1e-19."""
        factor = mp.sqrt(mp.pi / 2) if sign > 0 else 1 / mp.sqrt(2 * mp.pi)

        def truth(x: Any) -> Any:
            if abs(x) < 1e20:
                return near(x)
            side = mp.sign(x) if odd != bool(order % 2) else 1
            return side * factor * mp.mpf(("1", "-0.5", "0.75")[order]) / mp.sqrt(abs(x)) / abs(x) ** order

        return truth

    zeroth = with_tail(0, lambda x: mp.exp(sign * abs(x)) * value(x))
    return zeroth, with_tail(1, first), with_tail(2, second)


def _erfcx(order: int) -> Any:
    def truth(x: Any) -> Any:
        if x > 1e9:  # the leading terms, of which the others differ by less than 1e-17
            return (1 / x, -1 / x**2, 2 / x**3)[order] / mp.sqrt(mp.pi)
        f = mp.exp(x * x) * mp.erfc(x)
        slope = 2 * x * f - 2 / mp.sqrt(mp.pi)
        return (f, slope, 2 * f + 2 * x * slope)[order]

    return truth


def _log_ndtr(order: int) -> Any:
    def truth(x: Any) -> Any:
        if x < -1e9:  # the leading terms, of which the others differ by less than 1e-17
            return (-x * x / 2 - mp.log(-x * mp.sqrt(2 * mp.pi)), -x, -1)[order]
        if order == 0:
            return mp.log1p(-ncdf(-x)) if x > 0 else mp.log(ncdf(x))
        h = density(x) / ncdf(x)
        return h if order == 1 else -h * (x + h)

    return truth


def _erfc_inverse(z: Any) -> Any:
    """erfcinv, of small z by Newton's steps: 1 - z would have too many digits."""
    if z > 1e-20:
        return mp.erfinv(1 - z)
    x = mp.sqrt(-mp.log(z))
    for _ in range(8):
        f = mp.erfc(x)
        x += mp.log(f / z) * f * mp.exp(x * x) * mp.sqrt(mp.pi) / 2
    return x


def _inverse(name: str, order: int) -> Any:
    def truth(p: Any) -> Any:
        if name == "ndtri":
            x = -mp.sqrt(2) * _erfc_inverse(2 * p)
            slope = 1 / density(x)
            return (x, slope, x * slope**2)[order]
        x = mp.erfinv(p) if name == "erfinv" else _erfc_inverse(p)
        slope = mp.sqrt(mp.pi) / 2 * mp.exp(x * x) * (1 if name == "erfinv" else -1)
        return (x, slope, 2 * x * slope**2)[order]

    return truth


def _hypergeometric(a: float, b: float, c: float, order: int) -> Any:
    def truth(m: Any) -> Any:
        factor = mp.pi / 2 * mp.rf(a, order) * mp.rf(b, order) / mp.rf(c, order)
        return factor * mp.hyp2f1(a + order, b + order, c + order, m)

    return truth


def _gamma(order: int) -> Any:
    def truth(x: Any) -> Any:
        if x <= 0 and x == mp.floor(x):
            return None
        g, psi = mp.gamma(x), mp.digamma(x)
        return (g, g * psi, g * (psi**2 + mp.psi(1, x)))[order]

    return truth


def _psi(order: int, factor: int = 1) -> Any:
    return lambda x: None if x <= 0 and x == mp.floor(x) else factor * mp.psi(order, x)


def _log_gamma(x: Any) -> Any:
    return (
        None
        if x <= 0 and x == mp.floor(x)
        else mp.log(abs(mp.gamma(x)))
        if abs(x) < 30
        else mp.re(mp.loggamma(x))
    )


def _lambertw(branch: int, order: int) -> Any:
    def truth(z: Any) -> Any:
        w = mp.lambertw(z, branch)
        if mp.im(w):
            return None
        w = mp.re(w)
        return (w, mp.exp(-w) / (1 + w), -mp.exp(-2 * w) * (w + 2) / (1 + w) ** 3)[order]

    return truth


def _spence(order: int) -> Any:
    def truth(z: Any) -> Any:
        if z == 1:
            return (0, -1, mp.mpf(1) / 2)[order]
        if order == 0:
            return mp.re(mp.polylog(2, 1 - z))
        log = mp.log(z)
        return log / (1 - z) if order == 1 else 1 / (z * (1 - z)) + log / (1 - z) ** 2

    return truth


def _beta(which: int) -> Any:
    def truth(a: Any, b: Any) -> Any:
        value = mp.beta(a, b)
        pa, pb = mp.digamma(a) - mp.digamma(a + b), mp.digamma(b) - mp.digamma(a + b)
        both = mp.psi(1, a + b)
        return (
            value, value * pa, value * pb, value * (pa**2 + mp.psi(1, a) - both), value * (pa * pb - both),
            value * (pb**2 + mp.psi(1, b) - both),
        )[which]  # fmt: skip

    return truth


def _betaln(which: int) -> Any:
    def truth(a: Any, b: Any) -> Any:
        total = a + b
        return (
            lambda: mp.log(mp.beta(a, b)), lambda: mp.digamma(a) - mp.digamma(total),
            lambda: mp.digamma(b) - mp.digamma(total), lambda: mp.psi(1, a) - mp.psi(1, total),
            lambda: -mp.psi(1, total), lambda: mp.psi(1, b) - mp.psi(1, total),
        )[which]()  # fmt: skip

    return truth


def _positive(x: float, y: float) -> bool:
    return x > 0 and y > 0


_SMALL_PAIR = {"inside": lambda a, b: 1e-8 < a < 1e5 and 1e-8 < b < 1e5, "points": 30, "digits": 80}
_FAR = {"inside": _sizes(0, 1e15), **_FEW}
_MODEST = {"inside": _sizes(0, 713.98), **_FEW}  # beyond, I0 is infinite, of which slopes are made
_UPPER = {"inside": _between(0, 1e15), **_FEW}

ENTRIES: list[Entry] = [
    unary("special.j0", sp.j0, *_bessel(mp.besselj, 0, -1), **_FAR),
    unary("special.j1", sp.j1, *_bessel(mp.besselj, 1, -1), near=(0.7,), **_FAR),
    unary("special.y0", sp.y0, *_bessel(mp.bessely, 0, -1), **_UPPER),
    unary("special.y1", sp.y1, *_bessel(mp.bessely, 1, -1), **_UPPER),
    unary("i0", tj.i0, *_bessel(mp.besseli, 0, 1), **_MODEST),
    unary("special.i0", sp.i0, *_bessel(mp.besseli, 0, 1), **_MODEST),
    unary("special.i1", sp.i1, *_bessel(mp.besseli, 1, 1), **_MODEST),
    unary("special.i0e", sp.i0e, *_scaled(_bessel(mp.besseli, 0, 1), -1), digits=90, **_FEW),
    unary("special.i1e", sp.i1e, *_scaled(_bessel(mp.besseli, 1, 1), -1, odd=True), digits=90,
          **_FEW),
    unary("special.k0", sp.k0, *_turned(0), inside=lambda x: x > 0, **_FEW),
    unary("special.k1", sp.k1, *_turned(1), inside=lambda x: x > 0, **_FEW),
    unary("special.k0e", sp.k0e, *_scaled(_turned(0), 1), inside=lambda x: x > 0, digits=90, **_FEW),
    unary("special.k1e", sp.k1e, *_scaled(_turned(1), 1), inside=lambda x: x > 0, digits=90, **_FEW),
    unary("special.erf", sp.erf, mp.erf, lambda x: 2 / mp.sqrt(mp.pi) * mp.exp(-x * x),
          lambda x: -4 * x / mp.sqrt(mp.pi) * mp.exp(-x * x)),
    unary("special.erfc", sp.erfc, mp.erfc, lambda x: -2 / mp.sqrt(mp.pi) * mp.exp(-x * x),
          lambda x: 4 * x / mp.sqrt(mp.pi) * mp.exp(-x * x)),
    unary("special.erfcx", sp.erfcx, *map(_erfcx, range(3)), inside=lambda x: x > -30, digits=120,
          near=(0.5003234933722261,), **_FEW),
    unary("special.erfinv", sp.erfinv, *[_inverse("erfinv", k) for k in range(3)], inside=_between(-1, 1),
          **_FEW),
    unary("special.erfcinv", sp.erfcinv, *[_inverse("erfcinv", k) for k in range(3)],
          inside=_between(0, 2), digits=60, **_FEW),
    unary("special.ndtri", sp.ndtri, *[_inverse("ndtri", k) for k in range(3)], inside=_between(0, 1),
          digits=60, **_FEW),
    unary("special.ndtr", sp.ndtr, ncdf, density, lambda x: -x * density(x)),
    unary("special.log_ndtr", sp.log_ndtr, *map(_log_ndtr, range(3)), digits=120, **_FEW),
    unary("special.expit", sp.expit, sigmoid, sigmoid_slope, sigmoid_bend),
    unary("special.log_expit", sp.log_expit, log_sigmoid, lambda x: sigmoid(-x),
          lambda x: -sigmoid_slope(x)),
    unary("special.logit", sp.logit, lambda p: mp.log(p / (1 - p)), lambda p: 1 / (p * (1 - p)),
          lambda p: (2 * p - 1) / (p * (1 - p)) ** 2, inside=lambda p: 0 < p < 1),
    unary("special.gamma", sp.gamma, *map(_gamma, range(3)), inside=_off_zero(-200, 200),
          near=(-185.0000000000009,), **_FEW),
    unary("special.gammaln", sp.gammaln, _log_gamma, _psi(0), _psi(1), inside=_off_zero(-9000, math.inf),
          near=(-2.61,), **_FEW),
    unary("special.loggamma", sp.loggamma, _log_gamma, _psi(0), _psi(1), inside=lambda x: x > 0, **_FEW),
    unary("special.digamma", sp.digamma, _psi(0), _psi(1), _psi(2),
          inside=_off_zero(-9000, math.inf), **_FEW),
    unary("special.polygamma", lambda x: sp.polygamma(np.float32(2), x), _psi(2), _psi(3), _psi(4),
          inside=_off_zero(-9000, math.inf), **_FEW),
    unary("special.multigammaln", lambda x: sp.multigammaln(x, 2),
          lambda x: mp.loggamma(x) + mp.loggamma(x - 0.5) + mp.log(mp.pi) / 2,
          lambda x: mp.digamma(x) + mp.digamma(x - 0.5), lambda x: mp.psi(1, x) + mp.psi(1, x - 0.5),
          inside=lambda x: x > 0.5, **_FEW),
    unary("special.factorial", sp.factorial, lambda x: mp.gamma(x + 1),
          lambda x: mp.gamma(x + 1) * mp.digamma(x + 1),
          lambda x: mp.gamma(x + 1) * (mp.digamma(x + 1) ** 2 + mp.psi(1, x + 1)), inside=_between(0, 200),
          **_FEW),
    unary("special.zeta", sp.zeta, mp.zeta, lambda s: mp.zeta(s, 1, 1), lambda s: mp.zeta(s, 1, 2),
          inside=lambda s: s > -150 and s != 1, points=25),
    unary("special.ellipk", sp.ellipk, *[_hypergeometric(0.5, 0.5, 1, k) for k in range(3)],
          inside=lambda m: m < 1, **_FEW),
    unary("special.ellipe", sp.ellipe, *[_hypergeometric(-0.5, 0.5, 1, k) for k in range(3)],
          inside=lambda m: m < 1, **_FEW),
    unary("special.exp1", sp.exp1, mp.e1, lambda x: -mp.exp(-x) / x, lambda x: mp.exp(-x) * (1 + x) / x**2,
          inside=lambda x: x > 0, **_FEW),
    unary("special.expi", sp.expi, mp.ei, lambda x: mp.exp(x) / x, lambda x: mp.exp(x) * (x - 1) / x**2,
          inside=lambda x: x != 0, **_FEW),
    unary("special.expn", lambda x: sp.expn(2, x), lambda x: mp.expint(2, x), lambda x: -mp.e1(x),
          lambda x: mp.exp(-x) / x, inside=lambda x: x > 0, **_FEW),
    unary("special.sici, si", lambda x: sp.sici(x)[0], mp.si, sine_over(0), sine_over(1),
          **_FEW),
    unary("special.sici, ci", lambda x: sp.sici(x)[1], lambda x: mp.re(mp.ci(x)), lambda x: mp.cos(x) / x,
          lambda x: -(x * mp.sin(x) + mp.cos(x)) / x**2, inside=lambda x: x != 0, **_FEW),
    unary("special.spence", sp.spence, *map(_spence, range(3)), inside=lambda x: x > 0, digits=100, **_FEW),
    unary("special.lambertw", sp.lambertw, *[_lambertw(0, k) for k in range(3)],
          inside=lambda z: z > -0.36, **_FEW),
    unary("special.lambertw, -1", lambda z: sp.lambertw(z, -1), *[_lambertw(-1, k) for k in range(3)],
          inside=_between(-0.36, 0), divisor=lambda z: 0.98 * z, reason=STEEP, **_FEW),
    unary("special.eval_legendre", lambda x: sp.eval_legendre(3, x), lambda x: (5 * x**3 - 3 * x) / 2,
          lambda x: (15 * x**2 - 3) / 2, lambda x: 15 * x, **_FEW),
    unary("special.entr", sp.entr, lambda x: -x * mp.log(x), lambda x: -1 - mp.log(x), lambda x: -1 / x,
          inside=lambda x: x > 0),
    binary("special.xlogy", sp.xlogy, lambda x, y: x * mp.log(y), lambda x, y: mp.log(y), lambda x, y: x / y,
           ZERO, lambda x, y: 1 / y, lambda x, y: -x / y**2, inside=lambda x, y: y > 0,
           divisor=lambda x, y: y, reason=STEEP),
    binary("special.xlog1py", sp.xlog1py, lambda x, y: x * mp.log1p(y), lambda x, y: mp.log1p(y),
           lambda x, y: x / (1 + y), ZERO, lambda x, y: 1 / (1 + y), lambda x, y: -x / (1 + y) ** 2,
           inside=lambda x, y: y > -1),
    binary("special.rel_entr", sp.rel_entr, lambda x, y: x * mp.log(x / y), lambda x, y: 1 + mp.log(x / y),
           lambda x, y: -x / y, lambda x, y: 1 / x, lambda x, y: -1 / y, lambda x, y: x / y**2,
           inside=_positive, divisor=lambda x, y: y, reason=STEEP),
    binary("special.kl_div", sp.kl_div, lambda x, y: x * mp.log(x / y) - x + y, lambda x, y: mp.log(x / y),
           lambda x, y: (y - x) / y, lambda x, y: 1 / x, lambda x, y: -1 / y, lambda x, y: x / y**2,
           inside=_positive, digits=700, divisor=lambda x, y: y, reason=STEEP),
    binary("special.beta", sp.beta, *map(_beta, range(6)), **_SMALL_PAIR),
    binary("special.betaln", sp.betaln, *map(_betaln, range(6)), **_SMALL_PAIR),
]  # fmt: skip
