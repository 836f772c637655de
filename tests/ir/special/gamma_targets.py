"""Functions that the tables of special functions approximate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import mpmath as mp

from .special_coefficients import Table, near

mp.mp.dps = 60


def stirling(t: Any) -> Any:
    """x times what Stirling's leading terms leave of log gamma, at t = 1 / x^2."""
    with mp.workdps(110):
        x = 1 / mp.sqrt(t)
        return x * (mp.loggamma(x) - ((x - 0.5) * mp.log(x) - x + mp.log(2 * mp.pi) / 2))


def stirling_digamma(t: Any) -> Any:
    """x^2 (log x - 1 / (2 x) - digamma x) at t = 1 / x^2."""
    with mp.workdps(110):
        x = 1 / mp.sqrt(t)
        return x * x * (mp.log(x) - 1 / (2 * x) - mp.digamma(x))


def stirling_factor(t: Any) -> Any:
    """x (gamma x / Stirling's - 1) at t = 1 / x."""
    with mp.workdps(110):
        x = 1 / t
        return x * mp.expm1(mp.loggamma(x) - ((x - 0.5) * mp.log(x) - x + mp.log(2 * mp.pi) / 2))


def tables() -> Iterator[Table]:
    half = mp.mpf("0.5")
    yield Table("LGAMMA_1", "log gamma(1 + t) / t", near(lambda t: mp.loggamma(1 + t) / t), -half, half, 28)
    yield Table("LGAMMA_2", "log gamma(2 + t) / t", near(lambda t: mp.loggamma(2 + t) / t), -half, half, 19)
    yield Table("STIRLING", "x (log gamma x - Stirling's), t = 1 / x^2", near(stirling), 0, 1 / mp.mpf(63), 7)
    yield Table("GAMMA", "gamma(1.5 + t)", lambda t: mp.gamma(1.5 + t), -half, half, 22)
    yield Table("STIRLING_FACTOR", "x (gamma x / Stirling's - 1), t = 1 / x", near(stirling_factor), 0,
                1 / mp.mpf(12), 9)  # fmt: skip
    root = mp.findroot(mp.digamma, 1.4616)
    yield Table("DIGAMMA", "digamma(1.5 + t) / (1.5 + t - root)",
                lambda t: mp.digamma(1.5 + t) / (1.5 + t - root), -half, half, 22)  # fmt: skip
    yield Table("STIRLING_DIGAMMA", "x^2 (log x - 1 / (2 x) - digamma x), t = 1 / x^2",
                near(stirling_digamma), 0,
                1 / mp.mpf(15), 9)  # fmt: skip
    yield Table("ZETA", "(s - 1) zeta(s), s = 0.5 + t",
                lambda t: (t - half) * mp.zeta(t + half) if t < half else mp.mpf(1),
                -3 * half, half, 20)  # fmt: skip
    yield Table("ZETA_LOW", "zeta s, s = -7.28765 + t", lambda t: mp.zeta(t - mp.mpf("7.28765")),
                -mp.mpf("0.1"), mp.mpf("0.1"), 14)  # fmt: skip
    yield from error_tables()
    yield from logarithm_tables()


def erfcx(t: Any) -> Any:
    """(1 + 2 x) exp(x^2) erfc x, x = 4 (1 + t) / (1 - t)."""
    x = 4 * (1 + t) / (1 - t) if t < 1 else mp.inf
    if x > 100:
        return (
            sum((-1) ** k * mp.fac2(2 * k - 1) / (2 * x * x) ** k for k in range(12))
            * (2 + 1 / x)
            / mp.sqrt(mp.pi)
        )
    with mp.workdps(60 + int(x * x / 2)):
        return (1 + 2 * x) * mp.exp(x * x) * mp.erfc(x)


def erfcinv(z: Any) -> Any:
    """The inverse of erfc, by Newton's rule on logarithms."""
    w = mp.sqrt(-mp.log(z))
    x = w * mp.mpf("0.9") if w < 3 else w - mp.log(w * mp.sqrt(mp.pi)) / (2 * w)
    for _ in range(60):
        with mp.workdps(60 + int(x * x)):
            erfc = mp.erfc(x)
            step = (mp.log(erfc) - mp.log(z)) * erfc * mp.sqrt(mp.pi) / 2 * mp.exp(x * x)
        x += step
        if abs(step) < mp.mpf(10) ** (5 - mp.mp.dps) * x:
            break
    return x


def central(w: Any) -> Any:
    """erfinv(y) / y at w = -log(1 - y^2)."""
    y = mp.sqrt(-mp.expm1(-w))
    return mp.erfinv(y) / y


def error_tables() -> Iterator[Table]:
    for name, degree in (("ERFCX", 24), ("ERFCX_DERIVATIVES", 32)):
        yield Table(name, "(1 + 2 x) exp(x^2) erfc x, x = 4 (1 + t) / (1 - t)", erfcx, -1, 1, degree)
    yield Table("LOG_NDTR_SLOPE", "density over distribution of the normal distribution, x = t - 0.375",
                lambda t: mp.npdf(t - 0.375) / mp.ncdf(t - 0.375), -mp.mpf("0.875"),
                mp.mpf("0.875"), 21)  # fmt: skip
    middle = mp.mpf("3.125")
    yield Table("ERFINV", "erfinv(y) / y, -log(1 - y^2) = 3.125 + t",
                lambda t: central(max(t + middle, mp.mpf(10) ** -30)), -middle, middle, 24)  # fmt: skip
    for name, low, high, degree in (("A", "2.6", "4", 16), ("B", "4", "8", 22), ("C", "8", "15", 20),
                                    ("D", "15", "28", 20)):  # fmt: skip
        middle = (mp.mpf(low) + mp.mpf(high)) / 2
        yield Table(
            f"ERFCINV_{name}", f"w - erfcinv(exp(-w^2)), w = {mp.nstr(middle, 6)} + t",
            lambda t, middle=middle: t + middle - erfcinv(mp.exp(-((t + middle) ** 2))),
            mp.mpf(low) - middle, mp.mpf(high) - middle, degree,
        )  # fmt: skip


def logarithm_tables() -> Iterator[Table]:
    yield Table("LOG1PMX", "(log(1 + t) - t) / t^2", near(lambda t: (mp.log1p(t) - t) / t**2),
                -mp.mpf("0.35"),
                mp.mpf("0.35"), 24)  # fmt: skip
