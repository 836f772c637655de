"""Cases around the error function, and of entropies."""

from __future__ import annotations

from typing import Any

import mpmath as mp

from .cases import Case, mixed, powers, product, uniform
from .gamma_targets import erfcinv as tail_inverse


def erfcx(x: Any) -> Any:
    return mp.exp(x * x) * mp.erfc(x)


def erfcx_slope(x: Any) -> Any:
    return 2 * x * erfcx(x) - 2 / mp.sqrt(mp.pi)


def erfcx_bend(x: Any) -> Any:
    return 2 * erfcx(x) + 2 * x * erfcx_slope(x)


def log_ndtr(x: Any) -> Any:
    return mp.log1p(-mp.erfc(x / mp.sqrt(2)) / 2) if x > 0 else mp.log(mp.ncdf(x))


def log_ndtr_slope(x: Any) -> Any:
    return mp.npdf(x) / mp.ncdf(x)


def log_ndtr_bend(x: Any) -> Any:
    slope = log_ndtr_slope(x)
    return -slope * (x + slope)


def erfcinv(z: Any) -> Any:
    if z > 1:
        return -erfcinv(2 - z)
    return tail_inverse(z) if z < mp.mpf("0.3") else mp.erfinv(1 - z)


def ndtri(p: Any) -> Any:
    return -mp.sqrt(2) * erfcinv(2 * p) if p < mp.mpf("0.5") else mp.sqrt(2) * erfcinv(2 - 2 * p)


CASES = (
    Case("erf", "all x", mp.erf, mixed(uniform(-6, 6), powers(-300, 0)), 2),
    Case("erfc", "x < 26.5", mp.erfc, mixed(uniform(-6, 26.5), uniform(-1, 1)), 3.5),
    Case("expit", "-700 < x", lambda x: 1 / (1 + mp.exp(-x)), mixed(uniform(-700, 40), uniform(-5, 5)), 3),
    Case("erfcx", "-26 < x < 300", erfcx, mixed(uniform(-26, 27), powers(-10, 1.4), uniform(27, 300)), 6,
         {(1,): 6, (2,): 20}, digits=60, exact={(1,): erfcx_slope, (2,): erfcx_bend}),
    Case("erfinv", "-1 < y < 1", mp.erfinv, mixed(uniform(-1, 1), powers(-300, 0)), 3),
    Case("erfcinv", "10^-300 < y < 2", erfcinv, mixed(uniform(0, 2), powers(-300, 0)), 3),
    Case("ndtr", "x > -37", mp.ncdf, mixed(uniform(-37, 10), uniform(-2, 2)), 6),
    Case("log_ndtr", "-60 < x < 30", log_ndtr, mixed(uniform(-60, 30), uniform(-2, 2)), 6,
         {(1,): 8, (2,): 40}, digits=60, exact={(1,): log_ndtr_slope, (2,): log_ndtr_bend}),
    Case("ndtri", "10^-300 < p < 1", ndtri, mixed(uniform(0, 1), powers(-300, 0)), 4),
    Case("log_expit", "-800 < x < 100", lambda x: -mp.log1p(mp.exp(-x)),
         mixed(uniform(-800, 100), uniform(-5, 5)), 3, digits=800,
         exact={(1,): lambda x: 1 / (1 + mp.exp(x)), (2,): lambda x: -mp.exp(x) / (1 + mp.exp(x)) ** 2}),
    Case("logit", "0 < x < 1", lambda x: mp.log(x / (1 - x)), mixed(uniform(0, 1), powers(-300, 0)), 3),
    Case("xlogy", "0 < x, y < 3", lambda x, y: x * mp.log(y), product(uniform(0, 3), uniform(0, 3)), 3),
    Case("xlog1py", "0 < x < 3, -1 < y < 3", lambda x, y: x * mp.log1p(y),
         product(uniform(0, 3), uniform(-1, 3)), 3),
    Case("entr", "0 < x < 3", lambda x: -x * mp.log(x), mixed(uniform(0, 3)), 3),
    Case("rel_entr", "0 < x, y < 3", lambda x, y: x * mp.log(x / y),
         product(uniform(0, 3), uniform(0, 3)), 4),
    Case("kl_div", "0 < x, y < 3", lambda x, y: x * mp.log(x / y) - x + y,
         product(uniform(0, 3), uniform(0, 3)), 12),
)  # fmt: skip
