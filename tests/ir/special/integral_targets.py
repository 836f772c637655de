"""Functions that the tables of exponential, sine and cosine integrals and of the dilogarithm approximate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import mpmath as mp

from .special_coefficients import Table, near

mp.mp.dps = 60

with mp.workdps(80):
    EI_ROOT = mp.findroot(mp.ei, 0.37)


#: Names, ends and degrees of pieces.
E1_PIECES = (("A", "0.4", "1", 22), ("B", "0.15", "0.4", 20), ("C", "0.04", "0.15", 20), ("D", 0, "0.04", 14))
EI_PIECES = (
    ("A", mp.mpf(1) / 12, mp.mpf(1) / 6, 24),
    ("B", mp.mpf(1) / 24, mp.mpf(1) / 12, 24),
    ("C", mp.mpf(1) / 48, mp.mpf(1) / 24, 24),
    ("D", 0, mp.mpf(1) / 48, 16),
)
SICI_PIECES = (
    ("A", mp.mpf(1) / 36, mp.mpf(1) / 16, 20),
    ("B", mp.mpf(1) / 100, mp.mpf(1) / 36, 21),
    ("C", 0, mp.mpf(1) / 100, 27),
)


def scaled_e1(t: Any) -> Any:
    """x e^x E1(x) at t = 1 / x."""
    if t * 300 < 1:
        return mp.fsum((-t) ** k * mp.factorial(k) for k in range(60))
    return mp.exp(1 / t) * mp.e1(1 / t) / t


def scaled_ei(t: Any) -> Any:
    """x e^-x Ei(x) at t = 1 / x."""
    if t * 300 < 1:
        return mp.fsum(t**k * mp.factorial(k) for k in range(60))
    return mp.exp(-1 / t) * mp.ei(1 / t) / t


def auxiliary(t: Any) -> tuple[Any, Any]:
    """x f(x) and x^2 g(x) at t = 1 / x^2 (DLMF 6.2.17, 6.2.18)."""
    if t * 300**2 < 1:
        return (
            mp.fsum((-t) ** k * mp.factorial(2 * k) for k in range(30)),
            mp.fsum((-t) ** k * mp.factorial(2 * k + 1) for k in range(30)),
        )
    with mp.workdps(90):
        x = 1 / mp.sqrt(t)
        rest, ci, sine, cosine = mp.pi / 2 - mp.si(x), mp.ci(x), mp.sin(x), mp.cos(x)
        return x * (ci * sine + rest * cosine), x * x * (rest * sine - ci * cosine)


def around(function: Any, low: Any, high: Any) -> tuple[Any, Any, Any, Any]:
    """The function around the middle of an interval: target, low, high, middle."""
    middle = (mp.mpf(low) + mp.mpf(high)) / 2
    return (lambda t: function(t + middle)), mp.mpf(low) - middle, mp.mpf(high) - middle, middle


def tables() -> Iterator[Table]:
    yield Table("E1_LOW", "(E1 x + log x + Euler) / x, x = t",
                near(lambda t: (mp.e1(t) + mp.log(t) + mp.euler) / t),
                0, 1, 14)  # fmt: skip
    for name, low, high, degree in E1_PIECES:
        target, below, above, middle = around(scaled_e1, low, high)
        yield Table(
            f"E1_{name}", f"x exp(x) E1 x, 1 / x = {mp.nstr(middle, 8)} + t", target, below, above, degree
        )
    entire = near(lambda t: (mp.ei(t) - mp.log(t) - mp.euler) / t)
    target, below, above, middle = around(entire, 0, 6)
    yield Table("EI_LOW", "(Ei x - log x - Euler) / x, x = 3 + t", target, below, above, 20)
    yield Table("EI_ROOT", "Ei(root + t) / t", near(lambda t: mp.ei(EI_ROOT + t) / t), -mp.mpf("0.15"),
                mp.mpf("0.15"), 26)  # fmt: skip
    for name, low, high, degree in EI_PIECES:
        target, below, above, middle = around(scaled_ei, low, high)
        yield Table(
            f"EI_{name}", f"x exp(-x) Ei x, 1 / x = {mp.nstr(middle, 8)} + t", target, below, above, degree
        )
    yield Table("SI_LOW", "Si x / x, x^2 = t", near(lambda t: mp.si(mp.sqrt(t)) / mp.sqrt(t)), 0, 16, 12)
    yield Table("CI_LOW", "(Ci x - log x - Euler) / x^2, x^2 = t",
                near(lambda t: (mp.ci(mp.sqrt(t)) - mp.log(t) / 2 - mp.euler) / t), 0, 16, 12)  # fmt: skip
    for name, low, high, degree in SICI_PIECES:
        for part, which in (("F", 0), ("G", 1)):
            target, below, above, middle = around(lambda t, which=which: auxiliary(t)[which], low, high)
            yield Table(f"SICI_{part}_{name}", f"auxiliary {part.lower()} of Si and Ci, x^-2 = "
                        f"{mp.nstr(middle, 8)} + t",
                        target, below, above, degree)  # fmt: skip
    half = mp.mpf("0.5")
    yield Table("SPENCE", "Li2(-t) / t", near(lambda t: mp.polylog(2, -t).real / t), -half, half, 30)
