"""Functions that the tables of Bessel functions of the orders 0 and 1 approximate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import mpmath as mp

from .special_coefficients import Table, near

END = 9


def hankel(order: int, inverse: Any) -> list[Any]:
    """The terms a(k) / x^k of Hankel's expansion at x = 1 / inverse >= 400 (DLMF 10.17.1)."""
    terms = [mp.mpf(1)]
    for k in range(1, 30):
        terms.append(terms[-1] * (4 * order * order - (2 * k - 1) ** 2) / (8 * k) * inverse)
    return terms


def parts(order: int) -> tuple[Any, Any]:
    """P and x Q of Hankel's form of J and Y, at t = 1 / x^2 (DLMF 10.18.4)."""

    def both(t: Any) -> tuple[Any, Any]:
        with mp.workdps(90):
            if t * 400**2 < 1:
                terms = hankel(order, mp.sqrt(t))
                first = 4 * order * order - 1
                q = mp.mpf(first) / 8 if t == 0 else mp.fsum(
                    (-1) ** k * term for k, term in enumerate(terms[1::2])
                ) / mp.sqrt(t)  # fmt: skip
                return mp.fsum((-1) ** k * term for k, term in enumerate(terms[::2])), q
            x = 1 / mp.sqrt(t)
            phase = x - (mp.mpf(order) / 2 + mp.mpf("0.25")) * mp.pi
            j, y, scale = mp.besselj(order, x), mp.bessely(order, x), mp.sqrt(mp.pi * x / 2)
            cosine, sine = mp.cos(phase), mp.sin(phase)
            return scale * (j * cosine + y * sine), scale * (y * cosine - j * sine) * x

    return (lambda t: both(t)[0]), (lambda t: both(t)[1])


def second_kind_rest(order: int) -> Any:
    """Y0 - 2 / pi log x J0, or (Y1 - 2 / pi (log x J1 - 1 / x)) / x, at t = x^2."""

    def target(t: Any) -> Any:
        x = mp.sqrt(t)
        value = mp.bessely(order, x) - 2 / mp.pi * mp.log(x) * mp.besselj(order, x)
        return value if order == 0 else (value + 2 / mp.pi / x) / x

    return near(target)


def k_rest(order: int) -> Any:
    """K0 + log(x / 2) I0, or (K1 - log(x / 2) I1 - 1 / x) / x, at t = x^2."""

    def target(t: Any) -> Any:
        x = mp.sqrt(t)
        if order == 0:
            return mp.besselk(0, x) + mp.log(x / 2) * mp.besseli(0, x)
        return (mp.besselk(1, x) - mp.log(x / 2) * mp.besseli(1, x) - 1 / x) / x

    return near(target)


def far(function: Any, order: int, sign: int) -> Any:
    """sqrt(x) e^(sign x) f(x) at t = 1 / x."""

    def target(t: Any) -> Any:
        with mp.workdps(70):
            if t * 400 < 1:
                total = mp.fsum(sign**k * term for k, term in enumerate(hankel(order, t)))
                return total * (mp.sqrt(mp.pi / 2) if sign > 0 else 1 / mp.sqrt(2 * mp.pi))
            return mp.exp(sign / t) * function(order, 1 / t) / mp.sqrt(t)

    return target


def tables() -> Iterator[Table]:
    half = mp.mpf(END) / 4
    for order in (0, 1):
        p, q = parts(order)
        yield Table(f"BESSEL_P{order}", f"P of J{order}, x^-2 = t", p, 0, mp.mpf(1) / END**2, 12)
        yield Table(f"BESSEL_Q{order}", f"x Q of J{order}, x^-2 = t", q, 0, mp.mpf(1) / END**2, 12)
        for name, middle in (("LOW", half), ("HIGH", 3 * half)):
            yield Table(f"J{order}_{name}", f"J{order} x, x = {mp.nstr(middle, 6)} + t",
                        lambda t, middle=middle, order=order: mp.besselj(order, middle + t), -half, half,
                        19)  # fmt: skip
        yield Table(
            f"Y{order}_LOW",
            f"remainder without the logarithm of Y{order}, x^2 = t",
            second_kind_rest(order),
            0,
            4,
            9,
        )
        yield Table(f"Y{order}_MIDDLE", f"Y{order} x, x = 3.25 + t",
                    lambda t, order=order: mp.bessely(order, mp.mpf("3.25") + t), -1.25, 1.25,
                    24)  # fmt: skip
        yield Table(f"Y{order}_HIGH", f"Y{order} x, x = {mp.nstr(3 * half, 6)} + t",
                    lambda t, order=order: mp.bessely(order, 3 * half + t), -half, half, 24)  # fmt: skip
        yield Table(f"I{order}_LOW", f"I{order} x" + " / x" * order + ", x^2 = t",
                    near(lambda t, order=order: mp.besseli(order, mp.sqrt(t)) / mp.sqrt(t) ** order), 0, 64,
                    17)  # fmt: skip
        small = far(mp.besseli, order, -1)
        yield Table(f"I{order}_HIGH", f"sqrt(x) exp(-x) I{order} x, 1 / x = 1 / 16 + t",
                    lambda t, small=small: small(t + mp.mpf(1) / 16), -mp.mpf(1) / 16, mp.mpf(1) / 16,
                    26)  # fmt: skip
        for name, middle, degree in (("MIDDLE", "3 / 32", 26), ("HIGH", "1 / 32", 28)):
            centre = mp.mpf(middle[0]) / 32
            yield Table(f"I{order}_{name}_DERIVATIVES", f"sqrt(x) exp(-x) I{order} x, 1 / x = {middle} + t",
                        lambda t, small=small, centre=centre: small(t + centre), -mp.mpf(1) / 32,
                        mp.mpf(1) / 32, degree)  # fmt: skip
        for name, middle, half_width, degree in (
            ("ORIGIN", 1, 1, 22),
            ("LOW", 3.25, 1.25, 24),
            ("UPPER", 6.25, 1.75, 28),
        ):
            yield Table(f"I{order}_{name}_DERIVATIVES", f"exp(-x) I{order} x, x = {middle} + t",
                        lambda t, middle=middle, order=order: mp.exp(-t - middle)
                        * mp.besseli(order, t + middle), -half_width, half_width, degree)  # fmt: skip
        yield Table(
            f"K{order}_LOW", f"remainder without the logarithm of K{order}, x^2 = t", k_rest(order), 0, 4, 9
        )
        for name, low, high, degree in (
            ("MIDDLE", "0.2", "0.5", 16), ("HIGH", "0", "0.2", 22), ("HIGH_DERIVATIVES", "0", "0.2", 28),
        ):  # fmt: skip
            yield Table(f"K{order}_{name}", f"sqrt(x) exp(x) K{order} x, 1 / x = t",
                        far(mp.besselk, order, 1),
                        mp.mpf(low), mp.mpf(high), degree)  # fmt: skip
        for name, middle, half_width, degree in (
            ("NEAR", "1.5", "0.5", 26), ("LOW", "0.75", "0.25", 24), ("MIDDLE", "0.35", "0.15", 23),
        ):  # fmt: skip
            large = far(mp.besselk, order, 1)
            yield Table(f"K{order}_{name}_DERIVATIVES", f"sqrt(x) exp(x) K{order} x, 1 / x = {middle} + t",
                        lambda t, large=large, middle=middle: large(t + mp.mpf(middle)),
                        -mp.mpf(half_width), mp.mpf(half_width), degree)  # fmt: skip
